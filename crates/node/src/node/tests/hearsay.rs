//! Claims of other members that must not count for more than they are.

use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{
    Ballot, BallotOwner, Fence, Message, Question, Refused, Saved, counter,
};
use hustings_protocol::{Duration, Instant};

use super::tenure::TTL;
use super::{ALL, DELAY, Field, address, id, name};
use crate::driver::encode;
use crate::frame::{Body, Frame, Sender};
use crate::identity::{Incarnation, group_id};
use crate::node::{Node, Outbox, Route};
use crate::peer_table::Channel;

/// A process with a very high age told so to another process. The frame is replayed to this one.
#[test]
fn name_conflict_of_another_process_stops_no_member() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let name = name(0);
    for (to_this_one, is_driven_out) in [(false, false), (true, true)] {
        let process_incarnation = field.members[0].context.process_incarnation.0;
        let claim = Frame {
            group: group_id("test"),
            sender: Sender::new(&name, id(0), Incarnation(1), 9)
                .with_process_incarnation(Incarnation(1)),
            number: 0,
            to_all: false,
            body: Body::DuplicateName {
                process_incarnation: process_incarnation + u64::from(!to_this_one),
                age_ns: u64::MAX,
            },
        };
        let mut out = Outbox::new();
        field.members[0].hear(field.now, address(9), Channel::Unicast, &claim, &mut out);
        assert_eq!(field.members[0].duplicate_name().is_some(), is_driven_out);
    }
}

/// Frames about a later incarnation of another member, or of this very process at another address.
#[test]
fn only_another_process_of_its_name_replaces_a_member() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let (incarnation, process_incarnation) =
        (field.members[0].context.incarnation, field.members[0].context.process_incarnation);
    for (number, of, by, begins_another) in [
        (u64::MAX - 3, 1, Incarnation(process_incarnation.0 + 1), false),
        (u64::MAX - 2, 0, process_incarnation, false),
        (u64::MAX - 1, 0, Incarnation(process_incarnation.0 + 1), true),
    ] {
        let teller = name(1);
        let told = Frame {
            group: group_id("test"),
            sender: Sender::new(
                &teller,
                id(1),
                field.members[1].context.incarnation,
                address(1).port(),
            ),
            number,
            to_all: false,
            body: Body::StaleIncarnation {
                of: id(of),
                incarnation: incarnation.0 + 1,
                process_incarnation: by.0,
                elsewhere: Some(address(9)),
            },
        };
        let mut out = Outbox::new();
        field.members[0].trust(&told.sender, address(1));
        field.members[0].hear(field.now, address(1), Channel::Unicast, &told, &mut out);
        let to = out.iter().map(|(_, route, _)| *route);
        let expected = match begins_another {
            true => vec![Route::To(address(9)), Route::To(address(1))],
            false => vec![],
        };
        assert_eq!(to.collect::<Vec<_>>(), expected);
        assert_eq!(field.members[0].context.incarnation > incarnation, begins_another);
    }
}

/// An answer to an earlier ping, or by another member, does not show that the leader is alive.
#[test]
fn only_the_pinged_leader_can_answer_the_ping() {
    for (of_another, to_another, is_buried) in
        [(false, false, false), (true, false, true), (false, true, true)]
    {
        let mut field = Field::settled(Takeover::Never, &[0; 5]);
        let leader = field.agreed(&ALL).expect("they agree");
        let [follower, other] = [1, 2].map(|it| (leader + it) % 5);
        field.sides[leader] = 1;
        let member = &mut field.members[follower];
        let mut out = Outbox::new();
        member.suspect(field.now, id(leader), DELAY * 2, &mut out);
        assert_eq!(out.len(), 1, "it is asked");
        // Connections are refused again before it has answered.
        member.suspect(field.now, id(leader), DELAY * 2, &mut out);
        assert_eq!(out.len(), 1, "and asked once");
        let from = if of_another { other } else { leader };
        let challenge = member.suspicion().expect("it is asked") ^ u64::from(to_another);
        member.on_answer(field.now, id(from), challenge);
        field.run(Duration::from_millis(20));
        let is_gone = field.leader_of(follower) != Some(id(leader));
        assert_eq!(is_gone, is_buried, "{of_another} {to_another}");
    }
}

/// The holder may no longer be the nominee, or may hold tenure while the election names others.
#[test]
fn holder_is_named_until_the_election_has_dropped_it() {
    let field = Field::empty();
    let [holder, other, third] = [1, 2, 3].map(id);
    for (named, is_believed) in [
        (&[holder, other][..], false),
        (&[other, holder, third], false),
        (&[holder, holder], true),
        (&[other, third, other], true),
    ] {
        let (mut member, _disk) =
            field.fenced_member(0, &[0, 1, 2], Takeover::Never, 0, Saved::Missing);
        member.context.nominee = Some(named[0]);
        member.on_holds(field.now, holder, 7, Duration::from_secs(1), &mut Outbox::new());
        for nominee in &named[1..] {
            member.doubt_holder(*nominee);
        }
        let believed = member.tenure.holder();
        let expected = is_believed.then_some((holder, Fence(7)));
        assert_eq!(believed, expected, "{named:?}");
    }
}

/// The voters have forgotten their grant, as in an era that began during the tenure; or they
/// granted one fence twice.
#[test]
fn holder_gives_up_on_a_claim_of_its_fence_or_a_higher_one() {
    for (theirs, gives_up, says) in [
        (-1, false, "holds a lower fence"),
        (0, true, "as well as this member"),
        (1, true, "holds a lower fence"),
    ] {
        let mut field = Field::fenced(Takeover::Never);
        let (holder, fence) = field.settled_on(&ALL);
        let (other, now) = ((holder + 1) % 5, field.now);
        let mut out = Outbox::new();
        let member = &mut field.members[holder];
        let theirs = Fence(fence.strict_add_signed(theirs));
        let work = member.in_flight().begin();
        member.on_holds(now, id(other), theirs.0, Duration::from_secs(1), &mut out);
        // At once, even before the work has stopped: another member holds tenure.
        assert_eq!(member.tenure.authority().holds(now).is_none(), gives_up);
        drop(work);
        member.leave_tenure(now, &mut out);
        assert_eq!(member.publisher.leadership().leads, !gives_up);
        let whys = field.whys(holder);
        let is_said = whys.iter().any(|it| it.contains(says));
        assert_eq!(is_said, gives_up, "{whys:?}");
        field.post(holder, out);
        field.run(TTL * 10);
        assert_eq!(field.settled_on(&ALL).0 != holder, gives_up);
    }
}

/// A process with the key announces a fence that no voter can have granted. A fence of a later era
/// counts, because people begin eras.
#[test]
fn holder_does_not_yield_to_an_invented_fence() {
    for (theirs, gives_up) in [
        ((|fence| counter::reach_of(fence) + 1) as fn(u64) -> u64, false),
        (|_| u64::MAX, false),
        (|fence| counter::last_of_era(fence) + 1, true),
    ] {
        let mut field = Field::fenced(Takeover::Never);
        let (leader, fence) = field.settled_on(&ALL);
        let follower = (leader + 2) % 5;
        field.act((leader + 1) % 5, |liar, now, out| {
            let (fence, authority) = (theirs(fence), liar.tenure.authority().id());
            liar.broadcast(now, &Body::Holds { fence, lasts_ns: TTL.0, authority }, out);
        });
        field.run(DELAY * 4);
        assert_eq!(field.holders().is_empty(), gives_up, "{theirs:?}");
        if !gives_up {
            assert_eq!((field.fence(leader), field.fence(follower)), (Some(fence), Some(fence)));
            assert_eq!(field.members[leader].counters().far_fences, 1);
        }
    }
}

/// The latest answers of the voters themselves count, and those of other members do not.
#[test]
fn voter_counts_as_uninitialised_while_it_says_so_itself() {
    let field = Field::empty();
    let (mut member, _disk) =
        field.fenced_member(4, &[0, 1, 2], Takeover::Never, 0, Saved::Missing);
    let owner = BallotOwner { id: id(4), number: 1 };
    let ballot = Ballot { counter: 1, owner };
    let blank = Message::Refusal {
        ballot,
        question: Question::Prepare,
        promised: 0,
        refused: Refused::Uninitialised,
    };
    let outrun = Message::Refusal {
        ballot,
        question: Question::Prepare,
        promised: 3,
        refused: Refused::Outrun,
    };
    for (from, message, blanks) in [
        (1, blank, "m1"),
        (2, blank, "m1, m2"),
        (3, blank, "m1, m2"),                   // has no vote
        (1, Message::Ask { ballot }, "m1, m2"), // not an answer
        (1, Message::Promise { ballot }, "m2"),
        (2, outrun, ""),
        (0, blank, "m0"),
    ] {
        say(&mut member, field.now, from, message);
        let why = member.in_words(Refused::Uninitialised);
        let expected = format!("voters without a usable voter's file: {blanks}: the log");
        assert!(why.starts_with(&expected), "{from} {message:?}: {why}");
    }
}

fn say(member: &mut Node, now: Instant, from: usize, message: Message) {
    let name = name(from);
    let sender = Sender::new(&name, id(from), Incarnation(1), 9);
    let message = encode(&message);
    member.on_tenure(now, &sender, &message);
}

/// It is to stop, its work goes on, and it is still the nominee: it holds the tenure that others
/// wait for.
#[test]
fn nominee_that_still_holds_tenure_does_not_stand_aside() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (leader, _) = field.settled_on(&ALL);
    let _work = field.members[leader].in_flight().begin();
    let mut out = Outbox::new();
    field.members[leader].handle(field.now, &crate::node::Event::GiveUpTenure, &mut out);
    field.post(leader, out);
    for _ in 0..100 {
        field.run(Duration::from_millis(100));
        assert!(field.members[leader].context.is_nominee(), "at {:?}", field.now);
    }
    assert_eq!(field.holders(), [leader]);
}

/// A death witness gets the new last will at each change. Without a witness there is none.
#[test]
fn last_will_is_made_for_watchers_and_remade_on_change() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (leader, _) = field.settled_on(&ALL);
    let last_will = field.members[leader].last_will();
    assert!(last_will.borrow().0.is_empty(), "nobody listens");
    let mut last_will = last_will.subscribe();
    field.run(TTL);
    let voters: Vec<_> = [1, 2].map(address).into();
    let told = last_will.borrow_and_update().0.iter().map(|it| it.0).collect();
    assert_eq!((leader, voters), (0, told));
    field.run(TTL * 3);
    assert!(!last_will.has_changed().expect("it is there"), "no renewal matters");
    // Frames of this incarnation are stale to members that have seen a later one.
    field.members[leader].begin_incarnation(None);
    field.run(TTL);
    assert!(last_will.has_changed().expect("it is there"));
    assert!(!last_will.borrow_and_update().0.is_empty());
    field.step_down(leader);
    assert!(last_will.borrow().0.is_empty(), "it holds nothing");
}

/// Frames to all may overtake each other.
#[test]
fn older_holder_announcement_does_not_replace_a_newer_one() {
    for lasts in [TTL, Duration::ZERO] {
        let mut field = Field::fenced(Takeover::Never);
        let (holder, fence) = field.settled_on(&ALL);
        let (before, hears) = ((holder + 1) % 5, (holder + 2) % 5);
        let mut out = Outbox::new();
        field.members[hears].on_holds(field.now, id(before), fence - 1, lasts, &mut out);
        assert_eq!(field.leader_of(hears), Some(id(holder)));
        assert_eq!(field.fence(hears), Some(fence));
    }
}

/// As with a virtual machine that is cloned while it runs: both have the same name, incarnation and
/// numbers. Voters take both for the process that they granted tenure to.
#[test]
fn copied_process_stops_and_releases_nothing() {
    for is_later_incarnation in [false, true] {
        let mut field = Field::fenced(Takeover::Never);
        let (leader, fence) = field.settled_on(&ALL);
        let mut last_will = field.members[leader].last_will().subscribe();
        field.run(TTL);
        assert!(!last_will.borrow_and_update().0.is_empty());
        let (incarnation, process_incarnation) = (
            field.members[leader].context.incarnation,
            field.members[leader].context.process_incarnation,
        );
        let sent = field.members[leader].emit.number;
        let name = name(leader);
        let said = |incarnation: Incarnation, number| Frame {
            group: group_id("test"),
            sender: Sender::new(&name, id(leader), incarnation, 9)
                .with_process_incarnation(process_incarnation),
            number,
            to_all: true,
            body: Body::Holds { fence, lasts_ns: TTL.0, authority: 1 },
        };
        let mut out = Outbox::new();
        let member = &mut field.members[leader];
        // Its own frames, looped back or replayed.
        for own in [0, sent - 1] {
            member.hear(
                field.now,
                address(9),
                Channel::Multicast,
                &said(incarnation, own),
                &mut out,
            );
        }
        assert_eq!((member.duplicate_name(), field.leaders()), (None, vec![leader]));

        let copys = match is_later_incarnation {
            false => said(incarnation, sent),
            true => said(Incarnation(incarnation.0 + 1), 0),
        };
        let member = &mut field.members[leader];
        member.hear(field.now, address(9), Channel::Multicast, &copys, &mut out);
        assert_eq!(member.duplicate_name(), Some(address(9)));
        assert_eq!(member.watch().borrow().cause, "a copy of this process runs elsewhere");
        assert!(last_will.borrow().0.is_empty(), "its keeper gives nothing up");
        assert_eq!(field.leaders(), [0; 0]);
        assert_eq!(field.holders(), [0; 0]);
        // The voters keep the grant for the copy. No other member gets tenure before it has
        // expired.
        field.post(leader, out);
        field.run(Duration(TTL.0 / 2));
        assert_eq!(field.holders(), [0; 0]);
        field.run(TTL * 3);
        assert!(field.holders().iter().all(|it| *it != leader));
        assert_eq!(field.holders().len(), 1);
    }
}
