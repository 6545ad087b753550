//! One member by itself: any input at any time.

use hustings_protocol::probabilistic::{Request, Timer};
use hustings_protocol::{Candidate, Input, Outcome, Protocol, ViewChange};

use super::*;
use crate::support::desk::Desk;

/// Member 5, of merit 5.
fn seat(config: Config) -> Desk<Probabilistic> {
    Desk::new(Candidate::new(5, 5), Probabilistic::new(), config, 1)
}

fn round(sequence: u64, number: u16) -> Round {
    Round { sequence, number }
}

/// A member of a group of one thousand, in a round in which all relay.
fn relaying() -> Desk<Probabilistic> {
    let mut desk = seat(Config::document(1_000, HOP));
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
        merit: Merit(0),
    }
}

/// To whom it preferred whom since it was asked last.
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
fn who_relays_tells_the_best_that_it_knows_to_all_that_relay() {
    let mut desk = relaying();
    assert_eq!(told(&mut desk), [(2, 9), (7, 9), (9, 9)]);
}

#[test]
fn a_better_choice_is_passed_on_a_worse_one_answered_and_the_same_is_not() {
    let mut desk = relaying();
    told(&mut desk);
    desk.hear(7, preference(9));
    assert_eq!(told(&mut desk), [], "the same");
    desk.hear(7, preference(8));
    assert_eq!(told(&mut desk), [(7, 9)], "worse");
    // From somebody that it did not know: it is told from now on, and known.
    desk.hear(4, preference(12));
    assert_eq!(told(&mut desk), [(2, 12), (4, 12), (7, 12), (9, 12)]);
    assert_eq!(desk.papers.met, [Candidate::new(4, 0)]);
}

#[test]
fn whoever_missed_the_initiation_or_is_elsewhere_does_not_relay() {
    let mut desk = seat(Config::document(1_000, HOP));
    desk.hear(7, preference(9));
    assert!(is_silent(&desk));
    let mut desk = relaying();
    told(&mut desk);
    let of_another_round = Message::Preference {
        round: round(1, 2),
        choice: Candidate::new(12, 12),
        merit: Merit(0),
    };
    desk.hear(7, of_another_round);
    assert!(is_silent(&desk));
}

fn decision(number: u16, choice: u64) -> Message {
    Message::Decision {
        round: round(1, number),
        k: 7,
        choice: Candidate::new(choice, choice),
    }
}

#[test]
fn who_missed_the_initiation_names_the_one_that_it_hears_of() {
    let mut desk = seat(counted(1));
    desk.tell(Input::Request(Request::GroupSize(1_000)));
    desk.hear(7, decision(1, 9));
    desk.hear(2, decision(1, 9));
    desk.wait_for(Timer::Phase);
    assert_eq!(
        desk.papers.outcomes,
        [Outcome::Nominee(Candidate::new(9, 9))],
        "{:?}",
        desk.member
    );
    // Late, and not what the others said: it calls the next round.
    desk.hear(2, decision(1, 8));
    assert_eq!(desk.papers.outcomes.last(), Some(&Outcome::Vacant));
    assert!(desk.member.recalls());
    desk.wait_for(Timer::Phase);
    let called = |(_, message): &(Instant, Message)| matches!(message, Message::Initiation { round, k: 14, .. } if round.number == 2);
    let said = &desk.papers.said;
    assert!(said.iter().any(called), "{said:?}");
}

#[test]
fn who_hears_the_call_of_another_keeps_silent() {
    let mut desk = seat(Config::field(1, HOP, HOP));
    desk.hear(7, decision(1, 9));
    desk.hear(2, decision(1, 8));
    desk.wait_for(Timer::Phase);
    assert!(desk.member.recalls());
    let call = Message::Initiation {
        round: round(1, 2),
        k: 14,
        after: HOP * 3,
    };
    desk.hear(7, call);
    assert!(!desk.member.recalls());
    let begins = desk.papers.now + HOP * 3;
    assert_eq!(desk.due(Timer::Phase), Some(begins), "it begins with all");
    assert!(is_silent(&desk));
}

/// It did not run while the others decided, and hears of that when it has found that it heard nothing.
#[test]
fn who_hears_late_of_the_one_leader_calls_no_round() {
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
    // Two are two, however late.
    desk.hear(8, decision(1, 4));
    assert!(desk.member.recalls());
    desk.hear(8, decision(1, 9));
    assert!(desk.member.recalls());
}

/// Whoever is deaf takes the group for gone, and has more and more relay.
#[test]
fn who_has_heard_some_does_not_believe_that_nobody_is_there() {
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
        // Another election is another matter.
        desk.hear(7, call(2, 1, 80));
        assert_eq!(desk.member.k(), 80);
    }
}

#[test]
fn a_call_from_the_past_changes_nothing() {
    let mut desk = relaying();
    let before = desk.member.clone();
    for (sequence, number) in [(0, 9), (1, 0), (1, 1)] {
        let (round, k, after) = (round(sequence, number), 3, Duration::ZERO);
        desk.hear(2, Message::Initiation { round, k, after });
        assert_eq!(desk.member, before);
    }
}

/// It missed the call, and does not count what it heard as a failure. The next word makes a difference, though it is one
/// that it has heard: the simulator must not leave it out.
#[test]
fn who_rests_though_it_has_heard_of_two_is_told_again() {
    let config = Config {
        uninformed_detect: false,
        ..Config::document(1_000, HOP)
    };
    let mut desk = seat(config);
    desk.hear(7, decision(1, 9));
    desk.hear(2, decision(1, 8));
    desk.wait_for(Timer::Phase);
    assert!(!desk.member.recalls());
    let again = decision(1, 8);
    assert!(!Probabilistic::echoes(&again, &again, &config));
    desk.hear(2, again);
    assert!(desk.member.recalls());
}

#[test]
fn a_member_takes_little() {
    let size = size_of::<Probabilistic>();
    assert!(size <= 96, "{size}");
}

/// Anything at any time: nothing panics, and nobody writes to itself, as the desk sees to.
#[test]
fn nonsense_is_survived() {
    for seed in 0..2_000 {
        let mut rng = Seeds::new(seed, 0).rng(Stream::Faults);
        let config = match seed % 2 {
            0 => Config::document(9, HOP),
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
    let round = Round {
        sequence: any(&mut draw),
        number: any(&mut draw) as u16,
    };
    let k = any(&mut draw) as u32;
    let message = match draw() % 7 {
        0 => Message::Initiation {
            round,
            k,
            after: Duration(any(&mut draw)),
        },
        1 | 2 => Message::Preference {
            round,
            choice: candidate,
            merit: Merit(any(&mut draw)),
        },
        3 => Message::Decision {
            round,
            k,
            choice: candidate,
        },
        4 => Message::Question,
        5 => Message::Check {
            round,
            merit: Merit(any(&mut draw)),
        },
        _ => Message::Answer {
            round,
            leader: candidate,
        },
    };
    match draw() % 9 {
        0 => Input::Start,
        1 => Input::Timer(Timer::Phase),
        2 => Input::Timer(Timer::Check),
        3 => {
            desk.papers
                .view
                .insert(Candidate::new(draw() % 4, draw() % 9));
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
