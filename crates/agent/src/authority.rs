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
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod store;
mod terms;

pub use clerk::{Clerk, Memory};
pub use terms::StoreTerms;

pub use hustings_protocol::tenure::{Fence, Held, Request};
use tokio::sync::{mpsc, watch};

use crate::clock;

/// What an authority tells of itself when it happens. What is held at any time is in the cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// This member holds tenure from now on.
    Gained(Fence),
    /// This member's tenure has ended.
    Lost(Fence),
    /// An attempt failed: why, for people to read.
    Refused(String),
}

/// Where an authority that is not part of the agent's loop leaves its words: which group, and what.
pub type Words = mpsc::UnboundedSender<(usize, Word)>;

/// What a member holds, as its authority wrote it last.
pub type Cell = watch::Receiver<Option<Held>>;

/// What the cell's content is worth now.
pub fn holds(cell: &Cell) -> Option<Held> {
    cell.borrow().filter(|held| clock::now() < held.until)
}
