//! Who grants tenure: a majority of the group's own voters, or a store that the user runs anyway.
//!
//! The election only nominates. A nominee asks its authority, and acts while that has granted it tenure.
//! All authorities are asked with the same [`Request`]s and answer with the same [`Word`]s, and each
//! shows what its member holds in one cell, with the moment on the boot clock at which it ends:
//! whether a member holds is for the reader of that cell to compute each time it matters.

pub mod clerk;
pub mod era;
#[cfg(feature = "etcd")]
pub mod etcd;
pub mod last_words;
pub mod memory;
pub(crate) mod occupancy;
#[cfg(feature = "postgres")]
pub mod postgres;
pub(crate) mod quorum;
pub mod store;
mod terms;
pub mod voter_file;

use hustings_protocol::tenure::Message;
use hustings_protocol::{Duration, Instant, MemberId};
use tokio::sync::{mpsc, watch};

pub use clerk::{Clerk, Heard};
pub use hustings_protocol::tenure::{Fence, Held, Request};
pub use memory::{Mark, Memory, Remember, Seen};
pub use occupancy::{Occupancy, Occupation};
pub use terms::StoreTerms;

use crate::clock;
use crate::identity::{group_id, member_id};
use quorum::{Act, Quorum};

/// What an authority tells of itself when it happens. What is held at any time is in the cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// This member holds tenure from now on.
    Gained(Fence),
    /// This member's tenure has ended.
    Lost(Fence),
    /// Another member was heard to hold the fence that this one holds, or a higher one.
    Contested {
        /// Who.
        by: MemberId,
        /// Which.
        fence: Fence,
    },
    /// Another member was heard to hold a fence that is too far above all that the store told and this member heard. It
    /// does not count.
    OutOfReach {
        /// Who.
        by: MemberId,
        /// Which.
        fence: Fence,
        /// The highest that counts.
        reach: Fence,
    },
    /// An attempt failed: why, for people to read.
    Refused(String),
    /// This member takes no tenure from its store, though that answers: why and what to do, for people to read. `None`
    /// when the reason is gone.
    ShutOut(Option<String>),
    /// Something is wrong on this host that a person has to see to: what, for people to read.
    Failed(String),
}

/// Where an authority that is not part of the agent's loop leaves its words: which group, and what.
pub type Words = mpsc::UnboundedSender<(usize, Word)>;

/// What a member holds, as its authority wrote it last.
pub type Cell = watch::Receiver<Option<Held>>;

/// What the cell's content is worth now.
pub fn holds(cell: &Cell) -> Option<Held> {
    cell.borrow().filter(|held| clock::now() < held.until)
}

/// In the upper half of a store's id is of which kind it is; in the lower half which one, and nothing while it has not
/// told.
const KIND: u64 = !0 << 32;

pub(crate) fn store_id(kind: &str, identity: Option<u64>) -> u64 {
    let which = identity.map_or(0, |it| Mark::of(it).0);
    (group_id(kind) & KIND) | u64::from(which)
}

/// Which store an id means; none if that had not told.
fn mark_of(id: u64) -> Option<Mark> {
    u32::try_from(id & !KIND)
        .ok()
        .filter(|it| *it > 0)
        .map(Mark)
}

/// Who grants a group's tenure, from its member's point of view.
pub(crate) enum Authority {
    /// Nobody: the nomination is all there is.
    Nobody,
    /// The group's voters.
    Quorum(Box<Quorum>),
    /// A store, by name.
    Store { name: &'static str, clerk: Clerk },
}

impl Authority {
    /// What people call it; none if there is none.
    pub(crate) fn name(&self) -> Option<String> {
        match self {
            Self::Nobody => None,
            Self::Quorum(quorum) => Some(format!("quorum of {}", quorum.voters().len())),
            Self::Store { name, .. } => Some((*name).to_owned()),
        }
    }

    /// Those who vote, if there are any.
    pub(crate) fn voters(&self) -> impl Iterator<Item = (&String, MemberId)> {
        let names = match self {
            Self::Quorum(quorum) => quorum.voters(),
            Self::Nobody | Self::Store { .. } => &[],
        };
        names.iter().map(|name| (name, member_id(name)))
    }

    /// What tells it from another: its voters, or which store it is, as far as that has told.
    pub(crate) fn id(&self) -> u64 {
        match self {
            Self::Nobody => 0,
            Self::Quorum(quorum) => quorum.voters_id(),
            Self::Store { name, clerk } => store_id(name, clerk.identity()),
        }
    }

    /// Whether members with the id `theirs` go by the same authority. While either store has told nothing of itself,
    /// stores of one kind are taken for the same.
    pub(crate) fn is_also(&self, theirs: u64) -> bool {
        let ours = self.id();
        let is_like_it = match self {
            Self::Nobody | Self::Quorum(_) => false,
            Self::Store { name, .. } => {
                let untold = store_id(name, None);
                theirs & KIND == untold && (theirs == untold || ours == untold)
            }
        };
        theirs == ours || is_like_it
    }

    /// The most that this member can ever have granted, if it votes.
    pub(crate) fn longest_ttl(&self) -> Option<Duration> {
        match self {
            Self::Quorum(quorum) => quorum.longest_ttl(),
            Self::Nobody | Self::Store { .. } => None,
        }
    }

    pub(crate) fn cell(&self) -> Option<Cell> {
        match self {
            Self::Nobody => None,
            Self::Quorum(quorum) => Some(quorum.cell()),
            Self::Store { clerk, .. } => Some(clerk.cell()),
        }
    }

    pub(crate) fn holds(&self, now: Instant) -> Option<Held> {
        match self {
            Self::Nobody => None,
            Self::Quorum(quorum) => quorum.shown(now),
            Self::Store { clerk, .. } => clerk.cell().borrow().filter(|held| now < held.until),
        }
    }

    /// What this member holds counts no more, from now on: another was heard to hold the same fence, or a higher one. It is not
    /// given up by that: work may go on for as long as it takes to end it. The clerk of a store sees to it by itself.
    pub(crate) fn forfeit(&mut self, now: Instant) {
        match self {
            Self::Nobody | Self::Store { .. } => {}
            Self::Quorum(quorum) => quorum.forfeit(now),
        }
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        match self {
            Self::Nobody => None,
            Self::Quorum(quorum) => quorum.due(),
            // That its tenure ends it says by itself, but a clock that slept may be first.
            Self::Store { clerk, .. } => clerk.cell().borrow().map(|held| held.until),
        }
    }

    pub(crate) fn start(&mut self, now: Instant) -> Vec<Act> {
        match self {
            Self::Nobody | Self::Store { .. } => Vec::new(),
            Self::Quorum(quorum) => quorum.start(now),
        }
    }

    pub(crate) fn request(&mut self, now: Instant, request: Request) -> Vec<Act> {
        match self {
            Self::Nobody => Vec::new(),
            Self::Quorum(quorum) => quorum.request(now, request),
            Self::Store { clerk, .. } => {
                clerk.request(request);
                Vec::new()
            }
        }
    }

    /// The member `by`, which [`is_also`](Self::is_also) of the authority `theirs`, holds with this fence, or held it if
    /// `holds` is false. Voters remember what they gave.
    pub(crate) fn hear_fence(&self, by: MemberId, theirs: u64, fence: Fence, holds: bool) {
        let store = mark_of(theirs);
        match self {
            Self::Nobody | Self::Quorum(_) => {}
            Self::Store { clerk, .. } => clerk.hear(Heard {
                by,
                store,
                fence,
                holds,
            }),
        }
    }

    pub(crate) fn pass(&mut self, now: Instant) -> Vec<Act> {
        match self {
            Self::Nobody | Self::Store { .. } => Vec::new(),
            Self::Quorum(quorum) => quorum.pass(now),
        }
    }

    pub(crate) fn on_saved(&mut self, now: Instant, done: Result<(), String>) -> Vec<Act> {
        match self {
            Self::Nobody | Self::Store { .. } => Vec::new(),
            Self::Quorum(quorum) => quorum.on_saved(now, done),
        }
    }

    /// Whether its disk refuses to keep what it should promise or remember, or does not answer.
    pub(crate) fn is_stuck(&self) -> bool {
        match self {
            Self::Nobody => false,
            Self::Quorum(quorum) => quorum.is_stuck(),
            Self::Store { clerk, .. } => clerk.is_stuck(),
        }
    }

    /// Since when its disk has been at work.
    pub(crate) fn saves_since(&self) -> Option<Instant> {
        match self {
            Self::Nobody | Self::Store { .. } => None,
            Self::Quorum(quorum) => quorum.saves_since(),
        }
    }

    /// Whether a store said, asked last, that somebody else holds. Voters say so with each refusal.
    pub(crate) fn is_held_elsewhere(&self) -> bool {
        match self {
            Self::Nobody | Self::Quorum(_) => false,
            Self::Store { clerk, .. } => clerk.is_held_elsewhere(),
        }
    }

    /// Whether a store answered when it was asked last.
    pub(crate) fn is_reachable(&self) -> Option<bool> {
        match self {
            Self::Nobody | Self::Quorum(_) => None,
            Self::Store { clerk, .. } => Some(clerk.reachable()),
        }
    }

    /// What may be said for this member when it is dead.
    pub(crate) fn last_word(&self) -> Option<Message> {
        match self {
            Self::Nobody | Self::Store { .. } => None,
            Self::Quorum(quorum) => quorum.last_word(),
        }
    }
}
