//! The source of all randomness: one seed. Each run has a child seed, and each part of a run has a
//! child of that. One more draw in one part therefore changes nothing in the others.

use hustings_protocol::mix64::mix64;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The seeds of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeds {
    seed: u64,
    run: u64,
}

/// A part of a run that has its own random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Draws of members through `Io::rng`.
    Members = 1,
    /// Delays, losses, duplicates.
    Network = 2,
    /// Failures: members and times.
    Faults = 3,
    /// Priorities and initiators.
    Layout = 4,
    /// Contents of partial views.
    Views = 5,
    /// An estimate of the group's size, in a separate world.
    Count = 6,
}

impl Seeds {
    /// The seeds of run number `run` of an experiment with seed `seed`.
    pub fn new(seed: u64, run: u64) -> Self {
        Self { seed, run }
    }

    /// The seeds of a separate world that is a part of the run.
    pub fn apart(self, stream: Stream) -> Self {
        Self { seed: self.number(stream), ..self }
    }

    /// A generator for one part of the run.
    pub fn rng(self, stream: Stream) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(self.number(stream))
    }

    /// A number for one part of the run.
    pub fn number(self, stream: Stream) -> u64 {
        mix64(mix64(mix64(self.seed) ^ self.run) ^ stream as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::{Seeds, Stream};

    #[test]
    fn seed_run_and_stream_each_change_the_number() {
        let number = Seeds::new(7, 3).number(Stream::Network);
        assert_eq!(number, Seeds::new(7, 3).number(Stream::Network));
        assert_ne!(number, Seeds::new(8, 3).number(Stream::Network));
        assert_ne!(number, Seeds::new(7, 4).number(Stream::Network));
        assert_ne!(number, Seeds::new(7, 3).number(Stream::Faults));
        let apart = Seeds::new(7, 3).apart(Stream::Count);
        assert_ne!(number, apart.number(Stream::Network));
        assert_ne!(apart, Seeds::new(7, 4).apart(Stream::Count));
    }
}
