//! The council election.

use hustings_protocol::council::{Algorithm, Config, Council, Knowledge, Seats};
use hustings_protocol::{Duration, Instant, MemberId};
use hustings_sim::{Boot, Detection, Seeds, World};

use crate::check;
use crate::support::text::Text;
use crate::support::{UNIT, group, ranked, script};

/// Member 0 is the centre, and a feedback is in the bits that Table I counts. A round takes three
/// units.
fn trace(hosts: u32, config: Config, scenario: &str, limit: u64) -> String {
    let setup = group(ranked(hosts + 1), Detection::Never);
    let make = |Boot { me, saved }: Boot<Council>| match me.id {
        MemberId(0) => Council::centre(1, saved),
        MemberId(_) => Council::host(0),
    };
    let mut world = World::traced(setup, config, Seeds::new(3, 0), Text::default(), make);
    let scenario = script(scenario);
    world.follow(&scenario);
    world.run_until(Instant::START + UNIT * limit);
    let text = world.into_trace();
    format!("{hosts} hosts\n{scenario}\n{}", text.lines().join("\n"))
}

fn once(algorithm: Algorithm, knowledge: Knowledge) -> Config {
    Config::once(Seats::new(1, 2), algorithm, knowledge, UNIT * 3)
}

fn kept() -> Config {
    let mut config = Config::field(Seats::new(2, 3), 20, UNIT * 3);
    config.knowledge = Knowledge::Told(4);
    let lease = config.lease.as_mut().expect("a council in the field is kept");
    (lease.beat, lease.lasts) = (UNIT * 10, UNIT * 25);
    config
}

#[test]
fn skip_reset_polls_the_hosts_and_draws_until_few_enough_are_left() {
    let config = once(Algorithm::SkipReset, Knowledge::Polled);
    check!(trace(5, config, "at 0s start 0", 40));
}

#[test]
fn choice_takes_the_better_of_two_draws() {
    let config = once(Algorithm::CHOICE, Knowledge::Told(6));
    check!(trace(6, config, "at 0s start 0", 40));
}

#[test]
fn a_seat_falls_empty_and_just_the_missing_ones_are_drawn() {
    let scenario = "at 0s start 0\nat 12500ms leave 1\nat 30500ms kill 2";
    check!(trace(4, kept(), scenario, 75));
}

#[test]
fn the_centre_restarts_and_waits_until_the_old_council_must_be_over() {
    let scenario = "at 0s start 0\nat 11500ms kill 0\nat 12s restart 0";
    let config = kept();
    assert_eq!(config.lease.map(|it| it.lasts), Some(Duration::from_secs(25)));
    check!(trace(4, config, scenario, 60));
}
