//! Counters that somebody made up: they cost an attempt, and never end tenure for good.

use hustings_protocol::tenure::counter::{COUNT_BITS, REACH, last_of_era};
use hustings_protocol::tenure::{
    Ballot, Durable, Incarnation, LONGEST_WAIT, Message, Question, Refused, Request, Saved,
};
use hustings_protocol::{Duration, Fence, MemberId, Outcome};

use crate::hall::{DELAY, Disk, Hall, millis};
use crate::{FOUNDING, config};

/// Counters that a member could name to use up all there are.
const MADE_UP: [u64; 5] = [
    2 * REACH,
    (1 << COUNT_BITS) - 1,
    1 << COUNT_BITS,
    i64::MAX as u64,
    u64::MAX,
];

fn initialised(counter: u64) -> Saved {
    Saved::Initialised(Durable {
        counter,
        ..Durable::FOUNDING
    })
}

fn promised(hall: &mut Hall, voter: u64) -> u64 {
    match hall.seat(voter).disk {
        Disk::Holds(Saved::Initialised(durable)) => durable.counter,
        Disk::Holds(Saved::Missing) | Disk::None => panic!("{voter} has promised nothing"),
    }
}

/// The ballot that a member prepared last.
fn prepared(hall: &Hall) -> Ballot {
    let mut said = hall.said.iter().rev();
    let ballot = said.find_map(|(_, _, message)| match message {
        Message::Prepare { ballot } => Some(*ballot),
        _ => None,
    });
    ballot.expect("somebody has prepared")
}

fn refusal(ballot: Ballot, promised: u64) -> Message {
    Message::Refusal {
        ballot,
        question: Question::Prepare,
        promised,
        refused: Refused::Outrun,
    }
}

/// 12 has no vote, and 11 has asked it nothing.
#[test]
fn refusal_of_a_member_that_has_no_vote_changes_nothing() {
    for made_up in MADE_UP {
        let mut hall = Hall::new(&config(), &[FOUNDING; 3], 2, 1);
        hall.ask(11, Request::Acquire);
        let ballot = prepared(&hall);
        hall.hear(12, 11, refusal(ballot, made_up));
        hall.wait(DELAY * 4);
        assert_eq!(hall.holds(11).map(|it| it.fence), Some(Fence(1)));
        hall.ask(11, Request::Release);
        hall.ask(11, Request::Acquire);
        hall.wait(DELAY * 4);
        assert_eq!(hall.holds(11).map(|it| it.fence), Some(Fence(2)));
    }
}

#[test]
fn refusal_of_what_was_not_asked_changes_nothing() {
    for made_up in MADE_UP {
        let mut hall = Hall::new(&config(), &[FOUNDING; 3], 1, 1);
        hall.ask(11, Request::Acquire);
        hall.wait(DELAY * 4);
        let ballot = prepared(&hall);
        (1..=3).for_each(|voter| hall.hear(voter, 11, refusal(ballot, made_up)));
        hall.ask(11, Request::Release);
        hall.ask(11, Request::Acquire);
        hall.wait(DELAY * 4);
        assert_eq!(hall.holds(11).map(|it| it.fence), Some(Fence(2)));
    }
}

/// In a voter's name, and in answer to what is asked: it costs an attempt, and is forgotten.
#[test]
fn made_up_counter_of_a_voter_costs_one_attempt() {
    for made_up in MADE_UP {
        let mut hall = Hall::new(&config(), &[FOUNDING; 3], 1, 1);
        hall.ask(11, Request::Acquire);
        let ballot = prepared(&hall);
        (1..=2).for_each(|voter| hall.hear(voter, 11, refusal(ballot, made_up)));
        hall.wait(millis(60));
        let fence = hall.holds(11).map(|it| it.fence);
        assert!(fence.is_some_and(|it| it.0 <= 3), "{made_up}: {fence:?}");
        for voter in 1..=3 {
            let promised = promised(&mut hall, voter);
            assert!(promised <= 3, "{made_up}: {voter} promised {promised}");
        }
    }
}

/// What it asks for is refused in the voters' names, time and again.
#[test]
fn made_up_counter_of_a_voter_does_not_unseat_the_holder() {
    for made_up in MADE_UP {
        let mut hall = Hall::new(&config(), &[FOUNDING; 3], 1, 1);
        hall.ask(11, Request::Acquire);
        hall.wait(millis(10));
        for _ in 0..30 {
            let proposals = hall.count("propose");
            let end = hall.now + millis(300);
            while hall.count("propose") == proposals && hall.next(end) {}
            let proposed = hall.said.iter().rev().find_map(|(_, _, it)| match it {
                Message::Propose { ballot, number, .. } => Some((*ballot, *number)),
                _ => None,
            });
            let (ballot, number) = proposed.expect("it renews");
            let forged = Message::Refusal {
                ballot,
                question: Question::Propose { number },
                promised: made_up,
                refused: Refused::Outrun,
            };
            (1..=2).for_each(|voter| hall.hear(voter, 11, forged));
            hall.wait(millis(40));
            assert_eq!(hall.holds(11).map(|it| it.fence), Some(Fence(1)));
        }
        let promised = promised(&mut hall, 1);
        assert!(promised < 100, "{made_up}: {promised}");
    }
}

#[test]
fn voter_does_not_follow_a_ballot_out_of_its_reach() {
    for made_up in MADE_UP {
        let mut hall = Hall::new(&config(), &[FOUNDING; 3], 2, 1);
        let owner = Incarnation {
            id: MemberId(12),
            number: 5,
        };
        let ballot = Ballot {
            counter: made_up,
            owner,
        };
        let (number, ttl) = (1, millis(300));
        for message in [
            Message::Prepare { ballot },
            Message::Propose {
                ballot,
                number,
                ttl,
            },
        ] {
            (1..=3).for_each(|voter| hall.hear(12, voter, message));
            let answer = hall.said.last().map(|(_, _, message)| *message);
            let Some(Message::Refusal { refused, .. }) = answer else {
                panic!("{message:?} was answered with {answer:?}");
            };
            assert_eq!(refused, Refused::OutOfReach { most: REACH });
        }
        assert_eq!(promised(&mut hall, 1), 0);
        hall.ask(11, Request::Acquire);
        hall.wait(DELAY * 4);
        assert_eq!(hall.holds(11).map(|it| it.fence), Some(Fence(1)));
    }
}

#[test]
fn handover_of_a_made_up_ballot_does_not_end_tenure() {
    for made_up in MADE_UP {
        let mut hall = Hall::new(&config(), &[FOUNDING; 3], 2, 1);
        let handover = |number, counter| Message::Handover {
            released: Ballot {
                counter,
                owner: Incarnation {
                    id: MemberId(12),
                    number,
                },
            },
        };
        hall.hear(12, 11, handover(5, made_up));
        hall.ask(11, Request::Acquire);
        hall.wait(millis(60));
        let fence = hall.holds(11).map(|it| it.fence.0).unwrap_or_default();
        assert!((1..=3).contains(&fence), "{made_up}: {fence}");
        // And what is handed over in earnest is taken.
        hall.ask(11, Request::Release);
        hall.ask(12, Request::Acquire);
        hall.wait(millis(60));
        assert_eq!(hall.holders(), [12], "{made_up}");
        hall.ask(12, Request::Transfer { to: MemberId(11) });
        hall.wait(DELAY * 6);
        assert_eq!(hall.holders(), [11], "{made_up}");
    }
}

#[test]
fn made_up_wait_ends_after_a_minute() {
    let mut hall = Hall::new(&config(), &[FOUNDING; 3], 2, 1);
    hall.ask(11, Request::Acquire);
    let ballot = prepared(&hall);
    for voter in 1..=2 {
        let forged = Message::Refusal {
            ballot,
            question: Question::Prepare,
            promised: 0,
            refused: Refused::Held {
                holder: MemberId(12),
                lasts: Duration(u64::MAX),
            },
        };
        hall.hear(voter, 11, forged);
    }
    hall.wait(LONGEST_WAIT + millis(30));
    assert_eq!(hall.holders(), [11]);
}

/// A group whose era is not the first: nobody has heard of any counter yet.
#[test]
fn counters_of_a_later_era_are_learnt_and_an_era_that_is_used_up_is_said() {
    let era = 3 << COUNT_BITS;
    let mut hall = Hall::new(&config(), &[initialised(era); 3], 1, 1);
    hall.ask(11, Request::Acquire);
    hall.wait(DELAY * 6);
    assert_eq!(hall.holds(11).map(|it| it.fence), Some(Fence(era + 1)));

    let last = last_of_era(era);
    let mut hall = Hall::new(&config(), &[initialised(last); 3], 1, 1);
    hall.ask(11, Request::Acquire);
    hall.wait(Duration::from_secs(1));
    assert_eq!(hall.holders(), [0; 0]);
    let refused = Outcome::TenureRefused(Refused::OutOfReach { most: last });
    assert!(hall.seat(11).outcomes.contains(&refused));
}

/// One of three was left behind. It does not vote, and holds nobody up.
#[test]
fn voter_of_another_era_holds_nobody_up() {
    let era = 2 << COUNT_BITS;
    let votes = [initialised(7), initialised(era), initialised(era)];
    let mut hall = Hall::new(&config(), &votes, 1, 1);
    hall.ask(11, Request::Acquire);
    hall.wait(millis(100));
    assert_eq!(hall.holders(), [11]);
    assert_eq!(promised(&mut hall, 1), 7);
    hall.wait(Duration::from_secs(2));
    assert_eq!(hall.seat(11).outcomes.len(), 1, "it is renewed");
}

#[test]
fn voter_that_lost_its_disk_stays_in_its_era() {
    let last = last_of_era(5);
    let ttl = Duration::from_secs(1);
    assert!(Durable::can_replace(5) && !Durable::can_replace(last - 1));
    assert_eq!(Durable::replacing(5, ttl).counter, 5 + (1 << 32));
    for highest in [last, last - 1, last - (1 << 32)] {
        assert_eq!(Durable::replacing(highest, ttl).counter, last);
    }
    assert_eq!(Durable::replacing(u64::MAX, ttl).counter, u64::MAX);
}
