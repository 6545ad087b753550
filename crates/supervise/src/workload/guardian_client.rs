//! The agent's side of the guardian and the warden.

use std::future::pending;
use std::io::{self, Read, Write};
use std::mem::ManuallyDrop;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream as Socket;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::thread;
use std::time::Duration as StdDuration;

use hustings_protocol::{Duration, Instant};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::net::UnixStream;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep};
use tracing::{error, warn};

use super::Workload;
use super::guardian_timeout::{GuardianTimeout, SLACK, Step};
use super::heartbeat::{Heartbeat, PING_EVERY, Remedy};
use super::ipc::{Order, Report, tell};
use super::lease_binding::Term;
use super::stages::{WARDEN, stage_command};
use crate::watcher::kill_orphans;
use crate::{fd_limit, fd_passing, processes};
use hustings_authority::{LastWill, WorkGuard};
use hustings_protocol::leadership::Leadership;
use hustings_system::clock;

/// The longest sleep of a timer. Timers do not count the time that the machine is suspended, but
/// the clock of tenure does, so it is read again.
const LONGEST_SLEEP: StdDuration = StdDuration::from_millis(200);
/// The shortest timeout of a socket, which cannot be zero.
const LEAST_WAIT: StdDuration = StdDuration::from_millis(1);

/// The prefix of our environment variables. The command gets only those that are meant for it: it
/// must not learn the group's key, for example.
const OUR_VARIABLES: &[u8] = b"HUSTINGS_";

/// A running command with its watchers. If this is dropped, the command is killed with all its
/// descendants.
#[derive(Debug)]
pub(super) struct GuardianClient {
    guardian: WatcherHandle,
    warden: WatcherHandle,
    /// `None` if both have ended.
    watchers: Option<Watchers>,
    guardian_timeout: GuardianTimeout,
    pings: Interval,
}

/// One watcher as the agent sees it: its reports, and its answers to pings.
#[derive(Debug)]
struct WatcherHandle {
    reports: Lines<BufReader<UnixStream>>,
    /// True if it has closed its socket.
    has_ended: bool,
    heartbeat: Heartbeat,
}

/// The processes that supervise the command, until their end.
#[derive(Debug)]
struct Watchers {
    /// The agent's end of the guardian's socket.
    socket: Socket,
    /// A pidfd of the guardian, as soon as it has started. With it the guardian can be signalled
    /// even if no descriptor is free, or the warden is dead.
    guardian: Option<OwnedFd>,
    /// The agent's end of the warden's socket.
    warden_socket: Socket,
    warden: Child,
    /// True if a watcher has verified that nothing is left of the command.
    has_ended: bool,
    /// Counts as running until a watcher has verified that nothing is left. If none ever does,
    /// tenure is not released.
    work: ManuallyDrop<Option<WorkGuard>>,
}

/// An event of the watchers.
enum Event {
    Report(Report),
    /// The guardian or the warden has closed its socket.
    Ended,
    /// A process that should have ended has not, and the client stops waiting.
    GaveUp,
}

impl GuardianClient {
    /// Starts the processes that will start the command, under the tenure that is held, if there is
    /// one. That tenure is not released before a watcher has verified that nothing is left of the
    /// command.
    ///
    /// Everything needed to kill the command is opened here, except the guardian's pidfd, which is
    /// opened when the guardian reports that it has started.
    pub(super) fn start(
        workload: &Workload,
        leadership: &Leadership,
        granted: Option<(Term, WorkGuard)>,
    ) -> io::Result<Self> {
        let (term, work) = granted.unzip();
        // This process opens the pidfd on itself, so its id cannot belong to another process.
        // Without pidfds no last will is sent when this process dies.
        let witness = pidfd_open(getpid(), PidfdFlags::empty()).ok();
        let witness = witness.as_ref().filter(|_| term.is_some());
        let (mut guardian, theirs) =
            fd_passing::pair(io::stdin().as_fd(), witness.map(AsFd::as_fd))?;
        // The warden passes this socket on to the guardian.
        let (mut warden, wardens) = fd_passing::pair(theirs.as_fd(), None)?;
        if let Some(files) = fd_limit::inherited_limit() {
            writeln!(warden, "{}", Order::SoftLimit(files))?;
        }
        let mut guardian_timeout = GuardianTimeout::new(workload.grace.into());
        if let Some(term) = term {
            // The deadline is sent before the processes start, so that no command starts without
            // one.
            let until = Order::Until(term.deadline);
            writeln!(guardian, "{until}")?;
            writeln!(warden, "{until}")?;
            guardian_timeout.on_order(&until, clock::now());
        }
        let (socket, guardian) = WatcherHandle::of(guardian)?;
        let (warden_socket, warden) = WatcherHandle::of(warden)?;
        let mut pings = interval(PING_EVERY);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);

        let mut line = command_line(workload, leadership, term);
        // The warden gets its own process group: the agent handles signals typed at a terminal.
        line.stdin(wardens).process_group(0);
        let watchers = Watchers {
            socket,
            guardian: None,
            warden_socket,
            warden: line.spawn()?,
            has_ended: false,
            work: ManuallyDrop::new(work),
        };
        Ok(Self { guardian, warden, watchers: Some(watchers), guardian_timeout, pings })
    }

    /// Returns the guardian's next report, or `None` if it was killed or did not end in time.
    /// Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Report> {
        while !self.guardian.has_ended {
            match self.event().await {
                Event::Report(report) => {
                    self.on_report(report);
                    return Some(report);
                }
                Event::Ended => {}
                Event::GaveUp => return None,
            }
        }
        None
    }

    fn on_report(&mut self, report: Report) {
        match (report, &mut self.watchers) {
            (Report::Up { pid }, Some(watchers)) => watchers.hold_guardian(pid),
            (Report::Ended(_), Some(watchers)) => watchers.has_ended = true,
            (Report::Expired, _) => self.guardian_timeout.on_stopping(clock::now()),
            (Report::Stopped { signal }, _) => warn!(
                "signal {signal} has stopped the command: it is killed unless it is continued within five seconds"
            ),
            _ => {}
        }
    }

    /// Waits for the guardian's next report, or for the end of either watcher. Meanwhile pings
    /// both, and kills a guardian that misses its deadline. Cancel-safe.
    async fn event(&mut self) -> Event {
        loop {
            let next = self.guardian_timeout.next();
            tokio::select! {
                biased;
                report = self.guardian.next() => return report.map_or(Event::Ended, Event::Report),
                report = self.warden.next() => if report.is_none() {
                    return Event::Ended;
                },
                step = sleep_until(next) => match (step, &self.watchers) {
                    // The watchers were in time. This process was not: it was stopped, or reads
                    // slowly.
                    (_, Some(watchers)) if self.have_written(watchers) => sleep(LEAST_WAIT).await,
                    (Step::Kill, Some(_)) => self.kill_guardian(),
                    (Step::Kill | Step::GiveUp, _) => return Event::GaveUp,
                },
                _ = self.pings.tick() => self.ping(),
            }
        }
    }

    /// True if a socket has something to read, including its end.
    fn have_written(&self, watchers: &Watchers) -> bool {
        let guardian = !self.guardian.has_ended && has_written(&watchers.socket);
        guardian || (!self.warden.has_ended && has_written(&watchers.warden_socket))
    }

    fn kill_guardian(&mut self) {
        let Some(watchers) = &self.watchers else {
            return;
        };
        if !self.guardian.has_ended {
            warn!("the command's guardian is stopped, or hangs: killing the guardian");
        }
        match watchers.kill_guardian() {
            Ok(()) => self.guardian_timeout.on_killed(clock::now()),
            Err(error) => {
                if self.guardian_timeout.on_kill_failed(clock::now()) {
                    error!("cannot kill the command's guardian, trying again: {error}");
                }
            }
        }
    }

    /// Pings the watchers that have not ended, and reacts to those that do not answer.
    fn ping(&mut self) {
        let Some(watchers) = &mut self.watchers else {
            return;
        };
        match self.guardian.ping(&watchers.socket, "guardian") {
            Remedy::Wait => {}
            Remedy::Continue => watchers.continue_guardian(),
            Remedy::Kill => self.guardian_timeout.on_deaf(clock::now()),
        }
        match self.warden.ping(&watchers.warden_socket, "warden") {
            Remedy::Wait => {}
            Remedy::Continue => watchers.continue_warden(),
            Remedy::Kill => {
                warn!(
                    "the command's warden hangs: killing the warden, so that the guardian ends the command"
                );
                // A warden that has ended closes its socket.
                let _ = watchers.warden.kill();
            }
        }
    }

    /// Sends an order to the guardian, and to the warden if it concerns it. If the guardian has
    /// ended, so has the command: [`GuardianClient::next`] reports it. A guardian that does not
    /// read is killed.
    pub(super) fn order(&mut self, order: &Order) {
        let now = clock::now();
        self.guardian_timeout.on_order(order, now);
        let Some(watchers) = &self.watchers else {
            return;
        };
        if tell(&watchers.socket, order) == Some(false) {
            self.guardian_timeout.on_deaf(now);
        }
        if matches!(order, Order::Until(_)) {
            // A warden that does not read does not answer pings either.
            tell(&watchers.warden_socket, order);
        }
    }

    /// Waits for the end of the watchers after the last report. Returns true if a watcher has
    /// verified that nothing is left. If all watchers were killed or do not end, none has, and
    /// tenure is not released.
    pub(super) async fn end(mut self) -> bool {
        self.guardian_timeout.on_ending(clock::now());
        while !self.guardian.has_ended || !self.warden.has_ended {
            match self.event().await {
                Event::Report(report) => self.on_report(report),
                Event::Ended => {}
                Event::GaveUp => return self.watchers.as_mut().is_some_and(Watchers::end_work),
            }
        }
        let Some(mut watchers) = self.watchers.take() else {
            return false;
        };
        watchers.end();
        // If both were killed, this process has adopted the rest of the command. If only the warden
        // was, it has adopted the guardian, which is reaped here.
        watchers.has_ended |= kill_orphans().await;
        watchers.end_work()
    }
}

/// Returns the command line that starts the warden, with the environment of the command.
fn command_line(workload: &Workload, leadership: &Leadership, term: Option<Term>) -> Command {
    let grace_millis = u64::try_from(workload.grace.as_millis()).unwrap_or(u64::MAX);
    let mut line = stage_command(WARDEN, grace_millis, &workload.command);
    for (name, _) in std::env::vars_os() {
        if name.as_bytes().starts_with(OUR_VARIABLES) {
            line.env_remove(name);
        }
    }
    let leader = leadership.leader.as_ref().map(|leader| &leader.name);
    line.env("HUSTINGS_GROUP", &leadership.group)
        .env("HUSTINGS_LEADER", leader.unwrap_or(&leadership.member));
    if let Some(fence) = term.map(|term| term.fence.0).or(leadership.fence) {
        line.env("HUSTINGS_FENCE", fence.to_string());
    }
    line
}

impl WatcherHandle {
    /// Wraps a socket. Returns its reports, and the socket itself for orders.
    fn of(socket: Socket) -> io::Result<(Socket, Self)> {
        socket.set_nonblocking(true)?;
        let handle = Self {
            reports: BufReader::new(UnixStream::from_std(socket.try_clone()?)?).lines(),
            has_ended: false,
            heartbeat: Heartbeat::default(),
        };
        Ok((socket, handle))
    }

    /// Pings the watcher, unless it has ended. Returns the reaction to its silence.
    fn ping(&mut self, socket: &Socket, name: &str) -> Remedy {
        if self.has_ended {
            return Remedy::Wait;
        }
        let remedy = self.heartbeat.on_ping();
        if remedy == Remedy::Continue {
            warn!("the command's {name} does not answer: sending SIGCONT, in case it is stopped");
        }
        tell(socket, &Order::Ping);
        remedy
    }

    /// Returns the next report, or `None` at the end. After the end it never returns. Cancel-safe.
    async fn next(&mut self) -> Option<Report> {
        if self.has_ended {
            return pending().await;
        }
        // A watcher never writes an invalid line, so nothing more is expected of it.
        let line = self.reports.next_line().await.ok().flatten();
        let report = line.and_then(|line| line.parse().ok());
        match report {
            Some(Report::Alive | Report::Started { .. }) => self.heartbeat.on_answer(),
            Some(_) => {}
            None => self.has_ended = true,
        }
        report
    }
}

/// Waits until the step is due, and returns it.
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

impl Drop for GuardianClient {
    /// Kills the command without waiting for its end. This process may live on and run another
    /// command, whose end this guardian would not see. So the guardian's last will is withdrawn.
    ///
    /// The caller does not wait and may have no runtime any more, so a thread waits for the end.
    fn drop(&mut self) {
        let Some(watchers) = self.watchers.take() else {
            return;
        };
        // A guardian that has ended sends no last will either.
        tell(&watchers.socket, &Order::LastWill(LastWill::default()));
        let _ = watchers.socket.shutdown(Shutdown::Write);
        self.guardian_timeout.on_ending(clock::now());
        let next = self.guardian_timeout.next();
        let thread = thread::Builder::new().name("command's end".to_owned());
        if let Err(error) = thread.spawn(move || watchers.see_to_the_end(next)) {
            error!("cannot wait for the command's end, so its tenure is not released: {error}");
        }
    }
}

/// True if a socket has something to read, including its end.
fn has_written(socket: &Socket) -> bool {
    let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
    !matches!(recv(socket, &mut [0; 1], flags), Err(Errno::AGAIN))
}

impl Watchers {
    /// Opens a pidfd of the guardian, which has reported this process id.
    fn hold_guardian(&mut self, pid: i32) {
        let held = match Pid::from_raw(pid) {
            Some(pid) => processes::hold_child(Pid::from_child(&self.warden), pid),
            None => Ok(None),
        };
        match held {
            Ok(held) => self.guardian = held,
            Err(error) => {
                warn!(
                    "cannot open a pidfd of the command's guardian, so the guardian is searched for when it has to be killed: {error}"
                );
            }
        }
    }

    /// Sends CONT to the warden. It is a child that has not been reaped, so no other process can
    /// have its id.
    fn continue_warden(&self) {
        processes::send(Pid::from_child(&self.warden), Signal::CONT);
    }

    fn continue_guardian(&self) {
        if let Some(guardian) = &self.guardian {
            // A guardian that has ended closes its socket.
            let _ = pidfd_send_signal(guardian, Signal::CONT);
        }
    }

    /// Kills the guardian. The command dies with it, and the warden, which gets CONT in case it is
    /// stopped, kills the rest. If the guardian has already ended, the processes that it left to
    /// the warden are killed.
    fn kill_guardian(&self) -> io::Result<()> {
        self.continue_warden();
        let killed = self.guardian.as_ref().map(|it| pidfd_send_signal(it, Signal::KILL));
        match killed {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => processes::kill_children(Pid::from_child(&self.warden)),
        }
    }

    /// Waits for the end of both watchers without a runtime.
    fn see_to_the_end(mut self, next: Option<(Instant, Step)>) {
        let mut reports = Vec::new();
        self.hear_out(&self.socket, next, &mut reports);
        let soon = (clock::now() + SLACK, Step::Kill);
        self.hear_out(&self.warden_socket, Some(soon), &mut reports);
        let reports = String::from_utf8_lossy(&reports);
        let is_end = |line: &str| matches!(line.parse(), Ok(Report::Ended(_)));
        self.has_ended |= reports.lines().any(is_end);
        self.end();
        if !self.end_work() {
            error!(
                "no process has seen the command end, and processes of it may still run: its tenure is not released; find the remaining processes, and kill them"
            );
        }
    }

    /// Reads a socket until its end. If the end does not come in time, kills the guardian.
    fn hear_out(&self, socket: &Socket, next: Option<(Instant, Step)>, reports: &mut Vec<u8>) {
        if let Err(error) = read_to_end(socket, next, reports)
            && error.kind() == io::ErrorKind::WouldBlock
        {
            while self.kill_guardian().is_err() {
                thread::sleep(LEAST_WAIT);
            }
            // A socket that was reset has ended too.
            let _ = read_to_end(socket, None, reports);
        }
    }

    /// Waits for the warden after both have closed their sockets.
    fn end(&mut self) {
        let status = self.warden.wait();
        let warden_saw_it = status.is_ok_and(|status| status.success());
        if self.has_ended && !warden_saw_it {
            warn!(
                "the command's warden was killed, and with it the remaining processes of the command"
            );
        }
        self.has_ended |= warden_saw_it;
    }

    /// Lets tenure be released if nothing is left of the command. Returns true if so.
    fn end_work(&mut self) -> bool {
        if self.has_ended {
            drop(self.work.take());
        }
        self.has_ended
    }
}

/// Reads a socket until its end, or until `next`.
fn read_to_end(
    mut socket: &Socket,
    next: Option<(Instant, Step)>,
    reports: &mut Vec<u8>,
) -> io::Result<()> {
    let left = next.map(|(moment, _)| moment - clock::now());
    let left = left.map(|left| StdDuration::from_nanos(left.0).max(LEAST_WAIT));
    socket.set_nonblocking(false)?;
    socket.set_read_timeout(left)?;
    socket.read_to_end(reports).map(|_| ())
}
