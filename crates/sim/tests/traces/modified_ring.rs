//! The modified ring.

use hustings_protocol::modified_ring::{Config, ModifiedRing};
use hustings_sim::Detection;

use crate::support::UNIT;
use crate::{NOTICED, check, trace};

fn paper(members: u32, scenario: &str) -> String {
    trace::<ModifiedRing>(members, Detection::Oracle, Config::paper(), scenario)
}

fn field(members: u32, scenario: &str) -> String {
    let config = Config::field(UNIT * 10);
    trace::<ModifiedRing>(members, NOTICED, config, scenario)
}

#[test]
fn p4_dies_and_p3_is_finally_elected() {
    let scenario = "at 0s kill 5\nat 0s start 2\nat 2500ms kill 4";
    check!(paper(6, scenario));
}

#[test]
fn the_initiator_dies_and_its_successor_starts_anew() {
    let scenario = "at 0s start 2\nat 500ms kill 2";
    check!(paper(5, scenario));
}

#[test]
fn two_initiators() {
    let scenario = "at 0s start 1,3";
    check!(paper(5, scenario));
}

#[test]
fn p4_dies_after_it_signed_twice() {
    let scenario = "at 0s start 2\nat 7500ms kill 4";
    check!(paper(5, scenario));
}

#[test]
fn the_holder_dies_and_patience_ends() {
    let scenario = "at 0s start 1\nat 2500ms kill 0";
    check!(field(4, scenario));
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
