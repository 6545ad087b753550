//! What the agent and the two watchers tell each other: lines of text, on one socket for the guardian and one for the
//! warden. Of the orders the warden gets [`Order::Until`] and [`Order::Ping`]; of the reports it sends [`Report::Alive`].

use std::fmt;
use std::os::fd::AsFd;
use std::str::FromStr;

use hustings_protocol::{Duration, Instant};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
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
    /// Answer with [`Report::Alive`].
    Ping,
    /// The number of open files that the command may have, if this program has raised its own: the soft limit.
    SoftLimit(u64),
}

/// What the guardian tells the agent: first that it is up, then that the command has started or was refused, then how the
/// command ended; of a command that was stopped before it was started, the ending alone. The others come in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// The guardian is up, as this process.
    Up { pid: i32 },
    /// The answer to a ping.
    Alive,
    /// The command's first process was stopped by this signal. Unless it is continued, it will be killed.
    Stopped { signal: i32 },
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
            Self::Ping => write!(f, "ping"),
            Self::SoftLimit(files) => write!(f, "limit {files}"),
        }
    }
}

impl FromStr for Order {
    type Err = Unreadable;

    fn from_str(line: &str) -> Result<Self, Unreadable> {
        if line == "ping" {
            return Ok(Self::Ping);
        }
        let (word, rest) = line.split_once(' ').ok_or(Unreadable)?;
        let signal = || Signal::from_named_raw(rest.parse().ok()?);
        let order = match word {
            "stop" => signal().map(Self::Stop),
            "pass" => signal().map(Self::Pass),
            "until" => deadline(rest).map(Self::Until),
            "words" => obituary::from_line(rest).map(Self::LastWords),
            "limit" => rest.parse().ok().map(Self::SoftLimit),
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
            Self::Up { pid } => write!(f, "up {pid}"),
            Self::Alive => write!(f, "alive"),
            Self::Stopped { signal } => write!(f, "stopped {signal}"),
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
        match line {
            "expired" => return Ok(Self::Expired),
            "alive" => return Ok(Self::Alive),
            _ => {}
        }
        let (word, number) = line.split_once(' ').ok_or(Unreadable)?;
        let number: i32 = number.parse().map_err(|_| Unreadable)?;
        let byte = || u8::try_from(number).map_err(|_| Unreadable);
        match word {
            "up" => Ok(Self::Up { pid: number }),
            "stopped" => Ok(Self::Stopped { signal: number }),
            "started" => Ok(Self::Started { pid: number }),
            "refused" => Ok(Self::Refused { errno: number }),
            "exited" => Ok(Self::Ended(Ending::Exited(byte()?))),
            "killed" => Ok(Self::Ended(Ending::Killed(byte()?))),
            _ => Err(Unreadable),
        }
    }
}

/// Sends a line without waiting. Returns whether there was room for all of it: not if the other side does not read. None if
/// the other side has closed the socket.
pub(super) fn tell(socket: impl AsFd, line: &impl fmt::Display) -> Option<bool> {
    let line = format!("{line}\n");
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    match send(socket, line.as_bytes(), flags) {
        Ok(length) => Some(length == line.len()),
        Err(Errno::AGAIN) => Some(false),
        Err(_) => None,
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
            Order::Ping,
            Order::SoftLimit(1024),
        ] {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        for report in [
            Report::Up { pid: 4320 },
            Report::Alive,
            Report::Stopped { signal: 19 },
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
            "ping 1",
        ] {
            assert_eq!(line.parse::<Order>(), Err(Unreadable), "{line}");
        }
        for line in [
            "",
            "started",
            "expired 1",
            "alive 1",
            "up",
            "exited 256",
            "killed -1",
            "died 9",
        ] {
            assert_eq!(line.parse::<Report>(), Err(Unreadable), "{line}");
        }
    }
}
