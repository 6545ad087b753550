//! The naive algorithm with an unknown number of hosts, as the centre executes it: after too many
//! replies it takes its best guess, where equations (19) and (20) let it know `n`.
//!
//! All draw in every round, by a number `N`. Fewer than `L` replies: the estimate's next. `k > U`:
//! `N k/c`, or `k` itself if all have replied. So nearly any number can come up, and after a few
//! rounds there are millions. Likely numbers are followed exactly. The others are moved to a grid,
//! each to the two numbers beside it, such that the mean of the logarithm stays. The continuation
//! is a smooth function of it, except at the number below which one step down leads to a poll of
//! all; nothing is moved across that.

use std::collections::BTreeMap;

use super::draw::{Rules, Verdict};
use super::estimate::Estimate;
use super::{Cost, Election};

/// Numbers at least as likely as this are followed exactly.
const LIKELY: f64 = 1e-5;
/// Grid points per factor of `e`.
const GRID: f64 = 256.0;
/// The election counts as over when at most this probability is left.
const RARE: f64 = 1e-8;
/// Branches below this probability are dropped: together they are less likely than [`RARE`].
const NEGLIGIBLE: f64 = 1e-14;
/// This number of draws, each by one number, is computed within seconds.
const MOST_DRAWS: usize = 250_000;

/// Exact up to one in a million; one in ten thousand if `c` is above the first estimate. `None` if
/// councils are so rare that the computation would take long.
pub(super) fn by_guesses(election: &Election, estimate: Estimate) -> Option<Cost> {
    let mut draws: BTreeMap<u64, DrawByNumber> = BTreeMap::new();
    let mut waiting = Waiting::new(election, estimate);
    waiting.add(estimate.first, 1.0);
    let (mut rounds, mut messages) = (0.0, 0.0);
    let mut computed = 0;
    while computed < MOST_DRAWS {
        let now = waiting.take();
        computed += now.len();
        for (bits, weight) in now {
            let number = f64::from_bits(bits);
            let draw =
                draws.entry(bits).or_insert_with(|| DrawByNumber::by(number, election, estimate));
            rounds += weight;
            messages += weight * draw.messages;
            for (next, part) in &draw.next {
                waiting.add(*next, weight * part);
            }
        }
        if waiting.total() < RARE {
            let first = draws.get(&estimate.first.to_bits());
            return Some(Cost {
                rounds,
                messages,
                success_first_round: first.map_or(0.0, |it| it.elected),
            });
        }
    }
    None
}

/// A round in which all draw by one number.
struct DrawByNumber {
    messages: f64,
    elected: f64,
    /// The numbers by which they draw next, with probabilities.
    next: Vec<(f64, f64)>,
}

impl DrawByNumber {
    fn by(number: f64, election: &Election, estimate: Estimate) -> Self {
        let rules = Rules::of(election);
        let chance = (election.c / number).min(1.0);
        let (mut elected, mut low) = (0.0, 0.0);
        let mut next = Vec::new();
        for (count, weight) in rules.heard_in_steps(election.members, chance) {
            match rules.verdict(count) {
                Verdict::Undershoot => low += weight,
                Verdict::Council => elected += weight,
                Verdict::Overshoot => {
                    let count = count as f64;
                    next.push(((number * count / election.c).max(count), weight));
                }
            }
        }
        if low > 0.0 {
            let lower = estimate.next(number, election.seats);
            next.push((lower.unwrap_or(0.0), low));
        }
        Self { messages: rules.replies(election.members, chance), elected, next }
    }
}

/// Numbers by which all draw next, by their bits, which are in the order of the numbers; with
/// probabilities.
struct Waiting {
    numbers: BTreeMap<u64, f64>,
    /// After an undershoot with this number, or less, all reply.
    last: f64,
}

impl Waiting {
    fn new(election: &Election, estimate: Estimate) -> Self {
        Self { numbers: BTreeMap::new(), last: estimate.last(election.seats) }
    }

    fn take(&mut self) -> BTreeMap<u64, f64> {
        std::mem::take(&mut self.numbers)
    }

    fn total(&self) -> f64 {
        self.numbers.values().sum()
    }

    fn add(&mut self, number: f64, weight: f64) {
        if weight < NEGLIGIBLE {
            return;
        }
        if weight >= LIKELY || number == 0.0 {
            return self.put(number, weight);
        }
        let place = number.ln() * GRID;
        let [lower, upper] = [place.floor(), place.floor() + 1.0].map(|it| (it / GRID).exp());
        let part = match (lower > self.last, number > self.last, upper > self.last) {
            (false, true, _) => 1.0,
            (_, false, true) => 0.0,
            (true, _, _) | (_, _, false) => place - place.floor(),
        };
        self.put(lower, weight * (1.0 - part));
        self.put(upper, weight * part);
    }

    fn put(&mut self, number: f64, weight: f64) {
        if weight > 0.0 {
            *self.numbers.entry(number.to_bits()).or_default() += weight;
        }
    }
}
