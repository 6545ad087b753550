//! The voters' answers to one question.

use super::{Config, Refused};
use crate::Duration;

/// The answers to one question. A voter counts once, however often its answer arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Poll {
    /// The voters that agreed, one bit each, at the voter's index in the configuration.
    ayes: u64,
    noes: u64,
    /// The reason of the refusal; one that names a holder, if there is one.
    refused: Option<Refused>,
    /// The highest counter promised by the voters that refused.
    promised: u64,
    /// True if a voter answered that the counter is out of its reach.
    is_out_of_reach: bool,
}

impl Poll {
    pub(super) fn agree(&mut self, place: usize) {
        self.ayes |= 1 << place;
    }

    pub(super) fn refuse(&mut self, place: usize, promised: u64, refused: Refused) {
        self.noes |= 1 << place;
        self.promised = self.promised.max(promised);
        self.is_out_of_reach |= matches!(refused, Refused::OutOfReach { .. });
        if self.refused.is_none_or(|it| weight(it) < weight(refused)) {
            self.refused = Some(refused);
        }
    }

    /// True if a majority agreed.
    pub(super) fn is_carried(&self, config: &Config) -> bool {
        self.ayes.count_ones() >= config.majority()
    }

    /// True if a majority refused, so that no majority can agree any more.
    pub(super) fn is_lost(&self, config: &Config) -> bool {
        self.noes.count_ones() >= config.majority()
    }

    pub(super) fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// The highest counter promised by the voters that refused, if one of them answered that the
    /// requested counter is out of its reach.
    pub(super) fn promised_if_out_of_reach(&self) -> Option<u64> {
        self.is_out_of_reach.then_some(self.promised)
    }
}

/// The value of a refusal for choosing the time of the next attempt.
fn weight(refused: Refused) -> (u8, Duration) {
    match refused {
        Refused::Held { lasts, .. } => (2, lasts),
        Refused::Quarantined { lasts } => (1, lasts),
        Refused::Outrun
        | Refused::TtlTooLong { .. }
        | Refused::Uninitialised
        | Refused::OutOfReach { .. } => (0, Duration::ZERO),
    }
}
