//! The authorities that grant tenure: a majority of the group's own voters, or a store that the
//! user runs anyway.
//!
//! The election only nominates. A nominee asks its authority for tenure, and acts only while tenure
//! is granted. Every authority takes the same [`Request`]s and answers with the same
//! [`LeaseEvent`]s. Each publishes what its member holds in one [`LeaseWatch`], with the instant on
//! the boot clock at which tenure ends. The reader of that watch computes at each use whether the
//! member still holds tenure: see [`holds`].

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this crate talks to stores and disks: it has the machine's clock and sockets"
)]

pub mod config;
pub mod era;
#[cfg(feature = "etcd")]
pub mod etcd;
pub mod in_flight;
mod lease_client;
#[cfg(feature = "postgres")]
pub mod postgres;
mod seen_fences;
pub mod store;
pub mod terms;
pub mod voter_file;

use hustings_protocol::names::group_id;
use hustings_protocol::{Instant, MemberId};
use hustings_system::clock;
use tokio::sync::{mpsc, watch};

pub use hustings_protocol::tenure::{Fence, Held, Request};
pub use in_flight::{InFlight, LastWill, WorkGuard};
pub use lease_client::{Heard, LeaseClient};
pub use seen_fences::{Remember, Seen, SeenFences, StoreTag};
pub use terms::StoreTerms;

/// An event that an authority reports when it happens. The state that results is in the
/// [`LeaseWatch`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseEvent {
    /// This member holds tenure from now on.
    Gained(Fence),
    /// This member's tenure has ended.
    Lost(Fence),
    /// Another member claims the fence that this member holds, or a higher one.
    Contested {
        /// The member that claims the fence.
        by: MemberId,
        /// The fence that it claims.
        fence: Fence,
    },
    /// Another member claims a fence too far above every fence that this member knows from its
    /// store or from other members. The claim is ignored.
    OutOfReach {
        /// The member that claims the fence.
        by: MemberId,
        /// The fence that it claims.
        fence: Fence,
        /// The highest fence that would have been believed.
        reach: Fence,
    },
    /// An attempt failed. The text gives the reason.
    Refused(String),
    /// The store answers, but this member must not take tenure from it. The text gives the reason
    /// and the remedy. `None` reports that the reason no longer applies.
    ShutOut(Option<String>),
    /// The store granted a fence that is not above this member's mark, although the member had
    /// taken nothing for a ttl. It takes nothing until this time. Another member may get tenure
    /// earlier.
    TakesNothingUntil(Instant),
    /// A fault on this host that an operator must repair. The text describes it.
    Failed(String),
}

/// The channel on which an authority that runs outside the agent's loop reports events: the group's
/// index, and the event.
pub type LeaseEvents = mpsc::UnboundedSender<(usize, LeaseEvent)>;

/// The tenure that a member holds, as its authority last wrote it.
pub type LeaseWatch = watch::Receiver<Option<Held>>;

/// Returns the tenure in `lease_watch` if it has not ended yet.
pub fn holds(lease_watch: &LeaseWatch) -> Option<Held> {
    lease_watch.borrow().filter(|held| clock::now() < held.until)
}

/// A mask for the upper half of a store id, which encodes the kind of store. The lower half is the
/// store's [`StoreTag`], or zero while the store has not reported its identity.
pub const KIND: u64 = !0 << 32;

/// Returns the id of a store of this kind. `identity` is `None` while the store has not reported
/// it.
pub fn store_id(kind: &str, identity: Option<u64>) -> u64 {
    let which = identity.map_or(0, |it| StoreTag::of(it).0);
    (group_id(kind) & KIND) | u64::from(which)
}

/// Returns the tag in a store id, or `None` if the store had not reported its identity.
pub fn tag_of(id: u64) -> Option<StoreTag> {
    u32::try_from(id & !KIND).ok().filter(|it| *it > 0).map(StoreTag)
}
