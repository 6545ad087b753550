//! The announce family in the field: T_A is ten seconds, T_S five, a question waits for three.

use hustings_protocol::announce::{Announce, Config, Joining, Message, Takeover};
use hustings_sim::{Boot, Detection, Seeds};

use crate::check;
use crate::support::text::{Says, Text};
use crate::support::{Experiment, UNIT, group, ranked, script, units};

impl Says for Message {
    fn says(&self) -> String {
        match self {
            Self::Announcement { claim, beat, .. } => {
                let established = if claim.established { ", established" } else { "" };
                format!("announcement {beat} of life {}{established}", claim.incarnation)
            }
            Self::Query => "query".to_owned(),
            Self::Bye { incarnation } => format!("bye of life {incarnation}"),
            Self::Complaint { about, byes } => format!("complaint: {about} should say bye {byes}x"),
        }
    }
}

fn field() -> Config {
    Config {
        joining: Joining::SuppressThenQuery { election_timeout: UNIT * 3 },
        ..Config::field(UNIT * 10)
    }
}

/// The scenario, a blank line, and all events.
fn trace(members: u32, config: Config, limit: u64, scenario: &str) -> String {
    let scenario = script(scenario);
    let experiment = Experiment {
        setup: group(ranked(members), Detection::Never),
        scenario: scenario.clone(),
        limit: units(limit),
    };
    let make = |boot: Boot<Announce>| Announce::new(boot.saved);
    let seeds = Seeds::new(0, 0);
    let (summary, text) = experiment.run_traced(config, seeds, Text::default(), make);
    format!("{members} members\n{scenario}\n{}", text.finish(&summary))
}

#[test]
fn a_better_member_joins() {
    let scenario = "at 0s start 0,1\nat 30s start 2";
    check!(trace(3, field(), 50, scenario));
}

#[test]
fn a_better_member_joins_but_does_not_unseat() {
    let takeover = Takeover::Never;
    let config = Config { takeover, ..field() };
    let scenario = "at 0s start 0,1\nat 30s start 2";
    check!(trace(3, config, 50, scenario));
}

#[test]
fn the_leader_leaves_and_its_successor_dies() {
    let scenario = "at 0s start all\nat 12500ms leave 2\nat 30s kill 1";
    check!(trace(3, field(), 80, scenario));
}

#[test]
fn whoever_hears_its_leader_faintly_complains() {
    let scenario = "at 0s start all\nat 12s cut 2 -> 0\nat 34s heal\nat 60s leave 2";
    check!(trace(3, field(), 75, scenario));
}

#[test]
fn partition_and_heal() {
    let scenario = "at 0s start all\nat 12500ms cut 0 | 1,2\nat 65s heal";
    check!(trace(3, field(), 85, scenario));
}

#[test]
fn the_leader_restarts_without_its_disk() {
    let scenario = "at 0s start all\nat 15s restart 2\nat 35500ms restart 2 fresh";
    check!(trace(3, field(), 100, scenario));
}
