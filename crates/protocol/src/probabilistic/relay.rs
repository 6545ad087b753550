//! What a member knows that relays.

use std::collections::BTreeSet;

use super::Reply;
use crate::{Candidate, MemberId};

/// What a member knows that relays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Relay {
    /// The best leader that it knows of.
    pub(super) choice: Candidate,
    /// Whom it tells, itself not among them.
    set: BTreeSet<MemberId>,
    /// Whom it has answered, where that counts.
    answered: BTreeSet<MemberId>,
}

impl Relay {
    pub(super) fn new(choice: Candidate, set: BTreeSet<MemberId>) -> Self {
        Self {
            choice,
            set,
            answered: BTreeSet::new(),
        }
    }

    /// In ascending order.
    pub(super) fn set(&self) -> impl Iterator<Item = MemberId> {
        self.set.iter().copied()
    }

    /// Somebody that relays is among those to tell from now on. Returns whether it was not.
    pub(super) fn include(&mut self, id: MemberId) -> bool {
        self.set.insert(id)
    }

    /// Whether to answer `id`, whose choice is no better.
    pub(super) fn answers(&mut self, id: MemberId, choice: Candidate, reply: Reply) -> bool {
        match reply {
            Reply::Worse => choice < self.choice,
            Reply::Once => self.answered.insert(id),
            Reply::Literal => true,
        }
    }
}
