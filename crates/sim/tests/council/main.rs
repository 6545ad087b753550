//! Council elections, host by host, against theory and against their promises.

mod audit;
mod beyond;
mod keeping;
mod laws;
mod seats;
mod table;
mod tallies;
mod theory;

use hustings_protocol::council::{Algorithm, Config, Council, Knowledge, Seats};
use hustings_protocol::{Duration, Instant};
use hustings_sim::council::{CouncilRun, CouncilTrial, elect};
use hustings_sim::statistics::{Kind, Sample};
use hustings_sim::{Scratch, Seeds};

const ROUND: Duration = Duration::from_secs(1);

fn at(seconds: u64) -> Instant {
    Instant::START + Duration::from_secs(seconds)
}

/// A single election, with one `c`.
fn trial(
    hosts: u32,
    seats: Seats,
    algorithm: Algorithm,
    knowledge: Knowledge,
    c: f64,
) -> CouncilTrial {
    let mut config = Config::once(seats, algorithm, knowledge, ROUND);
    config.chambers[0].c = vec![c];
    CouncilTrial::new(hosts, config)
}

/// The means of many runs.
struct Means {
    rounds: Sample,
    messages: Sample,
    success: Sample,
    peak: Sample,
}

impl Default for Means {
    fn default() -> Self {
        let [rounds, messages, success, peak] = [(); 4].map(|()| Sample::new(Kind::Number));
        Self { rounds, messages, success, peak }
    }
}

fn measure(trial: &CouncilTrial, seed: u64, runs: u64) -> Means {
    let mut means = Means::default();
    let mut scratch = Scratch::<Council>::default();
    for run in 0..runs {
        let (it, memory): (CouncilRun, _) = elect(trial, Seeds::new(seed, run), scratch);
        scratch = memory;
        assert!(it.seats > 0, "no end: {trial:?}, seed {seed}, run {run}");
        means.rounds.add(it.rounds as f64);
        means.messages.add(it.messages as f64);
        means.peak.add(it.peak_replies as f64);
        means.success.add(f64::from(u8::from(it.success_first_round)));
    }
    means
}

/// Asserts a mean, within four and a half standard errors.
#[track_caller]
fn assert_mean(what: &str, sample: &Sample, expected: f64) {
    let mean = sample.estimate().expect("there were runs").mean;
    let error = sample.deviation() / (sample.count() as f64).sqrt();
    assert!(
        (mean - expected).abs() <= 4.5 * error + 1e-9,
        "{what}: {mean}, not {expected} +- {error}"
    );
}
