//! Where all chance comes from: one seed, a child for each run, and of each run a child for each
//! part, so that one more draw in one part moves nothing in the others.

use hustings_protocol::scatter::scatter;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The seeds of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seeds {
    seed: u64,
    run: u64,
}

/// A part of a run that has its own chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// What members draw through `Io::rng`.
    Members = 1,
    /// Delays, losses, duplicates.
    Network = 2,
    /// Who fails, and when.
    Faults = 3,
    /// Who has which merit, who begins.
    Layout = 4,
    /// Who knows whom.
    Views = 5,
    /// A count of the group, in a world of its own.
    Count = 6,
}

impl Seeds {
    /// The seeds of run number `run` of an experiment with seed `seed`.
    pub fn new(seed: u64, run: u64) -> Self {
        Self { seed, run }
    }

    /// The seeds of a world of its own that is a part of the run.
    pub fn apart(self, stream: Stream) -> Self {
        Self {
            seed: self.number(stream),
            ..self
        }
    }

    /// A generator for one part of the run.
    pub fn rng(self, stream: Stream) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(self.number(stream))
    }

    /// A number for one part of the run.
    pub fn number(self, stream: Stream) -> u64 {
        scatter(scatter(scatter(self.seed) ^ self.run) ^ stream as u64)
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
