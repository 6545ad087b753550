//! What others say that must not be taken for more than it is.

use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Ballot, Fence, Incarnation, Message, Question, Refused, Saved};
use hustings_protocol::{Duration, Instant};

use super::tenancy::TTL;
use super::{ALL, DELAY, Field, address, id, name};
use crate::driver::encode;
use crate::frame::{Body, Frame, Sender};
use crate::group::{Group, Outbox, Route};
use crate::identity::{Life, group_id};
use crate::peers::Way;

/// Somebody who was here for ever told another process so. It is repeated to this one.
#[test]
fn a_claim_to_the_name_of_another_process_drives_nobody_out() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let name = name(0);
    for (to_this_one, is_driven_out) in [(false, false), (true, true)] {
        let born = field.members[0].born.0;
        let claim = Frame {
            group: group_id("test"),
            sender: Sender::new(&name, id(0), Life(1), 9).born_in(Life(1)),
            number: 0,
            to_all: false,
            body: Body::Namesake {
                born: born + u64::from(!to_this_one),
                age_ns: u64::MAX,
            },
        };
        let mut out = Outbox::new();
        field.members[0].hear(field.now, address(9), Way::Unicast, &claim, &mut out);
        assert_eq!(field.members[0].namesake().is_some(), is_driven_out);
    }
}

/// That another member has a later life, or that this very process was heard in one from elsewhere.
#[test]
fn only_another_process_of_its_name_outlives_a_member() {
    let mut field = Field::settled(Takeover::Never, &[0; 3]);
    let (life, born) = (field.members[0].life, field.members[0].born);
    for (number, of, by, begins_another) in [
        (u64::MAX - 3, 1, Life(born.0 + 1), false),
        (u64::MAX - 2, 0, born, false),
        (u64::MAX - 1, 0, Life(born.0 + 1), true),
    ] {
        let teller = name(1);
        let told = Frame {
            group: group_id("test"),
            sender: Sender::new(&teller, id(1), field.members[1].life, address(1).port()),
            number,
            to_all: false,
            body: Body::Outlived {
                of: id(of),
                life: life.0 + 1,
                born: by.0,
                elsewhere: Some(address(9)),
            },
        };
        let mut out = Outbox::new();
        field.members[0].trust(&told.sender, address(1));
        field.members[0].hear(field.now, address(1), Way::Unicast, &told, &mut out);
        let to = out.iter().map(|(_, route, _)| *route);
        let expected = match begins_another {
            true => vec![Route::To(address(9)), Route::To(address(1))],
            false => vec![],
        };
        assert_eq!(to.collect::<Vec<_>>(), expected);
        assert_eq!(field.members[0].life > life, begins_another);
    }
}

/// An answer to an earlier knock, or another member's, is no sign that the leader lives.
#[test]
fn only_the_leader_that_was_asked_can_say_that_it_is_there() {
    for (of_another, to_another, is_buried) in [
        (false, false, false),
        (true, false, true),
        (false, true, true),
    ] {
        let mut field = Field::settled(Takeover::Never, &[0; 5]);
        let leader = field.agreed(&ALL).expect("they agree");
        let [follower, other] = [1, 2].map(|it| (leader + it) % 5);
        field.sides[leader] = 1;
        let member = &mut field.members[follower];
        let mut out = Outbox::new();
        member.suspect(field.now, id(leader), DELAY * 2, &mut out);
        assert_eq!(out.len(), 1, "it is asked");
        // Connections are refused again while it has not answered.
        member.suspect(field.now, id(leader), DELAY * 2, &mut out);
        assert_eq!(out.len(), 1, "and asked once");
        let from = if of_another { other } else { leader };
        let suspicion = member.suspicion.as_ref().expect("it is asked");
        let challenge = suspicion.challenge() ^ u64::from(to_another);
        member.ends_suspicion(id(from), challenge);
        field.run(Duration::from_millis(20));
        let is_gone = field.leader_of(follower) != Some(id(leader));
        assert_eq!(is_gone, is_buried, "{of_another} {to_another}");
    }
}

/// Who holds may have been named and be no longer, or hold while the election names others.
#[test]
fn a_holder_is_believed_until_the_election_has_dropped_it() {
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
        member.nominee = Some(named[0]);
        member.on_holds(field.now, holder, 7, Duration::from_secs(1));
        for nominee in &named[1..] {
            member.doubt_holder(*nominee);
        }
        let believed = member.tenancy.holder();
        let expected = is_believed.then_some((holder, Fence(7)));
        assert_eq!(believed, expected, "{named:?}");
    }
}

/// Those who gave it have forgotten, as in an era that was begun while it held; or they have given the same one twice.
#[test]
fn a_holder_that_hears_of_a_higher_fence_or_of_its_own_gives_it_up_and_says_why() {
    for (theirs, gives_up, says) in [
        (-1, false, "holds a lower one"),
        (0, true, "as well as this member"),
        (1, true, "holds a lower one"),
    ] {
        let mut field = Field::fenced(Takeover::Never);
        let (holder, fence) = field.settled_on(&ALL);
        let (other, now) = ((holder + 1) % 5, field.now);
        let mut out = Outbox::new();
        let member = &mut field.members[holder];
        let theirs = Fence(fence.strict_add_signed(theirs));
        let work = member.occupancy().begin();
        member.yield_to_fence(now, id(other), theirs, &mut out);
        // Not when the work has stopped: another holds.
        assert_eq!(member.tenancy.authority.holds(now).is_none(), gives_up);
        drop(work);
        member.leave_tenure(now, &mut out);
        assert_eq!(member.leadership.borrow().leads, !gives_up);
        let whys = field.whys(holder);
        let is_said = whys.iter().any(|it| it.contains(says));
        assert_eq!(is_said, gives_up, "{whys:?}");
        field.post(holder, out);
        field.run(TTL * 10);
        assert_eq!(field.settled_on(&ALL).0 != holder, gives_up);
    }
}

/// What voters said last of themselves, and not what anybody else said.
#[test]
fn a_voter_counts_as_blank_for_as_long_as_it_says_so_itself() {
    let field = Field::empty();
    let (mut member, _disk) =
        field.fenced_member(4, &[0, 1, 2], Takeover::Never, 0, Saved::Missing);
    let owner = Incarnation {
        id: id(4),
        number: 1,
    };
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
        (3, blank, "m1, m2"),                   // which has no vote
        (1, Message::Ask { ballot }, "m1, m2"), // no answer
        (1, Message::Promise { ballot }, "m2"),
        (2, outrun, ""),
        (0, blank, "m0"),
    ] {
        say(&mut member, field.now, from, message);
        let why = member.in_words(Refused::Uninitialised);
        let expected = format!("voters without a file that they can vote by: {blanks}: each");
        assert!(why.starts_with(&expected), "{from} {message:?}: {why}");
    }
}

fn say(member: &mut Group, now: Instant, from: usize, message: Message) {
    let (name, list) = (name(from), member.tenancy.authority.id());
    let sender = Sender::new(&name, id(from), Life(1), 9);
    let message = encode(&message);
    member.on_tenure(now, &sender, list, &message, &mut Outbox::new());
}

/// It is to stop, its work goes on, and it is named as before: it has what others wait for.
#[test]
fn who_is_named_and_still_holds_does_not_stand_aside() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (leader, _) = field.settled_on(&ALL);
    let _work = field.members[leader].occupancy().begin();
    let mut out = Outbox::new();
    field.members[leader].resign_tenure(field.now, &mut out);
    field.post(leader, out);
    for _ in 0..100 {
        field.run(Duration::from_millis(100));
        assert!(field.members[leader].is_nominee(), "at {:?}", field.now);
    }
    assert_eq!(field.holders(), [leader]);
}

/// A keeper is told what to say when that changes, and nobody is if there is no keeper.
#[test]
fn last_words_are_made_for_those_who_listen_and_made_anew_when_they_change() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (leader, _) = field.settled_on(&ALL);
    let words = field.members[leader].last_words();
    assert!(words.borrow().0.is_empty(), "nobody listens");
    let mut words = words.subscribe();
    field.run(TTL);
    let voters: Vec<_> = [1, 2].map(address).into();
    let told = words.borrow_and_update().0.iter().map(|it| it.0).collect();
    assert_eq!((leader, voters), (0, told));
    field.run(TTL * 3);
    assert!(
        !words.has_changed().expect("it is there"),
        "no renewal matters"
    );
    // To those who have heard a later life, words of this one are past.
    field.members[leader].begin_life();
    field.run(TTL);
    assert!(words.has_changed().expect("it is there"));
    assert!(!words.borrow_and_update().0.is_empty());
    field.step_down(leader);
    assert!(words.borrow().0.is_empty(), "it holds nothing");
}

/// Words to all may overtake each other.
#[test]
fn an_older_word_of_who_holds_does_not_take_the_place_of_a_newer_one() {
    for lasts in [TTL, Duration::ZERO] {
        let mut field = Field::fenced(Takeover::Never);
        let (holder, fence) = field.settled_on(&ALL);
        let (before, hears) = ((holder + 1) % 5, (holder + 2) % 5);
        field.members[hears].on_holds(field.now, id(before), fence - 1, lasts);
        assert_eq!(field.leader_of(hears), Some(id(holder)));
        assert_eq!(field.fence(hears), Some(fence));
    }
}

/// As with a virtual machine that is cloned while it runs: both have the name, the life and the numbers, and voters take both
/// for the one that they granted tenure to.
#[test]
fn process_that_was_copied_stops_and_gives_nothing_up() {
    for is_later_life in [false, true] {
        let mut field = Field::fenced(Takeover::Never);
        let (leader, fence) = field.settled_on(&ALL);
        let mut words = field.members[leader].last_words().subscribe();
        field.run(TTL);
        assert!(!words.borrow_and_update().0.is_empty());
        let (life, born) = (field.members[leader].life, field.members[leader].born);
        let sent = field.members[leader].number;
        let name = name(leader);
        let said = |life: Life, number| Frame {
            group: group_id("test"),
            sender: Sender::new(&name, id(leader), life, 9).born_in(born),
            number,
            to_all: true,
            body: Body::Holds {
                fence,
                lasts_ns: TTL.0,
                authority: 1,
            },
        };
        let mut out = Outbox::new();
        let member = &mut field.members[leader];
        // What it said itself, looped back or repeated by somebody.
        for own in [0, sent - 1] {
            member.hear(
                field.now,
                address(9),
                Way::Multicast,
                &said(life, own),
                &mut out,
            );
        }
        assert_eq!((member.namesake(), field.leaders()), (None, vec![leader]));

        let copys = match is_later_life {
            false => said(life, sent),
            true => said(Life(life.0 + 1), 0),
        };
        let member = &mut field.members[leader];
        member.hear(field.now, address(9), Way::Multicast, &copys, &mut out);
        assert_eq!(member.namesake(), Some(address(9)));
        assert!(words.borrow().0.is_empty(), "its keeper gives nothing up");
        assert_eq!(field.leaders(), [0; 0]);
        assert_eq!(field.holders(), [0; 0]);
        // The voters go on to keep it for the copy: nobody else gets it before it has run out.
        field.post(leader, out);
        field.run(Duration(TTL.0 / 2));
        assert_eq!(field.holders(), [0; 0]);
        field.run(TTL * 3);
        assert!(field.holders().iter().all(|it| *it != leader));
        assert_eq!(field.holders().len(), 1);
    }
}
