//! Voters that restart, with and without their disks.

use hustings_protocol::Fence;
use hustings_protocol::tenure::TenureOutcome;
use hustings_protocol::tenure::{Durable, Refused, Request, Saved};

use crate::hall::{DELAY, Disk, World, millis};
use crate::{FOUNDING, config};

#[test]
fn restarted_voters_promise_nothing_in_quarantine() {
    let mut world = World::new(&config(), &[FOUNDING; 3], 2, 1);
    world.ask(11, Request::Acquire);
    world.wait(millis(20));
    world.crash(11);
    (1..=3).for_each(|id| world.start(id));
    world.ask(12, Request::Acquire);
    world.wait(DELAY * 2);
    let lasts = millis(299);
    let refused = TenureOutcome::Refused(Refused::Quarantined { lasts });
    assert_eq!(world.node(12).outcomes, [refused]);
    world.wait(millis(296));
    assert_eq!(world.holders(), [0; 0]);
    world.wait(millis(20));
    assert_eq!(world.holders(), [12]);
}

#[test]
fn a_holder_survives_the_restart_of_every_voter() {
    let mut world = World::new(&config(), &[FOUNDING; 3], 1, 1);
    world.ask(11, Request::Acquire);
    for round in 0..30 {
        world.wait(millis(37));
        world.start(round % 3 + 1);
        assert_eq!(world.holds(11).map(|it| it.fence), Some(Fence(1)));
    }
}

#[test]
fn quarantine_lasts_for_the_longest_max_ttl_ever_configured() {
    let mut world = World::new(&config(), &[FOUNDING; 3], 1, 1);
    for id in [1, 2, 3, 11] {
        let shorter = millis(100);
        world.node(id).configure(|it| (it.ttl, it.max_ttl) = (shorter, shorter));
    }
    (1..=3).for_each(|id| world.start(id));
    (1..=3).for_each(|id| world.start(id)); // and once more
    world.ask(11, Request::Acquire);
    world.wait(millis(299));
    assert_eq!(world.holders(), [0; 0]);
    world.wait(millis(40));
    assert_eq!(world.holders(), [11]);
}

#[test]
fn a_voter_that_lost_its_disk_does_not_vote_until_it_is_initialised() {
    let votes = [FOUNDING, Saved::Missing, Saved::Missing];
    let mut world = World::new(&config(), &votes, 1, 1);
    world.ask(11, Request::Acquire);
    world.wait(millis(500));
    assert_eq!(world.holders(), [0; 0]);
    let refused = TenureOutcome::Refused(Refused::Uninitialised);
    assert!(world.node(11).outcomes.contains(&refused));
    let highest = 1_000;
    let initialised = Saved::Initialised(Durable::replacing(highest, millis(300)));
    world.node(2).disk = Disk::Holds(initialised);
    world.start(2);
    world.wait(millis(299));
    assert_eq!(world.holders(), [0; 0], "it may have granted a tenure before");
    world.wait(millis(60));
    let fence = world.holds(11).unwrap().fence;
    assert!(fence > Fence(highest + (1 << 32)));
}

#[test]
fn a_restarted_member_holds_nothing_until_it_acquires_again() {
    let mut world = World::of_three(&config(), 1);
    world.ask(1, Request::Acquire);
    world.wait(millis(20));
    world.start(1);
    assert_eq!(world.holders(), [0; 0]);
    world.wait(millis(1_000));
    assert_eq!(world.holders(), [0; 0]);
    world.ask(1, Request::Acquire);
    world.wait(millis(50));
    assert_eq!(world.holders(), [1]);
}
