//! How the voters answer one question.

use super::{Config, Refused};
use crate::Duration;

/// The answers to one question. A voter counts once, however often its answer arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Poll {
    /// Who agreed: a bit a voter, at its place in the configuration.
    ayes: u64,
    noes: u64,
    /// Why it was refused; by whoever knows a holder, if anyone does.
    refused: Option<Refused>,
    /// The highest counter that the voters that refused have promised.
    promised: u64,
    /// Whether a voter said that the counter is out of its reach.
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

    /// Whether a majority agreed.
    pub(super) fn is_carried(&self, config: &Config) -> bool {
        self.ayes.count_ones() >= config.majority()
    }

    /// Whether so many refused that no majority can agree any more.
    pub(super) fn is_lost(&self, config: &Config) -> bool {
        self.noes.count_ones() >= config.majority()
    }

    pub(super) fn refused(&self) -> Option<Refused> {
        self.refused
    }

    /// The highest counter that the voters that refused have promised, if one of them said that the counter asked for is
    /// out of its reach.
    pub(super) fn outreached(&self) -> Option<u64> {
        self.is_out_of_reach.then_some(self.promised)
    }
}

/// Which of several refusals tells most about when to try again.
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
