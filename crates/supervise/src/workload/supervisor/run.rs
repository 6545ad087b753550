//! One run of the command, from the start of its guardian to the end of its last descendant.

use std::ffi::OsStr;
use std::future::pending;
use std::io;

use hustings_protocol::leadership::{Leadership, Resignation};
use rustix::process::Signal;
use tracing::{info, warn};

use super::{Supervisor, tenure_over};
use crate::processes::Ending;
use crate::workload::deadline::Deadline;
use crate::workload::guardian_client::GuardianClient;
use crate::workload::ipc::{Order, Report};
use crate::workload::lease_binding::{Change, Tenures, Term};
use crate::workload::{AtEnd, Error, StepDown};
use hustings_authority::WorkGuard;
use hustings_system::clock;

/// The result of an attempt to run the command.
pub(super) enum Run {
    Ended(Cause, Ending),
    /// The supervising processes could not be started, so the command was not either.
    NotStarted(io::Error),
}

/// The reason why a command ended.
#[derive(Debug)]
pub(super) enum Cause {
    /// It ended by itself, or another program killed it.
    Itself,
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
    pub(super) fn in_words(&self) -> &'static str {
        match self {
            Self::Itself => "by itself",
            Self::TenureOver => "its member no longer leads",
            Self::Expired => "its tenure has ended",
            Self::SteppingDown(_) => "its member steps down",
            Self::LeadershipUnknown => "the leader is unknown",
            Self::Asked => "as asked",
        }
    }
}

/// The command and its guardian.
struct Running {
    guardian: GuardianClient,
    cause: Cause,
    has_started: bool,
    /// True if the guardian was killed without a report of the command's end.
    lacks_report: bool,
}

impl<R: FnMut(Resignation)> Supervisor<R> {
    /// Runs the command until it has ended with all its descendants: by itself, at the end of the
    /// tenure, to step down, or by a signal.
    pub(super) async fn run_once(
        &mut self,
        leadership: &Leadership,
        term: Option<Term>,
        work: Option<WorkGuard>,
    ) -> Result<Run, Error> {
        self.reserve.release();
        let guardian = GuardianClient::start(&self.workload, leadership, term, work);
        self.reserve.refill();
        let guardian = match guardian {
            Ok(guardian) => guardian,
            Err(error) => return Ok(Run::NotStarted(error)),
        };
        let (cause, has_started, lacks_report) = (Cause::Itself, false, false);
        let mut running = Running { guardian, cause, has_started, lacks_report };
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
        if running.lacks_report {
            warn!("the command's guardian was killed, and the command with it");
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
            Some(Report::Ended(ending)) => return Some(Ok(running.ended(ending))),
            // The guardian client handles these.
            Some(Report::Expired | Report::Up { .. } | Report::Alive | Report::Stopped { .. }) => {}
            None if running.has_started || !running.runs_on() => {
                running.lacks_report = running.has_started;
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
