//! A feedback as hosts interpret it: its validity, the hosts that it calls, and the probability of
//! a reply.

use super::candidacy::Candidacy;
use super::coin::Chance;
use super::wire_bits::Mask;
use super::{Algorithm, Config, Estimate, Feedback, Seats, WireBits};
use crate::Candidate;

/// A valid feedback.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ValidCall {
    pub(super) wire_bits: WireBits,
    pub(super) wanted: Seats,
    c: f64,
    /// True if all hosts draw, of any priority.
    pub(super) is_to_all: bool,
    /// Bolot's mask.
    mask: Option<Mask>,
}

impl ValidCall {
    /// Returns `None` if no centre with this configuration sends such a feedback.
    pub(super) fn of(feedback: &Feedback, config: &Config) -> Option<Self> {
        let chamber = config.chamber(feedback.class)?;
        let wanted = chamber.wanted(u32::from(feedback.seated))?;
        if feedback.base >= feedback.round {
            return None; // the base is a round that has not been yet
        }
        let algorithm = config.algorithm;
        let continues = feedback.base != 0 && feedback.base + 1 == feedback.round;
        let wire_bits = WireBits::decode(feedback.word, algorithm, continues)?;
        let mask = if algorithm == Algorithm::Bolot {
            Some(Mask::from_count(wire_bits.count)?)
        } else {
            None
        };
        if mask.is_none() && !wire_bits.reset && wire_bits.count <= wanted.most {
            return None; // the election would be over
        }
        if wire_bits.fraction != 0 && (!wire_bits.reset || config.steps().is_some()) {
            return None; // counts are whole, and so are the hosts' own steps
        }
        Some(Self {
            wire_bits,
            wanted,
            c: chamber.c(u32::from(feedback.seated)),
            is_to_all: feedback.base == 0 && feedback.floor.is_none(),
            mask,
        })
    }

    /// The number, in whole hosts, by which a host draws that steps down by itself with `steps`.
    /// The host has not yet handled this feedback.
    #[inline]
    pub(super) fn number(
        &self,
        candidacy: &mut Candidacy,
        round: u32,
        steps: Option<Estimate>,
    ) -> u32 {
        let count = self.wire_bits.count;
        match steps.filter(|_| self.is_to_all) {
            Some(steps) => candidacy.step((round, count), steps, self.wanted),
            None => count,
        }
    }

    /// The probability of a reply for a host that draws by `number`. The centre's own number is
    /// taken with its fraction.
    #[inline]
    pub(super) fn chance(&self, number: u32) -> Chance {
        let exact = if number == self.wire_bits.count {
            self.wire_bits.number()
        } else {
            f64::from(number)
        };
        if self.mask.is_some() || number < self.wanted.least {
            Chance::CERTAIN
        } else {
            Chance::new(self.c, exact)
        }
    }

    /// True if the call is meant for this host.
    #[inline]
    pub(super) fn admits(&self, host: Candidate, floor: Option<Candidate>, key: u16) -> bool {
        floor.is_none_or(|floor| host >= floor) && self.mask.is_none_or(|mask| mask.admits(key))
    }
}
