//! The agent's side of the guardian.

use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as Socket;
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::thread;

use rustix::net::{SendFlags, send};
use rustix::process::{PidfdFlags, getpid, pidfd_open};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tracing::error;

use super::Workload;
use super::lines::{Order, Report};
use super::stages::Stage;
use crate::authority::last_words::LastWords;
use crate::authority::{Held, Occupation};
use crate::{Leadership, handover};

/// A command under guard. If this is dropped, the command is killed, with all its descendants.
#[derive(Debug)]
pub(super) struct Guard {
    reports: Lines<BufReader<UnixStream>>,
    /// None when all of them have ended.
    watchers: Option<Watchers>,
}

/// The processes that watch over the command, until their end.
#[derive(Debug)]
struct Watchers {
    /// Both guardian and warden have its other end: it ends with the last of them.
    socket: Socket,
    warden: Child,
    /// The guardian has said that nothing is left of the command.
    has_ended: bool,
    /// Goes on until somebody has seen that nothing is left. If nobody ever has, tenure is not given up.
    work: ManuallyDrop<Option<Occupation>>,
}

impl Guard {
    /// Starts the processes that will start the command, under the tenure that is held if there is one. That is not
    /// given up before somebody has seen that nothing is left of the command.
    pub(super) fn start(
        workload: &Workload,
        leadership: &Leadership,
        held: Option<Held>,
        work: Option<Occupation>,
    ) -> io::Result<Self> {
        // Opened by the very process that it stands for: nobody else can have its number. Where the system has no
        // such thing, nobody will speak for this process when it is dead.
        let witness = pidfd_open(getpid(), PidfdFlags::empty()).ok();
        let witness = witness.as_ref().filter(|_| held.is_some());
        let (mut guardian, theirs) = handover::pair(io::stdin().as_fd(), witness.map(AsFd::as_fd))?;
        if let Some(held) = held {
            // It is there before the guardian is, so that nothing starts without an end.
            let line = format!("{}\n", Order::Until(held.until));
            guardian.write_all(line.as_bytes())?;
        }
        guardian.set_nonblocking(true)?;
        let socket = guardian.try_clone()?;
        let reports = BufReader::new(UnixStream::from_std(guardian)?).lines();

        let grace_millis = u64::try_from(workload.grace.as_millis()).unwrap_or(u64::MAX);
        let mut line = Stage::Warden.command(grace_millis, &workload.command);
        let leader = leadership.leader.as_ref().map(|leader| &leader.name);
        line.env("HUSTINGS_GROUP", &leadership.group)
            .env("HUSTINGS_LEADER", leader.unwrap_or(&leadership.member));
        match held.map(|held| held.fence.0).or(leadership.fence) {
            Some(fence) => line.env("HUSTINGS_FENCE", fence.to_string()),
            None => line.env_remove("HUSTINGS_FENCE"),
        };
        // In its own process group: what is typed at a terminal is for the agent to handle.
        line.stdin(theirs).process_group(0);
        let warden = line.spawn()?;
        let watchers = Watchers {
            socket,
            warden,
            has_ended: false,
            work: ManuallyDrop::new(work),
        };
        let watchers = Some(watchers);
        Ok(Self { reports, watchers })
    }

    /// What the guardian has to say. None: it was killed, and nothing is left of the command. May be dropped
    /// unfinished.
    pub(super) async fn next(&mut self) -> Option<Report> {
        let line = self.reports.next_line().await.ok().flatten()?;
        let report = line.parse().ok()?;
        if let (Report::Ended(_), Some(watchers)) = (report, &mut self.watchers) {
            watchers.has_ended = true;
        }
        Some(report)
    }

    /// Tells the guardian. If it has ended, so has the command: [`Guard::next`] says so.
    pub(super) async fn order(&mut self, order: Order) {
        let line = format!("{order}\n");
        let guardian = self.reports.get_mut();
        let _ = guardian.write_all(line.as_bytes()).await;
    }

    /// Waits for the last of the processes after the last report. Whether somebody has seen that nobody is left: if
    /// all who watched were killed, nobody has, and tenure is not given up.
    pub(super) async fn end(mut self) -> bool {
        // A socket that was reset has ended too.
        let _ = self.reports.get_mut().read_to_end(&mut Vec::new()).await;
        self.watchers.take().is_none_or(Watchers::end)
    }
}

impl Drop for Guard {
    /// The guardian kills the command, and this process may live on and run another: what that one's guardian does
    /// not know to be dead, this one must not take for dead. So it has nothing more to say.
    ///
    /// Whoever drops this does not wait for the command's end, and may have no runtime any more. So a thread does.
    fn drop(&mut self) {
        let Some(watchers) = self.watchers.take() else {
            return;
        };
        let line = format!("{}\n", Order::LastWords(LastWords::default()));
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        // A guardian that has ended has nothing to say either.
        let _ = send(&watchers.socket, line.as_bytes(), flags);
        let _ = watchers.socket.shutdown(Shutdown::Write);
        let thread = thread::Builder::new().name("command's end".to_owned());
        if let Err(error) = thread.spawn(|| watchers.see_to_the_end()) {
            error!("cannot wait for the command's end, so its tenure is not given up: {error}");
        }
    }
}

impl Watchers {
    fn see_to_the_end(mut self) {
        let mut reports = Vec::new();
        // A socket that was reset has ended too.
        let waits = self.socket.set_nonblocking(false);
        let _ = waits.and_then(|()| self.socket.read_to_end(&mut reports));
        let reports = String::from_utf8_lossy(&reports);
        let is_end = |line: &str| matches!(line.parse(), Ok(Report::Ended(_)));
        self.has_ended |= reports.lines().any(is_end);
        if !self.end() {
            error!(
                "nobody has seen the command end, and something of it may still run: its tenure is not given up; look for what is left, and kill it"
            );
        }
    }

    /// All have closed the socket, so that the last of them is about to have ended. Whether nothing is left.
    fn end(mut self) -> bool {
        let status = self.warden.wait();
        let none_left = self.has_ended || status.is_ok_and(|status| status.success());
        if none_left {
            drop(ManuallyDrop::into_inner(self.work));
        }
        none_left
    }
}
