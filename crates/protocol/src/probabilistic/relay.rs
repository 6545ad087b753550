//! What a member knows that relays.

use super::Reply;
use crate::{Candidate, MemberId};

/// What a member knows that relays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Relay {
    /// The best leader that it knows of.
    pub(super) choice: Candidate,
    /// Whom it tells: ascending, itself not among them.
    set: Vec<MemberId>,
    /// Whom it has answered, where that counts.
    answered: Vec<MemberId>,
}

impl Relay {
    /// `set` in any order.
    pub(super) fn new(choice: Candidate, mut set: Vec<MemberId>) -> Self {
        set.sort_unstable();
        Self {
            choice,
            set,
            answered: Vec::new(),
        }
    }

    pub(super) fn set(&self) -> &[MemberId] {
        &self.set
    }

    /// Somebody that relays is among those to tell from now on. Returns whether it was not.
    pub(super) fn include(&mut self, id: MemberId) -> bool {
        enter(&mut self.set, id)
    }

    /// Whether to answer `id`, whose choice is no better.
    pub(super) fn answers(&mut self, id: MemberId, choice: Candidate, reply: Reply) -> bool {
        match reply {
            Reply::Worse => choice < self.choice,
            Reply::Once => enter(&mut self.answered, id),
            Reply::Literal => true,
        }
    }
}

/// Enters `id` into an ascending list. Returns whether it was not there.
fn enter(list: &mut Vec<MemberId>, id: MemberId) -> bool {
    match list.binary_search(&id) {
        Ok(_) => false,
        Err(at) => {
            list.insert(at, id);
            true
        }
    }
}
