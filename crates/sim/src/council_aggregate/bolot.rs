//! The baseline of Bolot, Turletti and Wakeman: in each round one bit less has to be equal, until a
//! reply is heard.

use hustings_theory::bolot::BITS;
use hustings_theory::council::Loss;

use super::{Run, binomial};
use crate::{Seeds, Stream};

/// Polls `members` hosts until the centre hears one, or `most_rounds` rounds have passed.
///
/// A host keeps its key. So a host that replies in one round and is not heard replies in the next;
/// a host that misses a round does not. In the last round all hosts are to reply, and it repeats
/// until one is heard.
pub fn poll(members: u64, loss: Loss, most_rounds: u64, seeds: Seeds) -> Run {
    let mut rng = seeds.rng(Stream::Members);
    let mut run = Run::default();
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
