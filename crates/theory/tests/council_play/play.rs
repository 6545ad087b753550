//! The algorithms executed among a few hosts, host by host: too simple to share the mistakes of the
//! theory.

use std::collections::BTreeMap;

use hustings_theory::council::{Loss, Seats};

/// The reaction to an undershoot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answer {
    /// All draw, with the known number of hosts.
    Reset,
    /// All reply.
    Poll,
    /// The same hosts draw again.
    Retry,
    /// All draw, with an estimate: half the greater of the last one and the count of the round in
    /// which all drew, or all reply if that is not above `U`.
    Halve,
}

/// The parameters of a game.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Game {
    pub(crate) seats: Seats,
    pub(crate) hosts: u64,
    pub(crate) c: f64,
    pub(crate) loss: Loss,
    pub(crate) answer: Answer,
    /// Two draws, of which the centre takes the better.
    pub(crate) twice: bool,
    /// The centre's first assumption about the number of hosts.
    pub(crate) first: f64,
}

/// The result of a game.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Score {
    pub(crate) rounds: f64,
    pub(crate) messages: f64,
    pub(crate) first_round: f64,
}

/// The state before a round: the number of hosts that draw, their divisor, the greatest number that
/// the centre knows of, and a flag for all hosts. Numbers are stored by their bits, to be keys.
type State = (u64, u64, u64, bool);

/// The hosts' draws: those that stay in the first draw, those heard in it, the same for the second.
type Outcome = (u64, u64, u64, u64);

/// Plays until all but a negligible part of the games has ended.
pub(crate) fn play(game: &Game) -> Score {
    let start = (game.hosts, game.first.to_bits(), game.first.to_bits(), true);
    let mut played = BTreeMap::new();
    let mut states: BTreeMap<State, f64> = BTreeMap::from([(start, 1.0)]);
    let mut score = Score::default();
    for round in 0..20_000 {
        if states.values().sum::<f64>() < 1e-14 {
            return score;
        }
        let mut next = BTreeMap::new();
        for (state, weight) in states {
            let (drawing, divisor, known, all) = state;
            let (draws, sent) = played.entry((drawing, divisor)).or_insert_with(|| {
                let chance = (game.c / f64::from_bits(divisor)).min(1.0);
                let (outcomes, sent) = outcomes(game, drawing, chance);
                let mut taken_draws = BTreeMap::new();
                for (outcome, part) in outcomes {
                    let taken = taken(game.seats, outcome);
                    *taken_draws.entry(taken).or_insert(0.0) += part;
                }
                (taken_draws, sent)
            });
            score.rounds += weight;
            score.messages += weight * *sent;
            for ((active, count), part) in draws.iter() {
                let (active, count) = (*active, *count);
                if game.seats.contain(count) {
                    score.first_round += if round == 0 { weight * part } else { 0.0 };
                    continue;
                }
                let heard = if all { count as f64 } else { 0.0 };
                let known = f64::from_bits(known).max(heard);
                let then = if count > game.seats.most {
                    (active, (count as f64).to_bits(), known.to_bits(), false)
                } else {
                    undershoot(game, state, known)
                };
                *next.entry(then).or_insert(0.0) += weight * part;
            }
        }
        states = next;
    }
    panic!("{game:?} does not end")
}

fn undershoot(game: &Game, before: State, known: f64) -> State {
    let all_draw = |number: f64| (game.hosts, number.to_bits(), number.to_bits(), true);
    match game.answer {
        Answer::Reset => all_draw(game.first),
        Answer::Poll => all_draw(0.0),
        Answer::Retry => before,
        Answer::Halve if known > 2.0 * game.seats.most as f64 => all_draw(known / 2.0),
        Answer::Halve => all_draw(0.0),
    }
}

/// The draw that the centre takes: active hosts, and the count.
fn taken(seats: Seats, (one, heard_one, two, heard_two): Outcome) -> (u64, u64) {
    let draws = [(one, heard_one), (two, heard_two)];
    let council = draws.iter().find(|(_, heard)| seats.contain(*heard));
    let above = draws.iter().filter(|(_, heard)| *heard > seats.most);
    let smallest = above.min_by_key(|(_, heard)| *heard);
    *council.or(smallest).unwrap_or(&draws[0])
}

/// The draws of `drawing` hosts, one after the other, and the mean number of their replies. If
/// hosts draw once, the second draw equals the first. Of two draws above `U` with equal counts, the
/// first is taken: both have as many active hosts on average.
fn outcomes(game: &Game, drawing: u64, chance: f64) -> (BTreeMap<Outcome, f64>, f64) {
    let Loss { reply, multicast } = game.loss;
    let mut each: Vec<((u64, u64, u64, u64), f64)> = vec![((0, 0, 0, 0), multicast)];
    for (one, two) in [(false, false), (false, true), (true, false), (true, true)] {
        if !game.twice && one != two {
            continue;
        }
        let luck = |is_in: bool| if is_in { chance } else { 1.0 - chance };
        let both = if game.twice { luck(one) * luck(two) } else { luck(one) };
        let (one, two) = (u64::from(one), u64::from(two));
        let weight = (1.0 - multicast) * both;
        each.push(((one, one, two, two), weight * (1.0 - reply)));
        each.push(((one, 0, two, 0), weight * reply));
    }
    let replies = each.iter().filter(|((one, _, two, _), _)| one + two > 0);
    let sent: f64 = replies.map(|(_, weight)| weight).sum();
    let mut all: BTreeMap<Outcome, f64> = BTreeMap::from([((0, 0, 0, 0), 1.0)]);
    for _ in 0..drawing {
        let mut more = BTreeMap::new();
        for ((a, b, c, d), weight) in all {
            for ((e, f, g, h), part) in &each {
                *more.entry((a + e, b + f, c + g, d + h)).or_insert(0.0) += weight * part;
            }
        }
        all = more;
    }
    (all, sent * drawing as f64)
}
