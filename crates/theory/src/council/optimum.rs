//! The best `c`.
//!
//! Rounds and messages are smooth functions of `c` that fall and then rise. A coarse search finds where, a fine one how far:
//! some thirty elections are computed, each in some dozens of microseconds, or, where replies are lost, in a millisecond and,
//! for dozens of seats, in hundreds.

use super::{Cost, Election, Knowledge, Loss, Seats};

/// How many values the coarse search tries.
const TRIED: usize = 16;
/// How many values the fine search tries at most; it takes about ten.
const MOST_STEPS: usize = 60;
/// How fine it is, in parts of `c`: beyond, rounding hides the difference.
const PRECISION: f64 = 1e-8;
/// How fine it is where the worst of several cases is sought: where one takes the place of another nothing is smooth.
const ROUGH: f64 = 1e-5;

/// What is to be small: a sum of rounds and messages with these weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// The weight of rounds.
    pub rounds: f64,
    /// The weight of messages.
    pub messages: f64,
}

impl Goal {
    /// Few rounds.
    pub const ROUNDS: Self = Self {
        rounds: 1.0,
        messages: 0.0,
    };
    /// Few messages.
    pub const MESSAGES: Self = Self {
        rounds: 0.0,
        messages: 1.0,
    };

    /// How far a cost is from the goal.
    #[must_use]
    pub fn of(self, cost: &Cost) -> f64 {
        let weighted = |weight: f64, value: f64| if weight == 0.0 { 0.0 } else { weight * value };
        weighted(self.rounds, cost.rounds) + weighted(self.messages, cost.messages)
    }
}

/// The best `c` for an election, and its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best {
    /// The best `c`.
    pub c: f64,
    /// What the election costs with it.
    pub cost: Cost,
}

/// The `c` with which an election comes nearest to the goal, whatever its own `c` is; with an [`Estimate`](super::Estimate) too, by
/// equations (19) and (20). A centre that estimates does not know for how many hosts to choose: for it there is [`robust_c`].
///
/// Not below `L/10`: for `L = 1` messages become fewer and fewer as `c` goes to 0, and rounds more and more.
///
/// # Panics
/// If it is no election, see [`Election::cost`].
#[must_use]
pub fn best_c(election: &Election, goal: Goal) -> Best {
    let (from, to) = range(election);
    let c = least(from, to, |c| goal.of(&election.with_c(c).cost()));
    Best {
        c,
        cost: election.with_c(c).cost(),
    }
}

/// The `c` with which the worst of several cases is nearest to what the best `c` for it would do: for hosts whose number is
/// uncertain (a centre that takes it for [`Knowledge::Taken`]), or losses that are.
///
/// What gets lost is taken for a smaller `c`, as by equation (21): exact elections with loss take a thousand times as long
/// where seats are many, and a loss that is uncertain asks for no more.
///
/// # Panics
/// If there is no case, or one is no election.
#[must_use]
pub fn robust_c(cases: &[Election], goal: Goal) -> f64 {
    assert!(!cases.is_empty(), "a choice for no case");
    // Each without loss, the part of `c` that is left, and the best of that.
    let thinned = cases.iter().map(|case| {
        let lossless = Election {
            loss: Loss::NONE,
            ..*case
        };
        (lossless, case.loss.both_ways(), best_c(&lossless, goal))
    });
    let thinned: Vec<(Election, f64, Best)> = thinned.collect();
    let worst = |c: f64| {
        let each = thinned.iter();
        each.map(|(case, left, best)| goal.of(&case.with_c(c * left).cost()) / goal.of(&best.cost))
            .fold(0.0, f64::max)
    };
    // What is below the best of every case is worse for all of them than that of the least, and so with what is above.
    let bests = || thinned.iter().map(|(_, left, best)| best.c / left);
    let from = bests().fold(f64::INFINITY, f64::min);
    let to = bests().fold(0.0, f64::max);
    let limit = cases.iter().map(|case| range(case).1).fold(to, f64::min);
    brent(from, limit, ROUGH, worst)
}

/// The cases of a centre that is sure of nothing, for [`robust_c`]: nothing is lost, or as much as in `election` (a tenth of all
/// messages if nothing is there); and there are half as many hosts as it takes for granted, or twice as many. As many as it
/// takes for granted are never the worst.
#[must_use]
pub fn uncertain(election: &Election) -> [Election; 4] {
    let lost = match election.loss == Loss::NONE {
        true => Loss {
            reply: 0.1,
            multicast: 0.1,
        },
        false => election.loss,
    };
    let members = election.members;
    let case = |there: u64, loss: Loss| Election {
        members: there.max(election.seats.most + 1),
        knowledge: Knowledge::Taken(members as f64),
        loss,
        ..*election
    };
    let (few, many) = (members / 2, members * 2);
    [
        case(few, Loss::NONE),
        case(few, lost),
        case(many, Loss::NONE),
        case(many, lost),
    ]
}

/// Where the best `c` lies.
fn range(election: &Election) -> (f64, f64) {
    // Where L is great, a draw that is to leave six standard deviations less than L never leaves so many.
    let least = election.seats.least as f64;
    let from = (least / 10.0).max(least - 6.0 * least.sqrt());
    // Beyond, most draws overshoot, whatever follows.
    let to = (election.seats.most + 1) as f64 / election.loss.both_ways() * (1.0 - 1e-9);
    (from, to)
}

/// Where `value` is least.
fn least(from: f64, to: f64, value: impl Fn(f64) -> f64) -> f64 {
    // What never comes about is infinite, or an infinity times nothing: no number.
    let value = |c: f64| {
        Some(value(c))
            .filter(|it| !it.is_nan())
            .unwrap_or(f64::INFINITY)
    };
    let step = (to - from) / TRIED as f64;
    let at = |index: usize| from + step * index as f64;
    let lowest = (0..=TRIED)
        .map(|index| (index, value(at(index))))
        .min_by(|(_, one), (_, other)| one.total_cmp(other))
        .map_or(0, |(index, _)| index);
    let (before, after) = (lowest.saturating_sub(1), (lowest + 1).min(TRIED));
    let found = brent(at(before), at(after), PRECISION, value);
    // The least may lie at an end of the whole range.
    if value(at(lowest)) < value(found) {
        at(lowest)
    } else {
        found
    }
}

/// Where `value`, which falls and then rises, is least: by Brent's method, through the vertex of a parabola where that
/// is good, by the golden section where it is not.
fn brent(mut from: f64, mut to: f64, precision: f64, value: impl Fn(f64) -> f64) -> f64 {
    let golden = (3.0 - 5.0_f64.sqrt()) / 2.0;
    let start = from + golden * (to - from);
    // The best so far, the next best, and the one before that.
    let mut points = [(start, value(start)); 3];
    let (mut step, mut step_before) = (0.0_f64, 0.0_f64);
    for _ in 0..MOST_STEPS {
        let (best, at_best) = points[0];
        let middle = f64::midpoint(from, to);
        let tolerance = precision * best.abs();
        if (best - middle).abs() <= 2.0 * tolerance - (to - from) / 2.0 {
            break;
        }
        let vertex = vertex_of(points).filter(|vertex| {
            (vertex - best).abs() < step_before.abs() / 2.0 && *vertex > from && *vertex < to
        });
        step_before = step;
        step = match vertex {
            Some(vertex) => vertex - best,
            None => {
                step_before = if best < middle {
                    to - best
                } else {
                    from - best
                };
                golden * step_before
            }
        };
        let next = best + step.abs().max(tolerance).copysign(step);
        let at_next = value(next);
        if at_next <= at_best {
            *(if next >= best { &mut from } else { &mut to }) = best;
            points = [(next, at_next), points[0], points[1]];
        } else {
            *(if next < best { &mut from } else { &mut to }) = next;
            if at_next <= points[1].1 || points[1].0 == best {
                points = [points[0], (next, at_next), points[1]];
            } else if at_next <= points[2].1 || points[2].0 == best || points[2].0 == points[1].0 {
                points[2] = (next, at_next);
            }
        }
    }
    points[0].0
}

/// The vertex of the parabola through three points, if they have one.
fn vertex_of([(a, at_a), (b, at_b), (c, at_c)]: [(f64, f64); 3]) -> Option<f64> {
    let (left, right) = ((a - b) * (at_a - at_c), (a - c) * (at_a - at_b));
    let shift = ((a - b) * left - (a - c) * right) / (2.0 * (left - right));
    shift.is_finite().then_some(a - shift)
}

/// Claim C7: the paper's rule of thumb for few rounds with the basic algorithm, `L + 2(U - L)/3`.
#[must_use]
pub fn rule_of_thumb_for_rounds(seats: Seats) -> f64 {
    seats.least as f64 + 2.0 * (seats.most - seats.least) as f64 / 3.0
}

/// Claim C7: the paper's rule of thumb for few messages with the basic algorithm,
/// `U - (U - L)(U + 1)/(L + U + n + 1)`. For many hosts it is `U`, where too many draws overshoot.
#[must_use]
pub fn rule_of_thumb_for_messages(seats: Seats, members: u64) -> f64 {
    let (least, most) = (seats.least as f64, seats.most as f64);
    most - (most - least) * (most + 1.0) / (least + most + members as f64 + 1.0)
}
