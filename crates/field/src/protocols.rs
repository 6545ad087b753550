//! The protocols side by side: the simulator's prediction and the field's measurement.

use std::fs;

use hustings_testkit::Scratch;
use rustix::process::Signal;
use serde_json::Value;

use super::failover::{LeaderFault, USUAL, failover};
use super::table::{Report, Verdict};
use super::testbed::{MEMBERS, Testbed, simulate};
use crate::{Options, Result};
use ProtocolKind::{Announcing, Classic};

/// The delay of a message between two hosts of the field.
const DELAY: &str = "100us";

/// The average time that the agents' failure detector takes to declare a silent member down. It is
/// the sum of half a probe period until another member probes it, one period for the probe, and 500
/// ms in which the member may refute the report.
const DETECTION_MS: f64 = 800.0;

/// The times at which the simulated members lose their leader, once they have settled. The range
/// covers one announce interval, because faults in the field hit any point of it.
const FAULT_AT_MS: std::ops::Range<u32> = 5_000..5_100;
const FAULT_STEP_MS: usize = 10;

/// A protocol by its name in the simulator and in the field, and further options of the simulator.
struct Contestant(&'static str, ProtocolKind, &'static [&'static str]);

/// The metric in which the simulator reports a change of leaders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProtocolKind {
    /// The protocol never terminates. The metric is `reestablishment`.
    Announcing,
    /// The protocol terminates. The metric is `delay`, counted from the start of the run.
    Classic,
}

const BULLY: &[&str] =
    &["--initiator", "all", "--answer-within", "250ms", "--victory-within", "450ms"];
const SUPPRESS: &[&str] = &["--suppress-interval", "5ms"];
const AT_ONCE: &[&str] = &["--suppress-interval", "0s"];
const RING: &[&str] = &["--initiators", "all"];

const CONTESTANTS: &[(&str, Contestant)] = &[
    ("protocol suppress (LE-S)", Contestant("suppress", Announcing, SUPPRESS)),
    ("protocol announce (LE-A)", Contestant("announce", Announcing, AT_ONCE)),
    ("protocol earliest (LE-M)", Contestant("earliest", Announcing, SUPPRESS)),
    ("protocol bully", Contestant("bully", Classic, BULLY)),
    ("protocol chang-roberts", Contestant("chang-roberts", Classic, RING)),
    ("protocol modified-ring", Contestant("modified-ring", Classic, RING)),
];

pub(super) fn run(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let title = "Until every survivor knows the new leader, in milliseconds: the simulator's mean, and \
                 the field's:";
    let headings = ["KILL sim", "median", "p95", "lost sim", "median", "p95"];
    let is_shown = report.rows(options, title, &headings, CONTESTANTS, |contestant| {
        let mut cells = Vec::new();
        for fault in [LeaderFault::Ended(Signal::KILL), LeaderFault::Isolated] {
            let spread = options.repeat(|| failover(testbed, &contestant.options(), fault))?;
            cells.push(format!("{:.1}", contestant.predict(testbed, fault)?));
            cells.extend(spread.cells().drain(1..3));
        }
        Ok((cells, Verdict::none()))
    })?;
    if is_shown {
        report.note(&format!(
            "KILL: the kernel reports it; in the simulator a goodbye (announce family) or a detector of 1 ms.\n\
             lost: the host vanishes; in the simulator a crash, found by the listen interval (announce\n\
             family) or by a detector of {DETECTION_MS} ms, what the agents' takes on average (the others). Delay {DELAY}."
        ));
    }
    Ok(())
}

impl Contestant {
    /// Returns the options that the agents are started with.
    fn options(&self) -> Vec<&str> {
        let intervals = if self.1 == Announcing { USUAL } else { &[] };
        [intervals, &["--protocol", self.0]].concat()
    }

    /// Returns the simulator's prediction, in milliseconds.
    fn predict(&self, testbed: Testbed<'_>, fault: LeaderFault) -> Result<f64> {
        let times = FAULT_AT_MS.step_by(FAULT_STEP_MS);
        let count = times.len() as f64;
        let predicted = times.map(|at_ms| self.simulate(testbed, fault, at_ms));
        Ok(predicted.sum::<Result<f64>>()? / count)
    }

    fn simulate(&self, testbed: Testbed<'_>, fault: LeaderFault, at_ms: u32) -> Result<f64> {
        let Self(protocol, kind, options) = *self;
        let (verb, detect) = match (fault, kind) {
            // The other members know at once that the leader is gone.
            (LeaderFault::Ended(_), Announcing) => ("leave", String::new()),
            (LeaderFault::Ended(_), Classic) => ("kill", "1ms".to_owned()),
            // The other members have to detect the failure.
            (LeaderFault::Isolated, _) => ("kill", format!("{DETECTION_MS}ms")),
        };
        let home = Scratch::new("hustings-scenario");
        let scenario = home.join("scenario");
        fs::write(&scenario, format!("at {at_ms}ms {verb} best\n"))?;
        let metrics = simulate(testbed.program, protocol, |command| {
            command
                .args(options)
                .args(["--members", &MEMBERS.to_string(), "--delay", DELAY])
                .args(["--runs", "100", "--until", "10s", "--scenario"])
                .arg(&scenario);
            match kind {
                Announcing => command
                    .args(["--rules", "field", "--takeover", "never", "--patience", "5ms"])
                    .args(["--announce-interval", "100ms", "--listen-interval", "300ms"]),
                Classic => {
                    command.args(["--patience", "1s", "--hearsay", "checked", "--detect", &detect])
                }
            };
        })?;
        let time = kind.read(&metrics, at_ms);
        time.ok_or_else(|| format!("the simulator reports no time: {metrics}").into())
    }
}

impl ProtocolKind {
    /// Returns the milliseconds from the fault until all members agree again.
    fn read(self, metrics: &Value, at_ms: u32) -> Option<f64> {
        let mean_ms = |metric| Some(metrics[metric]["mean"].as_f64()? * 1e3);
        match self {
            Self::Announcing => mean_ms("reestablishment"),
            Self::Classic => Some(mean_ms("delay")? - f64::from(at_ms)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ProtocolKind;
    use serde_json::json;

    #[test]
    fn simulated_times_count_from_the_fault() {
        let report = json!({"delay": {"mean": 5.801}, "reestablishment": {"mean": 0.25}});
        let classic = ProtocolKind::Classic.read(&report, 5_000).unwrap();
        assert!((classic - 801.0).abs() < 1e-6);
        assert_eq!(ProtocolKind::Announcing.read(&report, 5_000), Some(250.0));
        assert_eq!(ProtocolKind::Announcing.read(&json!({}), 5_000), None);
    }
}
