//! Council elections by their tallies alone: how many hosts draw, how many answer, how many are heard.
//!
//! Source    Raz, Shavitt and Zhang, "Distributed Council Election" (seed 003); `bolot`: the baseline of section VII-A
//! Model     that of [`hustings_theory::council`], which says what gets lost, and who sits out; there are no hosts here, and
//!           no messages, only binomial draws. What comes of a run has the same law as if every host had drawn for itself,
//!           and a billion hosts take as long as ten
//!
//! Hosts differ in nothing but whether they are active. So the state of an election is a few numbers, and a round is a few draws:
//! of `a` hosts that hear the centre with `1 - p` and then stay active with `c/k` there are `Bin(a, (1 - p) c/k)`, of whose
//! replies `Bin(., 1 - q)` are heard.

mod bolot;
mod course;

pub use bolot::poll;
pub use course::elect;

use rand_core::Rng;
use rand_distr::{Binomial, Distribution};

/// What an election came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Run {
    /// Rounds. Where the centre knows the number of hosts these are the rounds after the poll that told it.
    pub rounds: u64,
    /// Replies sent, lost ones included.
    pub messages: u64,
    /// The most replies sent in one round.
    pub peak_replies: u64,
    /// Representatives: hosts that the centre has heard. None: it did not come to a council in time.
    pub seats: Option<u64>,
}

impl Run {
    /// Whether the first round gave a council, or none was needed.
    pub fn success_first_round(&self) -> bool {
        self.seats.is_some() && self.rounds <= 1
    }

    /// A round in which so many replies were sent.
    fn count(&mut self, replies: u64) {
        self.rounds += 1;
        self.messages += replies;
        self.peak_replies = self.peak_replies.max(replies);
    }
}

/// How many of `trials` succeed.
fn binomial(trials: u64, chance: f64, rng: &mut impl Rng) -> u64 {
    // Products of probabilities may exceed 1 by a rounding error.
    let law = Binomial::new(trials, chance.min(1.0));
    law.expect("products of probabilities are none below 0")
        .sample(rng)
}
