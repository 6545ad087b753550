//! The messages and the tenure of a voter before its promise is on disk, and when the disk refuses.

use std::sync::mpsc;

use std::sync::mpsc::Receiver;

use hustings_protocol::tenure::{Ballot, BallotOwner, Durable};
use hustings_protocol::{Priority, tenure};
use rand_core::SeedableRng;

use super::*;
use crate::driver::encode;
use crate::identity::member_id;

const TTL: Duration = Duration::from_millis(600);
const NOW: Instant = Instant::START;

/// The voter `a` of a new group, which is a candidate too, and the writes of its disk.
fn voter(voters: &[&str]) -> (Quorum, Receiver<Vec<u8>>) {
    let (disk, given) = mpsc::channel();
    let me = Candidate { priority: Priority(0), id: member_id("a") };
    let ids = voters.iter().map(|name| member_id(name)).collect();
    let config = tenure::Config::field(ids, TTL, Duration(TTL.0 / 6));
    let role = Role { votes: Some(Saved::Initialised(Durable::FOUNDING)), stands: true };
    let names = voters.iter().map(|name| (*name).to_owned()).collect();
    let rng = Xoshiro256PlusPlus::seed_from_u64(1);
    let kept = Kept { disk: Some(disk), lock: None };
    let mut voter = Quorum::new(me, (names, 7), config, role, rng, kept);
    assert_eq!(voter.start(NOW), []);
    while given.try_recv().is_ok() {
        assert_eq!(voter.on_saved(NOW, true), []);
    }
    (voter, given)
}

/// The tenure that a voter shows, at `now`.
fn shown(voter: &Quorum, now: Instant) -> Option<Held> {
    voter.lease_watch().borrow().filter(|held| now < held.until)
}

/// A request by `b` for a promise.
fn prepare(counter: u64) -> (Ballot, Message) {
    let owner = BallotOwner { id: member_id("b"), number: 5 };
    let ballot = Ballot { counter, owner };
    (ballot, Message::Prepare { ballot })
}

fn promise(ballot: Ballot) -> Act {
    Act::Unicast { to: ballot.owner.id, message: encode(&Message::Promise { ballot }) }
}

#[test]
fn promise_refused_by_the_disk_is_not_sent() {
    let (mut voter, given) = voter(&["a", "b", "c"]);
    let from = member_id("b");
    let (first, asked) = prepare(1);
    assert_eq!(voter.hear(NOW, from, asked), vec![]);
    given.try_recv().expect("it is to be kept");
    assert_eq!(voter.on_saved(NOW, false), []);
    // Nor does it answer a repeated request, or a later one.
    let (second, asked_more) = prepare(2);
    for question in [asked, asked_more] {
        assert_eq!(voter.hear(NOW, from, question), vec![]);
    }
    assert!(given.try_recv().is_err(), "the disk is left alone for now");

    let again = NOW + TRY_DISK_AGAIN_AFTER;
    assert_eq!(voter.pass(again), []);
    let kept = given.try_recv().expect("it is tried again");
    let kept: Durable = postcard::from_bytes(&kept).expect("a voter's state");
    assert!(kept.is_promise_of(second), "the latest of all: {kept:?}");
    assert_eq!(voter.on_saved(again, true), []);
    // The promise that is on disk now may be sent.
    let last_count = voter.hear(again, from, asked_more);
    assert_eq!(last_count, vec![promise(second)]);
    assert_ne!(promise(first), promise(second));
}

#[test]
fn promise_is_sent_once_it_is_on_disk() {
    let (mut voter, given) = voter(&["a", "b", "c"]);
    let (ballot, asked) = prepare(1);
    assert_eq!(voter.hear(NOW, member_id("b"), asked), vec![]);
    given.try_recv().expect("it is to be kept");
    assert_eq!(voter.pass(NOW), []);
    assert_eq!(voter.on_saved(NOW, true), [promise(ballot)]);
}

/// Its own vote is the only one, so that everything but the disk is done at once.
#[test]
fn tenure_by_its_own_vote_is_shown_once_the_vote_is_on_disk() {
    let (mut voter, given) = voter(&["a"]);
    voter.request(NOW, Request::Acquire);
    given.try_recv().expect("its promise is to be kept");
    assert!(voter.driver.protocol.holds(NOW).is_some());
    assert_eq!(shown(&voter, NOW), None, "it is being kept");
    voter.on_saved(NOW, false);
    assert_eq!(shown(&voter, NOW), None, "it was not kept");
    let again = NOW + TRY_DISK_AGAIN_AFTER;
    voter.pass(again);
    given.try_recv().expect("it is tried again");
    assert_eq!(shown(&voter, again), None, "it is being kept");
    voter.on_saved(again, true);
    let held = voter.driver.protocol.holds(again);
    assert!(held.is_some());
    assert_eq!(shown(&voter, again), held);
}

/// A busy disk does not prolong tenure.
#[test]
fn end_of_tenure_is_shown_at_once() {
    let (mut voter, given) = voter(&["a"]);
    voter.request(NOW, Request::Acquire);
    given.try_recv().expect("its promise is to be kept");
    voter.on_saved(NOW, true);
    assert!(shown(&voter, NOW).is_some());
    let lease_watch = voter.lease_watch();
    let (_, asked) = prepare(9);
    voter.request(NOW, Request::Release);
    assert_eq!(*lease_watch.borrow(), None);
    // The same holds while the disk works.
    voter.request(NOW, Request::Acquire);
    given.try_recv().expect("its next promise is to be kept");
    voter.on_saved(NOW, true);
    assert!(lease_watch.borrow().is_some());
    let end = NOW + TTL * 2;
    voter.hear(end, member_id("b"), asked);
    given.try_recv().expect("what it promised to another is to be kept");
    assert_eq!(*lease_watch.borrow(), None);
}
