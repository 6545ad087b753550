//! Council elections as aggregate counts: the numbers of hosts that draw, reply and are heard.
//!
//! Source    Raz, Shavitt and Zhang, "Distributed Council Election" (seed 003); `bolot`: the
//!           baseline of section VII-A
//! Model     As [`hustings_theory::council`], which defines losses and abstentions. There are no
//!           hosts and no messages here, only binomial draws. A run has the same distribution as if
//!           every host had drawn for itself, and a billion hosts take as long as ten.
//!
//! Hosts differ only in being active or not. So the state of an election is a few numbers, and a
//! round is a few draws. Of `a` hosts that hear the centre with probability `1 - p` and then stay
//! active with `c/k`, `Bin(a, (1 - p) c/k)` reply. The centre hears `Bin(., 1 - q)` of the replies.

mod bolot;
mod course;

pub use bolot::poll;
pub use course::elect;

use rand_core::Rng;
use rand_distr::{Binomial, Distribution};

/// The result of an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Run {
    /// Rounds. If the centre knows the number of hosts, these are the rounds after the poll that
    /// counted them.
    pub rounds: u64,
    /// Replies sent, lost ones included.
    pub messages: u64,
    /// The maximum number of replies sent in one round.
    pub peak_replies: u64,
    /// Representatives: hosts that the centre has heard. `None`: there was no council within the
    /// limit.
    pub seats: Option<u64>,
}

impl Run {
    /// True if the first round gave a council, or no round was needed.
    pub fn success_first_round(&self) -> bool {
        self.seats.is_some() && self.rounds <= 1
    }

    /// Counts a round in which `replies` replies were sent.
    fn count(&mut self, replies: u64) {
        self.rounds += 1;
        self.messages += replies;
        self.peak_replies = self.peak_replies.max(replies);
    }
}

/// Draws the number of successes in `trials`.
fn binomial(trials: u64, chance: f64, rng: &mut impl Rng) -> u64 {
    // Products of probabilities may exceed 1 by a rounding error.
    let law = Binomial::new(trials, chance.min(1.0));
    law.expect("products of probabilities are none below 0").sample(rng)
}
