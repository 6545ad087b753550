//! A simulation of an election: its script, its trace, its runs and its report.

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal};
use std::path::{Path, PathBuf};

use clap::Args;
use hustings_protocol::{Duration, Instant};
use hustings_sim::elections::Election;
use hustings_sim::measure::{Interruption, Runs, Study, measure};
use hustings_sim::trial::{Trial, time_needed};
use hustings_sim::{Scenario, ScenarioError, Seeds};
use indicatif::{ProgressBar, ProgressStyle};

use crate::elections::Described;
use crate::failure::{Failure, say};
use crate::options::{ChanceOptions, ExperimentOptions, Setup, SignedArg, values};
use crate::report::{Findings, Parameters, Report};

/// The options that only the simulator has.
#[derive(Debug, Args)]
#[command(next_help_heading = "Experiment", after_long_help = METRICS)]
pub(crate) struct SimulationOptions {
    /// Stop a run at this simulated time if the group is not at rest before. Default for rings: 20
    /// times the time once round, and for bully: 100 times both time-outs, each after the last line
    /// of the scenario. The announce family is never at rest. Without --until, --churn and
    /// --scenario its runs end when all members have heard the leader. Otherwise they last until
    /// this time, by default as long as it takes all members to hear the leader, or with --churn 10
    /// times the longest mean and at least 60 announce intervals. Not for probabilistic, which ends
    /// when no member calls another round, nor for council, bolot and wagner, which have
    /// --max-rounds
    #[arg(long, value_name = "DURATION", signed = values::some_time)]
    until: Option<Duration>,

    /// A script of events in each run, in addition to the other options. If it has a `start` line,
    /// only the members on that line start. Not for probabilistic, council, bolot and wagner
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,

    /// Record every event of the first run in this file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

const METRICS: &str = include_str!("commands/sim_metrics.txt").trim_ascii_end();

/// A hundred years, the longest duration that an option accepts. With this limit, times in a run
/// never overflow.
pub(crate) const LONGEST_RUN: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The settings of a simulation that do not depend on the protocol.
pub(crate) struct Simulation {
    pub(crate) options: SimulationOptions,
    pub(crate) experiment: ExperimentOptions,
    pub(crate) setup: Setup,
}

impl Simulation {
    /// Returns true if the user asked for a trace of the first run.
    pub(crate) fn is_traced(&self) -> bool {
        self.options.trace.is_some()
    }

    /// Refuses `--scenario` and `--until` for a protocol that does not support them.
    pub(crate) fn require_no_script(&self) -> Result<(), Failure> {
        let SimulationOptions { until, scenario, .. } = &self.options;
        let options = [("--until", until.is_some()), ("--scenario", scenario.is_some())];
        self.setup.require_unasked(&options)
    }

    /// Executes all runs of an election that can follow a script, and prints the report.
    pub(crate) fn elect<E: Election>(
        &self,
        described: &impl Described,
        election: E,
    ) -> Result<(), Failure> {
        let SimulationOptions { until, scenario, .. } = &self.options;
        let script = match scenario {
            Some(path) => read_scenario(path, election.extent().members)?,
            None => Scenario::default(),
        };
        let lasts = until.unwrap_or_else(|| time_needed(&election, &script));
        if lasts > LONGEST_RUN {
            return Err(Failure::Usage(format!(
                "a run of up to {:.0} years is too long: choose fewer members, an earlier scenario, \
                 a shorter --delay, or an --until of at most 876000h",
                lasts.as_secs_f64() / (365.0 * 24.0 * 3600.0)
            )));
        }
        let trial = Trial::new(election, self.setup.conditions, script, *until);
        let own = Parameters::default()
            .with("detect", values::show_detection(trial.detection))
            .with("until", (trial.limit - Instant::START).to_string())
            .with("scenario", scenario.as_ref().map(|path| path.display().to_string()));
        self.conduct(described, &trial, own)
    }

    /// Records the first run if `--trace` asks for it, executes all runs and prints the report.
    /// `own` tells of the study what the election does not.
    pub(crate) fn conduct(
        &self,
        described: &impl Described,
        study: &impl Study,
        own: Parameters,
    ) -> Result<(), Failure> {
        let interruption = interruption()?;
        let ExperimentOptions { runs, chance, format } = self.experiment;
        let ChanceOptions { seed, threads } = chance;
        if let Some(path) = &self.options.trace {
            let file = File::create(path).map_err(|error| Failure::file("--trace", path, error))?;
            study
                .record(Seeds::new(seed, 0), &interruption, BufWriter::new(file))
                .map_err(|error| Failure::Failed(format!("--trace {}: {error}", path.display())))?;
        }
        let progress = bar(runs, "{wide_bar} {pos}/{len} runs, {eta} left");
        let asked = Runs { count: runs, seed, threads };
        let measurement =
            measure(study, asked, &interruption, || progress.inc(1)).map_err(Failure::failed)?;
        progress.finish_and_clear();
        let done = measurement.runs;
        // Every setting in effect, except the number of threads, on which no result depends.
        let parameters = described.parameters().and(self.setup.parameters()).and(own);
        let scenario = self.options.scenario.as_ref();
        let note = scenario.map(|path| format!(", scenario {}", path.display()));
        let note = note.unwrap_or_default();
        let report = Report {
            protocol: self.setup.protocol,
            sentence: format!("{}; {}{note}", described.sentence(), self.setup.sentence()),
            parameters: parameters.with("seed", seed),
            findings: Findings::Measured { runs: done, seed, metrics: measurement.metrics },
        };
        Failure::unless_unread(report.print(format))?;
        for (caveat, runs) in measurement.caveats {
            say(&format!("note: {runs} of {done} runs {caveat}"));
        }
        if done < runs {
            say(&format!("interrupted: {done} of {runs} runs"));
            return Err(Failure::Exit(1));
        }
        Ok(())
    }
}

fn read_scenario(path: &Path, members: u32) -> Result<Scenario, Failure> {
    let refuse = |error: ScenarioError| Failure::file("--scenario", path, error);
    let text = fs::read_to_string(path);
    let text = text.map_err(|error| Failure::file("--scenario", path, error))?;
    let scenario: Scenario = text.parse().map_err(refuse)?;
    scenario.check(members as usize).map_err(refuse)?;
    Ok(scenario)
}

/// Returns a progress bar, hidden if standard error is not a terminal.
pub(crate) fn bar(steps: u64, template: &str) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(template);
    let bar = ProgressBar::new(steps).with_style(style.expect("the template is well-formed"));
    bar.tick();
    bar
}

/// Starts to listen for Ctrl-C and for the signals that ask a program to end. The first asks the
/// experiment to stop and report, the second ends the program.
fn interruption() -> Result<Interruption, Failure> {
    let interruption = Interruption::default();
    let raised = interruption.clone();
    let on_signal = move || {
        if raised.raise() {
            std::process::exit(1);
        }
    };
    ctrlc::set_handler(on_signal).map_err(Failure::cannot("listen for Ctrl-C"))?;
    Ok(interruption)
}
