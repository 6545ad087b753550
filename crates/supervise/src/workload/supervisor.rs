//! The agent's side: starts and stops the command, and reacts to its end.

use std::ffi::OsStr;
use std::future::pending;
use std::io;
use std::ops::ControlFlow;
use std::time::Duration;

use hustings_protocol::Instant as BootTime;
use rustix::process::Signal;
use tokio::sync::watch::error::RecvError;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

use super::deadline::Deadline;
use super::guardian_client::GuardianClient;
use super::ipc::{KillReason, Order, Report};
use super::lease_binding::{Change, Tenures, Term};
use super::signals::Signals;
use super::{AtEnd, Error, LeaseBinding, StepDown, Workload};
use crate::fd_limit::Reserve;
use crate::processes::Ending;
use hustings_authority::WorkGuard;
use hustings_protocol::leadership::{Leadership, Resignation};
use hustings_system::clock;

/// The number of consecutive failed starts, which take about two seconds, after which the member
/// resigns. It resigns again after as many more.
const FAILURES_UNTIL_RESIGNED: u32 = 4;

/// Runs the command while `leadership` reports that this member leads, and has led for
/// [`settle`](Workload::settle). Stops it when this member no longer leads. Returns the code that
/// the program should exit with.
///
/// The command's environment has the group's name in `HUSTINGS_GROUP`, the leader's name in
/// `HUSTINGS_LEADER`, and the fence, if there is one, in `HUSTINGS_FENCE`. Its standard streams are
/// those of this process. It has its own process group: it can write to a terminal, but the system
/// stops it if it reads from one.
///
/// A command serves one tenure. If this member leads again with another
/// [`fence`](Leadership::fence), or [`since`](Leadership::since) another time, the command is
/// stopped and started again. No command starts before the last descendant of the previous one has
/// ended.
///
/// With `lease_binding` the command also runs only while tenure is held, and gets the fence of that
/// tenure:
/// - It starts only if enough of the tenure is left.
/// - The guardian knows the end of the tenure. If the end comes near without a renewal, the
///   guardian tells the command to stop and then kills it, so that nothing of it is left at the
///   end. This works even if this process is stopped or hangs.
/// - If the guardian is stopped or hangs, this process kills it, and the command with it. This
///   happens shortly before the tenure ends, or one second after the grace of a command that was
///   told to stop.
/// - A renewal after the command was told to stop does not take that back. If the tenure continues,
///   the command is started again.
/// - If this process dies, and nothing is left of the command, the guardian sends the last will
///   that it holds. Then the tenure need not expire.
///
/// From the first poll until the process ends, signals are handled as follows:
/// - TERM and INT stop the command and end the supervision, with the command's exit code, or 128 +
///   n if it died by signal n.
/// - HUP, QUIT, USR1 and USR2 are forwarded to the command's first process.
/// - While no command runs, TERM, INT and QUIT end the supervision with code 0; the others are
///   ignored.
/// - A signal that this process was started to ignore stays ignored.
///
/// A request from `step_downs` is carried out once the command has ended with all its descendants,
/// so the next leader's command does not start before. This tenure's command is then not started
/// again.
///
/// `resign` is called with the reason in two cases:
/// - The command has ended, under [`AtEnd::Resign`]. Leadership is then expected to change.
/// - The processes that supervise the command cannot be started, for example because no descriptor
///   is free, and attempts have failed for about two seconds. Attempts continue as long as this
///   member leads.
///
/// If the future is dropped, the command is killed. Tenure is not released before a process has
/// verified that nothing is left of the command: a thread waits for that.
///
/// # Errors
///
/// - The command does not exist or may not be executed. This is checked at once, before this member
///   leads.
/// - No process has seen the end of a command.
/// - The source of `leadership` has ended.
///
/// [`Error::exit_code`] is the exit code for each. A command that existed at first and cannot be
/// executed later counts as one that ended with code 127 or 126.
///
/// ```no_run
/// # use hustings_protocol::leadership::Leadership;
/// # use hustings_supervise::StepDown;
/// # use tokio::sync::{mpsc, watch};
/// # async fn example(
/// #     leadership: watch::Receiver<Leadership>,
/// #     step_downs: mpsc::Receiver<StepDown>,
/// # ) -> u8 {
/// use std::time::Duration;
/// use hustings_supervise::workload::{AtEnd, Workload, supervise};
///
/// let workload = Workload {
///     command: vec!["backup".into(), "--hourly".into()],
///     settle: Duration::from_millis(105),
///     grace: Duration::from_secs(10),
///     at_end: AtEnd::Restart,
/// };
/// let code = match supervise(workload, leadership, step_downs, None, |_| ()).await {
///     Ok(code) => code,
///     Err(error) => {
///         eprintln!("error: {error}");
///         error.exit_code()
///     }
/// };
/// # code
/// # }
/// ```
pub async fn supervise(
    workload: Workload,
    leadership: watch::Receiver<Leadership>,
    step_downs: mpsc::Receiver<StepDown>,
    lease_binding: Option<LeaseBinding>,
    resign: impl FnMut(Resignation),
) -> Result<u8, Error> {
    workload.check()?;
    let supervisor = Supervisor {
        signals: Signals::listen().map_err(Error::Signals)?,
        workload,
        leadership,
        step_downs,
        tenures: lease_binding.map(Tenures::new),
        resign,
        reserve: Reserve::open(),
    };
    supervisor.run().await
}

struct Supervisor<R> {
    workload: Workload,
    leadership: watch::Receiver<Leadership>,
    step_downs: mpsc::Receiver<StepDown>,
    tenures: Option<Tenures>,
    resign: R,
    signals: Signals,
    /// Descriptors for the start of the command.
    reserve: Reserve,
}

/// Returns what distinguishes a tenure of this member from another: its beginning and its fence.
fn tenure_of(leadership: &Leadership) -> Option<(BootTime, Option<u64>)> {
    leadership.leads.then_some((leadership.since, leadership.fence))
}

impl<R: FnMut(Resignation)> Supervisor<R> {
    async fn run(mut self) -> Result<u8, Error> {
        let mut served = None;
        loop {
            let next = next_tenure(&mut self.leadership, served);
            let next = uninterrupted(&mut self.signals, &mut self.step_downs, next);
            let leadership = match next.await {
                Ok(next) => next.map_err(|_| Error::LeadershipUnknown)?,
                Err(None) => return Ok(0),
                Err(Some(step_down)) => {
                    // Nothing is started meanwhile. Otherwise it would have to be stopped after the
                    // next leader began.
                    step_down.carry_out().await;
                    continue;
                }
            };
            if let Some(code) = self.serve(&leadership).await? {
                return Ok(code);
            }
            served = tenure_of(&leadership);
        }
    }

    /// Runs the command during one tenure. Returns the exit code if the supervision ends with it.
    async fn serve(&mut self, leadership: &Leadership) -> Result<Option<u8>, Error> {
        let mut back_off = BackOff::new();
        // A command that is restarted in the same tenure need not wait for `settle` again.
        let mut wait = self.workload.settle;
        let mut failures = 0_u32;
        loop {
            let granted = match self.wait(leadership, wait).await {
                ControlFlow::Continue(granted) => granted,
                ControlFlow::Break(code) => return Ok(code),
            };
            let started = Instant::now();
            let (cause, ending) = match self.run_once(leadership, granted).await? {
                Run::Ended(cause, ending) => (cause, ending),
                Run::NotStarted(error) => {
                    failures += 1;
                    wait = back_off.pause_after(Duration::ZERO);
                    warn!(pause = ?wait, "cannot start the command's guardian, trying again: {error}");
                    if failures.is_multiple_of(FAILURES_UNTIL_RESIGNED) {
                        warn!(
                            "the command cannot be started on this host: stepping down, so that another member leads"
                        );
                        (self.resign)(Resignation {
                            why: "this member's command could not be started".to_owned(),
                            is_failure: true,
                        });
                    }
                    continue;
                }
            };
            failures = 0;
            let code = ending.code();
            let why = cause.in_words(ending);
            match (&cause, code) {
                (Cause::Itself | Cause::Killed(_), 1..) => {
                    warn!(code, "the command has ended: {why}");
                }
                _ => info!(code, "the command has ended: {why}"),
            }
            match (cause, self.workload.at_end) {
                (Cause::Asked, _) | (Cause::Itself | Cause::Killed(_), AtEnd::Exit) => {
                    return Ok(Some(code));
                }
                (Cause::TenureOver, _) => return Ok(None),
                (Cause::Expired, _) => {
                    wait = Duration::ZERO;
                    continue;
                }
                (Cause::SteppingDown(step_down), _) => {
                    step_down.carry_out().await;
                    return Ok(None);
                }
                (Cause::LeadershipUnknown, _) => return Err(Error::LeadershipUnknown),
                (cause @ (Cause::Itself | Cause::Killed(_)), AtEnd::Resign) => {
                    (self.resign)(Resignation {
                        why: format!("this member's command {}", cause.of_end(ending)),
                        is_failure: code != 0,
                    });
                    return Ok(None);
                }
                (Cause::Itself | Cause::Killed(_), AtEnd::Restart) => {}
            }

            wait = back_off.pause_after(started.elapsed());
            info!(pause = ?wait, "the command will be started again");
        }
    }

    /// Waits for `span` before the command is started, and until tenure is held, if it is required.
    /// Breaks if the command is not to be started in this tenure, with the exit code if the
    /// supervision ends.
    async fn wait(
        &mut self,
        leadership: &Leadership,
        span: Duration,
    ) -> ControlFlow<Option<u8>, Option<(Term, WorkGuard)>> {
        let grace = self.workload.grace.into();
        let latest = self.leadership.clone();
        let leads = || tenure_of(&latest.borrow()) == tenure_of(leadership);
        let granted = async {
            match &mut self.tenures {
                Some(tenures) => Some(tenures.granted(span, leadership.fence, grace, leads).await),
                None => {
                    sleep(span).await;
                    None
                }
            }
        };
        let tenure_over = tenure_over(&mut self.leadership, leadership);
        let may_start = async {
            tokio::select! {
                biased; // a tenure that is lost when the wait ends starts nothing
                // If the source of leadership has ended, the wait for the next tenure returns the
                // error.
                _ = tenure_over => ControlFlow::Break(None),
                granted = granted => ControlFlow::Continue(granted),
            }
        };
        match uninterrupted(&mut self.signals, &mut self.step_downs, may_start).await {
            Ok(may_start) => may_start,
            Err(None) => ControlFlow::Break(Some(0)),
            Err(Some(step_down)) => {
                step_down.carry_out().await;
                ControlFlow::Break(None)
            }
        }
    }
}

/// Returns the next tenure of this member other than `served`.
async fn next_tenure(
    leadership: &mut watch::Receiver<Leadership>,
    mut served: Option<(BootTime, Option<u64>)>,
) -> Result<Leadership, RecvError> {
    let elected = leadership.wait_for(|now| {
        let tenure = tenure_of(now);
        let is_new = tenure.is_some() && tenure != served;
        if tenure.is_none() {
            served = None;
        }
        is_new
    });
    elected.await.map(|leadership| leadership.clone())
}

/// Waits until this member no longer leads, or leads with another tenure.
async fn tenure_over(
    leadership: &mut watch::Receiver<Leadership>,
    served: &Leadership,
) -> Result<(), RecvError> {
    let served = tenure_of(served);
    let over = leadership.wait_for(|now| tenure_of(now) != served);
    over.await.map(|_| ())
}

/// Waits for `event` while no command runs. Returns an error if this member is to step down first,
/// or, without a step-down, if a signal ends this process first.
async fn uninterrupted<T>(
    signals: &mut Signals,
    step_downs: &mut mpsc::Receiver<StepDown>,
    event: impl Future<Output = T>,
) -> Result<T, Option<StepDown>> {
    let asked = async {
        while ![Signal::TERM, Signal::INT, Signal::QUIT].contains(&signals.next().await) {}
    };
    tokio::select! {
        biased; // a process about to end, or a member about to step down, starts nothing
        () = asked => Err(None),
        Some(step_down) = step_downs.recv() => Err(Some(step_down)),
        event = event => Ok(event),
    }
}

// One run of the command, from the start of its guardian to the end of its last descendant.

/// The result of an attempt to run the command.
enum Run {
    Ended(Cause, Ending),
    /// The supervising processes could not be started, so the command was not either.
    NotStarted(io::Error),
}

/// The reason why a command ended.
enum Cause {
    /// It ended by itself, or another program killed it.
    Itself,
    /// Its guardian killed it, or it died with its guardian.
    Killed(KillReason),
    /// Its member no longer leads with this tenure.
    TenureOver,
    /// Its member still leads, but the tenure has ended or was about to.
    Expired,
    /// Its member is to step down, which it does when the command has ended.
    SteppingDown(StepDown),
    /// The source of leadership has ended.
    LeadershipUnknown,
    /// This process was told to end.
    Asked,
}

impl Cause {
    /// The cause of the command's end, for the log.
    fn in_words(&self, ending: Ending) -> String {
        match self {
            Self::Itself if matches!(ending, Ending::Exited(_)) => "by itself".to_owned(),
            Self::Itself | Self::Killed(_) => format!("it {}", self.of_end(ending)),
            Self::TenureOver => "its member no longer leads".to_owned(),
            Self::Expired => "its tenure has ended".to_owned(),
            Self::SteppingDown(_) => "its member steps down".to_owned(),
            Self::LeadershipUnknown => "the leader is unknown".to_owned(),
            Self::Asked => "as asked".to_owned(),
        }
    }

    /// A clause about a command whose end no order has caused: "ended with code 7", "was killed,
    /// because its warden was killed".
    fn of_end(&self, ending: Ending) -> String {
        match self {
            Self::Killed(reason) => format!("was killed, because {}", reason.in_words()),
            _ => ending.in_words(),
        }
    }
}

/// The command and its guardian.
struct Running {
    guardian: GuardianClient,
    cause: Cause,
    has_started: bool,
}

impl<R: FnMut(Resignation)> Supervisor<R> {
    /// Runs the command until it has ended with all its descendants: by itself, at the end of the
    /// tenure, to step down, or by a signal.
    async fn run_once(
        &mut self,
        leadership: &Leadership,
        granted: Option<(Term, WorkGuard)>,
    ) -> Result<Run, Error> {
        let term = granted.as_ref().map(|(term, _)| *term);
        self.reserve.release();
        let guardian = GuardianClient::start(&self.workload, leadership, granted);
        self.reserve.refill();
        let guardian = match guardian {
            Ok(guardian) => guardian,
            Err(error) => return Ok(Run::NotStarted(error)),
        };
        let mut running = Running { guardian, cause: Cause::Itself, has_started: false };
        let ended = loop {
            let runs_on = running.runs_on();
            tokio::select! {
                report = running.guardian.next() => {
                    if let Some(ended) = self.on_report(&mut running, report) {
                        break ended;
                    }
                }
                over = tenure_over(&mut self.leadership, leadership), if runs_on => {
                    running.stop(over.map_or(Cause::LeadershipUnknown, |()| Cause::TenureOver));
                }
                change = changed(&mut self.tenures, term) => running.on_change(change),
                Some(step_down) = self.step_downs.recv(), if runs_on => {
                    info!("stepping down: stopping the command first");
                    running.stop(Cause::SteppingDown(step_down));
                }
                signal = self.signals.next() => running.on_signal(signal),
            }
        };
        if !running.guardian.end().await && self.tenures.is_some() {
            return Err(Error::Unseen);
        }
        ended
    }

    /// Handles a report of the guardian, or its end. Returns the result if the run has ended.
    fn on_report(
        &self,
        running: &mut Running,
        report: Option<Report>,
    ) -> Option<Result<Run, Error>> {
        match report {
            Some(Report::Started { pid }) => {
                running.has_started = true;
                info!(pid, "the command has started");
            }
            Some(Report::Refused { errno }) => {
                let error = Error::refused(self.program(), errno);
                if self.workload.at_end == AtEnd::Exit {
                    return Some(Err(error));
                }
                // The program existed when the member started, and may exist again.
                warn!("{error}");
                return Some(Ok(running.ended(Ending::Exited(error.exit_code()))));
            }
            Some(Report::Expired) if running.runs_on() => {
                warn!(
                    "the tenure ends, because it was not renewed in time: the command is being stopped, or has been stopped"
                );
                running.cause = Cause::Expired;
            }
            Some(Report::Killed(reason)) => running.killed(reason),
            Some(Report::Ended(ending)) => return Some(Ok(running.ended(ending))),
            // The guardian client handles these.
            Some(Report::Expired | Report::Up { .. } | Report::Alive | Report::Stopped { .. }) => {}
            None if running.has_started || !running.runs_on() => {
                running.killed(KillReason::GuardianLost);
                return Some(Ok(running.ended(Ending::killed_by(Signal::KILL))));
            }
            None => {
                let ended = io::Error::other("the guardian ended before the command started");
                return Some(Ok(Run::NotStarted(ended)));
            }
        }
        None
    }

    fn program(&self) -> &OsStr {
        // `supervise` refuses an empty command.
        &self.workload.command[0]
    }
}

impl Running {
    /// True if nothing but the command itself has ended it so far.
    fn runs_on(&self) -> bool {
        matches!(self.cause, Cause::Itself)
    }

    /// Records that the command was killed, unless it was told to stop before.
    fn killed(&mut self, reason: KillReason) {
        if self.runs_on() {
            self.cause = Cause::Killed(reason);
        }
    }

    fn stop(&mut self, cause: Cause) {
        self.cause = cause;
        self.guardian.order(&Order::Stop(Signal::TERM));
    }

    fn on_change(&mut self, change: Change) {
        match change {
            Change::Until(deadline) => self.guardian.order(&Order::Until(deadline)),
            Change::LastWill(last_will) => self.guardian.order(&Order::LastWill(last_will)),
            // Tenure is not released while the command runs, so another member may hold it.
            Change::Over => {
                if self.runs_on() {
                    self.cause = Cause::Expired;
                }
                self.guardian.order(&Order::Until(Deadline::at_once(clock::now())));
            }
        }
    }

    fn on_signal(&mut self, signal: Signal) {
        if signal == Signal::TERM || signal == Signal::INT {
            self.cause = Cause::Asked;
            self.guardian.order(&Order::Stop(signal));
        } else {
            self.guardian.order(&Order::Pass(signal));
        }
    }

    fn ended(&mut self, ending: Ending) -> Run {
        Run::Ended(std::mem::replace(&mut self.cause, Cause::Itself), ending)
    }
}

/// Returns the next change of the tenure that is held. Never returns without one.
async fn changed(tenures: &mut Option<Tenures>, term: Option<Term>) -> Change {
    match (tenures, term) {
        (Some(tenures), Some(term)) => tenures.changed(term.fence).await,
        (None, _) | (_, None) => pending().await,
    }
}

/// The bounds of the pause before a command that ended is started again.
const SHORTEST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Pauses that double from [`SHORTEST_PAUSE`] to [`LONGEST_PAUSE`].
#[derive(Debug)]
struct BackOff {
    next: Duration,
}

impl BackOff {
    fn new() -> Self {
        Self { next: SHORTEST_PAUSE }
    }

    /// The pause after a run that lasted `ran`. After a long run the pauses start from the shortest
    /// again.
    fn pause_after(&mut self, ran: Duration) -> Duration {
        if ran >= LONGEST_PAUSE {
            self.next = SHORTEST_PAUSE;
        }
        let pause = self.next;
        self.next = (pause * 2).min(LONGEST_PAUSE);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_reset_after_a_long_run() {
        let mut back_off = BackOff::new();
        let mut pause_millis = |ran| back_off.pause_after(Duration::from_secs(ran)).as_millis();
        let pauses = [0, 1, 0, 29, 0, 0, 0, 0, 0].map(&mut pause_millis);
        assert_eq!(pauses, [250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
        assert_eq!([30, 0].map(pause_millis), [250, 500]);
    }
}
