//! A centre that uses all replies (ours): the cost of an election with the search that is used in
//! the field.
//!
//! After any draws of all, with probabilities `c/N` each, the likeliest number of hosts is all
//! replies over the sum of all `c/N`. The centre takes that, never less than the estimate's next.
//! While no host has replied, it takes just the estimate's next. If that is at most `U`, all reply;
//! and if then none does, the search begins anew.

use std::collections::BTreeMap;

use super::draw::{Descend, Opening, Rules};
use super::{Algorithm, Cost, Election, Estimate};

/// Less likely courses are not followed: they are taken to continue as if the centre knew the
/// number.
const RARE: f64 = 1e-7;

/// The cost with the search of the field. Exact up to one in a million if no multicast is lost.
/// Otherwise, hosts that have missed a call draw by a greater number in the next, which is ignored
/// here.
///
/// `None` for algorithms other than [`Algorithm::SkipReset`] and [`Algorithm::History`].
///
/// # Panics
/// If the election is invalid, or has no estimate.
pub fn by_evidence(election: &Election) -> Option<Cost> {
    election.check();
    let estimate = election.estimate();
    match election.algorithm {
        Algorithm::SkipReset | Algorithm::History => {
            Some(follow(&mut *election.recurrence()?, election, estimate))
        }
        Algorithm::Naive | Algorithm::Basic | Algorithm::Choice(_, _) => None,
    }
}

/// The centre's knowledge when all draw. Fractions are stored by their bits, so that states can be
/// compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    /// 0: all reply.
    size: u64,
    replies: u64,
    shares: u64,
}

/// A round by one size, with the probabilities of an undershoot by the number of replies.
struct RoundBySize {
    rounds: f64,
    messages: f64,
    elected: f64,
    undershoots: Vec<(u64, f64)>,
}

fn follow(machine: &mut dyn Descend, election: &Election, estimate: Estimate) -> Cost {
    let known = election.if_known().cost();
    let rules = Rules::of(election);
    let begin = State { size: estimate.first as u64, replies: 0, shares: 0f64.to_bits() };
    let mut steps: BTreeMap<u64, RoundBySize> = BTreeMap::new();
    let mut waiting = BTreeMap::from([(begin, 1.0)]);
    let (mut rounds, mut messages) = (0.0, 0.0);
    while !waiting.is_empty() {
        for (state, weight) in std::mem::take(&mut waiting) {
            if weight < RARE {
                rounds += weight * known.rounds;
                messages += weight * known.messages;
                continue;
            }
            // By a size of 0 all reply: c/0 is infinite.
            let chance = (election.c / state.size as f64).min(1.0);
            let step = steps.entry(state.size).or_insert_with(|| {
                let opening = machine.opening(election.members, chance);
                step_of(&opening, &rules, election.members, chance)
            });
            rounds += weight * step.rounds;
            messages += weight * step.messages;
            for (count, part) in &step.undershoots {
                let is_silent = *count == 0 && state.size == 0;
                let next = if is_silent {
                    begin
                } else {
                    next(state, (*count, chance), election, estimate)
                };
                *waiting.entry(next).or_default() += weight * part;
            }
        }
    }
    Cost {
        rounds,
        messages,
        success_first_round: steps.get(&begin.size).map_or(0.0, |it| it.elected),
    }
}

fn step_of(opening: &Opening, rules: &Rules, members: u64, chance: f64) -> RoundBySize {
    let whole = opening.whole();
    let heard = rules.heard_of(members, chance).into_iter();
    let mut undershoots: Vec<(u64, f64)> =
        heard.filter(|(count, _)| *count < rules.seats.least).collect();
    let later = opening.overshoots.iter();
    undershoots.extend(later.map(|it| (it.count, it.probability * it.after.undershoot)));
    RoundBySize {
        rounds: whole.rounds,
        messages: whole.messages,
        elected: opening.elected,
        undershoots,
    }
}

/// The state after an undershoot, or an overshoot and an undershoot.
fn next(
    state: State,
    (count, chance): (u64, f64),
    election: &Election,
    estimate: Estimate,
) -> State {
    let seats = election.seats;
    let replies = state.replies + count;
    let shares = f64::from_bits(state.shares) + chance;
    let told = (replies as f64 / shares).round() as u64;
    let size = told.max(estimate.step_down(state.size, seats));
    State { size: if size > seats.most { size } else { 0 }, replies, shares: shares.to_bits() }
}
