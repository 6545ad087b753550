//! Members that missed the end of a round, or the whole round: members that know inform them.

use hustings_protocol::probabilistic::{Request, Timer};
use hustings_protocol::{Candidate, Input};

use super::*;
use crate::support::desk::Desk;

const LEADER: Candidate = Candidate { priority: Priority(9), id: MemberId(9) };

/// Member 5 of a thousand.
fn seat() -> Desk<Probabilistic> {
    let config = counted(7);
    let mut desk = Desk::new(Candidate::new(5, 5), Probabilistic::default(), config, 1);
    desk.papers.view.insert(Candidate::new(2, 2));
    desk.tell(Input::Request(Request::GroupSize(1_000)));
    desk
}

fn round(sequence: u64, number: u16) -> RoundId {
    RoundId { sequence, number }
}

fn initiation(round: RoundId, k: u32) -> Message {
    let after = Duration::ZERO;
    Message::Initiation { round, k, after }
}

fn decision(round: RoundId, choice: Candidate) -> Message {
    let k = 7;
    Message::Decision { round, k, choice }
}

/// Members that take part in round 1 of election 4: one has called it, one relays, one listens, one
/// overhears.
fn taking_part() -> [Desk<Probabilistic>; 4] {
    let [mut called, mut relaying, mut listening, mut overhearing] =
        [seat(), seat(), seat(), seat()];
    let of_the_third = decision(round(3, 1), Candidate::new(8, 8));
    called.hear(8, of_the_third);
    called.wait_for(Timer::Phase); // its nominee 8 leaves: so it calls
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

/// A member that missed the end of a round, and continues it alone, accepts a later leader at once.
#[test]
fn member_in_an_old_round_accepts_a_later_leader() {
    for later in [round(4, 1), round(4, 2), round(6, 1)] {
        let priority = LEADER.priority;
        let check = (9, Message::Check { round: later, priority });
        let leader = LEADER;
        let answer = (3, Message::Answer { round: later, leader });
        for (from, message) in [check, answer] {
            for (index, mut desk) in taking_part().into_iter().enumerate() {
                desk.papers.said.clear();
                desk.hear(from, message);
                assert_eq!(desk.names(), Some(LEADER.id), "{index}: {message:?}");
                assert_eq!(desk.member.round(), later, "{index}: {message:?}");
                desk.wait(Duration::from_secs(5));
                assert_eq!(desk.papers.said, [], "{index}: it continues its round");
            }
        }
    }
}

/// A decision from before a round began is no result of it.
#[test]
fn member_in_a_round_ignores_an_earlier_result() {
    let (priority, leader) = (LEADER.priority, LEADER);
    for earlier in [round(3, 5), round(0, 0)] {
        for message in [
            Message::Check { round: earlier, priority },
            Message::Answer { round: earlier, leader },
        ] {
            for mut desk in taking_part() {
                desk.hear(9, message);
                assert_eq!(desk.member.round(), round(4, 1), "{message:?}");
                assert_eq!(desk.names(), None, "{message:?}");
            }
        }
    }
}

/// A member that has heard of another leader in the same round knows that the round has failed,
/// regardless of what either of them sends.
#[test]
fn one_of_two_leaders_of_a_round_is_not_believed() {
    let mut desk = seat();
    desk.hear(2, initiation(round(4, 1), 0));
    desk.hear(2, decision(round(4, 1), Candidate::new(8, 8)));
    let (round, priority) = (round(4, 1), LEADER.priority);
    desk.hear(9, Message::Check { round, priority });
    assert_eq!(desk.names(), None);
}

/// The leader hears any member that calls, relays or decides in a round that is over, and informs
/// it: others need not.
#[test]
fn leader_informs_members_in_an_old_round() {
    let preference = |round: RoundId| {
        let choice = Candidate::new(3, 3);
        let priority = Priority(3);
        Message::Preference { round, choice, priority }
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
                true => vec![(MemberId(3), Message::Check { round, priority: Priority(5) })],
                false => vec![],
            };
            assert_eq!(desk.papers.told, told, "{late:?}");
        }
    }
}

/// Its earlier nominee may differ from the result of the present round.
#[test]
fn member_in_a_round_reports_no_leader() {
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

/// A member that heard the result of a round, but not its K, and finds that the round has failed,
/// calls the next one with a K.
#[test]
fn informed_member_calls_the_next_round_with_a_greater_k() {
    let mut desk = seat();
    let (priority, late) = (LEADER.priority, round(4, 1));
    desk.hear(9, Message::Check { round: late, priority });
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

/// Its leader saw it come up before it took part, and informed it.
#[test]
fn member_informed_before_it_asks_calls_no_election() {
    let mut desk = seat();
    let (priority, round) = (LEADER.priority, round(4, 1));
    desk.hear(9, Message::Check { round, priority });
    desk.tell(Input::Start);
    desk.wait(Duration::from_secs(1));
    assert_eq!(desk.papers.said, []);
    assert_eq!(desk.names(), Some(LEADER.id));
}

/// A newcomer whose questions were all lost calls an election that no member considers new. It need
/// not go through all five rounds of it alone.
#[test]
fn unanswered_newcomer_soon_follows() {
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
