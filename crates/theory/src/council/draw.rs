//! One draw, and the common parts of the algorithms.

use super::{Election, Loss, Seats, tries};
use crate::binomial::{law, law_in_steps};

/// Less likely numbers of hosts are left out: their part in any sum is lost in rounding.
pub(super) const NEGLIGIBLE: f64 = 1e-18;

/// The parameters of every draw.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) seats: Seats,
    pub(super) c: f64,
    pub(super) loss: Loss,
}

impl Rules {
    pub(super) fn of(election: &Election) -> Self {
        Self { seats: election.seats, c: election.c, loss: election.loss }
    }

    /// The probability that an active host replies, if it hears that `count` have replied before.
    pub(super) fn chance(&self, count: u64) -> f64 {
        (self.c / count as f64).min(1.0)
    }

    /// The distribution of the number of `active` hosts that stay active, if each that hears the
    /// centre does with `chance`.
    pub(super) fn staying(&self, active: u64, chance: f64) -> Vec<(u64, f64)> {
        self.likely(active, chance * (1.0 - self.loss.multicast))
    }

    /// The distribution of the number of `active` hosts, which have all replied, that the centre
    /// hears.
    pub(super) fn hearing(&self, active: u64) -> Vec<(u64, f64)> {
        self.likely(active, 1.0 - self.loss.reply)
    }

    fn likely(&self, trials: u64, chance: f64) -> Vec<(u64, f64)> {
        let mut law = law_in_steps(trials, chance, self.smooth_beyond());
        law.retain(|(_, weight)| *weight >= NEGLIGIBLE);
        law
    }

    /// The distribution of the number of `active` hosts that the centre hears if each that hears it
    /// replies with `chance`.
    pub(super) fn heard_of(&self, active: u64, chance: f64) -> Vec<(u64, f64)> {
        law(active, chance * self.loss.both_ways())
    }

    /// As `heard_of`, thinned, for means of functions that are smooth for large numbers.
    pub(super) fn heard_in_steps(&self, active: u64, chance: f64) -> Vec<(u64, f64)> {
        self.likely(active, chance * self.loss.both_ways())
    }

    /// The mean number of replies if each of `active` hosts that hears the centre replies with
    /// `chance`.
    pub(super) fn replies(&self, active: u64, chance: f64) -> f64 {
        active as f64 * chance * (1.0 - self.loss.multicast)
    }

    /// The verdict of the centre on a count.
    pub(super) fn verdict(&self, count: u64) -> Verdict {
        if count < self.seats.least {
            Verdict::Undershoot
        } else if count <= self.seats.most {
            Verdict::Council
        } else {
            Verdict::Overshoot
        }
    }

    /// Beyond this count the continuation is a smooth function of it.
    pub(super) fn smooth_beyond(&self) -> u64 {
        2 * self.seats.most + 100
    }
}

/// The verdict of the centre on a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Undershoot,
    Council,
    Overshoot,
}

/// The expected course from some state on, until there is a council or an undershoot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Passage {
    pub(super) rounds: f64,
    pub(super) messages: f64,
    /// The probability that it ends with an undershoot.
    pub(super) undershoot: f64,
    /// The replies heard in that last round, if it does: the charge of equation (4) in print.
    pub(super) last_replies: f64,
}

impl Passage {
    /// One round with this number of replies.
    pub(super) fn round(messages: f64) -> Self {
        Self { rounds: 1.0, messages, ..Self::default() }
    }

    /// Adds another passage that follows with this probability.
    pub(super) fn add(&mut self, weight: f64, other: &Self) {
        self.rounds += weight * other.rounds;
        self.messages += weight * other.messages;
        self.undershoot += weight * other.undershoot;
        self.last_replies += weight * other.last_replies;
    }

    /// Adds an undershoot with `count` replies that follows with this probability.
    pub(super) fn add_undershoot(&mut self, weight: f64, count: u64) {
        self.undershoot += weight;
        self.last_replies += weight * count as f64;
    }

    /// The passage if it repeats with the probability `again`.
    pub(super) fn repeated(self, again: f64) -> Self {
        let factor = tries(again);
        Self {
            rounds: self.rounds * factor,
            messages: self.messages * factor,
            undershoot: self.undershoot * factor,
            last_replies: self.last_replies * factor,
        }
    }
}

/// A round in which all hosts draw.
#[derive(Clone, Debug, Default)]
pub(super) struct Opening {
    /// The round itself, up to an undershoot in it.
    pub(super) first: Passage,
    /// The probability of a council.
    pub(super) elected: f64,
    /// Counts above `U`, with their probabilities and continuations.
    pub(super) overshoots: Vec<Overshoot>,
}

/// A count above `U`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overshoot {
    pub(super) count: u64,
    pub(super) probability: f64,
    /// The course until there is a council, or an undershoot after which all draw again.
    pub(super) after: Passage,
}

impl Opening {
    /// The round and what follows, up to a council or an undershoot.
    pub(super) fn whole(&self) -> Passage {
        let mut whole = self.first;
        for overshoot in &self.overshoots {
            whole.add(overshoot.probability, &overshoot.after);
        }
        whole
    }
}

/// An algorithm in which only active hosts continue to draw.
pub(super) trait Descend {
    /// A round in which each of `members` hosts that hears the centre draws with `chance`.
    fn opening(&mut self, members: u64, chance: f64) -> Opening;
}

/// [`Descend::opening`] for hosts that draw once. `after` gives the continuation, by the numbers of
/// active and of heard hosts.
pub(super) fn single_opening(
    rules: &Rules,
    members: u64,
    chance: f64,
    mut after: impl FnMut(u64, u64) -> Passage,
) -> Opening {
    let first = Passage::round(rules.replies(members, chance));
    let mut opening = Opening { first, ..Opening::default() };
    for (active, weight) in rules.staying(members, chance) {
        for (count, part) in rules.hearing(active) {
            let probability = weight * part;
            match rules.verdict(count) {
                Verdict::Undershoot => opening.first.add_undershoot(probability, count),
                Verdict::Council => opening.elected += probability,
                Verdict::Overshoot => {
                    let after = after(active, count);
                    opening.overshoots.push(Overshoot { count, probability, after });
                }
            }
        }
    }
    opening
}
