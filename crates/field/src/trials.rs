//! Failover trials: the faults, the number of trials, and the limit on the time to a new leader.

use rustix::process::Signal;

use super::Options;
use super::measure::milliseconds;
use super::spread::{self, Spread};
use super::table::{Report, Verdict};
use super::testbed::{MEMBERS, PATIENCE, Testbed};
use crate::Result;

struct FailoverTrial {
    name: &'static str,
    options: &'static [&'static str],
    trigger: Trigger,
    limit: Limit,
}

/// The event that a trial measures.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trigger {
    /// All members start at once.
    ColdStart,
    /// The leader fails or leaves.
    LeaderFails(LeaderFault),
}

/// The fault that the leader suffers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LeaderFault {
    /// The process is killed. Its host stays up.
    Killed,
    /// The process receives SIGTERM.
    Asked,
    /// Every packet that its host sends or should receive is dropped.
    Isolated,
}

/// The limit, in milliseconds, on the time until every survivor knows the new leader.
enum Limit {
    Median(f64),
    P95(f64),
}

/// With these intervals a lost host is noticed within 100 ms.
pub(super) const QUICK: &[&str] = &["--announce", "20ms", "--listen", "80ms"];
pub(super) const USUAL: &[&str] = &["--announce", "100ms", "--listen", "300ms"];

const TRIALS: &[FailoverTrial] = &[
    FailoverTrial {
        name: "cold start of five at once",
        options: USUAL,
        trigger: Trigger::ColdStart,
        limit: Limit::P95(300.0),
    },
    FailoverTrial {
        name: "leader's process killed (SIGKILL)",
        options: USUAL,
        trigger: Trigger::LeaderFails(LeaderFault::Killed),
        limit: Limit::Median(10.0),
    },
    FailoverTrial {
        name: "leader asked to stop (SIGTERM)",
        options: USUAL,
        trigger: Trigger::LeaderFails(LeaderFault::Asked),
        limit: Limit::Median(5.0),
    },
    FailoverTrial {
        name: "leader's host lost, announce 100 ms, listen 300 ms",
        options: USUAL,
        trigger: Trigger::LeaderFails(LeaderFault::Isolated),
        limit: Limit::P95(320.0),
    },
    FailoverTrial {
        name: "leader's host lost, announce 20 ms, listen 80 ms",
        options: QUICK,
        trigger: Trigger::LeaderFails(LeaderFault::Isolated),
        limit: Limit::P95(100.0),
    },
];

/// Runs the trials and prints the table.
pub(super) fn run(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let chosen = options.choose(TRIALS, |trial| trial.name);
    if chosen.is_empty() {
        return Ok(());
    }
    let title =
        format!("Until every survivor knows the new leader, in milliseconds, {MEMBERS} hosts:");
    let mut table = report.table(&title, &spread::HEADINGS);
    for trial in chosen {
        let mut spread = Spread::default();
        for _ in 0..options.trials {
            spread.add(trial.once(testbed)?);
        }
        let verdict = Verdict::new(trial.limit.to_string(), trial.limit.is_met(&spread));
        table.row(trial.name, &spread.cells(), &verdict);
    }
    Ok(())
}

impl FailoverTrial {
    /// Runs one trial from a cold start. Returns milliseconds.
    fn once(&self, testbed: Testbed<'_>) -> Result<f64> {
        match self.trigger {
            Trigger::ColdStart => cold_start(testbed, self.options),
            Trigger::LeaderFails(fault) => failover(testbed, self.options, fault),
        }
    }
}

fn cold_start(testbed: Testbed<'_>, options: &[&str]) -> Result<f64> {
    let mut members = testbed.group(options);
    let started = members.start_all()?;
    let everyone = members.everyone();
    let (_, known) = members.agree(&everyone, &everyone, PATIENCE)?;
    Ok(milliseconds(members.up_ns().unwrap_or(started), known))
}

/// Elects a leader and injects `fault`. Returns the milliseconds until all other members know the
/// next leader.
pub(super) fn failover(testbed: Testbed<'_>, options: &[&str], fault: LeaderFault) -> Result<f64> {
    let (mut members, leader) = testbed.settled(options)?;
    let survivors = members.all_but(leader);
    let began = match fault {
        LeaderFault::Killed => members.end(leader, Signal::KILL)?,
        LeaderFault::Asked => members.signal(leader, Signal::TERM)?,
        LeaderFault::Isolated => testbed.hosts.isolate(leader)?,
    };
    let agreed = members.agree(&survivors, &survivors, PATIENCE);
    if fault == LeaderFault::Isolated {
        testbed.hosts.unfilter(leader)?;
    }
    Ok(milliseconds(began, agreed?.1))
}

impl Limit {
    fn is_met(&self, spread: &Spread) -> bool {
        match self {
            Self::Median(most) => spread.median().is_some_and(|it| it <= *most),
            Self::P95(most) => spread.quantile(0.95).is_some_and(|it| it <= *most),
        }
    }
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Median(most) => write!(f, "median {most}"),
            Self::P95(most) => write!(f, "p95 {most}"),
        }
    }
}
