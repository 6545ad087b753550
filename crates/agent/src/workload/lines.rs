//! What agent and guardian tell each other: lines of text on a socket.

use std::fmt;
use std::str::FromStr;

use hustings_protocol::{Duration, Instant};
use rustix::process::Signal;

use super::deadline::Deadline;
use crate::authority::last_words::LastWords;
use crate::obituary;
use crate::processes::Ending;

/// What the agent tells the guardian.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// End the command: this signal for its process group, and after the grace nobody may be left.
    Stop(Signal),
    /// Hand a signal to the command's first process.
    Pass(Signal),
    /// The tenure under which the command runs ends so, on the boot clock, if no other word comes. A command may be started
    /// late in it: how long it is in all is told too, as that decides how long before its end the command is killed.
    Until(Deadline),
    /// What to say when both the agent and the command are dead. The last that was given counts.
    LastWords(LastWords),
}

/// What the guardian tells the agent: one of the first two, then one ending; of a command that was stopped before it
/// was started, the ending alone. Before the ending, it may say that the tenure was about to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// The command runs, as this process.
    Started { pid: i32 },
    /// The system refused to run the command, with this error number.
    Refused { errno: i32 },
    /// The tenure is about to end: the command is being stopped, whatever comes.
    Expired,
    /// The command has ended, and all its descendants have.
    Ended(Ending),
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stop(signal) => write!(f, "stop {}", signal.as_raw()),
            Self::Pass(signal) => write!(f, "pass {}", signal.as_raw()),
            Self::Until(deadline) => {
                write!(f, "until {} {}", deadline.until().0, deadline.span().0)
            }
            Self::LastWords(words) => write!(f, "words {}", obituary::to_line(words)),
        }
    }
}

impl FromStr for Order {
    type Err = Unreadable;

    fn from_str(line: &str) -> Result<Self, Unreadable> {
        let (word, rest) = line.split_once(' ').ok_or(Unreadable)?;
        let signal = || Signal::from_named_raw(rest.parse().ok()?);
        let order = match word {
            "stop" => signal().map(Self::Stop),
            "pass" => signal().map(Self::Pass),
            "until" => deadline(rest).map(Self::Until),
            "words" => obituary::from_line(rest).map(Self::LastWords),
            _ => None,
        };
        order.ok_or(Unreadable)
    }
}

fn deadline(text: &str) -> Option<Deadline> {
    let (until, span) = text.split_once(' ')?;
    let (until, span) = (until.parse().ok()?, span.parse().ok()?);
    Some(Deadline::new(Instant(until), Duration(span)))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { pid } => write!(f, "started {pid}"),
            Self::Refused { errno } => write!(f, "refused {errno}"),
            Self::Expired => write!(f, "expired"),
            Self::Ended(Ending::Exited(code)) => write!(f, "exited {code}"),
            Self::Ended(Ending::Killed(signal)) => write!(f, "killed {signal}"),
        }
    }
}

impl FromStr for Report {
    type Err = Unreadable;

    fn from_str(line: &str) -> Result<Self, Unreadable> {
        if line == "expired" {
            return Ok(Self::Expired);
        }
        let (word, number) = line.split_once(' ').ok_or(Unreadable)?;
        let number: i32 = number.parse().map_err(|_| Unreadable)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let address = "127.0.0.1:4101".parse().expect("an address");
        for order in [
            Order::Stop(Signal::TERM),
            Order::Pass(Signal::USR1),
            Order::Until(Deadline::new(Instant(u64::MAX), Duration(7))),
            Order::LastWords(LastWords(vec![(address, b"farewell".to_vec())])),
            Order::LastWords(LastWords::default()),
        ] {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        for report in [
            Report::Started { pid: 4321 },
            Report::Refused { errno: 2 },
            Report::Expired,
            Report::Ended(Ending::Exited(255)),
            Report::Ended(Ending::Killed(9)),
        ] {
            assert_eq!(report.to_string().parse(), Ok(report));
        }
    }

    #[test]
    fn other_lines_are_refused() {
        for line in [
            "",
            "stop",
            "stop 0",
            "stop 999",
            "pass TERM",
            "end 15",
            "until -1 7",
            "until 1",
            "until 1 2 3",
            "words",
            "words 127.0.0.1:4101 00",
        ] {
            assert_eq!(line.parse::<Order>(), Err(Unreadable), "{line}");
        }
        for line in [
            "",
            "started",
            "expired 1",
            "exited 256",
            "killed -1",
            "died 9",
        ] {
            assert_eq!(line.parse::<Report>(), Err(Unreadable), "{line}");
        }
    }
}
