//! The best `c`, and filling the empty seats of a council.
//!
//! Rounds and messages are smooth functions of `c` that fall and then rise. A coarse search finds
//! the region, a fine one the minimum. Some thirty elections are computed, each in some dozens of
//! microseconds. With lost replies each takes a millisecond, and for dozens of seats hundreds.

use super::{Cost, Election, Knowledge, Loss, Seats};

/// The number of values in the coarse search.
const TRIED: usize = 16;
/// The maximum number of values in the fine search; it takes about ten.
const MOST_STEPS: usize = 60;
/// The relative precision of `c`: beyond, rounding hides the difference.
const PRECISION: f64 = 1e-8;
/// The relative precision for the worst of several cases, which is not smooth where one case
/// replaces another.
const ROUGH: f64 = 1e-5;

/// The quantity to minimise: a sum of rounds and messages with these weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// The weight of rounds.
    pub rounds: f64,
    /// The weight of messages.
    pub messages: f64,
}

impl Goal {
    /// Fewest rounds.
    pub const ROUNDS: Self = Self { rounds: 1.0, messages: 0.0 };
    /// Fewest messages.
    pub const MESSAGES: Self = Self { rounds: 0.0, messages: 1.0 };

    /// The weighted sum of a cost.
    pub fn of(self, cost: &Cost) -> f64 {
        let weighted = |weight: f64, value: f64| if weight == 0.0 { 0.0 } else { weight * value };
        weighted(self.rounds, cost.rounds) + weighted(self.messages, cost.messages)
    }
}

/// The best `c` for an election, and its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Optimum {
    /// The best `c`.
    pub c: f64,
    /// The cost of the election with it.
    pub cost: Cost,
}

/// The `c` that minimises the goal for an election, regardless of its own `c`; with an
/// [`Estimate`](super::Estimate) too, by equations (19) and (20). A centre that estimates does not
/// know the number of hosts for which to choose: for it there is [`robust_c`].
///
/// Not below `L/10`: for `L = 1`, as `c` goes to 0, messages fall and rounds rise without limit.
///
/// # Panics
/// If the election is invalid, see [`Election::cost`].
pub fn best_c(election: &Election, goal: Goal) -> Optimum {
    let (from, to) = range(election);
    let c = least(from, to, |c| goal.of(&election.with_c(c).cost()));
    Optimum { c, cost: election.with_c(c).cost() }
}

/// The `c` with which the worst of several cases is nearest to its optimum. For an uncertain number
/// of hosts (a centre that uses [`Knowledge::Taken`]), or uncertain losses.
///
/// Loss is treated as a smaller `c`, as by equation (21). Exact elections with loss take a thousand
/// times as long if there are many seats, and an uncertain loss does not need that precision.
///
/// # Panics
/// If there is no case, or one is invalid.
pub fn robust_c(cases: &[Election], goal: Goal) -> f64 {
    assert!(!cases.is_empty(), "a choice for no case");
    // Each case without loss, the remaining part of `c`, and its optimum.
    let thinned = cases.iter().map(|case| {
        let lossless = Election { loss: Loss::NONE, ..*case };
        (lossless, case.loss.both_ways(), best_c(&lossless, goal))
    });
    let thinned: Vec<(Election, f64, Optimum)> = thinned.collect();
    let worst = |c: f64| {
        let each = thinned.iter();
        each.map(|(case, left, best)| goal.of(&case.with_c(c * left).cost()) / goal.of(&best.cost))
            .fold(0.0, f64::max)
    };
    // Below the least optimum every case is worse than there, and above the greatest optimum
    // likewise.
    let bests = || thinned.iter().map(|(_, left, best)| best.c / left);
    let from = bests().fold(f64::INFINITY, f64::min);
    let to = bests().fold(0.0, f64::max);
    let limit = cases.iter().map(|case| range(case).1).fold(to, f64::min);
    brent(from, limit, ROUGH, worst)
}

/// The cases of an uncertain centre, for [`robust_c`]: no loss, or the loss of `election` (a tenth
/// of all messages if it has none); and half or twice the assumed number of hosts. The assumed
/// number itself is never the worst case.
pub fn uncertain(election: &Election) -> [Election; 4] {
    let lost = if election.loss == Loss::NONE {
        Loss { reply: 0.1, multicast: 0.1 }
    } else {
        election.loss
    };
    let members = election.members;
    let case = |there: u64, loss: Loss| Election {
        members: there.max(election.seats.most + 1),
        knowledge: Knowledge::Taken(members as f64),
        loss,
        ..*election
    };
    let (few, many) = (members / 2, members * 2);
    [case(few, Loss::NONE), case(few, lost), case(many, Loss::NONE), case(many, lost)]
}

/// The range of the best `c`.
fn range(election: &Election) -> (f64, f64) {
    // For a great L, a draw with a mean of six standard deviations below L never leaves enough
    // hosts.
    let least = election.seats.least as f64;
    let from = (least / 10.0).max(least - 6.0 * least.sqrt());
    // Beyond, most draws overshoot.
    let to = (election.seats.most + 1) as f64 / election.loss.both_ways() * (1.0 - 1e-9);
    (from, to)
}

/// The position of the minimum of `value`.
fn least(from: f64, to: f64, value: impl Fn(f64) -> f64) -> f64 {
    // The cost of an impossible election is infinite, or infinity times zero, which is not a
    // number.
    let value = |c: f64| Some(value(c)).filter(|it| !it.is_nan()).unwrap_or(f64::INFINITY);
    let step = (to - from) / TRIED as f64;
    let at = |index: usize| from + step * index as f64;
    let lowest = (0..=TRIED)
        .map(|index| (index, value(at(index))))
        .min_by(|(_, one), (_, other)| one.total_cmp(other))
        .map_or(0, |(index, _)| index);
    let (before, after) = (lowest.saturating_sub(1), (lowest + 1).min(TRIED));
    let found = brent(at(before), at(after), PRECISION, value);
    // The minimum may lie at an end of the whole range.
    if value(at(lowest)) < value(found) { at(lowest) } else { found }
}

/// The position of the minimum of `value`, which falls and then rises. Uses Brent's method: the
/// vertex of a parabola if that is good, else the golden section.
fn brent(mut from: f64, mut to: f64, precision: f64, value: impl Fn(f64) -> f64) -> f64 {
    let golden = (3.0 - 5.0_f64.sqrt()) / 2.0;
    let start = from + golden * (to - from);
    // The best point, the next best, and the one before that.
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
                step_before = if best < middle { to - best } else { from - best };
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
pub fn rule_of_thumb_for_rounds(seats: Seats) -> f64 {
    seats.least as f64 + 2.0 * (seats.most - seats.least) as f64 / 3.0
}

/// Claim C7: the paper's rule of thumb for few messages with the basic algorithm,
/// `U - (U - L)(U + 1)/(L + U + n + 1)`. For many hosts it is `U`, where too many draws overshoot.
pub fn rule_of_thumb_for_messages(seats: Seats, members: u64) -> f64 {
    let (least, most) = (seats.least as f64, seats.most as f64);
    most - (most - least) * (most + 1.0) / (least + most + members as f64 + 1.0)
}

/// The cost of having a council again, after representatives have left and fewer than `L` remain:
/// claim C13.
///
/// The paper starts over, and leaves open how to do better. Here the `s` seated ones stay, and the
/// centre holds a separate election for `[L - s .. U - s]` among the `n - s` other hosts, with the
/// best `c` for that. No new equations are needed. The room `U - s` is wider in proportion to the
/// need `L - s` than `U` is to `L`, so a draw succeeds more often, with fewer replies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recovery {
    /// The seats to be filled.
    pub missing: Seats,
    /// Filling them.
    pub top_up: Optimum,
    /// Electing a new council.
    pub restart: Optimum,
}

/// Compares filling seats with starting over, each with the best `c`. `wanted` is `L`, or more if
/// the centre fills seats before it must.
///
/// # Panics
/// If the election is invalid, no seat is missing, or `wanted` is not from `L` to `U`.
pub fn recover(election: &Election, seated: u64, wanted: u64, goal: Goal) -> Recovery {
    assert!(
        election.seats.contain(wanted),
        "{wanted} seats wanted: need from {} to {}",
        election.seats.least,
        election.seats.most
    );
    assert!(seated < wanted, "{seated} seated, and {wanted} wanted");
    let missing = Seats { least: wanted - seated, most: election.seats.most - seated };
    let others = Election { seats: missing, members: election.members - seated, ..*election };
    let anew = Election { seats: Seats { least: wanted, most: election.seats.most }, ..*election };
    Recovery { missing, top_up: best_c(&others, goal), restart: best_c(&anew, goal) }
}
