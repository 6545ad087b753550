//! The protocols side by side: what the simulator predicts, and what the field shows.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::Options;
use super::ground::{Ground, MEMBERS};
use super::spread::Spread;
use super::table::{Report, Verdict};
use super::trials::{Fate, USUAL, failover};
use crate::Result;

/// What a message takes between our hosts.
const DELAY: &str = "100us";

/// What the agents' failure detector takes until a silent member is down: half a probe's period until
/// one of the others probes it, a period for the probe, and 500 ms for an objection.
const DETECTION_MS: f64 = 800.0;

/// When members are up, settled, and about to lose their leader in the simulator. Over one announce
/// interval, since the field's faults come at any time of it.
const FAULT_AT_MS: std::ops::Range<u32> = 5_000..5_100;
const FAULT_STEP_MS: usize = 10;

/// A protocol, and how it is set in both worlds.
struct Contestant {
    name: &'static str,
    /// What both worlds call it.
    protocol: &'static str,
    /// What the simulator is told besides.
    sim: &'static [&'static str],
    kind: Kind,
}

/// How the simulator tells of a change of leaders.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It watches without end: `reestablishment`.
    Announcing,
    /// It comes to rest: `delay`, from the beginning.
    Classic,
}

const CONTESTANTS: &[Contestant] = &[
    Contestant {
        name: "protocol suppress (LE-S)",
        protocol: "suppress",
        sim: &["--suppress-interval", "5ms"],
        kind: Kind::Announcing,
    },
    Contestant {
        name: "protocol announce (LE-A)",
        protocol: "announce",
        sim: &["--suppress-interval", "0s"],
        kind: Kind::Announcing,
    },
    Contestant {
        name: "protocol earliest (LE-M)",
        protocol: "earliest",
        sim: &["--suppress-interval", "5ms"],
        kind: Kind::Announcing,
    },
    Contestant {
        name: "protocol bully",
        protocol: "bully",
        sim: &[
            "--initiator",
            "all",
            "--answer-within",
            "250ms",
            "--victory-within",
            "450ms",
        ],
        kind: Kind::Classic,
    },
    Contestant {
        name: "protocol chang-roberts",
        protocol: "chang-roberts",
        sim: &["--initiators", "all"],
        kind: Kind::Classic,
    },
    Contestant {
        name: "protocol modified-ring",
        protocol: "modified-ring",
        sim: &["--initiators", "all"],
        kind: Kind::Classic,
    },
];

/// What the simulator can be asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    /// The others know at once that the leader is gone.
    Known,
    /// They have to find out.
    Silent,
}

pub(super) fn run(ground: Ground<'_>, options: &Options, report: &mut Report) -> Result<()> {
    let chosen = options.choose(CONTESTANTS, |contestant| contestant.name);
    if chosen.is_empty() {
        return Ok(());
    }
    let title = "Until every survivor knows the new leader, in milliseconds: the simulator's mean, and \
                 the field's:";
    let headings = ["KILL sim", "median", "p95", "lost sim", "median", "p95"];
    let mut table = report.table(title, &headings);
    for contestant in chosen {
        let mut cells = Vec::new();
        for (question, fate) in [
            (Question::Known, Fate::Killed),
            (Question::Silent, Fate::Isolated),
        ] {
            let mut spread = Spread::default();
            for _ in 0..options.trials {
                spread.add(failover(ground, &contestant.options(), fate)?);
            }
            cells.push(format!("{:.1}", contestant.predict(ground, question)?));
            cells.extend(spread.cells().drain(1..3));
        }
        table.row(contestant.name, &cells, &Verdict::none());
    }
    table.note("KILL: the kernel tells; in the simulator a goodbye (announce family) or a detector of 1 ms.");
    table.note(
        "lost: the host vanishes; in the simulator a crash, found by the listen interval (announce",
    );
    table.note(&format!(
        "family) or by a detector of {DETECTION_MS} ms, what the agents' takes on average (the others). Delay {DELAY}."
    ));
    Ok(())
}

impl Contestant {
    /// What its agents are started with.
    fn options(&self) -> Vec<&str> {
        let intervals = match self.kind {
            Kind::Announcing => USUAL,
            Kind::Classic => &[],
        };
        [intervals, &["--protocol", self.protocol]].concat()
    }

    /// What the simulator says, in milliseconds.
    fn predict(&self, ground: Ground<'_>, question: Question) -> Result<f64> {
        let times = FAULT_AT_MS.step_by(FAULT_STEP_MS);
        let predicted: Result<Vec<f64>> = times
            .map(|at_ms| self.simulate(ground, question, at_ms))
            .collect();
        let predicted = predicted?;
        Ok(predicted.iter().sum::<f64>() / predicted.len() as f64)
    }

    fn simulate(&self, ground: Ground<'_>, question: Question, at_ms: u32) -> Result<f64> {
        let verb = match (self.kind, question) {
            (Kind::Announcing, Question::Known) => "leave",
            (Kind::Announcing, Question::Silent) | (Kind::Classic, _) => "kill",
        };
        let detect = match question {
            Question::Known => "1ms".to_owned(),
            Question::Silent => format!("{DETECTION_MS}ms"),
        };
        let scenario =
            std::env::temp_dir().join(format!("hustings-{}.scenario", std::process::id()));
        fs::write(&scenario, format!("at {at_ms}ms {verb} best\n"))?;
        let mut command = Command::new(ground.program);
        command
            .args(["sim", self.protocol])
            .args(self.sim)
            .args(["--members", &MEMBERS.to_string(), "--delay", DELAY])
            .args(["--runs", "100", "--format", "json", "--until", "10s"])
            .arg("--scenario")
            .arg(&scenario);
        match self.kind {
            Kind::Announcing => command
                .args(["--rules", "field", "--takeover", "never"])
                .args(["--announce-interval", "100ms", "--listen-interval", "300ms"])
                .args(["--patience", "5ms"]),
            Kind::Classic => command
                .args(["--patience", "1s", "--hearsay", "checked"])
                .args(["--detect", &detect]),
        };
        let output = command.output()?;
        fs::remove_file(&scenario)?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("{command:?}: {why}").into());
        }
        let told: Value = serde_json::from_slice(&output.stdout)?;
        self.kind
            .read(&told, at_ms)
            .ok_or_else(|| format!("{command:?} tells no time: {told}").into())
    }
}

impl Kind {
    /// Milliseconds from the fault until all agree again.
    fn read(self, told: &Value, at_ms: u32) -> Option<f64> {
        let mean_ms = |metric| Some(told["metrics"][metric]["mean"].as_f64()? * 1e3);
        match self {
            Self::Announcing => mean_ms("reestablishment"),
            Self::Classic => Some(mean_ms("delay")? - f64::from(at_ms)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Kind;
    use serde_json::json;

    #[test]
    fn the_simulators_times_count_from_the_fault() {
        let told =
            json!({"metrics": {"delay": {"mean": 5.801}, "reestablishment": {"mean": 0.25}}});
        let classic = Kind::Classic.read(&told, 5_000).unwrap();
        assert!((classic - 801.0).abs() < 1e-6);
        assert_eq!(Kind::Announcing.read(&told, 5_000), Some(250.0));
        assert_eq!(Kind::Announcing.read(&json!({}), 5_000), None);
    }
}
