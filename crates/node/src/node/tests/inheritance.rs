//! The transferee's side of a transfer, in the simulated network.

use hustings_protocol::Duration;
use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Fence, Request, Saved};

use super::tenure::TTL;
use super::transfer::{TOO_LONG, WHILE};
use super::{ALL, DELAY, Field, id, name};
use crate::control::TransferOutcome;
use crate::node::{Node, Outbox};

#[test]
fn absent_transferee_leaves_tenure_to_the_nominee() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (former, fence) = field.settled_on(&ALL);
    field.sides[4] = 1;
    assert_eq!(
        field.find_transferee(former, &name(4), Duration::ZERO),
        Ok(id(4)),
        "it is known, though it is gone"
    );
    let mut outcome = field.hand_over(former, 4);
    field.run(TOO_LONG);
    let within = Some(Duration(TTL.0 / 2));
    assert_eq!(outcome.try_recv(), Ok(TransferOutcome::Missed { within }));
    let rest: Vec<usize> = ALL[..4].iter().copied().filter(|it| *it != former).collect();
    assert!(field.settled_on(&rest).1 > fence);
}

/// Voters may answer as late as a sixth of the ttl, and a transferee may need three such answers.
#[test]
fn transferee_has_as_long_as_voters_may_take() {
    const LATE: Duration = Duration::from_millis(600);
    let mut field = Field::fenced_for(Duration::from_secs(3), Takeover::Never);
    let (former, fence) = field.settled_on(&ALL);
    let transferee = (former + 1) % 5;
    let mut outcome = field.hand_over(former, transferee);
    let late = field.now + LATE;
    while field.now < late {
        // Delays all frames to it, those in transit and later ones.
        for flight in field.flights.iter_mut().filter(|it| it.to == transferee) {
            flight.at = flight.at.max(late);
        }
        field.run(Duration(DELAY.0 / 2));
    }
    assert!(outcome.try_recv().is_err(), "nothing was decided yet");
    field.assert_taken_by(transferee, fence, outcome);
}

/// As for a member that has just started, and learns which leader the others name.
#[test]
fn transferee_takes_tenure_although_another_member_is_named() {
    let (mut field, [former, transferee], fence) = Field::with_an_heir(Takeover::Never);
    let outcome = field.hand_over(former, transferee);
    field.run(DELAY);
    assert!(field.members[transferee].tenure.receives_transfer_until().is_some());
    field.act(transferee, |it, now, out| it.nominate_it(now, false, out));
    field.assert_taken_by(transferee, fence, outcome);
}

/// It may have got tenure a moment ago, so that some of its time is left.
#[test]
fn transferee_that_steps_down_does_not_ask_again() {
    let (mut field, [former, transferee], fence) = Field::with_an_heir(Takeover::Never);
    let outcome = field.hand_over(former, transferee);
    field.assert_taken_by(transferee, fence, outcome);
    field.step_down(transferee);
    let sent = field.members[transferee].emit.counters.tenure_sent;
    field.act(transferee, Node::on_released);
    assert_eq!(field.members[transferee].emit.counters.tenure_sent, sent);
}

/// The transferee may hold tenure for a moment only. The nominee does not wait any longer.
#[test]
fn transferee_that_releases_tenure_is_succeeded_at_once() {
    let (mut field, [former, _, transferee]) = Field::with_a_voter_that_waits();
    let mut outcome = field.hand_over(former, transferee);
    field.run(DELAY * 20);
    assert_eq!(outcome.try_recv(), Ok(TransferOutcome::Taken));
    assert_eq!(field.holders(), [transferee]);
    field.step_down(transferee);
    field.run(DELAY * 20);
    let [next] = field.holders()[..] else {
        panic!("one of the others holds");
    };
    assert_ne!(next, transferee);
}

/// Another member may have been faster for a moment, and have released tenure again. The transferee
/// was refused, and waits.
#[test]
fn refused_transferee_learns_when_tenure_is_free() {
    let mut field = Field::fenced(Takeover::Never);
    let (former, _) = field.settled_on(&ALL);
    let transferee = [3, 4].into_iter().find(|it| *it != former);
    let transferee = transferee.expect("one of two that do not vote");
    let mut out = Outbox::new();
    *field.members[transferee].tenure.receives_transfer_until() = Some(field.now + WHILE);
    field.members[transferee].ask_authority(field.now, Request::Acquire, &mut out);
    field.post(transferee, out);
    field.run(DELAY * 2);
    assert_eq!(field.holders(), [former], "the heir is refused");
    for other in (0..5).filter(|it| ![former, transferee].contains(it)) {
        field.act(other, |it, now, out| {
            it.on_transfer(now, (id(transferee), WHILE), Fence(9), out);
        });
    }
    field.step_down(former);
    field.run(DELAY * 20);
    assert_eq!(field.holders(), [transferee]);
}

/// Its time begins when tenure is released, not before.
#[test]
fn transferee_gets_tenure_when_the_work_has_stopped() {
    let (mut field, [former, transferee], fence) = Field::with_an_heir(Takeover::Never);
    let work = field.members[former].in_flight().begin();
    let mut outcome = field.hand_over(former, transferee);
    field.run(TOO_LONG);
    let mut out = Outbox::new();
    // A late announcement of a tenure that the transferee held before.
    field.members[former].note_transferee(field.now, id(transferee), Fence(fence), &mut out);
    assert!(outcome.try_recv().is_err(), "nothing was decided yet");
    field.post(former, out);
    field.stop_work(former, work);
    field.assert_taken_by(transferee, fence, outcome);
}

/// Followers are silent: a member that starts later has never heard them.
#[test]
fn transferee_that_was_never_heard_is_found() {
    let mut field = Field::empty();
    for priority in [3, 2, 1, 0] {
        let founding = Saved::Initialised(Durable::FOUNDING);
        field.admit_fenced(Takeover::ByTheBetter, priority, founding);
        field.run(Duration::from_secs(1));
    }
    field.admit_fenced(Takeover::ByTheBetter, 99, Saved::Missing);
    field.run(Duration::from_secs(2));
    let (leader, _) = field.settled_on(&ALL);
    assert_eq!(leader, 4);
    field.members[4].context.peers.forget(id(3));
    assert_eq!(field.find_transferee(4, &name(3), WHILE), Ok(id(3)));
    let mut outcome = field.hand_over(4, 3);
    field.run(WHILE);
    assert_eq!(outcome.try_recv(), Ok(TransferOutcome::Taken));
}

/// It hears of the transfer when another member holds tenure, and the election does not name it.
#[test]
fn late_transferee_asks_until_its_time_is_over() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (former, _) = field.settled_on(&ALL);
    let transferee = 4; // the lowest priority, and no voter
    let _outcome = field.hand_over(former, transferee);
    field.hold_up(transferee, TTL * 2);
    let sent = |field: &Field| field.members[transferee].emit.counters.tenure_sent;
    field.run(TTL * 2);
    let before = sent(&field); // the election may have named it for a moment at the start
    assert_ne!(field.settled_on(&ALL).0, transferee);
    field.run(WHILE);
    assert!(sent(&field) > before, "it tries");
    field.run(TOO_LONG);
    let tried = sent(&field);
    field.run(TTL * 4);
    assert_eq!(sent(&field), tried);
    assert!(!field.holders().contains(&transferee));
}

/// It led by the transfer alone. Then all voters are gone, and the nominee is not.
#[test]
fn transferee_that_lost_its_tenure_leaves_the_next_to_the_nominee() {
    let [named, transferee] = [3, 4]; // neither votes
    Field::each_with_an_heir_that_leads(named, transferee, |mut field| {
        field.sides = vec![1, 1, 1, 0, 0];
        field.run(TTL * 2);
        assert!(!field.holders().contains(&transferee));
        let sent = |field: &Field| field.members[transferee].emit.counters.tenure_sent;
        let before = sent(&field);
        field.run(TTL * 4);
        assert!(field.members[named].context.is_nominee());
        assert_eq!(sent(&field), before);
    });
}

/// The voters answer only when its time is over. The election has named it meanwhile.
#[test]
fn transferee_that_is_named_goes_on_after_its_time() {
    let mut field = Field::fenced_for(Duration::from_secs(3), Takeover::ByTheBetter);
    let (former, fence) = field.settled_on(&ALL);
    let transferee = 1; // the best after the member that steps down
    let _outcome = field.hand_over(former, transferee);
    field.run(DELAY * 2);
    for voter in [0, 2] {
        field.sides[voter] = 1;
    }
    field.run(Duration::from_secs(1));
    let inherits = field.members[transferee].tenure.receives_transfer_until().is_some();
    assert!(field.members[transferee].context.is_nominee() && inherits);
    field.run(Duration::from_secs(1));
    assert!(field.members[transferee].tenure.receives_transfer_until().is_none());
    let tried = field.members[transferee].emit.counters.tenure_sent;
    field.run(Duration::from_secs(1));
    assert!(field.members[transferee].emit.counters.tenure_sent > tried);
    field.sides.fill(0);
    field.run(Duration::from_secs(2));
    let (next, higher) = field.settled_on(&ALL);
    assert!(next == transferee && higher > fence);
}
