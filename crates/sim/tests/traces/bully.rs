//! The bully.

use hustings_protocol::bully::{Bully, Config};
use hustings_sim::Detection;

use crate::support::UNIT;
use crate::{NOTICED, check, trace};

fn paper(members: u32, scenario: &str) -> String {
    trace::<Bully>(members, Detection::Never, Config::paper(UNIT), scenario)
}

fn field(members: u32, scenario: &str) -> String {
    let config = Config::field(UNIT, UNIT * 10);
    trace::<Bully>(members, NOTICED, config, scenario)
}

#[test]
fn p2_initiates_and_p4_announces_itself() {
    let scenario = "at 0s kill 5\nat 0s start 2";
    check!(paper(6, scenario));
}

#[test]
fn p4_fails_p1_detects_p3_fails() {
    // The slides call them p1 to p4.
    let scenario = "at 0s kill 3\nat 0s start 0\nat 2500ms kill 2";
    check!(paper(4, scenario));
}

#[test]
fn two_initiators() {
    let scenario = "at 0s kill 3\nat 0s start 0,1";
    check!(paper(4, scenario));
}

#[test]
fn the_initiator_dies() {
    let scenario = "at 0s kill 3\nat 0s start 0\nat 500ms kill 0";
    check!(paper(4, scenario));
}

#[test]
fn partition_and_heal() {
    let scenario = "at 0s start 0\nat 12s cut 0,1 | 2,3\nat 30s heal";
    check!(field(4, scenario));
}

#[test]
fn the_best_dies_and_restarts() {
    let scenario = "at 0s start 0\nat 10500ms kill 2\nat 30s restart 2";
    check!(field(3, scenario));
}

#[test]
fn a_worse_member_joins() {
    let scenario = "at 0s kill 0\nat 1s start 1\nat 20s restart 0";
    check!(field(3, scenario));
}

#[test]
fn answers_that_come_too_late_leave_a_lasting_disagreement() {
    let config = Config { answer_within: UNIT.mul_f64(1.5), ..Config::paper(UNIT) };
    let scenario = "at 0s start 1";
    check!(trace::<Bully>(3, Detection::Never, config, scenario));
}
