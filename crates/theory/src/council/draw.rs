//! One draw, and what the algorithms have in common.

use super::{Election, Loss, Seats, tries};
use crate::binomial::{law, law_in_steps};

/// Less likely numbers of hosts are left out: their part in any sum is lost in rounding.
pub(super) const NEGLIGIBLE: f64 = 1e-18;

/// What every draw goes by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) seats: Seats,
    pub(super) c: f64,
    pub(super) loss: Loss,
}

impl Rules {
    pub(super) fn of(election: &Election) -> Self {
        Self {
            seats: election.seats,
            c: election.c,
            loss: election.loss,
        }
    }

    /// With what probability an active host replies, if it hears that `count` have replied before.
    pub(super) fn chance(&self, count: u64) -> f64 {
        (self.c / count as f64).min(1.0)
    }

    /// How many of `active` hosts stay so where each that hears the centre does with `chance`.
    pub(super) fn staying(&self, active: u64, chance: f64) -> Vec<(u64, f64)> {
        self.likely(active, chance * (1.0 - self.loss.multicast))
    }

    /// How many of `active` hosts, which have all replied, the centre hears.
    pub(super) fn hearing(&self, active: u64) -> Vec<(u64, f64)> {
        self.likely(active, 1.0 - self.loss.reply)
    }

    fn likely(&self, trials: u64, chance: f64) -> Vec<(u64, f64)> {
        let mut law = law_in_steps(trials, chance, self.smooth_beyond());
        law.retain(|(_, weight)| *weight >= NEGLIGIBLE);
        law
    }

    /// How many of `active` hosts the centre hears if each that hears it replies with `chance`.
    pub(super) fn heard_of(&self, active: u64, chance: f64) -> Vec<(u64, f64)> {
        law(active, chance * self.loss.both_ways())
    }

    /// The same, for means of what is smooth where many are heard.
    pub(super) fn heard_in_steps(&self, active: u64, chance: f64) -> Vec<(u64, f64)> {
        self.likely(active, chance * self.loss.both_ways())
    }

    /// How many replies are sent if each of `active` hosts that hears the centre replies with `chance`.
    pub(super) fn replies(&self, active: u64, chance: f64) -> f64 {
        active as f64 * chance * (1.0 - self.loss.multicast)
    }

    /// What the centre makes of a count.
    pub(super) fn verdict(&self, count: u64) -> Verdict {
        if count < self.seats.least {
            Verdict::Undershoot
        } else if count <= self.seats.most {
            Verdict::Council
        } else {
            Verdict::Overshoot
        }
    }

    /// From here on what follows a count is a smooth function of it.
    pub(super) fn smooth_beyond(&self) -> u64 {
        2 * self.seats.most + 100
    }
}

/// What the centre makes of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Undershoot,
    Council,
    Overshoot,
}

/// What is expected from some state on, until there is a council or an undershoot.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Passage {
    pub(super) rounds: f64,
    pub(super) messages: f64,
    /// The probability that it ends with an undershoot.
    pub(super) undershoot: f64,
    /// The replies heard in that last round, if it does: what equation (4) charges in print.
    pub(super) last_replies: f64,
}

impl Passage {
    /// Another passage may follow, with this probability.
    pub(super) fn add(&mut self, weight: f64, other: &Self) {
        self.rounds += weight * other.rounds;
        self.messages += weight * other.messages;
        self.undershoot += weight * other.undershoot;
        self.last_replies += weight * other.last_replies;
    }

    /// An undershoot with `count` replies may follow, with this probability.
    pub(super) fn add_undershoot(&mut self, weight: f64, count: u64) {
        self.undershoot += weight;
        self.last_replies += weight * count as f64;
    }

    /// The same where this comes all over again with the probability `again`.
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
    /// Replies sent.
    pub(super) messages: f64,
    /// The probability of a council.
    pub(super) elected: f64,
    /// The probability of too few.
    pub(super) undershoot: f64,
    /// The replies heard if there were too few, times that probability.
    pub(super) last_replies: f64,
    /// Counts above `U`: with what probability, and what follows.
    pub(super) overshoots: Vec<Overshoot>,
}

/// A count above `U`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overshoot {
    pub(super) count: u64,
    pub(super) probability: f64,
    /// Until there is a council, or an undershoot after which all draw again.
    pub(super) after: Passage,
}

impl Opening {
    /// The round and what follows, up to a council or an undershoot.
    pub(super) fn whole(&self) -> Passage {
        let mut whole = Passage {
            rounds: 1.0,
            messages: self.messages,
            undershoot: self.undershoot,
            last_replies: self.last_replies,
        };
        for overshoot in &self.overshoots {
            whole.add(overshoot.probability, &overshoot.after);
        }
        whole
    }
}

/// An algorithm after which only active hosts go on drawing.
pub(super) trait Descend {
    /// A round in which each of `members` hosts that hears the centre draws with `chance`.
    fn opening(&mut self, members: u64, chance: f64) -> Opening;
}

/// [`Descend::opening`] where hosts draw once: how many are active, how many of them are heard, and what follows is `after`.
pub(super) fn single_opening(
    rules: &Rules,
    members: u64,
    chance: f64,
    mut after: impl FnMut(u64, u64) -> Passage,
) -> Opening {
    let mut opening = Opening {
        messages: rules.replies(members, chance),
        ..Opening::default()
    };
    for (active, weight) in rules.staying(members, chance) {
        for (count, part) in rules.hearing(active) {
            let probability = weight * part;
            match rules.verdict(count) {
                Verdict::Undershoot => {
                    opening.undershoot += probability;
                    opening.last_replies += probability * count as f64;
                }
                Verdict::Council => opening.elected += probability,
                Verdict::Overshoot => opening.overshoots.push(Overshoot {
                    count,
                    probability,
                    after: after(active, count),
                }),
            }
        }
    }
    opening
}
