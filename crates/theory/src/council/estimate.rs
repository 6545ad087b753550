//! Unknown number of hosts: a high estimate at first, and less after each undershoot (section
//! VII-A).

use std::collections::BTreeMap;

use super::draw::{Descend, Opening, Rules};
use super::{Cost, Election, Seats, guess, tries};

/// The probability of courses of an election that the sums leave out.
const NEGLIGIBLE: f64 = 1e-15;

/// Equation (17): `f(n) = n^alpha / beta`, as long as that is above `U`; then all reply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Above 0, at most 1.
    pub alpha: f64,
    /// A divisor such that no estimate is greater than the one before: `U^(alpha - 1)` or more. If
    /// both are 1 the first estimate is the only one.
    pub beta: f64,
    /// The first estimate. Above `U`.
    pub first: f64,
}

impl Estimate {
    /// Half after each undershoot.
    pub fn conservative(first: f64) -> Self {
        Self { alpha: 1.0, beta: 2.0, first }
    }

    /// `n^0.7` after each undershoot.
    pub fn aggressive(first: f64) -> Self {
        Self { alpha: 0.7, beta: 1.0, first }
    }

    /// The estimate after an undershoot with this one. `None`: all reply.
    pub fn next(&self, estimate: f64, seats: Seats) -> Option<f64> {
        (estimate > self.last(seats)).then(|| estimate.powf(self.alpha) / self.beta)
    }

    /// As `next`, but as in the search of the field, in whole hosts; 0: all reply. It is rounded,
    /// and always lower, even if rounding would lead back to the same number. Equation (17) has
    /// fractions, and stays as printed.
    pub(super) fn step_down(&self, estimate: u64, seats: Seats) -> u64 {
        let next = self.next(estimate as f64, seats);
        let next = next.map_or(0, |it| it.round() as u64);
        let next = next.min(estimate.saturating_sub(1));
        if next > seats.most { next } else { 0 }
    }

    /// The last estimate: after an undershoot with it, or less, all reply.
    pub(super) fn last(&self, seats: Seats) -> f64 {
        (self.beta * seats.most as f64).powf(1.0 / self.alpha)
    }

    /// True if estimates never rise.
    fn never_rises(&self, seats: Seats) -> bool {
        let never_rises = self.beta * (seats.most as f64).powf(1.0 - self.alpha) >= 1.0;
        self.alpha > 0.0 && self.alpha <= 1.0 && self.beta.is_finite() && never_rises
    }

    pub(super) fn check(&self, seats: Seats) {
        assert!(self.never_rises(seats), "{self:?} rises");
        assert!(
            self.first > seats.most as f64 && self.first.is_finite(),
            "first estimate {}: need above {} seats",
            self.first,
            seats.most
        );
    }
}

/// Equations (19) and (20), in which the centre knows `n` after an overshoot; all rounds count.
pub(super) fn by_equations(election: &Election, estimate: Estimate) -> Cost {
    match election.recurrence() {
        None => by_naive(election, estimate),
        Some(mut machine) => chain(&mut *machine, election, estimate),
    }
}

/// Equations (19) and (20) for an algorithm that continues with the active hosts.
fn chain(machine: &mut dyn Descend, election: &Election, estimate: Estimate) -> Cost {
    let (seats, members) = (election.seats, election.members);
    // The continuation after an undershoot when the centre knows n.
    let restart = if election.algorithm.polls() {
        let poll = machine.opening(members, 1.0).whole();
        let tries = tries(poll.undershoot);
        (poll.rounds * tries, poll.messages * tries)
    } else {
        let known = election.if_known().cost();
        (known.rounds, known.messages)
    };
    let mut sum = Sum::START;
    let mut guess = Some(estimate.first);
    let mut success_first_round = None;
    while let Some(now) = guess {
        let opening = machine.opening(members, (election.c / now).min(1.0));
        success_first_round.get_or_insert(opening.elected);
        let next = estimate.next(now, seats);
        if next == Some(now) {
            sum.repeat(opening.first.undershoot);
            sum.take(&opening, restart);
            break;
        }
        sum.take(&opening, restart);
        if sum.weight < NEGLIGIBLE * 1e-5 {
            break;
        }
        guess = next;
    }
    if guess.is_none() {
        // All reply, until enough of them are heard. With lost replies this is expensive to
        // compute, and is seldom needed.
        let poll = machine.opening(members, 1.0);
        sum.repeat(poll.first.undershoot);
        sum.take(&poll, restart);
    }
    sum.cost(success_first_round.unwrap_or(0.0))
}

/// Equations (19) and (20) for the naive algorithm: an overshoot gives the centre `n`, and all draw
/// anew.
fn by_naive(election: &Election, estimate: Estimate) -> Cost {
    let rules = Rules::of(election);
    let known = election.if_known().cost();
    let mut sum = Sum::START;
    let mut guess = Some(estimate.first);
    let mut success_first_round = None;
    loop {
        let chance = guess.map_or(1.0, |now| (election.c / now).min(1.0));
        let heard = rules.heard_of(election.members, chance);
        let share_of = |is_such: &dyn Fn(u64) -> bool| -> f64 {
            let such = heard.iter().filter(|(count, _)| is_such(*count));
            such.fold(0.0, |sum, (_, weight)| sum + weight) // `sum` of nothing is -0
        };
        let elected = share_of(&|count| election.seats.contain(count));
        let low = share_of(&|count| count < election.seats.least);
        success_first_round.get_or_insert(elected);
        let next = guess.and_then(|now| estimate.next(now, election.seats));
        let is_last = guess.is_none() || next == guess;
        if is_last {
            sum.repeat(low);
        }
        let high = 1.0 - elected - low;
        let replies = rules.replies(election.members, chance);
        sum.rounds += sum.weight * (1.0 + high * known.rounds);
        sum.messages += sum.weight * (replies + high * known.messages);
        sum.weight *= low;
        if is_last {
            break;
        }
        guess = next;
    }
    sum.cost(success_first_round.unwrap_or(0.0))
}

/// A sum over estimates.
struct Sum {
    rounds: f64,
    messages: f64,
    /// The probability of reaching the next estimate.
    weight: f64,
}

impl Sum {
    const START: Self = Self { rounds: 0.0, messages: 0.0, weight: 1.0 };

    /// The next opening repeats after each undershoot.
    fn repeat(&mut self, undershoot: f64) {
        self.weight *= tries(undershoot);
    }

    fn take(&mut self, opening: &Opening, (rounds, messages): (f64, f64)) {
        let whole = opening.whole();
        let after_overshoot = whole.undershoot - opening.first.undershoot;
        self.rounds += self.weight * (whole.rounds + after_overshoot * rounds);
        self.messages += self.weight * (whole.messages + after_overshoot * messages);
        self.weight *= opening.first.undershoot;
    }

    fn cost(&self, success_first_round: f64) -> Cost {
        Cost { rounds: self.rounds, messages: self.messages, success_first_round }
    }
}

/// The cost according to the pseudocode of Fig. 16, which a simulation measures: the centre never
/// learns `n`. It keeps the greater of its estimate and the count of the round in which all drew,
/// and reduces that after an undershoot, also after one that follows an overshoot. (Later counts
/// are smaller, unless replies are lost.) With the [naive](super::Algorithm::Naive) algorithm,
/// whose counts are no usable lower bounds, it takes its best guess after an overshoot: exact up to
/// one in a million, or in ten thousand if `c` is above the first estimate.
///
/// `None` for algorithms in which all reply after an overshoot and an undershoot, whose centre
/// learns `n` as the equations have it; and for the naive one if it takes dozens of rounds.
///
/// # Panics
/// If the election is invalid, or has no estimate.
pub fn by_pseudocode(election: &Election) -> Option<Cost> {
    election.check();
    let estimate = election.estimate();
    match election.recurrence() {
        None => guess::by_guesses(election, estimate),
        Some(_) if election.algorithm.polls() => None,
        Some(mut machine) => Some(spread(&mut *machine, election, estimate)),
    }
}

/// One round with an estimate, and its continuation until the next undershoot.
struct Reach {
    rounds: f64,
    messages: f64,
    /// Estimates after the next undershoot, by their bits, which are in the order of the numbers;
    /// with probabilities.
    next: BTreeMap<u64, f64>,
}

/// Follows the probability of each estimate until all of it has reached councils.
fn spread(machine: &mut dyn Descend, election: &Election, estimate: Estimate) -> Cost {
    let mut reaches: BTreeMap<u64, Reach> = BTreeMap::new();
    let mut waiting = BTreeMap::from([(estimate.first.to_bits(), 1.0)]);
    let (mut rounds, mut messages) = (0.0, 0.0);
    let mut success_first_round = None;
    while waiting.values().sum::<f64>() > NEGLIGIBLE {
        for (bits, weight) in std::mem::take(&mut waiting) {
            let reach = reaches.entry(bits).or_insert_with(|| {
                let chance = (election.c / f64::from_bits(bits)).min(1.0);
                let opening = machine.opening(election.members, chance);
                success_first_round.get_or_insert(opening.elected);
                reach_of(&opening, f64::from_bits(bits), estimate, election.seats)
            });
            rounds += weight * reach.rounds;
            messages += weight * reach.messages;
            for (bits, part) in &reach.next {
                if weight * part > NEGLIGIBLE * 1e-3 {
                    *waiting.entry(*bits).or_default() += weight * part;
                }
            }
        }
    }
    Cost { rounds, messages, success_first_round: success_first_round.unwrap_or(0.0) }
}

fn reach_of(opening: &Opening, guess: f64, estimate: Estimate, seats: Seats) -> Reach {
    let whole = opening.whole();
    let mut next = BTreeMap::new();
    let mut undershoot_at = |known: f64, probability: f64| {
        let bits = estimate.next(known, seats).unwrap_or(0.0).to_bits();
        *next.entry(bits).or_default() += probability;
    };
    undershoot_at(guess, opening.first.undershoot);
    for overshoot in &opening.overshoots {
        let known = guess.max(overshoot.count as f64);
        undershoot_at(known, overshoot.probability * overshoot.after.undershoot);
    }
    // The same estimate again, as often as necessary.
    let again = next.remove(&guess.to_bits()).unwrap_or(0.0);
    let factor = 1.0 / (1.0 - again);
    next.values_mut().for_each(|probability| *probability *= factor);
    Reach { rounds: whole.rounds * factor, messages: whole.messages * factor, next }
}
