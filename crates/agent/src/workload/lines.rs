//! What agent and guardian tell each other: lines of text on a socket.

use std::fmt;
use std::str::FromStr;

use rustix::process::{Signal, WaitStatus};

/// What the agent tells the guardian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// End the command: this signal for its process group, and after the grace nobody may be left.
    Stop(Signal),
    /// Hand a signal to the command's first process.
    Pass(Signal),
}

/// What the guardian tells the agent: one of the first two, then one ending; of a command that was stopped before it
/// was started, the ending alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// The command runs, as this process.
    Started { pid: i32 },
    /// The system refused to run the command, with this error number.
    Refused { errno: i32 },
    /// The command has ended, and all its descendants have.
    Ended(Ending),
}

/// How the command's first process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// It exited with this code.
    Exited(u8),
    /// It died by this signal.
    Killed(u8),
}

impl Ending {
    /// How a process ended of which the system says this. None if it has not ended.
    pub(super) fn of(status: WaitStatus) -> Option<Self> {
        let exited = status.exit_status().map(low_byte).map(Self::Exited);
        exited.or_else(|| status.terminating_signal().map(low_byte).map(Self::Killed))
    }

    /// How a process ends that this signal ends.
    pub(super) fn killed_by(signal: Signal) -> Self {
        Self::Killed(low_byte(signal.as_raw()))
    }

    /// The exit code that a shell would give it.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Exited(code) => code,
            Self::Killed(signal) => signal.saturating_add(128),
        }
    }
}

/// The system keeps exit codes and signal numbers in eight bits.
fn low_byte(number: i32) -> u8 {
    number.to_le_bytes()[0]
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stop(signal) => write!(f, "stop {}", signal.as_raw()),
            Self::Pass(signal) => write!(f, "pass {}", signal.as_raw()),
        }
    }
}

impl FromStr for Order {
    type Err = Unreadable;

    fn from_str(line: &str) -> Result<Self, Unreadable> {
        let (word, number) = split(line)?;
        let signal = Signal::from_named_raw(number).ok_or(Unreadable)?;
        match word {
            "stop" => Ok(Self::Stop(signal)),
            "pass" => Ok(Self::Pass(signal)),
            _ => Err(Unreadable),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { pid } => write!(f, "started {pid}"),
            Self::Refused { errno } => write!(f, "refused {errno}"),
            Self::Ended(Ending::Exited(code)) => write!(f, "exited {code}"),
            Self::Ended(Ending::Killed(signal)) => write!(f, "killed {signal}"),
        }
    }
}

impl FromStr for Report {
    type Err = Unreadable;

    fn from_str(line: &str) -> Result<Self, Unreadable> {
        let (word, number) = split(line)?;
        let byte = || u8::try_from(number).map_err(|_| Unreadable);
        match word {
            "started" => Ok(Self::Started { pid: number }),
            "refused" => Ok(Self::Refused { errno: number }),
            "exited" => Ok(Self::Ended(Ending::Exited(byte()?))),
            "killed" => Ok(Self::Ended(Ending::Killed(byte()?))),
            _ => Err(Unreadable),
        }
    }
}

/// A line that neither side would have written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

fn split(line: &str) -> Result<(&str, i32), Unreadable> {
    let (word, number) = line.split_once(' ').ok_or(Unreadable)?;
    Ok((word, number.parse().map_err(|_| Unreadable)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for order in [Order::Stop(Signal::TERM), Order::Pass(Signal::USR1)] {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        for report in [
            Report::Started { pid: 4321 },
            Report::Refused { errno: 2 },
            Report::Ended(Ending::Exited(255)),
            Report::Ended(Ending::Killed(9)),
        ] {
            assert_eq!(report.to_string().parse(), Ok(report));
        }
    }

    #[test]
    fn other_lines_are_refused() {
        for line in ["", "stop", "stop 0", "stop 999", "pass TERM", "end 15"] {
            assert_eq!(line.parse::<Order>(), Err(Unreadable), "{line}");
        }
        for line in ["", "started", "exited 256", "killed -1", "died 9"] {
            assert_eq!(line.parse::<Report>(), Err(Unreadable), "{line}");
        }
    }

    #[test]
    fn codes_are_those_of_a_shell() {
        assert_eq!(Ending::Exited(3).code(), 3);
        assert_eq!(Ending::Killed(15).code(), 143);
    }
}
