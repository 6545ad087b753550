//! Forged counters: they cost an attempt, and never end tenure for good.

use hustings_protocol::tenure::TenureOutcome;
use hustings_protocol::tenure::counter::{COUNT_BITS, REACH, last_of_era};
use hustings_protocol::tenure::{
    Ballot, BallotOwner, Durable, LONGEST_WAIT, Message, Question, Refused, Request, Saved,
};
use hustings_protocol::{Duration, Fence, MemberId};

use crate::hall::{DELAY, Disk, World, millis};
use crate::{FOUNDING, config};

/// Counters that a member could forge to use up all counters.
const FORGED: [u64; 5] =
    [2 * REACH, (1 << COUNT_BITS) - 1, 1 << COUNT_BITS, i64::MAX as u64, u64::MAX];

fn initialised(counter: u64) -> Saved {
    Saved::Initialised(Durable { counter, ..Durable::FOUNDING })
}

fn promised(world: &mut World, voter: u64) -> u64 {
    match world.node(voter).disk {
        Disk::Holds(Saved::Initialised(durable)) => durable.counter,
        Disk::Holds(Saved::Missing) | Disk::None => panic!("{voter} has promised nothing"),
    }
}

/// The ballot that a member prepared last.
fn prepared(world: &World) -> Ballot {
    let mut sent = world.sent.iter().rev();
    let ballot = sent.find_map(|(_, _, message)| match message {
        Message::Prepare { ballot } => Some(*ballot),
        _ => None,
    });
    ballot.expect("a member has prepared")
}

fn refusal(ballot: Ballot, promised: u64) -> Message {
    Message::Refusal { ballot, question: Question::Prepare, promised, refused: Refused::Outrun }
}

/// Member 12 has no vote, and 11 has asked it nothing.
#[test]
fn a_refusal_of_a_member_without_a_vote_changes_nothing() {
    for forged_counter in FORGED {
        let mut world = World::new(&config(), &[FOUNDING; 3], 2, 1);
        world.ask(11, Request::Acquire);
        let ballot = prepared(&world);
        world.hear(12, 11, refusal(ballot, forged_counter));
        world.wait(DELAY * 4);
        assert_eq!(world.holds(11).map(|it| it.fence), Some(Fence(1)));
        world.ask(11, Request::Release);
        world.ask(11, Request::Acquire);
        world.wait(DELAY * 4);
        assert_eq!(world.holds(11).map(|it| it.fence), Some(Fence(2)));
    }
}

#[test]
fn a_refusal_of_a_closed_question_changes_nothing() {
    for forged_counter in FORGED {
        let mut world = World::new(&config(), &[FOUNDING; 3], 1, 1);
        world.ask(11, Request::Acquire);
        world.wait(DELAY * 4);
        let ballot = prepared(&world);
        (1..=3).for_each(|voter| world.hear(voter, 11, refusal(ballot, forged_counter)));
        world.ask(11, Request::Release);
        world.ask(11, Request::Acquire);
        world.wait(DELAY * 4);
        assert_eq!(world.holds(11).map(|it| it.fence), Some(Fence(2)));
    }
}

/// A forged refusal in a voter's name that answers the open question costs an attempt, and is
/// forgotten.
#[test]
fn a_forged_counter_of_a_voter_costs_one_attempt() {
    for forged_counter in FORGED {
        let mut world = World::new(&config(), &[FOUNDING; 3], 1, 1);
        world.ask(11, Request::Acquire);
        let ballot = prepared(&world);
        (1..=2).for_each(|voter| world.hear(voter, 11, refusal(ballot, forged_counter)));
        world.wait(millis(60));
        let fence = world.holds(11).map(|it| it.fence);
        assert!(fence.is_some_and(|it| it.0 <= 3), "{forged_counter}: {fence:?}");
        for voter in 1..=3 {
            let promised = promised(&mut world, voter);
            assert!(promised <= 3, "{forged_counter}: {voter} promised {promised}");
        }
    }
}

/// Refusals of its proposals are forged in the voters' names, again and again.
#[test]
fn a_forged_counter_of_a_voter_does_not_unseat_the_holder() {
    for forged_counter in FORGED {
        let mut world = World::new(&config(), &[FOUNDING; 3], 1, 1);
        world.ask(11, Request::Acquire);
        world.wait(millis(10));
        for _ in 0..30 {
            let proposals = world.count("propose");
            let end = world.now + millis(300);
            while world.count("propose") == proposals && world.next(end) {}
            let proposed = world.sent.iter().rev().find_map(|(_, _, it)| match it {
                Message::Propose { ballot, number, .. } => Some((*ballot, *number)),
                _ => None,
            });
            let (ballot, number) = proposed.expect("it renews");
            let forged = Message::Refusal {
                ballot,
                question: Question::Propose { number },
                promised: forged_counter,
                refused: Refused::Outrun,
            };
            (1..=2).for_each(|voter| world.hear(voter, 11, forged));
            world.wait(millis(40));
            assert_eq!(world.holds(11).map(|it| it.fence), Some(Fence(1)));
        }
        let promised = promised(&mut world, 1);
        assert!(promised < 100, "{forged_counter}: {promised}");
    }
}

#[test]
fn a_voter_does_not_follow_a_ballot_out_of_its_reach() {
    for forged_counter in FORGED {
        let mut world = World::new(&config(), &[FOUNDING; 3], 2, 1);
        let owner = BallotOwner { id: MemberId(12), number: 5 };
        let ballot = Ballot { counter: forged_counter, owner };
        let (number, ttl) = (1, millis(300));
        for message in [Message::Prepare { ballot }, Message::Propose { ballot, number, ttl }] {
            (1..=3).for_each(|voter| world.hear(12, voter, message));
            let answer = world.sent.last().map(|(_, _, message)| *message);
            let Some(Message::Refusal { refused, .. }) = answer else {
                panic!("{message:?} was answered with {answer:?}");
            };
            assert_eq!(refused, Refused::OutOfReach { most: REACH });
        }
        assert_eq!(promised(&mut world, 1), 0);
        world.ask(11, Request::Acquire);
        world.wait(DELAY * 4);
        assert_eq!(world.holds(11).map(|it| it.fence), Some(Fence(1)));
    }
}

#[test]
fn a_handover_of_a_forged_ballot_does_not_end_tenure() {
    for forged_counter in FORGED {
        let mut world = World::new(&config(), &[FOUNDING; 3], 2, 1);
        let handover = |number, counter| Message::Handover {
            released: Ballot { counter, owner: BallotOwner { id: MemberId(12), number } },
        };
        world.hear(12, 11, handover(5, forged_counter));
        world.ask(11, Request::Acquire);
        world.wait(millis(60));
        let fence = world.holds(11).map(|it| it.fence.0).unwrap_or_default();
        assert!((1..=3).contains(&fence), "{forged_counter}: {fence}");
        // A genuine handover is accepted.
        world.ask(11, Request::Release);
        world.ask(12, Request::Acquire);
        world.wait(millis(60));
        assert_eq!(world.holders(), [12], "{forged_counter}");
        world.ask(12, Request::Transfer { to: MemberId(11) });
        world.wait(DELAY * 6);
        assert_eq!(world.holders(), [11], "{forged_counter}");
    }
}

#[test]
fn a_forged_wait_ends_after_a_minute() {
    let mut world = World::new(&config(), &[FOUNDING; 3], 2, 1);
    world.ask(11, Request::Acquire);
    let ballot = prepared(&world);
    for voter in 1..=2 {
        let forged = Message::Refusal {
            ballot,
            question: Question::Prepare,
            promised: 0,
            refused: Refused::Held { holder: MemberId(12), lasts: Duration(u64::MAX) },
        };
        world.hear(voter, 11, forged);
    }
    world.wait(LONGEST_WAIT + millis(30));
    assert_eq!(world.holders(), [11]);
}

/// A group whose era is not the first: no nominee knows a counter yet.
#[test]
fn a_later_era_is_learnt_and_a_used_up_era_is_reported() {
    let era = 3 << COUNT_BITS;
    let mut world = World::new(&config(), &[initialised(era); 3], 1, 1);
    world.ask(11, Request::Acquire);
    world.wait(DELAY * 6);
    assert_eq!(world.holds(11).map(|it| it.fence), Some(Fence(era + 1)));

    let last = last_of_era(era);
    let mut world = World::new(&config(), &[initialised(last); 3], 1, 1);
    world.ask(11, Request::Acquire);
    world.wait(Duration::from_secs(1));
    assert_eq!(world.holders(), [0; 0]);
    let refused = TenureOutcome::Refused(Refused::OutOfReach { most: last });
    assert!(world.node(11).outcomes.contains(&refused));
}

/// One of three voters is in an old era. It does not vote, and delays no nominee.
#[test]
fn a_voter_of_another_era_delays_no_nominee() {
    let era = 2 << COUNT_BITS;
    let votes = [initialised(7), initialised(era), initialised(era)];
    let mut world = World::new(&config(), &votes, 1, 1);
    world.ask(11, Request::Acquire);
    world.wait(millis(100));
    assert_eq!(world.holders(), [11]);
    assert_eq!(promised(&mut world, 1), 7);
    world.wait(Duration::from_secs(2));
    assert_eq!(world.node(11).outcomes.len(), 1, "it is renewed");
}

#[test]
fn a_voter_that_lost_its_disk_stays_in_its_era() {
    let last = last_of_era(5);
    let ttl = Duration::from_secs(1);
    assert!(Durable::can_replace(5) && !Durable::can_replace(last - 1));
    assert_eq!(Durable::replacing(5, ttl).counter, 5 + (1 << 32));
    for highest in [last, last - 1, last - (1 << 32)] {
        assert_eq!(Durable::replacing(highest, ttl).counter, last);
    }
    assert_eq!(Durable::replacing(u64::MAX, ttl).counter, u64::MAX);
}
