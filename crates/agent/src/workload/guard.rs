//! The agent's side of the guardian.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;

use rustix::net::{SendFlags, send};
use rustix::process::{PidfdFlags, getpid, pidfd_open};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::process::{Child, Command};

use super::Workload;
use super::lines::{Order, Report};
use super::stages::Stage;
use crate::authority::Held;
use crate::authority::last_words::LastWords;
use crate::{Leadership, handover};

/// A command under guard. If this is dropped, the command is killed, with all its descendants.
#[derive(Debug)]
pub(super) struct Guard {
    reports: Lines<BufReader<UnixStream>>,
    warden: Child,
}

impl Guard {
    /// Starts the processes that will start the command, under the tenure that is held if there is one.
    pub(super) fn start(
        workload: &Workload,
        leadership: &Leadership,
        held: Option<Held>,
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
        let guardian = UnixStream::from_std(guardian)?;

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
        let warden = Command::from(line).spawn()?;
        let reports = BufReader::new(guardian).lines();
        Ok(Self { reports, warden })
    }

    /// What the guardian has to say. None: it was killed, and nothing is left of the command. May be dropped
    /// unfinished.
    pub(super) async fn next(&mut self) -> Option<Report> {
        let line = self.reports.next_line().await.ok().flatten()?;
        line.parse().ok()
    }

    /// Tells the guardian. If it has ended, so has the command: [`Guard::next`] says so.
    pub(super) async fn order(&mut self, order: Order) {
        let line = format!("{order}\n");
        let guardian = self.reports.get_mut();
        let _ = guardian.write_all(line.as_bytes()).await;
    }

    /// Waits for the last of the processes after the last report. Whether the warden has seen that nobody is left: if it
    /// was killed, it has not.
    pub(super) async fn end(mut self) -> io::Result<bool> {
        self.warden.wait().await.map(|status| status.success())
    }
}

impl Drop for Guard {
    /// The guardian kills the command, and this process may live on and run another: what that one's guardian does
    /// not know to be dead, this one must not take for dead. So it has nothing more to say.
    fn drop(&mut self) {
        let line = format!("{}\n", Order::LastWords(LastWords::default()));
        let guardian = self.reports.get_ref().get_ref();
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        // A guardian that has ended has nothing to say either.
        let _ = send(guardian, line.as_bytes(), flags);
    }
}
