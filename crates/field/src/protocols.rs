//! The protocols side by side: the simulator's prediction and the field's measurement.

use std::fs;

use hustings_testkit::Scratch;
use serde_json::Value;

use super::failover::{LeaderFault, USUAL, failover};
use super::table::{Report, Spread, Verdict};
use super::testbed::{MEMBERS, Testbed, simulate};
use crate::{Options, Result};

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

/// A protocol, and its settings in the simulator and in the field.
struct Contestant {
    /// The protocol's name in the simulator and in the field.
    protocol: &'static str,
    /// Further options of the simulator.
    sim: &'static [&'static str],
    kind: ProtocolKind,
}

/// The metric in which the simulator reports a change of leaders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ProtocolKind {
    /// The protocol never terminates. The metric is `reestablishment`.
    Announcing,
    /// The protocol terminates. The metric is `delay`, counted from the start of the run.
    Classic,
}

const CONTESTANTS: &[(&str, Contestant)] = &[
    (
        "protocol suppress (LE-S)",
        Contestant {
            protocol: "suppress",
            sim: &["--suppress-interval", "5ms"],
            kind: ProtocolKind::Announcing,
        },
    ),
    (
        "protocol announce (LE-A)",
        Contestant {
            protocol: "announce",
            sim: &["--suppress-interval", "0s"],
            kind: ProtocolKind::Announcing,
        },
    ),
    (
        "protocol earliest (LE-M)",
        Contestant {
            protocol: "earliest",
            sim: &["--suppress-interval", "5ms"],
            kind: ProtocolKind::Announcing,
        },
    ),
    (
        "protocol bully",
        Contestant {
            protocol: "bully",
            sim: &["--initiator", "all", "--answer-within", "250ms", "--victory-within", "450ms"],
            kind: ProtocolKind::Classic,
        },
    ),
    ("protocol chang-roberts", Contestant::ring("chang-roberts")),
    ("protocol modified-ring", Contestant::ring("modified-ring")),
];

/// The fault that is simulated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    /// The other members know at once that the leader is gone.
    Known,
    /// The other members have to detect the failure.
    Silent,
}

pub(super) fn run(testbed: Testbed<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let title = "Until every survivor knows the new leader, in milliseconds: the simulator's mean, and \
                 the field's:";
    let headings = ["KILL sim", "median", "p95", "lost sim", "median", "p95"];
    let table = report.rows(options, title, &headings, CONTESTANTS, |contestant| {
        let mut cells = Vec::new();
        for (question, fault) in
            [(Question::Known, LeaderFault::Killed), (Question::Silent, LeaderFault::Isolated)]
        {
            let mut spread = Spread::default();
            for _ in 0..options.trials {
                spread.add(failover(testbed, &contestant.options(), fault)?);
            }
            cells.push(format!("{:.1}", contestant.predict(testbed, question)?));
            cells.extend(spread.cells().drain(1..3));
        }
        Ok((cells, Verdict::none()))
    })?;
    if let Some(table) = table {
        table.note("KILL: the kernel reports it; in the simulator a goodbye (announce family) or a detector of 1 ms.");
        table.note(
            "lost: the host vanishes; in the simulator a crash, found by the listen interval (announce",
        );
        table.note(&format!(
            "family) or by a detector of {DETECTION_MS} ms, what the agents' takes on average (the others). Delay {DELAY}."
        ));
    }
    Ok(())
}

impl Contestant {
    const fn ring(protocol: &'static str) -> Self {
        Self { protocol, sim: &["--initiators", "all"], kind: ProtocolKind::Classic }
    }

    /// Returns the options that the agents are started with.
    fn options(&self) -> Vec<&str> {
        let intervals = match self.kind {
            ProtocolKind::Announcing => USUAL,
            ProtocolKind::Classic => &[],
        };
        [intervals, &["--protocol", self.protocol]].concat()
    }

    /// Returns the simulator's prediction, in milliseconds.
    fn predict(&self, testbed: Testbed<'_>, question: Question) -> Result<f64> {
        let times = FAULT_AT_MS.step_by(FAULT_STEP_MS);
        let predicted: Result<Vec<f64>> =
            times.map(|at_ms| self.simulate(testbed, question, at_ms)).collect();
        let predicted = predicted?;
        Ok(predicted.iter().sum::<f64>() / predicted.len() as f64)
    }

    fn simulate(&self, testbed: Testbed<'_>, question: Question, at_ms: u32) -> Result<f64> {
        let verb = match (self.kind, question) {
            (ProtocolKind::Announcing, Question::Known) => "leave",
            (ProtocolKind::Announcing, Question::Silent) | (ProtocolKind::Classic, _) => "kill",
        };
        let detect = match question {
            Question::Known => "1ms".to_owned(),
            Question::Silent => format!("{DETECTION_MS}ms"),
        };
        let home = Scratch::new("hustings-scenario");
        let scenario = home.join("scenario");
        fs::write(&scenario, format!("at {at_ms}ms {verb} best\n"))?;
        let report = simulate(testbed.program, self.protocol, |command| {
            command
                .args(self.sim)
                .args(["--members", &MEMBERS.to_string(), "--delay", DELAY])
                .args(["--runs", "100", "--until", "10s", "--scenario"])
                .arg(&scenario);
            match self.kind {
                ProtocolKind::Announcing => command
                    .args(["--rules", "field", "--takeover", "never"])
                    .args(["--announce-interval", "100ms", "--listen-interval", "300ms"])
                    .args(["--patience", "5ms"]),
                ProtocolKind::Classic => command
                    .args(["--patience", "1s", "--hearsay", "checked"])
                    .args(["--detect", &detect]),
            };
        })?;
        let time = self.kind.read(&report, at_ms);
        time.ok_or_else(|| format!("the simulator reports no time: {report}").into())
    }
}

impl ProtocolKind {
    /// Returns the milliseconds from the fault until all members agree again.
    fn read(self, report: &Value, at_ms: u32) -> Option<f64> {
        let mean_ms = |metric| Some(report["metrics"][metric]["mean"].as_f64()? * 1e3);
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
        let report =
            json!({"metrics": {"delay": {"mean": 5.801}, "reestablishment": {"mean": 0.25}}});
        let classic = ProtocolKind::Classic.read(&report, 5_000).unwrap();
        assert!((classic - 801.0).abs() < 1e-6);
        assert_eq!(ProtocolKind::Announcing.read(&report, 5_000), Some(250.0));
        assert_eq!(ProtocolKind::Announcing.read(&json!({}), 5_000), None);
    }
}
