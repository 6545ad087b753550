//! Configuration types that several protocols share.

use thiserror::Error;

use crate::{Candidate, Duration, MemberId, View};

/// The policy for messages that contradict the receiver's own view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reports {
    /// The receiver believes the message, as in the sources.
    Trusted,
    /// The receiver trusts its own view. The views must lose dead members and regain live ones.
    CheckedAgainstView,
}

impl Reports {
    /// True if a member that names `incumbent` would name `claimant` instead. With
    /// `CheckedAgainstView` the claimant must be in the view, and better than an incumbent that is
    /// still in the view.
    #[inline]
    pub(crate) fn accepts(
        self,
        claimant: Candidate,
        incumbent: Option<MemberId>,
        view: &impl View,
    ) -> bool {
        if self == Self::Trusted {
            return true;
        }
        let incumbent = incumbent.and_then(|id| view.get(id));
        view.contains(claimant.id)
            && incumbent.is_none_or(|it| it.id == claimant.id || it < claimant)
    }

    /// True if an election that went round the whole ring can have elected `winner`. With
    /// `CheckedAgainstView` the winner must be the best of the view: an election that elected
    /// another member has missed the best one.
    pub(crate) fn expects(self, winner: MemberId, view: &impl View) -> bool {
        self == Self::Trusted || view.best().id == winner
    }
}

/// The reason why a configuration cannot work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// A duration that must be greater than zero.
    #[error("{field} is 0s: raise {field}")]
    Zero {
        /// The field.
        field: &'static str,
    },
    /// A duration shorter than another one that it has to contain.
    #[error("{field} {value} is below {bound} {least}: raise {field}")]
    Below {
        /// The field.
        field: &'static str,
        /// The value of `field`.
        value: Duration,
        /// The field that bounds it.
        bound: &'static str,
        /// The value of `bound`.
        least: Duration,
    },
    /// A number out of range.
    #[error("{field} is out of range: choose {range}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// The values that are allowed.
        range: &'static str,
    },
}

/// The result of a check.
pub(crate) type Checked = Result<(), ConfigError>;

/// Returns an error if `span` is zero.
pub(crate) fn require_some_time(field: &'static str, span: Option<Duration>) -> Checked {
    if span == Some(Duration::ZERO) { Err(ConfigError::Zero { field }) } else { Ok(()) }
}

/// Returns an error unless `value` is at least `least`, the value of `bound`.
pub(crate) fn require_at_least(
    field: &'static str,
    value: Duration,
    (bound, least): (&'static str, Duration),
) -> Checked {
    if value >= least { Ok(()) } else { Err(ConfigError::Below { field, value, bound, least }) }
}

/// Returns an error unless the value of `field` is in its `range`, as `holds` says.
pub(crate) fn require(holds: bool, field: &'static str, range: &'static str) -> Checked {
    if holds { Ok(()) } else { Err(ConfigError::OutOfRange { field, range }) }
}
