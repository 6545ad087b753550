//! A store that the user runs anyway, as an authority.

use std::future::Future;
use std::time::Duration;

/// A store's side of one group's tenure, for one member. Each call is one request to the store, and is given up
/// by dropping it: what was given up may still be carried out later, once, and must do no harm then.
pub trait Store: Send + 'static {
    /// Asks for tenure. If it is granted, it lasts for the `ttl` of [`Grant`] at least, counted from when the
    /// store heard of it, and nobody else is granted any before that time is over or it was released.
    fn acquire(&mut self) -> impl Future<Output = Result<Grant, Denied>> + Send;

    /// Asks for as much once more, for the tenure that was granted last.
    fn renew(&mut self) -> impl Future<Output = Result<Duration, Denied>> + Send;

    /// Gives up whatever this member may have been granted, the answer to which may not have arrived.
    fn release(&mut self) -> impl Future<Output = Result<(), Denied>> + Send;

    /// Waits until tenure may have become free, as far as the store can tell; for ever if it cannot.
    fn freed(&mut self) -> impl Future<Output = Result<(), Denied>> + Send;

    /// What the store told last, asked for tenure, of how far it has counted: no tenure to come has a lower
    /// count, unless what it counted was lost.
    fn told(&self) -> Option<u64>;

    /// What tells this store from any other, as far as it has told: the same for all members that ask it.
    fn identity(&self) -> Option<u64>;

    /// Which store it is and where, for people to read.
    fn place(&self) -> String;
}

/// What a store granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// Greater than that of any tenure that the store granted this group before.
    pub count: u64,
    /// For how long, by the store's clock.
    pub ttl: Duration,
}

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// Somebody else holds tenure.
    #[error("`{holder}` holds tenure")]
    Held {
        /// Its name.
        holder: String,
        /// For how long yet, if the store tells.
        lasts: Option<Duration>,
    },
    /// What was to be renewed is no longer there: it ran out, or was taken away.
    #[error("the store no longer knows of this member's tenure")]
    Gone,
    /// The store answered, and will not, or cannot now: what, where, and what to do.
    #[error("{0}")]
    Refused(String),
    /// Something that no member wrote stands where tenure is kept, and does not end by itself: what, where, and what a
    /// person has to do. Nothing was granted.
    #[error("{0}")]
    Blocked(String),
    /// The store could not be asked, or did not answer in time: what, where, and what to do.
    #[error("{0}")]
    Unavailable(String),
}

impl Denied {
    /// A member that was left in an earlier era gets nothing: its fence would be lower than those of `era`.
    #[cfg(any(feature = "etcd", feature = "postgres"))]
    pub(super) fn behind(group: &str, era: i64) -> Self {
        Self::Refused(format!(
            "group `{group}` is in era {era}: raise `era` of this member to it"
        ))
    }
}

/// Why a store cannot be asked at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The configuration cannot work: what, and what to do.
    #[error("{0}")]
    Config(String),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers: {0}")]
    Random(#[from] getrandom::Error),
}
