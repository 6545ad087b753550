//! Who is refused, and that it disturbs nobody.

use hustings_protocol::tenure::{Ballot, Config, Incarnation, Message, Question, Refused, Request};
use hustings_protocol::{Duration, Fence, MemberId, Outcome};

use crate::hall::{DELAY, Hall, millis};
use crate::{FOUNDING, config};

#[test]
fn a_refusal_names_the_holder_and_says_how_long_its_grant_lasts() {
    let mut hall = Hall::new(&config(), &[FOUNDING; 3], 2, 1);
    hall.ask(11, Request::Acquire);
    hall.wait(DELAY * 50);
    hall.ask(12, Request::Acquire);
    hall.wait(DELAY * 2);
    let holder = MemberId(11);
    let lasts = millis(252);
    let refused = Refused::Held { holder, lasts };
    assert_eq!(hall.seat(12).outcomes, [Outcome::TenureRefused(refused)]);
}

/// T6: however often somebody tries, hears only half, or comes back, who holds goes on with its fence.
#[test]
fn a_healthy_holder_is_not_unseated_by_whoever_comes_back_or_is_half_deaf() {
    for seed in 1..=20 {
        let mut hall = Hall::new(&config(), &[FOUNDING; 3], 2, seed);
        hall.ask(11, Request::Acquire);
        hall.wait(millis(100));
        // It is heard by all, and hears nothing itself.
        hall.network = Box::new(|_, to, _| match to {
            MemberId(12) => vec![],
            MemberId(_) => vec![DELAY],
        });
        for _ in 0..50 {
            hall.start(12);
            hall.ask(12, Request::Acquire);
            hall.wait(millis(70));
            assert_eq!(
                hall.holds(11).map(|it| it.fence),
                Some(Fence(1)),
                "seed {seed}"
            );
        }
        assert_eq!(hall.seat(11).outcomes.len(), 1);
    }
}

#[test]
fn who_was_told_of_a_holder_asks_before_it_prepares_and_stores_nothing() {
    let mut hall = Hall::new(&config(), &[FOUNDING; 3], 2, 1);
    hall.ask(11, Request::Acquire);
    hall.wait(millis(20));
    hall.ask(12, Request::Acquire);
    let saves = hall.saves();
    hall.wait(Duration::from_secs(10));
    assert_eq!(hall.saves(), saves);
    assert_eq!(hall.count("prepare"), 6, "each prepared once");
    let asked = hall.count("ask") / 3;
    assert!((20..=60).contains(&asked), "once or so a ttl: {asked}");
    assert_eq!(hall.holders(), [11]);
}

#[test]
fn a_ballot_that_cannot_win_any_more_is_replaced_and_the_fence_stays() {
    let mut hall = Hall::new(&config(), &[FOUNDING; 3], 2, 1);
    // Voters 2 and 3 grant to 11, but what they hear of it does not reach voter 1, who promises 12.
    hall.network = Box::new(|from, to, _| match (from, to) {
        (MemberId(11), MemberId(1)) | (MemberId(12), MemberId(2 | 3)) => vec![],
        (MemberId(_), MemberId(_)) => vec![DELAY],
    });
    hall.ask(12, Request::Acquire);
    hall.wait(millis(30));
    hall.ask(11, Request::Acquire);
    hall.wait(millis(30));
    assert_eq!(hall.holders(), [11]);
    let fence = hall.holds(11).unwrap().fence;
    // Now voter 3 is out of reach, and voter 1 refuses.
    hall.network = Box::new(|from, to, _| match (from, to) {
        (MemberId(11), MemberId(3)) | (MemberId(12), MemberId(_)) => vec![],
        (MemberId(_), MemberId(_)) => vec![DELAY],
    });
    hall.wait(Duration::from_secs(2));
    assert_eq!(hall.holds(11).map(|it| it.fence), Some(fence));
    assert_eq!(hall.seat(11).outcomes, [Outcome::TenureGained { fence }]);
}

#[test]
fn two_that_collide_do_not_collide_for_ever() {
    for seed in 1..=100 {
        let mut hall = Hall::new(&config(), &[FOUNDING; 3], 5, seed);
        (11..16).for_each(|id| hall.ask(id, Request::Acquire));
        hall.wait(Duration::from_secs(2));
        assert_eq!(hall.holders().len(), 1, "seed {seed}");
    }
}

#[test]
fn a_voter_never_grants_more_than_it_may() {
    let mut hall = Hall::new(&config(), &[FOUNDING; 3], 1, 1);
    hall.seat(11).configure(|it| it.ttl = millis(301));
    hall.ask(11, Request::Acquire);
    hall.wait(millis(100));
    assert_eq!(hall.holders(), [0; 0]);
    let max_ttl = millis(300);
    let refused = Outcome::TenureRefused(Refused::TtlTooLong { max_ttl });
    assert_eq!(hall.seat(11).outcomes.first(), Some(&refused));
}

#[test]
fn a_voter_that_is_told_to_grant_more_does_so_only_after_a_restart() {
    let mut hall = Hall::new(&config(), &[FOUNDING; 3], 1, 1);
    for id in [1, 2, 3, 11] {
        let longer = millis(600);
        hall.seat(id)
            .configure(|it| (it.ttl, it.max_ttl) = (longer, longer));
    }
    hall.ask(11, Request::Acquire);
    hall.wait(millis(100));
    assert_eq!(hall.holders(), [0; 0]);
    (1..=3).for_each(|id| hall.start(id));
    hall.wait(millis(400));
    assert_eq!(hall.holders(), [11]);
}

#[test]
fn what_is_forged_or_of_another_life_changes_nothing() {
    let mut hall = Hall::new(&config(), &[FOUNDING; 3], 2, 1);
    hall.ask(11, Request::Acquire);
    hall.wait(millis(20));
    let held = hall.holds(11);
    let (said, saves) = (hall.said.len(), hall.saves());
    let owner = Incarnation {
        id: MemberId(11),
        number: 7,
    };
    let ballot = Ballot { counter: 99, owner };
    for message in [
        Message::Prepare { ballot },
        Message::Ask { ballot },
        Message::Propose {
            ballot,
            number: 1,
            ttl: millis(300),
        },
    ] {
        hall.hear(12, 1, message); // in another's name
    }
    hall.hear(11, 1, Message::Release { ballot });
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
        (1..=3).for_each(|voter| hall.hear(voter, 11, message));
    }
    assert_eq!((hall.said.len(), hall.saves()), (said, saves));
    assert_eq!(hall.holds(11), held);
    hall.hear(
        12,
        2,
        Message::Ask {
            ballot: Ballot {
                owner: Incarnation {
                    id: MemberId(12),
                    ..owner
                },
                ..ballot
            },
        },
    );
    assert!(matches!(
        hall.said.last(),
        Some((
            _,
            _,
            Message::Refusal {
                refused: Refused::Held { .. },
                promised: 1,
                ..
            }
        ))
    ));
}

/// One that votes for itself alone asks and is answered within one step, which must end.
#[test]
fn a_holder_whose_voters_grant_less_than_it_asks_for_asks_again_at_a_pace() {
    for count in [1, 3] {
        let voters = (1..=count).map(MemberId).collect();
        let config = Config { voters, ..config() };
        let mut hall = Hall::of_three(&config, 1);
        hall.ask(1, Request::Acquire);
        hall.wait(millis(50));
        assert_eq!(hall.holders(), [1]);
        hall.seat(1).configure(|it| it.ttl = millis(301));
        let before = hall.said.len();
        hall.wait(millis(300));
        assert_eq!(hall.holders(), [0; 0], "it was not renewed");
        // Each attempt is a question and an answer to and from two others.
        let attempts = 300 / 10 + 5;
        assert!(hall.said.len() - before <= 4 * attempts, "{count}");
    }
}

/// Of three voters one is down, and word that tenure was given up reaches one of the others late. Whoever was refused
/// by that one, and is told then that tenure is free, does not wait for the one that is down.
#[test]
fn who_is_told_that_tenure_is_free_in_the_middle_of_an_attempt_begins_anew() {
    let mut hall = Hall::new(&config(), &[FOUNDING; 3], 2, 1);
    hall.ask(11, Request::Acquire);
    hall.wait(millis(20));
    hall.ask(12, Request::Acquire); // it is refused, and knows how far the voters have counted
    hall.wait(millis(20));
    hall.crash(3);
    hall.network = Box::new(|_, to, message| match (to, message) {
        (MemberId(2), Message::Release { .. }) => vec![DELAY * 3],
        _ => vec![DELAY],
    });
    hall.ask(11, Request::Release);
    hall.ask(12, Request::Acquire);
    hall.wait(DELAY * 3);
    assert_eq!(hall.holders(), [], "one would, one refused, one is down");
    hall.ask(12, Request::Acquire);
    hall.wait(DELAY * 6);
    assert_eq!(hall.holders(), [12], "to ask, to prepare, to propose");
}
