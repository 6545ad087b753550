//! The council election: a centre that multicasts ends with `L` to `U` representatives out of any
//! number of hosts.
//!
//! Source    Raz, Shavitt and Zhang, "Distributed Council Election" (seed 003); claims C1 to C13
//! Assumes   rounds in step: the centre multicasts a feedback message, each host that hears it may
//!           answer by unicast; a reply is lost with one probability, a feedback by each host with
//!           another, all independently; a host that missed a feedback takes no part until the next
//!           reset ([`Loss`])
//! Counts    rounds after the first poll, in which the centre counts the hosts; with the naive
//!           algorithm, and with an estimated number, all rounds. Messages are the replies sent in
//!           them, lost ones included
//!
//! | Module | Equations | Content |
//! |---|---|---|
//! | [`Election::cost`] | (1) to (11) | expected rounds and messages, success of the first round |
//! | [`estimate`] | (17) to (20) | the same if the number of hosts is unknown |
//! | [`by_evidence`] | | the same with the search of the field (ours) |
//! | [`optimum`] | | the best `c`, for rounds, messages or a sum of both; for several cases |
//! | [`rules`] | | the rules of an election with the best `c` |
//! | [`limit`] | | elections among very many hosts |
//! | [`misprints`] | (4), (12) to (16), (21), Fig. 13 | the wrong equations, and the bounds |
//!
//! **Solution.** Equations (4) to (9) are linear systems of `n` unknowns. But the course of an
//! election after an overshoot depends on the number of active hosts alone, not on the initial
//! number. The number of rounds until it ends or undershoots, and the probability of an undershoot,
//! follow from those of smaller numbers. An undershoot leads back to the beginning, so with `t`
//! rounds and a probability `u` of an undershoot `T = t / (1 - u)`. After any round there are about
//! `c` active hosts, so only some dozens of numbers matter, and a billion hosts take as long as a
//! hundred.
//!
//! **Loss, exactly.** Equation (21) replaces `c` by `c (1 - q)`. This is right for the first draw.
//! But a host whose reply was lost is active without the centre's knowledge: of `a` active hosts
//! the centre has heard `k`, and draws with `c/k`. So the state is `a`, and `k` is binomial of `a`.

mod choice;
mod draw;
pub mod estimate;
mod evidence;
mod guess;
mod history;
pub mod limit;
pub mod misprints;
pub mod optimum;
mod plain;
pub mod rules;

use draw::{Descend, Rules};
pub use estimate::Estimate;
pub use evidence::by_evidence;
pub use hustings_protocol::council::{Pick, Reset};

/// `[L..U]`: the permitted numbers of representatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seats {
    /// `L`: the minimum. One or more.
    pub least: u64,
    /// `U`: the maximum.
    pub most: u64,
}

impl Seats {
    /// True if `number` representatives are a council.
    pub fn contain(self, number: u64) -> bool {
        (self.least..=self.most).contains(&number)
    }
}

/// The loss of messages.
///
/// Feedback messages are numbered, so a host knows when it has missed one. It then abstains: it
/// does not reply before the next reset. If it stayed active instead, as in the figures of the
/// paper, a host that missed the first draw, with `c/n`, would draw in the next, with `c/k`. Then
/// the share of the `n` hosts that missed one feedback would answer at once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Loss {
    /// `q`: the probability that a reply is lost.
    pub reply: f64,
    /// The probability that a given host misses a feedback message.
    pub multicast: f64,
}

impl Loss {
    /// No loss.
    pub const NONE: Self = Self { reply: 0.0, multicast: 0.0 };

    /// The probability that a host hears the centre and the centre hears its reply.
    pub fn both_ways(self) -> f64 {
        (1.0 - self.multicast) * (1.0 - self.reply)
    }
}

/// The algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Every host draws anew in each round (section IV).
    Naive,
    /// A host that drew out stays out; after an undershoot all reply, to be counted (section V).
    Basic,
    /// As basic, but after an undershoot the centre sends the number that it knows (section V-A).
    SkipReset,
    /// Every host draws twice, and the centre takes the better draw (section V-B).
    Choice(Pick, Reset),
    /// After an undershoot those hosts draw again that were active before it (section VI).
    ///
    /// One round of history is enough: the hosts that are active again are those of the last count
    /// above `U`, which is the smallest, and they stay in memory until a smaller such count comes.
    /// A host that remembers more rounds never needs them as long as hosts neither come nor go.
    History,
}

impl Algorithm {
    /// [`Algorithm::Choice`] as in the paper's Fig. 11.
    pub const CHOICE: Self = Self::Choice(Pick::SmallestOvershoot, Reset::Skipped);

    /// True if all hosts reply after an undershoot, to be counted.
    fn polls(self) -> bool {
        matches!(self, Self::Basic | Self::Choice(_, Reset::Polled))
    }
}

/// The centre's knowledge of the number of hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Knowledge {
    /// The actual number.
    Known,
    /// Always this number (Fig. 15).
    Taken(f64),
    /// A high number at first, and less after each undershoot (section VII-A).
    Estimated(Estimate),
}

/// A council election.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Election {
    /// `[L..U]`.
    pub seats: Seats,
    /// `n`: all hosts.
    pub members: u64,
    /// The algorithm.
    pub algorithm: Algorithm,
    /// The number of hosts that a draw is to leave, on average.
    pub c: f64,
    /// The loss of messages.
    pub loss: Loss,
    /// The centre's knowledge of `n`.
    pub knowledge: Knowledge,
}

/// The cost of an election.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// `T`: expected rounds.
    pub rounds: f64,
    /// `N`: expected replies.
    pub messages: f64,
    /// The probability that the first round gives a council.
    pub success_first_round: f64,
}

impl Election {
    /// An election without loss, in which the centre knows the number of hosts.
    pub fn new(seats: Seats, members: u64, algorithm: Algorithm, c: f64) -> Self {
        Self { seats, members, algorithm, c, loss: Loss::NONE, knowledge: Knowledge::Known }
    }

    /// The same election with another `c`.
    pub fn with_c(self, c: f64) -> Self {
        Self { c, ..self }
    }

    /// The upper limit of `c`: at or above it a draw among `U + 1` hosts leaves all of them, for
    /// ever. If messages are lost on both ways with `p`, it is `(U + 1)/(1 - p)`. The naive
    /// algorithm, in which all draw in every round, ends with any `c`.
    pub fn limit_of_c(&self) -> f64 {
        if self.algorithm == Algorithm::Naive {
            return f64::INFINITY;
        }
        (self.seats.most + 1) as f64 / self.loss.both_ways()
    }

    /// `T`, `N`, and the probability that the first round is enough: equations (2), (4) to (11),
    /// and with an estimate (19) and (20). Infinite if there is never a council.
    ///
    /// # Panics
    /// If the election is invalid: no seats, fewer hosts than `L`, `c` not above 0 and below
    /// [`limit_of_c`](Self::limit_of_c), losses that are not probabilities, an invalid
    /// [`Estimate`].
    pub fn cost(&self) -> Cost {
        self.check();
        match self.knowledge {
            Knowledge::Estimated(estimate) => estimate::by_equations(self, estimate),
            Knowledge::Known | Knowledge::Taken(_) => self.without_estimate(),
        }
    }

    /// The number over which the centre draws with `c`.
    fn taken_for(&self) -> f64 {
        match self.knowledge {
            Knowledge::Known | Knowledge::Estimated(_) => self.members as f64,
            Knowledge::Taken(members) => members,
        }
    }

    /// True if the first poll, which is not counted, gives a council of all hosts.
    pub fn is_decided_by_the_poll(&self) -> bool {
        let is_polled = self.knowledge == Knowledge::Known && self.algorithm != Algorithm::Naive;
        is_polled && self.members <= self.seats.most && self.loss == Loss::NONE
    }

    fn without_estimate(&self) -> Cost {
        if self.is_decided_by_the_poll() {
            return Cost { rounds: 0.0, messages: 0.0, success_first_round: 1.0 };
        }
        let chance = (self.c / self.taken_for()).min(1.0);
        match self.recurrence() {
            None => naive(&Rules::of(self), self.members, chance),
            Some(mut machine) if self.algorithm.polls() => {
                polled(&mut *machine, self.members, chance)
            }
            Some(mut machine) => skipped(&mut *machine, self.members, chance),
        }
    }

    /// The recurrence over the numbers of active hosts. `None` for the naive algorithm, in which
    /// all hosts draw in every round.
    fn recurrence(&self) -> Option<Box<dyn Descend>> {
        let rules = Rules::of(self);
        Some(match self.algorithm {
            Algorithm::Naive => return None,
            Algorithm::Basic | Algorithm::SkipReset => Box::new(plain::Plain::new(rules)),
            Algorithm::Choice(pick, _) => Box::new(choice::ChoiceTable::new(rules, pick)),
            Algorithm::History => Box::new(history::History::new(rules)),
        })
    }

    /// The estimate of the centre.
    ///
    /// # Panics
    /// If there is none.
    fn estimate(&self) -> Estimate {
        match self.knowledge {
            Knowledge::Estimated(estimate) => estimate,
            Knowledge::Known | Knowledge::Taken(_) => panic!("{:?} is no estimate", self.knowledge),
        }
    }

    /// The same election if the centre knows the number of hosts.
    fn if_known(&self) -> Self {
        Self { knowledge: Knowledge::Known, ..*self }
    }

    fn check(&self) {
        let Seats { least, most } = self.seats;
        assert!(
            1 <= least && least <= most,
            "seats {least}..{most}: need one or more, the first not above the second"
        );
        assert!(least <= self.members, "{least} seats at least, and {} hosts", self.members);
        for loss in [self.loss.reply, self.loss.multicast] {
            assert!((0.0..=1.0).contains(&loss), "loss {loss}: need from 0 to 1");
        }
        let limit = self.limit_of_c();
        assert!(self.c > 0.0 && self.c < limit, "c {}: need above 0, below {limit}", self.c);
        match self.knowledge {
            Knowledge::Known => {}
            Knowledge::Taken(members) => {
                assert!(members > 0.0, "{members} hosts taken for granted");
            }
            Knowledge::Estimated(estimate) => estimate.check(self.seats),
        }
    }
}

/// Equation (2), and `T = 1/p`.
fn naive(rules: &Rules, members: u64, chance: f64) -> Cost {
    let heard = rules.heard_of(members, chance);
    let councils = heard.iter().filter(|(number, _)| rules.seats.contain(*number));
    // `sum` of nothing is -0.
    let elected = councils.fold(0.0, |sum, (_, weight)| sum + weight);
    Cost {
        rounds: 1.0 / elected,
        messages: rules.replies(members, chance) / elected,
        success_first_round: elected,
    }
}

/// Equations (6) to (9): an undershoot leads back to the state before the first round.
fn skipped(machine: &mut dyn Descend, members: u64, chance: f64) -> Cost {
    let opening = machine.opening(members, chance);
    let whole = opening.whole();
    let tries = tries(whole.undershoot);
    Cost {
        rounds: whole.rounds * tries,
        messages: whole.messages * tries,
        success_first_round: opening.elected,
    }
}

/// Equations (4) and (5), the first corrected: after an undershoot all reply, which costs a round
/// and `n` messages. The next draw uses the number of hosts that were heard.
fn polled(machine: &mut dyn Descend, members: u64, chance: f64) -> Cost {
    let opening = machine.opening(members, chance);
    let (whole, poll) = (opening.whole(), machine.opening(members, 1.0).whole());
    let again = whole.undershoot * tries(poll.undershoot);
    Cost {
        rounds: whole.rounds + again * poll.rounds,
        messages: whole.messages + again * poll.messages,
        success_first_round: opening.elected,
    }
}

/// The expected number of tries if each fails with `undershoot`. A success that is rarer than
/// rounding errors counts as never.
fn tries(undershoot: f64) -> f64 {
    const ROUNDING: f64 = 1e-13;
    let success = 1.0 - undershoot;
    if success > ROUNDING { 1.0 / success } else { f64::INFINITY }
}
