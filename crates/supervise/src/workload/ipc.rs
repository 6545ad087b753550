//! The messages between the agent and the two watchers: lines of text, on one socket for the
//! guardian and one for the warden. The warden gets only [`Order::Until`], [`Order::Ping`] and
//! [`Order::SoftLimit`], and sends only [`Report::Alive`].

use std::fmt;
use std::os::fd::AsFd;
use std::str::FromStr;

use hustings_protocol::{Duration, Instant};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use rustix::process::Signal;

use super::deadline::Deadline;
use crate::last_will;
use crate::processes::Ending;
use hustings_authority::LastWill;

/// An order of the agent to the guardian.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// Ends the command: sends this signal to its process group, and kills every remaining process
    /// after the grace.
    Stop(Signal),
    /// Forwards a signal to the command's first process.
    Pass(Signal),
    /// Sets the end of the command's tenure on the boot clock, until the next such order. A command
    /// may start late in the tenure. So the order includes the tenure's full span, which decides
    /// how long before the end the command is killed.
    Until(Deadline),
    /// Sets the last will to send when both the agent and the command are dead. It replaces any
    /// earlier one.
    LastWill(LastWill),
    /// Asks for [`Report::Alive`].
    Ping,
    /// Sets the soft limit on open files for the command, if this program has raised its own.
    SoftLimit(u64),
}

/// A report of the guardian to the agent. The order is: up, then started or refused, then ended. If
/// the command was stopped before it was started, only the end is reported. The other reports come
/// in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// The guardian has started, as this process.
    Up { pid: i32 },
    /// The answer to a ping.
    Alive,
    /// This signal stopped the command's first process. It will be killed unless it is continued.
    Stopped { signal: i32 },
    /// The command runs, as this process.
    Started { pid: i32 },
    /// The system refused to execute the command, with this error number.
    Refused { errno: i32 },
    /// The tenure is about to end, and the command is being stopped. A renewal does not change
    /// that.
    Expired,
    /// The guardian has killed a command that had neither ended nor been told to stop.
    Killed(KillReason),
    /// The command has ended with all its descendants.
    Ended(Ending),
}

/// The reason why a command was killed while its member led.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KillReason {
    /// Its warden has ended, which would kill what a killed guardian leaves behind.
    WardenLost,
    /// Its guardian has ended, with which the command dies.
    GuardianLost,
    /// Its first process was stopped (STOP) for too long.
    Stopped,
}

impl KillReason {
    /// A clause about the command: "its warden was killed".
    pub(super) fn in_words(self) -> &'static str {
        match self {
            Self::WardenLost => "its warden was killed",
            Self::GuardianLost => "its guardian was killed",
            Self::Stopped => "it was stopped (STOP) for too long",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stop(signal) => write!(f, "stop {}", signal.as_raw()),
            Self::Pass(signal) => write!(f, "pass {}", signal.as_raw()),
            Self::Until(deadline) => {
                write!(f, "until {} {}", deadline.until.0, deadline.span.0)
            }
            Self::LastWill(it) => write!(f, "words {}", last_will::to_line(it)),
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
            "words" => last_will::from_line(rest).map(Self::LastWill),
            "limit" => rest.parse().ok().map(Self::SoftLimit),
            _ => None,
        };
        order.ok_or(Unreadable)
    }
}

fn deadline(text: &str) -> Option<Deadline> {
    let (until, span) = text.split_once(' ')?;
    let (until, span) = (Instant(until.parse().ok()?), Duration(span.parse().ok()?));
    Some(Deadline { until, span })
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
            Self::Killed(KillReason::WardenLost) => write!(f, "lost warden"),
            Self::Killed(KillReason::GuardianLost) => write!(f, "lost guardian"),
            Self::Killed(KillReason::Stopped) => write!(f, "stopped"),
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
            "lost warden" => return Ok(Self::Killed(KillReason::WardenLost)),
            "lost guardian" => return Ok(Self::Killed(KillReason::GuardianLost)),
            "stopped" => return Ok(Self::Killed(KillReason::Stopped)),
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

/// Sends a line without blocking. Returns true if all of it was sent, and false if there was no
/// room because the peer does not read. Returns `None` if the peer has closed the socket.
pub(super) fn tell(socket: impl AsFd, line: &impl fmt::Display) -> Option<bool> {
    let line = format!("{line}\n");
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    match send(socket, line.as_bytes(), flags) {
        Ok(length) => Some(length == line.len()),
        Err(Errno::AGAIN) => Some(false),
        Err(_) => None,
    }
}

/// The error for a line that neither side writes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_encoding_and_decoding() {
        let address = "127.0.0.1:4101".parse().expect("an address");
        for order in [
            Order::Stop(Signal::TERM),
            Order::Pass(Signal::USR1),
            Order::Until(Deadline { until: Instant(u64::MAX), span: Duration(7) }),
            Order::LastWill(LastWill(vec![(address, b"farewell".to_vec())])),
            Order::LastWill(LastWill::default()),
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
            Report::Killed(KillReason::WardenLost),
            Report::Killed(KillReason::GuardianLost),
            Report::Killed(KillReason::Stopped),
            Report::Ended(Ending::Exited(255)),
            Report::Ended(Ending::Killed(9)),
        ] {
            assert_eq!(report.to_string().parse(), Ok(report));
        }
    }

    #[test]
    fn invalid_lines_are_refused() {
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
        for line in
            ["", "started", "expired 1", "alive 1", "up", "exited 256", "killed -1", "died 9"]
        {
            assert_eq!(line.parse::<Report>(), Err(Unreadable), "{line}");
        }
    }
}
