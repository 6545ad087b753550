//! Voters that restart, with and without their disks.

use hustings_protocol::tenure::{Durable, Refused, Request, Saved};
use hustings_protocol::{Fence, Outcome};

use crate::hall::{DELAY, Disk, Hall, millis};
use crate::{FOUNDING, config};

#[test]
fn restarted_voters_promise_nothing_while_what_they_granted_may_last() {
    let mut hall = Hall::new(&config(), &[FOUNDING; 3], 2, 1);
    hall.ask(11, Request::Acquire);
    hall.wait(millis(20));
    hall.crash(11);
    (1..=3).for_each(|id| hall.start(id));
    hall.ask(12, Request::Acquire);
    hall.wait(DELAY * 2);
    let lasts = millis(299);
    let refused = Outcome::TenureRefused(Refused::Quarantined { lasts });
    assert_eq!(hall.seat(12).outcomes, [refused]);
    hall.wait(millis(296));
    assert_eq!(hall.holders(), [0; 0]);
    hall.wait(millis(20));
    assert_eq!(hall.holders(), [12]);
}

#[test]
fn a_holder_goes_on_across_the_restart_of_every_voter() {
    let mut hall = Hall::new(&config(), &[FOUNDING; 3], 1, 1);
    hall.ask(11, Request::Acquire);
    for round in 0..30 {
        hall.wait(millis(37));
        hall.start(round % 3 + 1);
        assert_eq!(hall.holds(11).map(|it| it.fence), Some(Fence(1)));
    }
}

#[test]
fn a_voter_remembers_the_longest_that_it_could_grant() {
    let mut hall = Hall::new(&config(), &[FOUNDING; 3], 1, 1);
    for id in [1, 2, 3, 11] {
        let shorter = millis(100);
        hall.seat(id)
            .configure(|it| (it.ttl, it.max_ttl) = (shorter, shorter));
    }
    (1..=3).for_each(|id| hall.start(id));
    (1..=3).for_each(|id| hall.start(id)); // and once more
    hall.ask(11, Request::Acquire);
    hall.wait(millis(299));
    assert_eq!(hall.holders(), [0; 0]);
    hall.wait(millis(40));
    assert_eq!(hall.holders(), [11]);
}

#[test]
fn a_voter_that_lost_its_disk_does_not_vote_until_it_is_initialised() {
    let votes = [FOUNDING, Saved::Missing, Saved::Missing];
    let mut hall = Hall::new(&config(), &votes, 1, 1);
    hall.ask(11, Request::Acquire);
    hall.wait(millis(500));
    assert_eq!(hall.holders(), [0; 0]);
    let refused = Outcome::TenureRefused(Refused::Uninitialised);
    assert!(hall.seat(11).outcomes.contains(&refused));
    let highest = 1_000;
    let initialised = Saved::Initialised(Durable::replacing(highest, millis(300)));
    hall.seat(2).disk = Disk::Holds(initialised);
    hall.start(2);
    hall.wait(millis(299));
    assert_eq!(
        hall.holders(),
        [0; 0],
        "it may have granted something before"
    );
    hall.wait(millis(60));
    let fence = hall.holds(11).unwrap().fence;
    assert!(fence > Fence(highest + (1 << 32)));
}

#[test]
fn a_member_that_starts_again_holds_nothing_until_it_is_asked_to() {
    let mut hall = Hall::of_three(&config(), 1);
    hall.ask(1, Request::Acquire);
    hall.wait(millis(20));
    hall.start(1);
    assert_eq!(hall.holders(), [0; 0]);
    hall.wait(millis(1_000));
    assert_eq!(hall.holders(), [0; 0]);
    hall.ask(1, Request::Acquire);
    hall.wait(millis(50));
    assert_eq!(hall.holders(), [1]);
}
