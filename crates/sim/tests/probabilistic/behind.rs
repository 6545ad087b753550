//! Members that missed how a round ended, or that there was one: who knows tells them.

use hustings_protocol::probabilistic::{Request, Timer};
use hustings_protocol::{Candidate, Input};

use super::*;
use crate::support::desk::Desk;

const LEADER: Candidate = Candidate {
    merit: Merit(9),
    id: MemberId(9),
};

/// Member 5 of a thousand.
fn seat() -> Desk<Probabilistic> {
    let config = counted(7);
    let mut desk = Desk::new(Candidate::new(5, 5), Probabilistic::new(), config, 1);
    desk.papers.view.insert(Candidate::new(2, 2));
    desk.tell(Input::Request(Request::GroupSize(1_000)));
    desk
}

fn round(sequence: u64, number: u16) -> Round {
    Round { sequence, number }
}

fn initiation(round: Round, k: u32) -> Message {
    let after = Duration::ZERO;
    Message::Initiation { round, k, after }
}

fn decision(round: Round, choice: Candidate) -> Message {
    let k = 7;
    Message::Decision { round, k, choice }
}

/// A member that takes part in round 1 of election 4: it has called it, relays, listens, or overhears.
fn taking_part() -> [Desk<Probabilistic>; 4] {
    let [mut called, mut relaying, mut listening, mut overhearing] =
        [seat(), seat(), seat(), seat()];
    let of_the_third = decision(round(3, 1), Candidate::new(8, 8));
    called.hear(8, of_the_third);
    called.wait_for(Timer::Phase); // it names 8, who leaves: so it calls
    let left = hustings_protocol::ViewChange::Left(MemberId(8));
    called.tell(Input::ViewChanged(left));
    called.wait_for(Timer::Phase);
    relaying.hear(2, initiation(round(4, 1), 1_000));
    listening.hear(2, initiation(round(4, 1), 0));
    overhearing.hear(2, decision(round(4, 1), LEADER));
    let desks = [called, relaying, listening, overhearing];
    for desk in &desks {
        assert_eq!(desk.member.round(), round(4, 1));
        assert_eq!(desk.names(), None);
    }
    desks
}

/// Whoever missed the end of a round, and goes on with it by itself, names who was elected meanwhile, at once.
#[test]
fn who_takes_part_in_a_round_that_is_over_is_told_by_a_later_leader() {
    for later in [round(4, 1), round(4, 2), round(6, 1)] {
        let merit = LEADER.merit;
        let check = (
            9,
            Message::Check {
                round: later,
                merit,
            },
        );
        let leader = LEADER;
        let answer = (
            3,
            Message::Answer {
                round: later,
                leader,
            },
        );
        for (from, message) in [check, answer] {
            for (index, mut desk) in taking_part().into_iter().enumerate() {
                desk.papers.said.clear();
                desk.hear(from, message);
                assert_eq!(desk.names(), Some(LEADER.id), "{index}: {message:?}");
                assert_eq!(desk.member.round(), later, "{index}: {message:?}");
                desk.wait(Duration::from_secs(5));
                assert_eq!(desk.papers.said, [], "{index}: it goes on with its round");
            }
        }
    }
}

/// What was decided before a round began is no result of it.
#[test]
fn who_takes_part_in_a_round_is_not_told_of_an_earlier_one() {
    let (merit, leader) = (LEADER.merit, LEADER);
    for earlier in [round(3, 5), round(0, 0)] {
        for message in [
            Message::Check {
                round: earlier,
                merit,
            },
            Message::Answer {
                round: earlier,
                leader,
            },
        ] {
            for mut desk in taking_part() {
                desk.hear(9, message);
                assert_eq!(desk.member.round(), round(4, 1), "{message:?}");
                assert_eq!(desk.names(), None, "{message:?}");
            }
        }
    }
}

/// Who has heard of another one in the same round knows that the round has failed, whatever either of them says.
#[test]
fn one_of_two_that_were_chosen_in_a_round_is_not_believed() {
    let mut desk = seat();
    desk.hear(2, initiation(round(4, 1), 0));
    desk.hear(2, decision(round(4, 1), Candidate::new(8, 8)));
    let (round, merit) = (round(4, 1), LEADER.merit);
    desk.hear(9, Message::Check { round, merit });
    assert_eq!(desk.names(), None);
}

/// The leader hears whoever calls, relays or decides in a round that is over, and tells it: others need not.
#[test]
fn a_leader_tells_who_takes_part_in_a_round_that_is_over() {
    let preference = |round: Round| {
        let choice = Candidate::new(3, 3);
        let merit = Merit(3);
        Message::Preference {
            round,
            choice,
            merit,
        }
    };
    for chosen in [Candidate::new(5, 5), Candidate::new(8, 8)] {
        let mut desk = seat();
        desk.hear(2, decision(round(4, 1), chosen));
        desk.wait_for(Timer::Phase);
        assert_eq!(desk.names(), Some(chosen.id));
        for late in [
            initiation(round(4, 1), 7),
            initiation(round(1, 1), 7),
            preference(round(4, 1)),
            preference(round(1, 3)),
            decision(round(1, 3), Candidate::new(3, 3)),
        ] {
            desk.papers.told.clear();
            desk.hear(3, late);
            let round = round(4, 1);
            let told = match chosen.id == MemberId(5) {
                true => vec![(
                    MemberId(3),
                    Message::Check {
                        round,
                        merit: Merit(5),
                    },
                )],
                false => vec![],
            };
            assert_eq!(desk.papers.told, told, "{late:?}");
        }
    }
}

/// Whom it named before may not be whom the round under way names.
#[test]
fn who_takes_part_in_a_round_speaks_for_nobody() {
    for leader in [Candidate::new(5, 5), Candidate::new(8, 8)] {
        let mut desk = seat();
        desk.hear(2, decision(round(3, 1), leader));
        desk.wait_for(Timer::Phase);
        desk.hear(2, initiation(round(4, 1), 0));
        desk.hear(3, Message::Question);
        desk.tell(Input::Timer(Timer::Check));
        assert_eq!(desk.papers.told, []);
        assert!(desk.due(Timer::Check).is_some(), "it does later");
    }
}

/// Who was told of a round's result, not of its K, and finds that the round has failed, calls the next one with a K.
#[test]
fn who_was_told_of_a_round_calls_the_next_with_a_greater_k() {
    let mut desk = seat();
    let (merit, late) = (LEADER.merit, round(4, 1));
    desk.hear(9, Message::Check { round: late, merit });
    desk.hear(2, decision(late, Candidate::new(8, 8)));
    desk.wait_for(Timer::Phase);
    let calls = desk.papers.said.iter().map(|(_, message)| message);
    let calls: Vec<_> = calls
        .filter_map(|message| match message {
            Message::Initiation { round, k, .. } => Some((*round, *k)),
            _ => None,
        })
        .collect();
    assert_eq!(calls, [(round(4, 2), 14)]);
}

/// Its leader saw it come up before it took part, and told it.
#[test]
fn who_was_told_who_leads_before_it_could_ask_calls_no_election() {
    let mut desk = seat();
    let (merit, round) = (LEADER.merit, round(4, 1));
    desk.hear(9, Message::Check { round, merit });
    desk.tell(Input::Start);
    desk.wait(Duration::from_secs(1));
    assert_eq!(desk.papers.said, []);
    assert_eq!(desk.names(), Some(LEADER.id));
}

/// A newcomer whose questions were all lost calls an election that nobody hears of as new. It need not go through all
/// five rounds of it alone.
#[test]
fn a_newcomer_that_nobody_answered_soon_follows() {
    for seed in 0..50 {
        let mut world = group(20, 1.0, 0.0, seed);
        world.schedule(Instant::START, Verb::Kill(Who::one(19)));
        world.run_until(ms(5_000));
        let leader = agreed(&world).expect("they agree");
        world.schedule(ms(5_000), Verb::Cut(vec![Who::one(19)]));
        let (who, keep_state) = (Who::one(19), false);
        world.schedule(ms(5_000), Verb::Restart { who, keep_state });
        world.schedule(ms(5_001), Verb::Heal);
        world.run_until(ms(5_300));
        assert_eq!(agreed(&world), Some(leader), "{seed}: {:?}", named(&world));
    }
}
