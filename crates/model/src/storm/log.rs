//! The log of a storm, line by line, for a replay.

use std::fmt;

use hustings_protocol::tenure::{Ballot, Message, Refused};

use super::clock::Micros;

/// The lines of the log, if it is on.
#[derive(Debug)]
pub(super) struct Log {
    lines: Option<Vec<String>>,
}

impl Log {
    pub(super) fn closed() -> Self {
        Self { lines: None }
    }

    pub(super) fn open() -> Self {
        Self { lines: Some(Vec::new()) }
    }

    pub(super) fn note(&mut self, now: Micros, line: impl FnOnce() -> String) {
        if let Some(lines) = &mut self.lines {
            lines.push(format!("{:>11.6} s  {}", now as f64 / 1e6, line()));
        }
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.lines.unwrap_or_default()
    }
}

/// Displays a message briefly.
pub(super) struct Brief<'a>(pub(super) &'a Message);

impl fmt::Display for Brief<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self.0 {
            Message::Ask { ballot } => write!(f, "ask {}", Short(ballot)),
            Message::Would { ballot } => write!(f, "would {}", Short(ballot)),
            Message::Prepare { ballot } => write!(f, "prepare {}", Short(ballot)),
            Message::Promise { ballot } => write!(f, "promise {}", Short(ballot)),
            Message::Propose { ballot, number, ttl } => {
                write!(f, "propose {} #{number} for {}", Short(ballot), ttl.0)
            }
            Message::Grant { ballot, number } => write!(f, "grant {} #{number}", Short(ballot)),
            Message::Refusal { ballot, question, promised, refused } => {
                let ballot = Short(ballot);
                write!(f, "refuse {ballot} {question:?}, having promised {promised}: ")?;
                match refused {
                    Refused::Held { holder, lasts } => {
                        write!(f, "held by {} for {}", holder.0, lasts.0)
                    }
                    Refused::Quarantined { lasts } => write!(f, "in quarantine for {}", lasts.0),
                    Refused::Outrun => write!(f, "outrun"),
                    Refused::TtlTooLong { max_ttl } => write!(f, "grants at most {}", max_ttl.0),
                    Refused::Uninitialised => write!(f, "not initialised"),
                    Refused::OutOfReach { most } => write!(f, "reaches up to {most}"),
                }
            }
            Message::Release { ballot } => write!(f, "release {}", Short(ballot)),
            Message::Handover { released } => write!(f, "handover {}", Short(released)),
        }
    }
}

/// Displays a ballot's counter and owner, with a few digits of the incarnation.
struct Short(Ballot);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ballot { counter, owner } = self.0;
        write!(f, "{counter} of {}.{:04x}", owner.id.0, owner.number >> 48)
    }
}
