//! The end of a tenure: by the clock, by release, by transfer, for lack of health.

use hustings_protocol::tenure::TenureOutcome;
use hustings_protocol::tenure::{Message, Request};
use hustings_protocol::{Duration, Fence, Input, Instant, MemberId};

use crate::hall::{DELAY, World, millis};
use crate::{FOUNDING, config};

/// Member 11 has held tenure since 4 ms, without a renewal.
fn held() -> World {
    let mut world = World::new(&config(), &[FOUNDING; 3], 2, 1);
    world.ask(11, Request::Acquire);
    world.wait(DELAY * 10);
    assert_eq!(world.holders(), [11]);
    world
}

#[test]
fn holding_is_computed_from_the_clock_and_needs_no_timer() {
    let mut world = held();
    let until = world.holds(11).unwrap().until;
    // The member gets no input, like a stopped process.
    world.now = Instant(until.0 - 1);
    assert_eq!(world.holders(), [11]);
    world.now = until;
    assert_eq!(world.holders(), [0; 0]);
}

#[test]
fn an_isolated_holder_ends_before_the_next_one_begins() {
    let mut world = held();
    world.network = Box::new(|from, to, _| match (from, to) {
        (MemberId(11), _) | (_, MemberId(11)) => vec![],
        (MemberId(_), MemberId(_)) => vec![DELAY],
    });
    world.ask(12, Request::Acquire);
    let end = world.now + Duration::from_secs(1);
    while world.next(end) {
        assert!(world.holders().len() <= 1, "at {:?}", world.now);
    }
    assert_eq!(world.holders(), [12]);
    let fence = Fence(1);
    assert!(world.node(11).outcomes.contains(&TenureOutcome::Lost { fence }));
}

#[test]
fn released_tenure_is_regained_within_three_round_trips() {
    let mut world = held();
    world.ask(11, Request::Release);
    assert_eq!(world.holders(), [0; 0]);
    world.wait(DELAY);
    world.ask(12, Request::Acquire);
    world.wait(DELAY * 6); // three round trips: it knows no counter yet
    assert_eq!(world.holds(12).map(|it| it.fence), Some(Fence(2)));
    world.wait(Duration::from_secs(1));
    assert_eq!(world.holders(), [12], "the former holder does not try again");
}

#[test]
fn a_transfer_succeeds_even_if_all_releases_are_lost() {
    let mut world = held();
    world.network = Box::new(|from, _, message| match (from, message) {
        (MemberId(11), Message::Release { .. }) => vec![],
        (MemberId(_), _) => vec![DELAY],
    });
    world.ask(11, Request::Transfer { to: MemberId(12) });
    assert_eq!(world.holders(), [0; 0]);
    world.wait(DELAY * 5);
    assert_eq!(world.holds(12).map(|it| it.fence), Some(Fence(2)));
}

#[test]
fn a_repeated_handover_counts_once() {
    let mut world = held();
    world.ask(11, Request::Transfer { to: MemberId(12) });
    world.wait(DELAY * 5);
    world.ask(12, Request::Release);
    let sent = world.sent.clone();
    let is_handover = |(_, to, it): &&(MemberId, MemberId, Message)| {
        *to == MemberId(12) && matches!(it, Message::Handover { .. })
    };
    let (_, _, handover) = *sent.iter().find(is_handover).unwrap();
    world.hear(11, 12, handover);
    world.wait(Duration::from_secs(1));
    assert_eq!(world.holders(), [0; 0]);
}

#[test]
fn a_withdrawn_nominee_keeps_its_tenure_until_it_releases() {
    let mut world = held();
    world.ask(11, Request::Withdraw);
    world.wait(Duration::from_secs(5));
    assert_eq!(world.holds(11).map(|it| it.fence), Some(Fence(1)));
}

#[test]
fn a_nominee_that_withdraws_before_it_holds_releases_its_grants() {
    let mut world = World::new(&config(), &[FOUNDING; 3], 2, 1);
    world.ask(11, Request::Acquire);
    world.wait(DELAY * 3); // its proposal is granted, but the grants are on their way
    world.ask(11, Request::Withdraw);
    world.wait(DELAY);
    world.ask(12, Request::Acquire);
    world.wait(DELAY * 6);
    assert_eq!(world.holders(), [12]);
    assert_eq!(world.node(11).outcomes, []);
}

#[test]
fn an_unhealthy_member_neither_renews_nor_tries() {
    let mut world = held();
    world.ask(11, Request::Healthy(false));
    world.wait(millis(250));
    assert_eq!(world.holders(), [11], "it may have to clean up");
    world.wait(millis(100));
    assert_eq!(world.holders(), [0; 0]);
    world.wait(Duration::from_secs(5));
    assert_eq!(world.holders(), [0; 0]);
    world.ask(11, Request::Healthy(true));
    world.wait(DELAY * 4);
    assert_eq!(world.holds(11).map(|it| it.fence), Some(Fence(2)));
}

#[test]
fn a_member_that_recovers_in_time_keeps_its_fence() {
    let mut world = held();
    world.ask(11, Request::Healthy(false));
    world.wait(millis(200));
    world.ask(11, Request::Healthy(true));
    world.wait(Duration::from_secs(1));
    assert_eq!(world.holds(11).map(|it| it.fence), Some(Fence(1)));
}

#[test]
fn a_member_that_leaves_without_release_keeps_others_out() {
    let mut world = held();
    world.tell(11, Input::Leave);
    assert_eq!(world.count("release"), 0);
    world.ask(12, Request::Acquire);
    world.wait(millis(250));
    assert_eq!(world.holds(12), None);
}

#[test]
fn a_later_tenure_of_the_same_member_has_a_higher_fence() {
    let mut world = held();
    world.network = Box::new(|_, _, _| vec![]);
    world.wait(millis(400));
    world.network = Box::new(|_, _, _| vec![DELAY]);
    world.wait(millis(400));
    let fence = world.holds(11).unwrap().fence;
    assert!(fence > Fence(1));
    let gained = |fence| TenureOutcome::Gained { fence };
    let lost = TenureOutcome::Lost { fence: Fence(1) };
    let told: Vec<TenureOutcome> = world.node(11).outcomes.clone();
    let told: Vec<TenureOutcome> =
        told.into_iter().filter(|it| !matches!(it, TenureOutcome::Refused(_))).collect();
    assert_eq!(told, [gained(Fence(1)), lost, gained(fence)]);
}
