//! What an heir does, in the network that is only told of.

use hustings_protocol::Duration;
use hustings_protocol::announce::Takeover;
use hustings_protocol::tenure::{Durable, Fence, Request, Saved};

use super::handover::{TOO_LONG, WHILE};
use super::tenancy::TTL;
use super::{ALL, DELAY, Field, id, name};
use crate::agent::HandedOver;
use crate::group::{Group, Outbox};

#[test]
fn an_heir_that_is_gone_leaves_tenure_to_whom_the_election_names() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (former, fence) = field.settled_on(&ALL);
    field.sides[4] = 1;
    assert_eq!(
        field.find_heir(former, &name(4), Duration::ZERO),
        Ok(id(4)),
        "it is known, though it is gone"
    );
    let mut outcome = field.hand_over(former, 4);
    field.run(TOO_LONG);
    let within = Some(Duration(TTL.0 / 2));
    assert_eq!(outcome.try_recv(), Ok(HandedOver::Missed { within }));
    let rest: Vec<usize> = ALL[..4]
        .iter()
        .copied()
        .filter(|it| *it != former)
        .collect();
    assert!(field.settled_on(&rest).1 > fence);
}

/// Voters may answer as late as a sixth of the time that they grant: so an heir may need three such answers.
#[test]
fn an_heir_has_as_long_as_voters_may_take() {
    const LATE: Duration = Duration::from_millis(600);
    let mut field = Field::fenced_for(Duration::from_secs(3), Takeover::Never);
    let (former, fence) = field.settled_on(&ALL);
    let heir = (former + 1) % 5;
    let mut outcome = field.hand_over(former, heir);
    let late = field.now + LATE;
    while field.now < late {
        // Whatever is said to it, and whoever says it, by now or a moment later.
        for flight in field.flights.iter_mut().filter(|it| it.to == heir) {
            flight.at = flight.at.max(late);
        }
        field.run(Duration(DELAY.0 / 2));
    }
    assert!(outcome.try_recv().is_err(), "nothing was decided yet");
    field.assert_taken_by(heir, fence, outcome);
}

/// As at one that has just come up, and learns whom the others name.
#[test]
fn an_heir_takes_tenure_though_the_election_names_somebody_else_meanwhile() {
    let (mut field, [former, heir], fence) = Field::with_an_heir(Takeover::Never);
    let outcome = field.hand_over(former, heir);
    field.run(DELAY);
    assert!(field.members[heir].tenancy.inherits_until.is_some());
    field.act(heir, |it, now, out| it.nominate(now, false, out));
    field.assert_taken_by(heir, fence, outcome);
}

/// It may have come by it a moment ago, and some of the time that it had is left.
#[test]
fn an_heir_that_steps_down_does_not_ask_again() {
    let (mut field, [former, heir], fence) = Field::with_an_heir(Takeover::Never);
    let outcome = field.hand_over(former, heir);
    field.assert_taken_by(heir, fence, outcome);
    field.step_down(heir);
    let sent = field.members[heir].counters.tenure_sent;
    field.act(heir, Group::on_freed);
    assert_eq!(field.members[heir].counters.tenure_sent, sent);
}

/// The heir may have tenure for a moment only: whom the election names does not wait for what is over.
#[test]
fn an_heir_that_has_tenure_and_gives_it_up_is_followed_at_once() {
    let (mut field, [former, _, heir]) = Field::with_a_voter_that_waits();
    let mut outcome = field.hand_over(former, heir);
    field.run(DELAY * 20);
    assert_eq!(outcome.try_recv(), Ok(HandedOver::Taken));
    assert_eq!(field.holders(), [heir]);
    field.step_down(heir);
    field.run(DELAY * 20);
    let [next] = field.holders()[..] else {
        panic!("one of the others holds");
    };
    assert_ne!(next, heir);
}

/// Somebody may have been faster for a moment, and given up again. The heir was refused, and waits.
#[test]
fn an_heir_that_was_refused_is_told_when_tenure_is_free_though_others_hold_back() {
    let mut field = Field::fenced(Takeover::Never);
    let (former, _) = field.settled_on(&ALL);
    let heir = [3, 4].into_iter().find(|it| *it != former);
    let heir = heir.expect("one of two that do not vote");
    let mut out = Outbox::new();
    field.members[heir].tenancy.inherits_until = Some(field.now + WHILE);
    field.members[heir].ask_authority(field.now, Request::Acquire, &mut out);
    field.post(heir, out);
    field.run(DELAY * 2);
    assert_eq!(field.holders(), [former], "the heir is refused");
    for other in (0..5).filter(|it| ![former, heir].contains(it)) {
        field.act(other, |it, now, out| {
            it.on_hands_over(now, (id(heir), WHILE), Fence(9), out);
        });
    }
    field.step_down(former);
    field.run(DELAY * 20);
    assert_eq!(field.holders(), [heir]);
}

/// Its time begins when tenure is given up, not before.
#[test]
fn an_heir_waits_until_the_work_has_stopped_and_then_gets_tenure() {
    let (mut field, [former, heir], fence) = Field::with_an_heir(Takeover::Never);
    let work = field.members[former].occupancy().begin();
    let mut outcome = field.hand_over(former, heir);
    field.run(TOO_LONG);
    let mut out = Outbox::new();
    // A word of what the heir held before is late.
    field.members[former].note_heir(field.now, id(heir), Fence(fence), &mut out);
    assert!(outcome.try_recv().is_err(), "nothing was decided yet");
    field.post(former, out);
    field.stop_work(former, work);
    field.assert_taken_by(heir, fence, outcome);
}

/// Members that follow are silent: who comes up later has never heard them.
#[test]
fn an_heir_that_was_never_heard_is_found() {
    let mut field = Field::empty();
    for merit in [3, 2, 1, 0] {
        let founding = Saved::Initialised(Durable::FOUNDING);
        field.admit_fenced(Takeover::ByTheBetter, merit, founding);
        field.run(Duration::from_secs(1));
    }
    field.admit_fenced(Takeover::ByTheBetter, 99, Saved::Missing);
    field.run(Duration::from_secs(2));
    let (leader, _) = field.settled_on(&ALL);
    assert_eq!(leader, 4);
    field.members[4].peers.forget(id(3));
    assert_eq!(field.find_heir(4, &name(3), WHILE), Ok(id(3)));
    let mut outcome = field.hand_over(4, 3);
    field.run(WHILE);
    assert_eq!(outcome.try_recv(), Ok(HandedOver::Taken));
}

/// It hears of its inheritance when another one holds, and the election does not name it.
#[test]
fn an_heir_that_comes_late_asks_for_as_long_as_it_has_and_no_longer() {
    let mut field = Field::fenced(Takeover::ByTheBetter);
    let (former, _) = field.settled_on(&ALL);
    let heir = 4; // the least of all, and no voter
    let _outcome = field.hand_over(former, heir);
    field.hold_up(heir, TTL * 2);
    let sent = |field: &Field| field.members[heir].counters.tenure_sent;
    field.run(TTL * 2);
    let before = sent(&field); // it may have been named for a moment when they came up
    assert_ne!(field.settled_on(&ALL).0, heir);
    field.run(WHILE);
    assert!(sent(&field) > before, "it tries");
    field.run(TOO_LONG);
    let tried = sent(&field);
    field.run(TTL * 4);
    assert_eq!(sent(&field), tried);
    assert!(!field.holders().contains(&heir));
}

/// It led by what was handed to it alone. Then all voters are gone, and the one that is named is not.
#[test]
fn an_heir_that_has_lost_what_it_was_handed_leaves_the_next_to_whom_the_election_names() {
    let [named, heir] = [3, 4]; // neither votes
    Field::each_with_an_heir_that_leads(named, heir, |mut field| {
        field.sides = vec![1, 1, 1, 0, 0];
        field.run(TTL * 2);
        assert!(!field.holders().contains(&heir));
        let sent = |field: &Field| field.members[heir].counters.tenure_sent;
        let before = sent(&field);
        field.run(TTL * 4);
        assert!(field.members[named].is_nominee());
        assert_eq!(sent(&field), before);
    });
}

/// The voters answer only when its time is over. The election has named it meanwhile.
#[test]
fn an_heir_that_the_election_names_goes_on_when_its_time_is_over() {
    let mut field = Field::fenced_for(Duration::from_secs(3), Takeover::ByTheBetter);
    let (former, fence) = field.settled_on(&ALL);
    let heir = 1; // the best but for the one that steps down
    let _outcome = field.hand_over(former, heir);
    field.run(DELAY * 2);
    for voter in [0, 2] {
        field.sides[voter] = 1;
    }
    field.run(Duration::from_secs(1));
    let inherits = field.members[heir].tenancy.inherits_until;
    assert!(field.members[heir].is_nominee() && inherits.is_some());
    field.run(Duration::from_secs(1));
    assert_eq!(field.members[heir].tenancy.inherits_until, None);
    let tried = field.members[heir].counters.tenure_sent;
    field.run(Duration::from_secs(1));
    assert!(field.members[heir].counters.tenure_sent > tried);
    field.sides.fill(0);
    field.run(Duration::from_secs(2));
    let (next, higher) = field.settled_on(&ALL);
    assert!(next == heir && higher > fence);
}
