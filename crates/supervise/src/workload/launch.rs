//! Starts the command for the guardian.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::time::Duration;

use hustings_protocol::Instant;
use rustix::process::{Pid, Signal, getpid};

use super::ipc::Report;
use super::stages::Stage;
use crate::fd_passing;
use crate::processes::Ending;
use hustings_system::clock;

/// Starts the command, and waits until it runs: a signal for it must not hit the process that is
/// about to become it. Starts nothing at `latest` or later, and does not wait beyond, because the
/// executable may be on a disk that hangs. If the command does not run, the inner error has the
/// reports for the agent.
pub(super) fn launch(
    input: OwnedFd,
    command: &[OsString],
    latest: Option<Instant>,
) -> io::Result<Result<Pid, Vec<Report>>> {
    let left = latest.map(|latest| latest - clock::now());
    let too_late = vec![Report::Expired, Report::Ended(Ending::killed_by(Signal::KILL))];
    if left.is_some_and(|left| left.0 == 0) {
        return Ok(Err(too_late));
    }
    let (mut socket, theirs) = fd_passing::pair(input.as_fd(), None)?;
    drop(input);
    let guardian = u64::from(getpid().as_raw_nonzero().get().unsigned_abs());
    let mut child =
        Stage::Exec.command(guardian, command).stdin(theirs).process_group(0).spawn()?;
    socket.set_read_timeout(left.map(|left| Duration::from_nanos(left.0)))?;
    let mut errno = String::new();
    if let Err(error) = socket.read_to_string(&mut errno) {
        if error.kind() != io::ErrorKind::WouldBlock {
            return Err(error);
        }
        // The process may have become the command at this moment. The caller kills what that has
        // started.
        child.kill()?;
        return Ok(Err(too_late));
    }
    Ok(match errno.parse() {
        Ok(errno) => Err(vec![Report::Refused { errno }]),
        Err(_) => Ok(Pid::from_child(&child)),
    })
}
