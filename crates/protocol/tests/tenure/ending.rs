//! How tenure ends: by the clock, by release, by transfer, for want of health.

use hustings_protocol::tenure::{Message, Request};
use hustings_protocol::{Duration, Fence, Input, Instant, MemberId, Outcome};

use crate::hall::{DELAY, Hall, millis};
use crate::{FOUNDING, config};

/// Member 11 holds since 4 ms, and renewed nothing yet.
fn held() -> Hall {
    let mut hall = Hall::new(&config(), &[FOUNDING; 3], 2, 1);
    hall.ask(11, Request::Acquire);
    hall.wait(DELAY * 10);
    assert_eq!(hall.holders(), [11]);
    hall
}

#[test]
fn whether_a_member_holds_is_computed_and_needs_no_timer() {
    let mut hall = held();
    let until = hall.holds(11).unwrap().until;
    // It stands still, like a stopped process: nothing is told to it.
    hall.now = Instant(until.0 - 1);
    assert_eq!(hall.holders(), [11]);
    hall.now = until;
    assert_eq!(hall.holders(), [0; 0]);
}

#[test]
fn a_holder_that_hears_nobody_ends_before_anyone_else_begins() {
    let mut hall = held();
    hall.network = Box::new(|from, to, _| match (from, to) {
        (MemberId(11), _) | (_, MemberId(11)) => vec![],
        (MemberId(_), MemberId(_)) => vec![DELAY],
    });
    hall.ask(12, Request::Acquire);
    let end = hall.now + Duration::from_secs(1);
    while hall.next(end) {
        assert!(hall.holders().len() <= 1, "at {:?}", hall.now);
    }
    assert_eq!(hall.holders(), [12]);
    let fence = Fence(1);
    assert!(
        hall.seat(11)
            .outcomes
            .contains(&Outcome::TenureLost { fence })
    );
}

#[test]
fn what_was_released_the_next_has_within_three_round_trips() {
    let mut hall = held();
    hall.ask(11, Request::Release);
    assert_eq!(hall.holders(), [0; 0]);
    hall.wait(DELAY);
    hall.ask(12, Request::Acquire);
    hall.wait(DELAY * 6); // it had not heard of any counter
    assert_eq!(hall.holds(12).map(|it| it.fence), Some(Fence(2)));
    hall.wait(Duration::from_secs(1));
    assert_eq!(hall.holders(), [12], "who released does not try again");
}

#[test]
fn tenure_is_handed_to_whom_it_was_transferred_even_if_no_voter_hears_of_the_release() {
    let mut hall = held();
    hall.network = Box::new(|from, _, message| match (from, message) {
        (MemberId(11), Message::Release { .. }) => vec![],
        (MemberId(_), _) => vec![DELAY],
    });
    hall.ask(11, Request::Transfer { to: MemberId(12) });
    assert_eq!(hall.holders(), [0; 0]);
    hall.wait(DELAY * 5);
    assert_eq!(hall.holds(12).map(|it| it.fence), Some(Fence(2)));
}

#[test]
fn a_handover_counts_once_however_often_it_arrives() {
    let mut hall = held();
    hall.ask(11, Request::Transfer { to: MemberId(12) });
    hall.wait(DELAY * 5);
    hall.ask(12, Request::Release);
    let said = hall.said.clone();
    let is_handover = |(_, to, it): &&(MemberId, MemberId, Message)| {
        *to == MemberId(12) && matches!(it, Message::Handover { .. })
    };
    let (_, _, handover) = *said.iter().find(is_handover).unwrap();
    hall.hear(11, 12, handover);
    hall.wait(Duration::from_secs(1));
    assert_eq!(hall.holders(), [0; 0]);
}

#[test]
fn who_is_no_longer_nominated_holds_on_until_it_releases() {
    let mut hall = held();
    hall.ask(11, Request::Withdraw);
    hall.wait(Duration::from_secs(5));
    assert_eq!(hall.holds(11).map(|it| it.fence), Some(Fence(1)));
}

#[test]
fn who_withdraws_before_it_holds_leaves_nothing_behind() {
    let mut hall = Hall::new(&config(), &[FOUNDING; 3], 2, 1);
    hall.ask(11, Request::Acquire);
    hall.wait(DELAY * 3); // its proposal is granted, and it does not know it yet
    hall.ask(11, Request::Withdraw);
    hall.wait(DELAY);
    hall.ask(12, Request::Acquire);
    hall.wait(DELAY * 6);
    assert_eq!(hall.holders(), [12]);
    assert_eq!(hall.seat(11).outcomes, []);
}

#[test]
fn who_cannot_do_its_work_neither_renews_nor_tries() {
    let mut hall = held();
    hall.ask(11, Request::Healthy(false));
    hall.wait(millis(250));
    assert_eq!(hall.holders(), [11], "it may have to clear up");
    hall.wait(millis(100));
    assert_eq!(hall.holders(), [0; 0]);
    hall.wait(Duration::from_secs(5));
    assert_eq!(hall.holders(), [0; 0]);
    hall.ask(11, Request::Healthy(true));
    hall.wait(DELAY * 4);
    assert_eq!(hall.holds(11).map(|it| it.fence), Some(Fence(2)));
}

#[test]
fn who_can_do_its_work_again_in_time_goes_on_with_its_fence() {
    let mut hall = held();
    hall.ask(11, Request::Healthy(false));
    hall.wait(millis(200));
    hall.ask(11, Request::Healthy(true));
    hall.wait(Duration::from_secs(1));
    assert_eq!(hall.holds(11).map(|it| it.fence), Some(Fence(1)));
}

#[test]
fn who_leaves_without_releasing_does_not_let_others_overtake_its_work() {
    let mut hall = held();
    hall.tell(11, Input::Leave);
    assert_eq!(hall.count("release"), 0);
    hall.ask(12, Request::Acquire);
    hall.wait(millis(250));
    assert_eq!(hall.holds(12), None);
}

#[test]
fn a_later_tenure_of_the_same_member_has_a_higher_fence() {
    let mut hall = held();
    hall.network = Box::new(|_, _, _| vec![]);
    hall.wait(millis(400));
    hall.network = Box::new(|_, _, _| vec![DELAY]);
    hall.wait(millis(400));
    let fence = hall.holds(11).unwrap().fence;
    assert!(fence > Fence(1));
    let gained = |fence| Outcome::TenureGained { fence };
    let lost = Outcome::TenureLost { fence: Fence(1) };
    let told: Vec<Outcome> = hall.seat(11).outcomes.clone();
    let told: Vec<Outcome> = told
        .into_iter()
        .filter(|it| !matches!(it, Outcome::TenureRefused(_)))
        .collect();
    assert_eq!(told, [gained(Fence(1)), lost, gained(fence)]);
}
