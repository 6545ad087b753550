//! Wagner's ring: fair draws, their cost, and cheaters.

mod cheaters;
mod draws;
mod evidence;
mod schemes;
mod stalling;
mod streams;
mod table;

use hustings_protocol::Duration;
use hustings_protocol::wagner::subset::Compare;
use hustings_protocol::wagner::{Config, Ring};
use hustings_sim::wagner::{Cheat, DrawRun, DrawTrial, Segment, draw};
use hustings_sim::{Scratch, Seeds};

const HOP: Duration = Duration::from_secs(1);

/// The permitted deviation of a mean in standard errors: one in 150,000 exceeds it by chance.
const STANDARD_ERRORS: f64 = 4.5;

/// A draw among `members`, all of them honest.
fn trial(members: u32) -> DrawTrial {
    DrawTrial {
        members,
        // Cheaters inform each other before they answer, which takes them longer.
        config: Config::field(HOP * u64::from(4 * members)),
        cheaters: Vec::new(),
        hop: HOP,
        loss: 0.0,
        most_rounds: 500,
    }
}

/// The same, with the first `cheaters` members cheating.
fn cheated(members: u32, cheaters: u32, cheat: Cheat) -> DrawTrial {
    let segment = Segment { cheat, from: 0, to: cheaters - 1 };
    DrawTrial { cheaters: vec![segment], ..trial(members) }
}

fn with_ring(trial: DrawTrial, ring: Ring) -> DrawTrial {
    let config = Config { ring, ..trial.config };
    DrawTrial { config, ..trial }
}

fn with_compare(trial: DrawTrial, compare: Compare) -> DrawTrial {
    let config = Config { compare, ..trial.config };
    DrawTrial { config, ..trial }
}

fn with_stall_limit(trial: DrawTrial, limit: Option<u32>) -> DrawTrial {
    let stall_limit = limit.map(|it| it.try_into().expect("a limit of one or more"));
    let config = Config { stall_limit, ..trial.config };
    DrawTrial { config, ..trial }
}

/// `count` runs, each with its own random numbers.
fn runs(trial: &DrawTrial, count: u64) -> impl Iterator<Item = DrawRun> {
    let mut scratch = Scratch::default();
    (0..count).map(move |number| {
        let (run, left) = draw(trial, Seeds::new(1, number), std::mem::take(&mut scratch));
        scratch = left;
        run
    })
}

/// The fraction of `count` runs for which `what` holds.
fn share(trial: &DrawTrial, count: u64, what: impl Fn(&DrawRun) -> bool) -> f64 {
    runs(trial, count).filter(|run| what(run)).count() as f64 / count as f64
}

/// Asserts the mean of a quantity.
#[track_caller]
fn assert_mean(values: &[f64], expected: f64, what: impl std::fmt::Debug) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let error = (squares / (count - 1.0) / count).sqrt();
    assert!(
        (mean - expected).abs() <= STANDARD_ERRORS * error,
        "{what:?}: {mean} +- {error}, not {expected}"
    );
}

/// Asserts the fraction of `count` runs against its probability.
#[track_caller]
fn assert_share(share: f64, expected: f64, count: u64, what: impl std::fmt::Debug) {
    let error = (expected * (1.0 - expected) / count as f64).sqrt();
    assert!(
        (share - expected).abs() <= STANDARD_ERRORS * error,
        "{what:?}: {share}, not {expected} +- {error}"
    );
}
