//! The interface of a store that serves as an authority.

use std::future::Future;
use std::time::Duration;

use hustings_protocol::names::MOST_NAME_BYTES;

/// A member's access to one group's tenure in a store. Each call is one request to the store.
/// Dropping the future gives the request up. The store may still carry out such a request later,
/// once, and that must do no harm.
pub trait Store: Send + 'static {
    /// Asks for tenure. A grant lasts at least for the `ttl` of [`Grant`], counted from when the
    /// store received the request. Until then the store grants tenure to no other member, unless
    /// this member releases it.
    fn acquire(&mut self) -> impl Future<Output = Result<Grant, StoreError>> + Send;

    /// Extends the tenure that was granted last by another ttl, counted from when the store
    /// received the request. Returns that ttl.
    fn renew(&mut self) -> impl Future<Output = Result<Duration, StoreError>> + Send;

    /// Releases everything that this member may have been granted, including a grant whose answer
    /// never arrived.
    fn release(&mut self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// Waits until tenure may be free. A store that cannot tell waits for ever.
    fn wait_released(&mut self) -> impl Future<Output = Result<(), StoreError>> + Send;

    /// The count that the store reported in its last answer to [`acquire`](Self::acquire). No later
    /// tenure has a lower count, unless the store loses state.
    fn last_count(&self) -> Option<u64>;

    /// A number that distinguishes this store from others, the same for all members that use it.
    /// `None` until the store has reported it.
    fn identity(&self) -> Option<u64>;

    /// A description of the store and its address, for messages.
    fn place(&self) -> String;
}

/// A tenure that a store granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The count of this tenure: greater than that of every earlier tenure of the group.
    pub count: u64,
    /// The duration of the tenure by the store's clock.
    pub ttl: Duration,
}

/// The reason why a store did not do what the member asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Another member holds tenure.
    #[error("`{}` holds tenure", shown(holder))]
    Held {
        /// The holder's name as the store has it. It is arbitrary text if another program wrote it.
        holder: String,
        /// The remaining time of that tenure, if the store reports it.
        lasts: Option<Duration>,
    },
    /// The tenure to renew does not exist any more: it expired or was revoked.
    #[error("the store no longer knows of this member's tenure")]
    Gone,
    /// The store answered that it will not or cannot do it. The text says what, where, and the
    /// remedy.
    #[error("{0}")]
    Refused(String),
    /// The store holds a record of tenure that no member wrote and that does not expire. Nothing
    /// was granted. The text says what, where, and what an operator has to do.
    #[error("{0}")]
    Blocked(String),
    /// The store could not be reached or did not answer in time. The text says what, where, and the
    /// remedy.
    #[error("{0}")]
    Unavailable(String),
}

impl StoreError {
    /// The error for a member that is configured with an era before `era`. Its fence would be lower
    /// than the fences of that era.
    #[cfg(any(feature = "etcd", feature = "postgres"))]
    pub(super) fn behind(group: &str, era: i64) -> Self {
        Self::Refused(format!(
            "group `{group}` is in era {era}: raise `era` of this member to that"
        ))
    }

    /// The error for a call that failed: a refusal if there is a remedy for it.
    #[cfg(any(feature = "etcd", feature = "postgres"))]
    pub(super) fn of_call(place: &str, what: &str, remedy: Option<&str>) -> Self {
        match remedy {
            Some(remedy) => Self::Refused(format!("{place} refuses: {what}: {remedy}")),
            None => Self::Unavailable(format!(
                "{place} failed: {what}: make sure that it runs and can be reached, and read its log"
            )),
        }
    }
}

/// Returns a holder's name for a log line or a status. Any program may have written it, so it is
/// cut to the length of a member's name, and line breaks and escape sequences of terminals are
/// escaped.
pub(super) fn shown(holder: &str) -> String {
    let begin = holder.chars().take(MOST_NAME_BYTES);
    begin.flat_map(char::escape_debug).collect()
}

/// The reason why a store cannot be used at all, and the remedy.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StoreConfigError(pub String);

/// Draws a random number.
#[cfg(any(feature = "etcd", feature = "postgres"))]
pub(super) fn random() -> Result<u64, String> {
    let drawn = getrandom::u64();
    drawn.map_err(|error| format!("the operating system gives no random numbers: {error}"))
}

#[cfg(test)]
mod tests {
    use super::StoreError;

    #[test]
    fn foreign_holder_name_cannot_inject_lines_or_terminal_escapes() {
        let said = |holder: &str| {
            let (holder, lasts) = (holder.to_owned(), None);
            StoreError::Held { holder, lasts }.to_string()
        };
        assert_eq!(said("db-1.example.org"), "`db-1.example.org` holds tenure");
        let forged = said("a\n2026-11-18T00:00:00Z ERROR \u{1b}[2J\u{9b}31m");
        assert!(!forged.contains(char::is_control), "{forged:?}");
        assert!(said(&"x".repeat(1 << 20)).len() < 100);
    }
}
