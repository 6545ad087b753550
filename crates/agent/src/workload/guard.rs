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
use super::fencing::Term;
use super::heartbeat::{Heartbeat, PING_EVERY, Remedy};
use super::lines::{Order, Report, tell};
use super::orphans::kill_orphans;
use super::patience::{Patience, SLACK, Step};
use super::stages::Stage;
use crate::authority::Occupation;
use crate::authority::last_words::LastWords;
use crate::{Leadership, clock, descriptors, handover, processes};

/// Timers do not count the time that the machine is suspended, the clock of tenure does: so it is read again.
const LONGEST_SLEEP: StdDuration = StdDuration::from_millis(200);
/// A socket cannot be told to wait for no time.
const LEAST_WAIT: StdDuration = StdDuration::from_millis(1);

/// What the names of our variables begin with. The command gets none of them but those that are meant for it: the key of the
/// group, for one, is none of its business.
const OUR_VARIABLES: &[u8] = b"HUSTINGS_";

/// A command under guard. If this is dropped, the command is killed, with all its descendants.
#[derive(Debug)]
pub(super) struct Guard {
    guardian: Voice,
    warden: Voice,
    /// None when both have ended.
    watchers: Option<Watchers>,
    patience: Patience,
    pings: Interval,
}

/// What one of the watchers says.
#[derive(Debug)]
struct Voice {
    reports: Lines<BufReader<UnixStream>>,
    /// It says no more.
    has_ended: bool,
    heartbeat: Heartbeat,
}

/// The processes that watch over the command, until their end.
#[derive(Debug)]
struct Watchers {
    /// The guardian has its other end.
    socket: Socket,
    /// The guardian, as soon as it is up: with this it can be signalled when the system has no descriptors left, or the
    /// warden is dead.
    guardian: Option<OwnedFd>,
    /// The warden has its other end.
    warden_socket: Socket,
    warden: Child,
    /// Somebody has seen that nothing is left of the command.
    has_ended: bool,
    /// Goes on until somebody has seen that nothing is left. If nobody ever has, tenure is not given up.
    work: ManuallyDrop<Option<Occupation>>,
}

/// What happened to a guard.
enum Event {
    Report(Report),
    /// The guardian, or the warden, says no more.
    Ended,
    /// What should have ended has not, and is not waited for any longer.
    GaveUp,
}

impl Guard {
    /// Starts the processes that will start the command, under the tenure that is held if there is one. That is not
    /// given up before somebody has seen that nothing is left of the command.
    ///
    /// All that is needed to kill the command is opened here, but for the file that stands for the guardian: this file is
    /// opened when the guardian says that it is up.
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
        // The warden hands its socket on to the guardian.
        let (mut warden, wardens) = handover::pair(theirs.as_fd(), None)?;
        if let Some(files) = descriptors::inherited_limit() {
            writeln!(warden, "{}", Order::SoftLimit(files))?;
        }
        let mut patience = Patience::new(workload.grace.into());
        if let Some(term) = term {
            // It is there before the two are, so that nothing starts without an end.
            let until = Order::Until(term.deadline);
            writeln!(guardian, "{until}")?;
            writeln!(warden, "{until}")?;
            patience.on_order(&until, clock::now());
        }
        let (socket, guardian) = Voice::of(guardian)?;
        let (warden_socket, warden) = Voice::of(warden)?;
        let mut pings = interval(PING_EVERY);
        pings.set_missed_tick_behavior(MissedTickBehavior::Delay);

        let mut line = command_line(workload, leadership, term);
        // In its own process group: what is typed at a terminal is for the agent to handle.
        line.stdin(wardens).process_group(0);
        let watchers = Watchers {
            socket,
            guardian: None,
            warden_socket,
            warden: line.spawn()?,
            has_ended: false,
            work: ManuallyDrop::new(work),
        };
        Ok(Self {
            guardian,
            warden,
            watchers: Some(watchers),
            patience,
            pings,
        })
    }

    /// What the guardian has to say. None: it was killed, or has been waited for in vain. May be dropped unfinished.
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
            (Report::Expired, _) => self.patience.on_stopping(clock::now()),
            (Report::Stopped { signal }, _) => warn!(
                "signal {signal} has stopped the command: it is killed unless it is continued within five seconds"
            ),
            _ => {}
        }
    }

    /// Waits for the next report of the guardian, or for the end of either of the two. Pings them meanwhile. A guardian that
    /// is late with what it has to do is killed. May be dropped unfinished.
    async fn event(&mut self) -> Event {
        loop {
            let next = self.patience.next();
            tokio::select! {
                biased;
                report = self.guardian.next() => return report.map_or(Event::Ended, Event::Report),
                report = self.warden.next() => if report.is_none() {
                    return Event::Ended;
                },
                step = sleep_until(next) => match (step, &self.watchers) {
                    // They were in time. This process was not: it was stopped, or is slow to read.
                    (_, Some(watchers)) if self.have_written(watchers) => sleep(LEAST_WAIT).await,
                    (Step::Kill, Some(_)) => self.kill_guardian(),
                    (Step::Kill | Step::GiveUp, _) => return Event::GaveUp,
                },
                _ = self.pings.tick() => self.ping(),
            }
        }
    }

    /// Whether there is something to read, if only the end.
    fn have_written(&self, watchers: &Watchers) -> bool {
        let guardian = !self.guardian.has_ended && has_written(&watchers.socket);
        guardian || (!self.warden.has_ended && has_written(&watchers.warden_socket))
    }

    fn kill_guardian(&mut self) {
        let Some(watchers) = &self.watchers else {
            return;
        };
        if !self.guardian.has_ended {
            warn!("the command's guardian is stopped, or hangs: killing it");
        }
        match watchers.kill_guardian() {
            Ok(()) => self.patience.on_killed(clock::now()),
            Err(error) => {
                if self.patience.on_kill_failed(clock::now()) {
                    error!("cannot kill the command's guardian, trying until it works: {error}");
                }
            }
        }
    }

    /// Pings those that have not ended, and looks after those that do not answer.
    fn ping(&mut self) {
        let Some(watchers) = &mut self.watchers else {
            return;
        };
        if !self.guardian.has_ended {
            match self.guardian.heartbeat.on_ping() {
                Remedy::Wait => {}
                Remedy::Continue => {
                    warn!(
                        "the command's guardian does not answer: continuing it, in case it is stopped"
                    );
                    watchers.continue_guardian();
                }
                Remedy::Kill => self.patience.on_deaf(clock::now()),
            }
            tell(&watchers.socket, &Order::Ping);
        }
        if !self.warden.has_ended {
            match self.warden.heartbeat.on_ping() {
                Remedy::Wait => {}
                Remedy::Continue => {
                    warn!(
                        "the command's warden does not answer: continuing it, in case it is stopped"
                    );
                    watchers.continue_warden();
                }
                Remedy::Kill => {
                    warn!(
                        "the command's warden hangs: killing it, so that the guardian ends the command"
                    );
                    // One that has ended says so.
                    let _ = watchers.warden.kill();
                }
            }
            tell(&watchers.warden_socket, &Order::Ping);
        }
    }

    /// Tells the guardian, and the warden what it needs to know. If the guardian has ended, so has the command: [`Guard::next`]
    /// says so. One that does not listen is not waited for: it is killed.
    pub(super) fn order(&mut self, order: &Order) {
        let now = clock::now();
        self.patience.on_order(order, now);
        let Some(watchers) = &self.watchers else {
            return;
        };
        if tell(&watchers.socket, order) == Some(false) {
            self.patience.on_deaf(now);
        }
        if matches!(order, Order::Until(_)) {
            // A warden that does not read does not answer pings either.
            tell(&watchers.warden_socket, order);
        }
    }

    /// Waits for the last of the processes after the last report. Whether somebody has seen that nobody is left: if
    /// all who watched were killed, or do not end, nobody has, and tenure is not given up.
    pub(super) async fn end(mut self) -> bool {
        self.patience.on_ending(clock::now());
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
        if !watchers.end() {
            // Both were killed.
            watchers.has_ended = kill_orphans().await;
        }
        watchers.end_work()
    }
}

/// What starts the warden, with an environment for the command.
fn command_line(workload: &Workload, leadership: &Leadership, term: Option<Term>) -> Command {
    let grace_millis = u64::try_from(workload.grace.as_millis()).unwrap_or(u64::MAX);
    let mut line = Stage::Warden.command(grace_millis, &workload.command);
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

impl Voice {
    /// What is said on a socket. Also the socket itself, to answer.
    fn of(socket: Socket) -> io::Result<(Socket, Self)> {
        socket.set_nonblocking(true)?;
        let voice = Self {
            reports: BufReader::new(UnixStream::from_std(socket.try_clone()?)?).lines(),
            has_ended: false,
            heartbeat: Heartbeat::default(),
        };
        Ok((socket, voice))
    }

    /// The next report. None at the end; after it, nothing ever. May be dropped unfinished.
    async fn next(&mut self) -> Option<Report> {
        if self.has_ended {
            return pending().await;
        }
        // A line that cannot be read is none that it would write: nothing more is expected of it.
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
        tell(&watchers.socket, &Order::LastWords(LastWords::default()));
        let _ = watchers.socket.shutdown(Shutdown::Write);
        self.patience.on_ending(clock::now());
        let next = self.patience.next();
        let thread = thread::Builder::new().name("command's end".to_owned());
        if let Err(error) = thread.spawn(move || watchers.see_to_the_end(next)) {
            error!("cannot wait for the command's end, so its tenure is not given up: {error}");
        }
    }
}

/// Whether there is something to read on a socket, if only its end.
fn has_written(socket: &Socket) -> bool {
    let flags = RecvFlags::DONTWAIT | RecvFlags::PEEK;
    !matches!(recv(socket, &mut [0; 1], flags), Err(Errno::AGAIN))
}

impl Watchers {
    /// Opens the file that stands for the guardian, which says that it has this number.
    fn hold_guardian(&mut self, pid: i32) {
        let held = match Pid::from_raw(pid) {
            Some(pid) => processes::hold_child(Pid::from_child(&self.warden), pid),
            None => Ok(None),
        };
        match held {
            Ok(held) => self.guardian = held,
            Err(error) => {
                warn!(
                    "cannot open a pidfd of the command's guardian, so it is looked for when it has to be killed: {error}"
                );
            }
        }
    }

    /// The warden is a child of this process that has not been waited for: no other process can have its number.
    fn continue_warden(&self) {
        processes::send(Pid::from_child(&self.warden), Signal::CONT);
    }

    fn continue_guardian(&self) {
        if let Some(guardian) = &self.guardian {
            // One that has ended says so.
            let _ = pidfd_send_signal(guardian, Signal::CONT);
        }
    }

    /// The command dies with its guardian, and the warden kills the rest: it is continued, in case it is stopped. If the
    /// guardian has ended before, what it left to the warden is killed.
    fn kill_guardian(&self) -> io::Result<()> {
        self.continue_warden();
        let killed = self
            .guardian
            .as_ref()
            .map(|it| pidfd_send_signal(it, Signal::KILL));
        match killed {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) | None => processes::kill_children(Pid::from_child(&self.warden)),
        }
    }

    /// Waits without a runtime.
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
                "nobody has seen the command end, and something of it may still run: its tenure is not given up; look for what is left, and kill it"
            );
        }
    }

    /// All that is said on a socket until its end. If that does not come in time, the guardian is killed.
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

    /// Both have closed their sockets, so that the last of them is about to have ended. Whether nothing is left.
    fn end(&mut self) -> bool {
        let status = self.warden.wait();
        let warden_saw_it = status.is_ok_and(|status| status.success());
        if self.has_ended && !warden_saw_it {
            warn!("the command's warden was killed: so was what was left of the command");
        }
        self.has_ended |= warden_saw_it;
        self.has_ended
    }

    /// If nothing is left of the command, tenure may be given up. Whether it is so.
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
