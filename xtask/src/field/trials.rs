//! What is tried, how often, and what it has to come to.

use rustix::process::Signal;

use super::Options;
use super::ground::{Ground, MEMBERS, PATIENCE};
use super::measure::milliseconds;
use super::spread::{self, Spread};
use super::table::{Report, Verdict};
use crate::Result;

/// One row of the table.
struct Trial {
    name: &'static str,
    options: &'static [&'static str],
    fault: Fault,
    limit: Limit,
}

/// What is tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// All members start at once.
    ColdStart,
    /// The leader goes.
    Befalls(Fate),
}

/// What befalls the leader.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// Its process dies, its host lives.
    Killed,
    /// It is asked to stop.
    Asked,
    /// All that its host sends or should receive vanishes.
    Isolated,
}

/// What the new leader's being known everywhere has to come to, in milliseconds.
enum Limit {
    Median(f64),
    P95(f64),
}

/// A lost host is missed within 100 ms.
pub(super) const QUICK: &[&str] = &["--announce", "20ms", "--listen", "80ms"];
pub(super) const USUAL: &[&str] = &["--announce", "100ms", "--listen", "300ms"];

const TRIALS: &[Trial] = &[
    Trial {
        name: "cold start of five at once",
        options: USUAL,
        fault: Fault::ColdStart,
        limit: Limit::P95(300.0),
    },
    Trial {
        name: "leader's process killed (SIGKILL)",
        options: USUAL,
        fault: Fault::Befalls(Fate::Killed),
        limit: Limit::Median(10.0),
    },
    Trial {
        name: "leader asked to stop (SIGTERM)",
        options: USUAL,
        fault: Fault::Befalls(Fate::Asked),
        limit: Limit::Median(5.0),
    },
    Trial {
        name: "leader's host lost, announce 100 ms, listen 300 ms",
        options: USUAL,
        fault: Fault::Befalls(Fate::Isolated),
        limit: Limit::P95(320.0),
    },
    Trial {
        name: "leader's host lost, announce 20 ms, listen 80 ms",
        options: QUICK,
        fault: Fault::Befalls(Fate::Isolated),
        limit: Limit::P95(100.0),
    },
];

/// Carries them out and prints the table.
pub(super) fn run(ground: Ground<'_>, options: &Options, report: &mut Report) -> Result<()> {
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
            spread.add(trial.once(ground)?);
        }
        let verdict = Verdict::new(trial.limit.to_string(), trial.limit.is_met(&spread));
        table.row(trial.name, &spread.cells(), &verdict);
    }
    Ok(())
}

impl Trial {
    /// One trial, from a cold start. Returns milliseconds.
    fn once(&self, ground: Ground<'_>) -> Result<f64> {
        match self.fault {
            Fault::ColdStart => cold_start(ground, self.options),
            Fault::Befalls(fate) => failover(ground, self.options, fate),
        }
    }
}

fn cold_start(ground: Ground<'_>, options: &[&str]) -> Result<f64> {
    let mut members = ground.group(options);
    let started = members.start_all()?;
    let everyone = members.everyone();
    let (_, known) = members.agree(&everyone, &everyone, PATIENCE)?;
    Ok(milliseconds(members.up_ns().unwrap_or(started), known))
}

/// Elects a leader, lets `fate` befall it, and tells how many milliseconds later all others know the
/// next one.
pub(super) fn failover(ground: Ground<'_>, options: &[&str], fate: Fate) -> Result<f64> {
    let (mut members, leader) = ground.settled(options)?;
    let survivors = members.all_but(leader);
    let began = match fate {
        Fate::Killed => members.end(leader, Signal::KILL)?,
        Fate::Asked => members.signal(leader, Signal::TERM)?,
        Fate::Isolated => ground.hosts.isolate(leader)?,
    };
    let agreed = members.agree(&survivors, &survivors, PATIENCE);
    if fate == Fate::Isolated {
        ground.hosts.unfilter(leader)?;
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
