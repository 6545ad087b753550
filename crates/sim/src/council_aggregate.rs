//! Council elections as aggregate counts: the numbers of hosts that draw, reply and are heard.
//!
//! Source    Raz, Shavitt and Zhang, "Distributed Council Election" (seed 003); [`poll`]: the
//!           baseline of section VII-A
//! Model     As [`hustings_theory::council`], which defines losses and abstentions. There are no
//!           hosts and no messages here, only binomial draws. A run has the same distribution as if
//!           every host had drawn for itself, and a billion hosts take as long as ten.
//!
//! Hosts differ only in being active or not. So the state of an election is a few numbers, and a
//! round is a few draws. Of `a` hosts that hear the centre with probability `1 - p` and then stay
//! active with `c/k`, `Bin(a, (1 - p) c/k)` reply. The centre hears `Bin(., 1 - q)` of the replies.

mod election;

pub use election::elect;

use hustings_theory::bolot::BITS;
use hustings_theory::council::Loss;
use rand_core::Rng;
use rand_distr::{Binomial, Distribution};

use crate::{Seeds, Stream};

/// The result of an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PollRun {
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

impl PollRun {
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

/// Polls `members` hosts until the centre hears one, or `most_rounds` rounds have passed.
///
/// A host keeps its key. So a host that replies in one round and is not heard replies in the next;
/// a host that misses a round does not. In the last round all hosts are to reply, and it repeats
/// until one is heard.
pub fn poll(members: u64, loss: Loss, most_rounds: u64, seeds: Seeds) -> PollRun {
    let mut rng = seeds.rng(Stream::Members);
    let mut run = PollRun::default();
    let mut called = 0;
    for bits in (0..=BITS).rev().chain(std::iter::repeat(0)) {
        if run.rounds == most_rounds {
            break;
        }
        // The hosts whose keys differ in the first `bits + 1` bits but are equal in `bits` of them.
        called += binomial(members - called, newly_called(bits), &mut rng);
        let replies = binomial(called, 1.0 - loss.multicast, &mut rng);
        run.count(replies);
        let heard = binomial(replies, 1.0 - loss.reply, &mut rng);
        if heard > 0 {
            run.seats = Some(heard);
            break;
        }
    }
    run
}

fn newly_called(bits: i32) -> f64 {
    if bits == BITS {
        return 0.5_f64.powi(BITS);
    }
    let before = 0.5_f64.powi(bits + 1);
    before / (1.0 - before)
}
