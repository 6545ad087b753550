//! What a voter says and shows before its disk has kept what it promised, and when it refuses to.

use std::sync::mpsc::Receiver;

use hustings_protocol::tenure::{Ballot, Durable, Incarnation};
use hustings_protocol::{Merit, tenure};
use rand_core::SeedableRng;

use super::*;
use crate::driver::encode;
use crate::identity::member_id;

const TTL: Duration = Duration::from_millis(600);
const NOW: Instant = Instant::START;

/// The voter `a` of a new group, which stands too, and what its disk is given.
fn voter(voters: &[&str]) -> (Quorum, Receiver<Vec<u8>>) {
    let (disk, given) = mpsc::channel();
    let me = Candidate {
        merit: Merit(0),
        id: member_id("a"),
    };
    let ids = voters.iter().map(|name| member_id(name)).collect();
    let config = tenure::Config::field(ids, TTL, Duration(TTL.0 / 6));
    let role = Role {
        votes: Some(Saved::Initialised(Durable::FOUNDING)),
        stands: true,
    };
    let names = voters.iter().map(|name| (*name).to_owned()).collect();
    let rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let kept = Kept {
        disk: Some(disk),
        lock: None,
    };
    let mut voter = Quorum::new(me, (names, 7), config, role, rng, kept);
    assert_eq!(voter.start(NOW), []);
    while given.try_recv().is_ok() {
        assert_eq!(voter.on_saved(NOW, Ok(())), []);
    }
    (voter, given)
}

/// What `b` asks it to promise.
fn prepare(counter: u64) -> (Ballot, Vec<u8>) {
    let owner = Incarnation {
        id: member_id("b"),
        number: 5,
    };
    let ballot = Ballot { counter, owner };
    (ballot, encode(&Message::Prepare { ballot }))
}

fn promise(ballot: Ballot) -> Act {
    Act::Send {
        to: ballot.owner.id,
        message: encode(&Message::Promise { ballot }),
    }
}

#[test]
fn a_promise_that_the_disk_refused_to_keep_is_not_told() {
    let (mut voter, given) = voter(&["a", "b", "c"]);
    let from = member_id("b");
    let (first, asked) = prepare(1);
    assert_eq!(voter.hear(NOW, from, &asked), Ok(vec![]));
    given.try_recv().expect("it is to be kept");
    assert_eq!(voter.on_saved(NOW, Err("full".to_owned())), []);
    // Nor is it when it is asked again, nor what comes after it.
    let (second, asked_more) = prepare(2);
    for question in [&asked, &asked_more] {
        assert_eq!(voter.hear(NOW, from, question), Ok(vec![]));
    }
    assert!(given.try_recv().is_err(), "the disk is left alone for now");

    let again = NOW + TRY_DISK_AGAIN_AFTER;
    assert_eq!(voter.pass(again), []);
    let kept = given.try_recv().expect("it is tried again");
    let kept: Durable = postcard::from_bytes(&kept).expect("a voter's state");
    assert!(kept.is_promise_of(second), "the latest of all: {kept:?}");
    assert_eq!(voter.on_saved(again, Ok(())), []);
    // What is on disk now may be told.
    let told = voter.hear(again, from, &asked_more);
    assert_eq!(told, Ok(vec![promise(second)]));
    assert_ne!(promise(first), promise(second));
}

#[test]
fn a_promise_is_told_when_it_is_on_disk_and_not_before() {
    let (mut voter, given) = voter(&["a", "b", "c"]);
    let (ballot, asked) = prepare(1);
    assert_eq!(voter.hear(NOW, member_id("b"), &asked), Ok(vec![]));
    given.try_recv().expect("it is to be kept");
    assert_eq!(voter.pass(NOW), []);
    assert_eq!(voter.on_saved(NOW, Ok(())), [promise(ballot)]);
}

/// Its own vote is the only one, so that all but the disk is done at once.
#[test]
fn tenure_by_its_own_vote_is_not_shown_before_that_is_on_disk() {
    let (mut voter, given) = voter(&["a"]);
    voter.request(NOW, Request::Acquire);
    given.try_recv().expect("its promise is to be kept");
    assert!(voter.seat.protocol().holds(NOW).is_some());
    assert_eq!(voter.shown(NOW), None, "it is being kept");
    voter.on_saved(NOW, Err("full".to_owned()));
    assert_eq!(voter.shown(NOW), None, "it was not kept");
    let again = NOW + TRY_DISK_AGAIN_AFTER;
    voter.pass(again);
    given.try_recv().expect("it is tried again");
    assert_eq!(voter.shown(again), None, "it is being kept");
    voter.on_saved(again, Ok(()));
    let held = voter.seat.protocol().holds(again);
    assert!(held.is_some());
    assert_eq!(voter.shown(again), held);
}

/// A disk that is at work with something else keeps nobody in office.
#[test]
fn that_tenure_is_over_is_shown_at_once() {
    let (mut voter, given) = voter(&["a"]);
    voter.request(NOW, Request::Acquire);
    given.try_recv().expect("its promise is to be kept");
    voter.on_saved(NOW, Ok(()));
    assert!(voter.shown(NOW).is_some());
    let cell = voter.cell();
    let (_, asked) = prepare(9);
    voter.request(NOW, Request::Release);
    assert_eq!(*cell.borrow(), None);
    // And so it is while the disk works.
    voter.request(NOW, Request::Acquire);
    given.try_recv().expect("its next promise is to be kept");
    voter.on_saved(NOW, Ok(()));
    assert!(cell.borrow().is_some());
    let end = NOW + TTL * 2;
    voter.hear(end, member_id("b"), &asked).expect("a question");
    given
        .try_recv()
        .expect("what it promised to another is to be kept");
    assert_eq!(*cell.borrow(), None);
}
