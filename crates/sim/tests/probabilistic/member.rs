//! A single member: any input at any time.

use hustings_protocol::probabilistic::{Request, Timer};
use hustings_protocol::{Candidate, ElectionOutcome, Input, Simulated as _, ViewChange};

use super::*;
use crate::support::desk::Desk;

/// Member 5, with priority 5.
fn seat(config: Config) -> Desk<Probabilistic> {
    Desk::new(Candidate::new(5, 5), Probabilistic::default(), config, 1)
}

fn round(sequence: u64, number: u16) -> RoundId {
    RoundId { sequence, number }
}

/// A member of a group of one thousand, in a round in which all relay.
fn relaying() -> Desk<Probabilistic> {
    let mut desk = seat(Config::paper(1_000, HOP));
    for other in [2, 7, 9] {
        desk.papers.view.insert(Candidate::new(other, other));
    }
    let (round, k, after) = (round(1, 1), 1_000, Duration::ZERO);
    desk.hear(2, Message::Initiation { round, k, after });
    assert!(desk.member.relays());
    desk
}

fn preference(choice: u64) -> Message {
    Message::Preference {
        round: round(1, 1),
        choice: Candidate::new(choice, choice),
        priority: Priority(0),
    }
}

/// The preferences that it sent since the last call: receiver and candidate.
fn told(desk: &mut Desk<Probabilistic>) -> Vec<(u64, u64)> {
    let told = desk.papers.told.drain(..);
    told.filter_map(|(to, message)| match message {
        Message::Preference { choice, .. } => Some((to.0, choice.id.0)),
        _ => None,
    })
    .collect()
}

fn is_silent(desk: &Desk<Probabilistic>) -> bool {
    desk.papers.told.is_empty() && desk.papers.said.is_empty()
}

#[test]
fn relay_sends_the_best_known_to_all_relays() {
    let mut desk = relaying();
    assert_eq!(told(&mut desk), [(2, 9), (7, 9), (9, 9)]);
}

#[test]
fn better_choice_is_forwarded_and_a_worse_one_answered() {
    let mut desk = relaying();
    told(&mut desk);
    desk.hear(7, preference(9));
    assert_eq!(told(&mut desk), [], "the same");
    desk.hear(7, preference(8));
    assert_eq!(told(&mut desk), [(7, 9)], "worse");
    // From an unknown member: it gets preferences from now on, and is known.
    desk.hear(4, preference(12));
    assert_eq!(told(&mut desk), [(2, 12), (4, 12), (7, 12), (9, 12)]);
    assert_eq!(desk.papers.met, [Candidate::new(4, 0)]);
}

#[test]
fn member_that_missed_the_initiation_does_not_relay() {
    let mut desk = seat(Config::paper(1_000, HOP));
    desk.hear(7, preference(9));
    assert!(is_silent(&desk));
    let mut desk = relaying();
    told(&mut desk);
    let of_another_round = Message::Preference {
        round: round(1, 2),
        choice: Candidate::new(12, 12),
        priority: Priority(0),
    };
    desk.hear(7, of_another_round);
    assert!(is_silent(&desk));
}

fn decision(number: u16, choice: u64) -> Message {
    Message::Decision { round: round(1, number), k: 7, choice: Candidate::new(choice, choice) }
}

#[test]
fn member_that_missed_the_initiation_accepts_the_decision() {
    let mut desk = seat(counted(1));
    desk.tell(Input::Request(Request::GroupSize(1_000)));
    desk.hear(7, decision(1, 9));
    desk.hear(2, decision(1, 9));
    desk.wait_for(Timer::Phase);
    assert_eq!(
        desk.papers.outcomes,
        [ElectionOutcome::Nominee(Candidate::new(9, 9))],
        "{:?}",
        desk.member
    );
    // Late, and different from the others' decision: it calls the next round.
    desk.hear(2, decision(1, 8));
    assert_eq!(desk.papers.outcomes.last(), Some(&ElectionOutcome::Vacant));
    assert!(desk.member.recalls());
    desk.wait_for(Timer::Phase);
    let called = |(_, message): &(Instant, Message)| matches!(message, Message::Initiation { round, k: 14, .. } if round.number == 2);
    let said = &desk.papers.said;
    assert!(said.iter().any(called), "{said:?}");
}

#[test]
fn member_that_hears_another_call_keeps_silent() {
    let mut desk = seat(Config::field(1, HOP, HOP));
    desk.hear(7, decision(1, 9));
    desk.hear(2, decision(1, 8));
    desk.wait_for(Timer::Phase);
    assert!(desk.member.recalls());
    let call = Message::Initiation { round: round(1, 2), k: 14, after: HOP * 3 };
    desk.hear(7, call);
    assert!(!desk.member.recalls());
    let begins = desk.papers.now + HOP * 3;
    assert_eq!(desk.due(Timer::Phase), Some(begins), "it begins with all");
    assert!(is_silent(&desk));
}

/// It did not run while the others decided, and hears of that when it has found that it heard
/// nothing.
#[test]
fn late_news_of_the_leader_prevents_another_round() {
    let mut desk = seat(counted(1));
    desk.tell(Input::Request(Request::GroupSize(20_000)));
    let (round, k, after) = (round(1, 1), 7, Duration::ZERO);
    desk.hear(7, Message::Initiation { round, k, after });
    desk.wait_for(Timer::Phase);
    assert!(desk.member.recalls());
    desk.hear(2, decision(1, 9));
    desk.hear(7, decision(1, 9));
    assert!(!desk.member.recalls());
    assert_eq!(desk.names(), Some(MemberId(9)));
    assert_eq!(desk.due(Timer::Phase), None);
    // Two leaders are two, however late.
    desk.hear(8, decision(1, 4));
    assert!(desk.member.recalls());
    desk.hear(8, decision(1, 9));
    assert!(desk.member.recalls());
}

/// A member that hears nothing assumes that the group is gone, and makes K larger and larger.
#[test]
fn member_that_heard_others_does_not_accept_a_very_large_k() {
    let call = |sequence, number, k| Message::Initiation {
        round: round(sequence, number),
        k,
        after: Duration::ZERO,
    };
    for hears in [true, false] {
        let mut desk = seat(counted(1));
        desk.tell(Input::Request(Request::GroupSize(20_000)));
        desk.hear(7, call(1, 4, 56));
        if hears {
            desk.hear(2, decision(4, 9));
        }
        desk.hear(7, call(1, 5, 112));
        assert_eq!(desk.member.k(), if hears { 56 } else { 112 });
        // Another election is independent.
        desk.hear(7, call(2, 1, 80));
        assert_eq!(desk.member.k(), 80);
    }
}

#[test]
fn old_call_changes_nothing() {
    let mut desk = relaying();
    let before = desk.member.clone();
    for (sequence, number) in [(0, 9), (1, 0), (1, 1)] {
        let (round, k, after) = (round(sequence, number), 3, Duration::ZERO);
        desk.hear(2, Message::Initiation { round, k, after });
        assert_eq!(desk.member, before);
    }
}

/// It missed the call, and does not count what it heard as a failure. The next message makes a
/// difference, although it is a duplicate: the simulator must not skip it.
#[test]
fn resting_member_that_heard_of_two_handles_a_duplicate() {
    let config = Config { uninformed_detect: false, ..Config::paper(1_000, HOP) };
    let mut desk = seat(config);
    desk.hear(7, decision(1, 9));
    desk.hear(2, decision(1, 8));
    desk.wait_for(Timer::Phase);
    assert!(!desk.member.recalls());
    let again = decision(1, 8);
    assert!(!Probabilistic::is_duplicate_of(&again, &again, &config));
    desk.hear(2, again);
    assert!(desk.member.recalls());
}

#[test]
fn member_state_is_small() {
    let size = size_of::<Probabilistic>();
    assert!(size <= 96, "{size}");
}

/// Any input at any time: nothing panics, and the member does not send to itself, as the test desk
/// checks.
#[test]
fn arbitrary_input_does_not_panic() {
    for seed in 0..2_000 {
        let mut rng = Seeds::new(seed, 0).rng(Stream::Faults);
        let config = match seed % 2 {
            0 => Config::paper(9, HOP),
            _ => Config::field(seed, HOP, HOP),
        };
        let mut desk = seat(config);
        for _ in 0..100 {
            let input = nonsense(&mut desk, &mut rng);
            desk.tell(input);
            desk.papers.now = desk.papers.now + HOP;
        }
    }
}

fn nonsense(desk: &mut Desk<Probabilistic>, rng: &mut impl Rng) -> Input<Probabilistic> {
    let any = |rng: &mut dyn FnMut() -> u64| match rng() % 4 {
        0 => rng(),
        1 => u64::MAX,
        _ => rng() % 9,
    };
    let mut draw = || rng.next_u64();
    let candidate = Candidate::new(any(&mut draw), any(&mut draw));
    let round = RoundId { sequence: any(&mut draw), number: any(&mut draw) as u16 };
    let k = any(&mut draw) as u32;
    let message = match draw() % 7 {
        0 => Message::Initiation { round, k, after: Duration(any(&mut draw)) },
        1 | 2 => {
            Message::Preference { round, choice: candidate, priority: Priority(any(&mut draw)) }
        }
        3 => Message::Decision { round, k, choice: candidate },
        4 => Message::Question,
        5 => Message::Check { round, priority: Priority(any(&mut draw)) },
        _ => Message::Answer { round, leader: candidate },
    };
    match draw() % 9 {
        0 => Input::Start,
        1 => Input::Timer(Timer::Phase),
        2 => Input::Timer(Timer::Check),
        3 => {
            desk.papers.view.insert(Candidate::new(draw() % 4, draw() % 9));
            Input::ViewChanged(ViewChange::Joined(candidate))
        }
        4 => Input::ViewChanged(ViewChange::Left(candidate.id)),
        5 => Input::Request(Request::GroupSize(any(&mut draw))),
        6 => Input::Request(Request::FirstK(any(&mut draw) as u32)),
        _ => {
            let from = MemberId(6 + draw() % 9);
            Input::Message { from, message }
        }
    }
}
