//! What the configurations of several protocols share.

use std::error::Error;
use std::fmt;

use crate::{Candidate, Duration, MemberId, View};

/// What a member does with a message that contradicts its own view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hearsay {
    /// Believes it, as the sources do.
    Believed,
    /// Goes by its own view. That needs views that lose the dead and regain the living.
    Checked,
}

impl Hearsay {
    /// Whether a member that names `incumbent` would name `claimant` instead. Checked: only whom
    /// it sees, and nobody worse than an incumbent that it still sees.
    #[inline]
    pub(crate) fn accepts(
        self,
        claimant: Candidate,
        incumbent: Option<MemberId>,
        view: impl View,
    ) -> bool {
        match self {
            Self::Believed => true,
            Self::Checked => {
                let incumbent = incumbent.and_then(|id| view.get(id));
                view.contains(claimant.id)
                    && incumbent.is_none_or(|it| it.id == claimant.id || it < claimant)
            }
        }
    }

    /// Whether an election that went round the whole ring can have had this end. Checked: only if
    /// there is nobody better in view, whom it then must have missed.
    pub(crate) fn expects(self, winner: MemberId, view: impl View) -> bool {
        match self {
            Self::Believed => true,
            Self::Checked => view.best().id == winner,
        }
    }
}

/// Why a configuration cannot work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// A span that must be longer than nothing.
    Zero {
        /// Which field.
        field: &'static str,
    },
    /// A span shorter than another one that it has to contain.
    Below {
        /// Which field.
        field: &'static str,
        /// What it says.
        value: Duration,
        /// The field that bounds it.
        bound: &'static str,
        /// What that one says.
        least: Duration,
    },
    /// A number that makes no sense.
    OutOfRange {
        /// Which field.
        field: &'static str,
        /// What would.
        range: &'static str,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero { field } => write!(f, "{field} is 0s: raise {field}"),
            Self::Below {
                field,
                value,
                bound,
                least,
            } => write!(f, "{field} {value} is below {bound} {least}: raise {field}"),
            Self::OutOfRange { field, range } => {
                write!(f, "{field} is out of range: choose {range}")
            }
        }
    }
}

impl Error for ConfigError {}

/// Refuses a span of nothing.
pub(crate) fn require_some_time(
    field: &'static str,
    span: Option<Duration>,
) -> Result<(), ConfigError> {
    match span {
        Some(Duration::ZERO) => Err(ConfigError::Zero { field }),
        Some(Duration(_)) | None => Ok(()),
    }
}
