//! Refused nominees, and that they disturb no holder.

use hustings_protocol::tenure::TenureOutcome;
use hustings_protocol::tenure::{Ballot, BallotOwner, Config, Message, Question, Refused, Request};
use hustings_protocol::{Duration, Fence, MemberId};

use crate::hall::{DELAY, World, millis};
use crate::{FOUNDING, config};

#[test]
fn a_refusal_names_the_holder_and_the_rest_of_its_grant() {
    let mut world = World::new(&config(), &[FOUNDING; 3], 2, 1);
    world.ask(11, Request::Acquire);
    world.wait(DELAY * 50);
    world.ask(12, Request::Acquire);
    world.wait(DELAY * 2);
    let holder = MemberId(11);
    let lasts = millis(252);
    let refused = Refused::Held { holder, lasts };
    assert_eq!(world.node(12).outcomes, [TenureOutcome::Refused(refused)]);
}

/// T6: the holder keeps its fence, however often another member tries, receives only half, or comes
/// back.
#[test]
fn a_restarted_or_half_deaf_nominee_does_not_unseat_the_holder() {
    for seed in 1..=20 {
        let mut world = World::new(&config(), &[FOUNDING; 3], 2, seed);
        world.ask(11, Request::Acquire);
        world.wait(millis(100));
        // All members receive its messages; it receives none.
        world.network = Box::new(|_, to, _| match to {
            MemberId(12) => vec![],
            MemberId(_) => vec![DELAY],
        });
        for _ in 0..50 {
            world.start(12);
            world.ask(12, Request::Acquire);
            world.wait(millis(70));
            assert_eq!(world.holds(11).map(|it| it.fence), Some(Fence(1)), "seed {seed}");
        }
        assert_eq!(world.node(11).outcomes.len(), 1);
    }
}

#[test]
fn a_nominee_that_knows_a_holder_asks_first_and_causes_no_write() {
    let mut world = World::new(&config(), &[FOUNDING; 3], 2, 1);
    world.ask(11, Request::Acquire);
    world.wait(millis(20));
    world.ask(12, Request::Acquire);
    let saves = world.saves();
    world.wait(Duration::from_secs(10));
    assert_eq!(world.saves(), saves);
    assert_eq!(world.count("prepare"), 6, "each prepared once");
    let asked = world.count("ask") / 3;
    assert!((20..=60).contains(&asked), "about once per ttl: {asked}");
    assert_eq!(world.holders(), [11]);
}

#[test]
fn a_ballot_that_cannot_win_is_replaced_and_the_fence_stays() {
    let mut world = World::new(&config(), &[FOUNDING; 3], 2, 1);
    // Voters 2 and 3 grant to 11. Voter 1 does not learn of it, and promises 12.
    world.network = Box::new(|from, to, _| match (from, to) {
        (MemberId(11), MemberId(1)) | (MemberId(12), MemberId(2 | 3)) => vec![],
        (MemberId(_), MemberId(_)) => vec![DELAY],
    });
    world.ask(12, Request::Acquire);
    world.wait(millis(30));
    world.ask(11, Request::Acquire);
    world.wait(millis(30));
    assert_eq!(world.holders(), [11]);
    let fence = world.holds(11).unwrap().fence;
    // Now voter 3 is out of reach, and voter 1 refuses.
    world.network = Box::new(|from, to, _| match (from, to) {
        (MemberId(11), MemberId(3)) | (MemberId(12), MemberId(_)) => vec![],
        (MemberId(_), MemberId(_)) => vec![DELAY],
    });
    world.wait(Duration::from_secs(2));
    assert_eq!(world.holds(11).map(|it| it.fence), Some(fence));
    assert_eq!(world.node(11).outcomes, [TenureOutcome::Gained { fence }]);
}

#[test]
fn colliding_nominees_do_not_collide_for_ever() {
    for seed in 1..=100 {
        let mut world = World::new(&config(), &[FOUNDING; 3], 5, seed);
        (11..16).for_each(|id| world.ask(id, Request::Acquire));
        world.wait(Duration::from_secs(2));
        assert_eq!(world.holders().len(), 1, "seed {seed}");
    }
}

#[test]
fn a_voter_never_grants_more_than_max_ttl() {
    let mut world = World::new(&config(), &[FOUNDING; 3], 1, 1);
    world.node(11).configure(|it| it.ttl = millis(301));
    world.ask(11, Request::Acquire);
    world.wait(millis(100));
    assert_eq!(world.holders(), [0; 0]);
    let max_ttl = millis(300);
    let refused = TenureOutcome::Refused(Refused::TtlTooLong { max_ttl });
    assert_eq!(world.node(11).outcomes.first(), Some(&refused));
}

#[test]
fn a_raised_max_ttl_takes_effect_only_after_a_restart() {
    let mut world = World::new(&config(), &[FOUNDING; 3], 1, 1);
    for id in [1, 2, 3, 11] {
        let longer = millis(600);
        world.node(id).configure(|it| (it.ttl, it.max_ttl) = (longer, longer));
    }
    world.ask(11, Request::Acquire);
    world.wait(millis(100));
    assert_eq!(world.holders(), [0; 0]);
    (1..=3).for_each(|id| world.start(id));
    world.wait(millis(400));
    assert_eq!(world.holders(), [11]);
}

#[test]
fn forged_messages_and_other_incarnations_change_nothing() {
    let mut world = World::new(&config(), &[FOUNDING; 3], 2, 1);
    world.ask(11, Request::Acquire);
    world.wait(millis(20));
    let held = world.holds(11);
    let (sent, saves) = (world.sent.len(), world.saves());
    let owner = BallotOwner { id: MemberId(11), number: 7 };
    let ballot = Ballot { counter: 99, owner };
    for message in [
        Message::Prepare { ballot },
        Message::Ask { ballot },
        Message::Propose { ballot, number: 1, ttl: millis(300) },
    ] {
        world.hear(12, 1, message); // forged: in the name of member 11
    }
    world.hear(11, 1, Message::Release { ballot });
    let number = 1;
    for message in [
        Message::Promise { ballot },
        Message::Grant { ballot, number },
        Message::Refusal {
            ballot,
            question: Question::Propose { number },
            promised: 0,
            refused: Refused::Outrun,
        },
    ] {
        (1..=3).for_each(|voter| world.hear(voter, 11, message));
    }
    assert_eq!((world.sent.len(), world.saves()), (sent, saves));
    assert_eq!(world.holds(11), held);
    world.hear(
        12,
        2,
        Message::Ask {
            ballot: Ballot { owner: BallotOwner { id: MemberId(12), ..owner }, ..ballot },
        },
    );
    assert!(matches!(
        world.sent.last(),
        Some((_, _, Message::Refusal { refused: Refused::Held { .. }, promised: 1, .. }))
    ));
}

/// The only voter of a group asks itself and gets the answer within one step, which must end.
#[test]
fn a_holder_with_too_long_a_ttl_retries_at_a_bounded_rate() {
    for count in [1, 3] {
        let voters = (1..=count).map(MemberId).collect();
        let config = Config { voters, ..config() };
        let mut world = World::of_three(&config, 1);
        world.ask(1, Request::Acquire);
        world.wait(millis(50));
        assert_eq!(world.holders(), [1]);
        world.node(1).configure(|it| it.ttl = millis(301));
        let before = world.sent.len();
        world.wait(millis(300));
        assert_eq!(world.holders(), [0; 0], "it was not renewed");
        // Each attempt is a question to each of two others, and its answer.
        let attempts = 300 / 10 + 5;
        assert!(world.sent.len() - before <= 4 * attempts, "{count}");
    }
}

/// One of three voters is down, and the release reaches one of the others late. A nominee that this
/// one refused, and whose driver then requests tenure again, does not wait for the voter that is
/// down.
#[test]
fn a_repeated_request_restarts_an_attempt_that_was_refused() {
    let mut world = World::new(&config(), &[FOUNDING; 3], 2, 1);
    world.ask(11, Request::Acquire);
    world.wait(millis(20));
    world.ask(12, Request::Acquire); // it is refused, and learns the counter
    world.wait(millis(20));
    world.crash(3);
    world.network = Box::new(|_, to, message| match (to, message) {
        (MemberId(2), Message::Release { .. }) => vec![DELAY * 3],
        _ => vec![DELAY],
    });
    world.ask(11, Request::Release);
    world.ask(12, Request::Acquire);
    world.wait(DELAY * 3);
    assert_eq!(world.holders(), [], "one voter would, one refused, one is down");
    world.ask(12, Request::Acquire);
    world.wait(DELAY * 6);
    assert_eq!(world.holders(), [12], "after ask, prepare and propose");
}
