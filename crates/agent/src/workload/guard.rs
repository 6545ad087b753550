//! The agent's side of the guardian.

use std::future::pending;
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as Socket;
use std::os::unix::process::CommandExt;
use std::process::Child;
use std::thread;
use std::time::Duration as StdDuration;

use hustings_protocol::{Duration, Instant};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::time::sleep;
use tracing::{error, warn};

use super::Workload;
use super::fencing::Term;
use super::lines::{Order, Report};
use super::patience::{Patience, Step};
use super::stages::Stage;
use crate::authority::Occupation;
use crate::authority::last_words::LastWords;
use crate::{Leadership, clock, handover, processes};

/// Timers do not count the time that the machine is suspended, the clock of tenure does: so it is read again.
const LONGEST_SLEEP: StdDuration = StdDuration::from_millis(200);
/// A socket cannot be told to wait for no time.
const LEAST_WAIT: StdDuration = StdDuration::from_millis(1);

/// A command under guard. If this is dropped, the command is killed, with all its descendants.
#[derive(Debug)]
pub(super) struct Guard {
    reports: Lines<BufReader<UnixStream>>,
    /// None when all of them have ended.
    watchers: Option<Watchers>,
    patience: Patience,
}

/// The processes that watch over the command, until their end.
#[derive(Debug)]
struct Watchers {
    /// Both guardian and warden have its other end: it ends with the last of them.
    socket: Socket,
    warden: Child,
    /// Somebody has seen that nothing is left of the command.
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
        term: Option<Term>,
        work: Option<Occupation>,
    ) -> io::Result<Self> {
        // Opened by the very process that it stands for: nobody else can have its number. Where the system has no
        // such thing, nobody will speak for this process when it is dead.
        let witness = pidfd_open(getpid(), PidfdFlags::empty()).ok();
        let witness = witness.as_ref().filter(|_| term.is_some());
        let (mut guardian, theirs) = handover::pair(io::stdin().as_fd(), witness.map(AsFd::as_fd))?;
        if let Some(term) = term {
            // It is there before the guardian is, so that nothing starts without an end.
            let line = format!("{}\n", Order::Until(term.deadline));
            guardian.write_all(line.as_bytes())?;
        }
        guardian.set_nonblocking(true)?;
        let socket = guardian.try_clone()?;
        let reports = BufReader::new(UnixStream::from_std(guardian)?).lines();

        let mut patience = Patience::new(workload.grace.into());
        if let Some(term) = term {
            patience.on_order(&Order::Until(term.deadline), clock::now());
        }
        let grace_millis = u64::try_from(workload.grace.as_millis()).unwrap_or(u64::MAX);
        let mut line = Stage::Warden.command(grace_millis, &workload.command);
        let leader = leadership.leader.as_ref().map(|leader| &leader.name);
        line.env("HUSTINGS_GROUP", &leadership.group)
            .env("HUSTINGS_LEADER", leader.unwrap_or(&leadership.member));
        match term.map(|term| term.fence.0).or(leadership.fence) {
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
        Ok(Self {
            reports,
            watchers: Some(watchers),
            patience,
        })
    }

    /// What the guardian has to say. None: it was killed, and nothing is left of the command, or nobody will see
    /// that. May be dropped unfinished.
    pub(super) async fn next(&mut self) -> Option<Report> {
        let report = self.line().await?.parse().ok()?;
        match (report, &mut self.watchers) {
            (Report::Ended(_), Some(watchers)) => watchers.has_ended = true,
            (Report::Expired, _) => self.patience.on_stopping(clock::now()),
            (Report::Ended(_) | Report::Started { .. } | Report::Refused { .. }, _) => {}
        }
        Some(report)
    }

    /// The next line that the guardian writes. If it is late with what it has to do, it is killed. None: it writes no
    /// more, or has been waited for in vain.
    async fn line(&mut self) -> Option<String> {
        loop {
            let next = self.patience.next();
            tokio::select! {
                biased;
                // A line that is no text is none that it would write.
                line = self.reports.next_line() => return line.ok().flatten(),
                step = sleep_until(next) => match (step, &self.watchers) {
                    // It was in time. This process was not: it was stopped, or is slow to read.
                    (_, Some(watchers)) if watchers.have_written() => sleep(LEAST_WAIT).await,
                    (Step::Kill, Some(watchers)) => {
                        warn!("the command's guardian is stopped, or hangs: killing it");
                        watchers.kill_guardian();
                        self.patience.on_killed(clock::now());
                    }
                    (Step::Kill | Step::GiveUp, _) => return None,
                },
            }
        }
    }

    /// Tells the guardian. If it has ended, so has the command: [`Guard::next`] says so. One that does not listen is not
    /// waited for: it is killed.
    pub(super) fn order(&mut self, order: &Order) {
        let now = clock::now();
        self.patience.on_order(order, now);
        let line = format!("{order}\n");
        match self.watchers.as_ref().map(|it| it.tell(&line)) {
            Some(Ok(length)) if length == line.len() => {}
            Some(Ok(_) | Err(Errno::AGAIN)) => self.patience.on_deaf(now),
            Some(Err(_)) | None => {} // it has ended
        }
    }

    /// Waits for the last of the processes after the last report. Whether somebody has seen that nobody is left: if
    /// all who watched were killed, or do not end, nobody has, and tenure is not given up.
    pub(super) async fn end(mut self) -> bool {
        self.patience.on_ending(clock::now());
        while self.line().await.is_some() {}
        match self.watchers.take_if(|it| it.have_ended()) {
            Some(watchers) => watchers.end(),
            None => self.watchers.as_mut().is_some_and(Watchers::end_work),
        }
    }
}

/// What is to be done, when it is time.
async fn sleep_until(next: Option<(Instant, Step)>) -> Step {
    let Some((moment, step)) = next else {
        return pending().await;
    };
    loop {
        let left = moment - clock::now();
        if left == Duration::ZERO {
            return step;
        }
        sleep(LONGEST_SLEEP.min(StdDuration::from_nanos(left.0))).await;
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
        // A guardian that has ended has nothing to say either.
        let _ = watchers.tell(&format!("{}\n", Order::LastWords(LastWords::default())));
        let _ = watchers.socket.shutdown(Shutdown::Write);
        self.patience.on_ending(clock::now());
        let next = self.patience.next();
        let thread = thread::Builder::new().name("command's end".to_owned());
        if let Err(error) = thread.spawn(move || watchers.see_to_the_end(next)) {
            error!("cannot wait for the command's end, so its tenure is not given up: {error}");
        }
    }
}

impl Watchers {
    /// Tells the guardian, but does not wait until it listens. How much it was told.
    fn tell(&self, line: &str) -> Result<usize, Errno> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        send(&self.socket, line.as_bytes(), flags)
    }

    /// The command dies with its guardian, and the warden kills the rest: unless it is stopped, too.
    fn kill_guardian(&self) {
        let warden = Pid::from_child(&self.warden);
        processes::send(warden, Signal::CONT);
        if let Err(error) = processes::kill_children(warden) {
            error!("cannot kill the command's guardian: {error}");
        }
    }

    /// Waits without a runtime.
    fn see_to_the_end(mut self, next: Option<(Instant, Step)>) {
        let mut reports = Vec::new();
        if let Err(error) = self.hear_out(next, &mut reports)
            && error.kind() == io::ErrorKind::WouldBlock
        {
            self.kill_guardian();
            // A socket that was reset has ended too.
            let _ = self.hear_out(None, &mut reports);
        }
        let reports = String::from_utf8_lossy(&reports);
        let is_end = |line: &str| matches!(line.parse(), Ok(Report::Ended(_)));
        self.has_ended |= reports.lines().any(is_end);
        if !self.end() {
            error!(
                "nobody has seen the command end, and something of it may still run: its tenure is not given up; look for what is left, and kill it"
            );
        }
    }

    /// All that they say until they end, or until it is time to do something about it.
    fn hear_out(&mut self, next: Option<(Instant, Step)>, reports: &mut Vec<u8>) -> io::Result<()> {
        let left = next.map(|(moment, _)| moment - clock::now());
        let left = left.map(|left| StdDuration::from_nanos(left.0).max(LEAST_WAIT));
        self.socket.set_nonblocking(false)?;
        self.socket.set_read_timeout(left)?;
        self.socket.read_to_end(reports).map(|_| ())
    }

    /// Whether all have closed the socket.
    fn have_ended(&self) -> bool {
        self.peek().is_some_and(|unread| unread == 0)
    }

    /// Whether there is something to read, if only the end.
    fn have_written(&self) -> bool {
        self.peek().is_some()
    }

    /// How much there is to read, one byte at most; none if nobody knows yet.
    fn peek(&self) -> Option<usize> {
        let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
        match recv(&self.socket, &mut [0; 1], flags) {
            Ok((length, _)) => Some(length),
            Err(Errno::AGAIN) => None,
            Err(_) => Some(0),
        }
    }

    /// All have closed the socket, so that the last of them is about to have ended. Whether nothing is left.
    fn end(mut self) -> bool {
        let status = self.warden.wait();
        let warden_saw_it = status.is_ok_and(|status| status.success());
        if self.has_ended && !warden_saw_it {
            warn!("the command's warden was killed: so was what was left of the command");
        }
        self.has_ended |= warden_saw_it;
        self.end_work()
    }

    /// If nothing is left of the command, tenure may be given up. Whether it is so.
    fn end_work(&mut self) -> bool {
        if self.has_ended {
            drop(self.work.take());
        }
        self.has_ended
    }
}
