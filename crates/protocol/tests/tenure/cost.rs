//! The cost of getting tenure and of keeping it.

use hustings_protocol::tenure::TenureOutcome;
use hustings_protocol::tenure::{Config, Held, Request};
use hustings_protocol::{Duration, Fence, Instant};

use crate::hall::{DELAY, World, millis};
use crate::{FOUNDING, config};

#[test]
fn tenure_takes_two_round_trips_and_one_write_per_voter() {
    let mut world = World::new(&config(), &[FOUNDING; 3], 1, 1);
    assert_eq!(world.saves(), [1, 1, 1, 0], "a voter saves its longest ttl at its first start");
    world.ask(11, Request::Acquire);
    world.wait(DELAY * 4);
    let fence = Fence(1);
    // From the clock reading before the proposal, one round trip ago.
    let until = Instant(DELAY.0 * 2) + config().usable(millis(300));
    assert_eq!(world.holds(11), Some(Held { fence, until }));
    assert_eq!(world.node(11).outcomes, [TenureOutcome::Gained { fence }]);
    assert_eq!(world.saves(), [2, 2, 2, 0]);
    let kinds = ["ask", "prepare", "promise", "propose", "grant"];
    assert_eq!(kinds.map(|kind| world.count(kind)), [0, 3, 3, 3, 3]);
}

#[test]
fn renewal_takes_one_round_trip_and_no_write_from_a_third_of_ttl() {
    let mut world = World::new(&config(), &[FOUNDING; 3], 1, 1);
    world.ask(11, Request::Acquire);
    world.wait(millis(50));
    let before = (world.holds(11).unwrap(), world.saves(), world.sent.len());
    world.wait(Instant(DELAY.0 * 4 + millis(100).0) - world.now);
    let (held, saves, sent) = before;
    let after = world.holds(11).unwrap();
    assert_eq!(after.fence, held.fence);
    assert_eq!(after.until - held.until, millis(100));
    assert_eq!(world.saves(), saves);
    assert_eq!(world.sent.len() - sent, 6);
    world.wait(Duration::from_secs(60));
    assert_eq!(world.holds(11).map(|it| it.fence), Some(held.fence));
    assert_eq!(world.node(11).outcomes.len(), 1, "gained once, never lost");
}

#[test]
fn a_nominee_that_votes_saves_one_message_of_each_kind() {
    let mut world = World::of_three(&config(), 1);
    world.ask(2, Request::Acquire);
    world.wait(DELAY * 4);
    assert_eq!(world.holders(), [2]);
    let kinds = ["prepare", "promise", "propose", "grant"];
    assert_eq!(kinds.map(|kind| world.count(kind)), [2, 2, 2, 2]);
    assert_eq!(world.saves(), [2, 2, 2]);
}

#[test]
fn a_single_member_needs_no_messages() {
    let voters = vec![hustings_protocol::MemberId(1)];
    let config = Config { voters, ..config() };
    let mut world = World::of_three(&config, 1);
    world.ask(1, Request::Acquire);
    assert_eq!(world.holders(), [1]);
    world.wait(Duration::from_secs(10));
    assert_eq!(world.holds(1).map(|it| it.fence), Some(Fence(1)));
    assert_eq!(world.sent, []);
}

#[test]
fn a_dead_holder_is_replaced_within_ttl_and_a_few_round_trips() {
    for seed in 1..=50 {
        let mut world = World::new(&config(), &[FOUNDING; 3], 2, seed);
        world.ask(11, Request::Acquire);
        world.wait(millis(20 * seed));
        world.ask(12, Request::Acquire);
        world.wait(millis(500));
        world.crash(11);
        // A grant may be as young as a round trip; then the random wait, ask, prepare and propose
        // follow.
        world.wait(millis(300) + config().back_off + DELAY * 8);
        assert_eq!(world.holders(), [12], "seed {seed}");
        assert!(world.holds(12).unwrap().fence > Fence(1));
    }
}
