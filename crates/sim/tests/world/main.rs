//! The world's own behaviour: scenario verbs, the order of events, and network faults.

mod network;
mod puppet;
#[path = "../support/mod.rs"]
mod support;
mod verbs;

use hustings_sim::{Boot, Detection, Seeds, Setup};

use puppet::{Puppet, Script};
use support::text::Text;
use support::{Experiment, group, ranked, script, units};

/// The trace of a group of puppets under a scenario.
fn play(members: u32, detection: Detection, scenario: &str, acts: Script) -> Vec<String> {
    play_in(group(ranked(members), detection), scenario, acts)
}

fn play_in(setup: Setup, scenario: &str, acts: Script) -> Vec<String> {
    let experiment = Experiment { setup, scenario: script(scenario), limit: units(100) };
    let make = |boot: Boot<Puppet>| Puppet(boot.saved);
    let (_, text) = experiment.run_traced(acts, Seeds::new(3, 0), Text::default(), make);
    text.lines().into_iter().map(str::to_owned).collect()
}

/// The lines that contain `word`.
fn only(word: &str, lines: &[String]) -> Vec<String> {
    let wanted = lines.iter().filter(|line| line.contains(word));
    wanted.cloned().collect()
}
