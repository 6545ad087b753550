//! Runs as text: a scenario, then all events, one line each.
//!
//! The texts are in `snapshots`. After a change, `INSTA_UPDATE=always cargo test -p hustings-sim
//! --test traces` writes them anew; read the difference before you commit it.
//!
//! Member `i` has priority `i`, and every message takes one second. Kills come at half seconds:
//! while messages are in flight.

mod announce;
mod bully;
mod chang_roberts;
mod council;
mod modified_ring;
#[path = "../support/mod.rs"]
mod support;

use std::fmt::Debug;

use hustings_protocol::{Duration, Simulated};
use hustings_sim::Detection;

use support::text::{Says, Text};
use support::{group, ranked, run_traced, script};

/// The duration of a run that does not end by itself, in units.
const LIMIT: u64 = 50;
/// The same for runs that do nothing new after a while.
const SHORT_LIMIT: u64 = 15;

/// The failure detection of the field runs.
const NOTICED: Detection = Detection::After(Duration::from_millis(500));

/// The scenario, a blank line, and all events.
fn trace<P>(members: u32, detection: Detection, config: P::Config, scenario: &str) -> String
where
    P: Simulated<Message: Says, Timer: Debug, Outcome: Says> + Default + 'static,
{
    trace_until::<P>(LIMIT, members, detection, config, scenario)
}

fn trace_until<P>(
    limit: u64,
    members: u32,
    detection: Detection,
    config: P::Config,
    scenario: &str,
) -> String
where
    P: Simulated<Message: Says, Timer: Debug, Outcome: Says> + Default + 'static,
{
    let setup = group(ranked(members), detection);
    let scenario = script(scenario);
    let text = Text::default();
    let (summary, text) = run_traced::<P, _>(setup, scenario.clone(), config, limit, text);
    format!("{members} members\n{scenario}\n{}", text.finish(&summary))
}

/// Compares with the snapshot of the test's name.
macro_rules! check {
    ($text:expr) => {
        insta::with_settings!({ omit_expression => true }, {
            insta::assert_snapshot!($text);
        });
    };
}
use check;
