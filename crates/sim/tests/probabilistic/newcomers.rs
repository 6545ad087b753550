//! Several that come up at once and know nobody but each other hold an election of their own, whose rounds have the
//! numbers of the group's. Its leader, who works, stays.

use hustings_protocol::Candidate;
use hustings_protocol::probabilistic::Timer;

use super::*;
use crate::support::desk::Desk;

/// Longer than any round.
const LONG: Duration = Duration::from_secs(2);

const ROUND: Round = Round {
    sequence: 1,
    number: 1,
};

fn candidate(id: u64) -> Candidate {
    Candidate::new(id, id)
}

/// Member 5, who knows 2 and itself.
fn seat() -> Desk<Probabilistic> {
    let config = Config::field(7, HOP, HOP);
    let mut desk = Desk::new(candidate(5), Probabilistic::new(), config, 1);
    desk.papers.view.insert(candidate(2));
    desk
}

fn decision(choice: u64) -> Message {
    Message::Decision {
        round: ROUND,
        k: 7,
        choice: candidate(choice),
    }
}

fn check(id: u64, age: Duration) -> Message {
    Message::Check {
        round: ROUND,
        merit: Merit(id),
        age,
    }
}

fn answer(leader: u64, age: Duration) -> Message {
    Message::Answer {
        round: ROUND,
        leader: candidate(leader),
        age,
    }
}

fn call_of_the_second() -> Message {
    Message::Initiation {
        round: Round { number: 2, ..ROUND },
        k: 14,
        after: Duration::ZERO,
    }
}

/// By which round it says to 3 that it leads.
fn checked((to, message): &(MemberId, Message)) -> Option<u16> {
    match message {
        Message::Check { round, .. } if *to == MemberId(3) => Some(round.number),
        _ => None,
    }
}

/// It named `leader` so long ago.
fn following(leader: u64, since: Duration) -> Desk<Probabilistic> {
    let mut desk = seat();
    desk.hear(2, decision(leader));
    desk.wait_for(Timer::Phase);
    assert_eq!(desk.names(), Some(MemberId(leader)));
    desk.papers.now = desk.papers.now + since;
    desk.papers.told.clear();
    desk
}

#[test]
fn a_round_that_is_long_over_does_not_fail_by_another_of_its_number() {
    for leader in [5, 9] {
        let mut desk = following(leader, LONG);
        desk.hear(3, decision(8));
        desk.hear(3, call_of_the_second());
        assert_eq!(desk.names(), Some(MemberId(leader)));
        assert!(!desk.member.recalls());
        assert_eq!(desk.member.k(), 7, "it takes no part");
        let rounds: Vec<u16> = desk.papers.told.iter().filter_map(checked).collect();
        let told: &[u16] = if leader == 5 { &[1, 2] } else { &[] };
        assert_eq!(rounds, told, "the leader tells, for all");
    }
    // Where it was over just now it was this one.
    let mut desk = following(9, HOP);
    desk.hear(3, decision(8));
    assert!(desk.member.recalls());
    let mut desk = following(9, HOP);
    desk.hear(3, call_of_the_second());
    assert_eq!(desk.member.round().number, 2);
}

/// It was not there, and whoever tells it says how long ago that was.
#[test]
fn nor_does_one_of_which_a_newcomer_was_told() {
    for message in [check(9, LONG), answer(9, LONG)] {
        let mut desk = seat();
        desk.hear(9, message);
        desk.hear(3, decision(8));
        assert_eq!(desk.names(), Some(MemberId(9)), "{message:?}");
        assert!(!desk.member.recalls(), "{message:?}");
    }
}

#[test]
fn whoever_takes_part_believes_a_leader_that_is_older_than_its_round() {
    for (age, is_believed) in [(LONG, true), (HOP, false)] {
        let mut desk = seat();
        desk.hear(2, decision(8)); // it overhears
        desk.hear(9, check(9, age));
        desk.wait(LONG);
        let named = if is_believed { 9 } else { 8 };
        assert_eq!(desk.names(), Some(MemberId(named)), "{age}");
    }
}

/// What two leaders, elected in rounds of the same number, do about each other.
#[test]
fn of_two_leaders_the_one_elected_long_before_stays() {
    let calls = |desk: &mut Desk<Probabilistic>| {
        desk.wait(HOP * 50);
        !desk.papers.said.is_empty()
    };
    // The younger one follows.
    let mut desk = following(5, LONG);
    desk.hear(9, check(9, LONG * 9));
    assert_eq!(desk.names(), Some(MemberId(9)));
    assert!(!calls(&mut desk));
    // The older one tells the younger, whose round may have a greater number.
    for number in [1, 3] {
        let mut desk = following(5, LONG);
        let of_another = |message| match message {
            Message::Check { merit, age, .. } => Message::Check {
                round: Round { number, ..ROUND },
                merit,
                age,
            },
            other => other,
        };
        desk.hear(9, of_another(check(9, HOP)));
        assert_eq!(desk.names(), Some(MemberId(5)));
        let told = (MemberId(9), of_another(check(5, LONG)));
        assert_eq!(desk.papers.told, [told]);
        assert!(!calls(&mut desk));
    }
    // Who hears of the other from a follower of it asks it.
    let mut desk = following(5, LONG);
    desk.hear(3, answer(9, LONG));
    assert_eq!(desk.papers.told, [(MemberId(9), check(5, LONG))]);
    assert!(!calls(&mut desk));
    // Of the same age: the round has failed, and there is another election.
    let mut desk = following(5, LONG);
    desk.hear(9, check(9, LONG));
    assert_eq!(desk.papers.told, [(MemberId(9), answer(5, LONG))]);
    desk.hear(9, answer(9, LONG));
    assert!(calls(&mut desk));
}

#[test]
fn followers_go_with_their_leader_and_the_older_one() {
    let mut desk = following(8, LONG);
    desk.hear(8, answer(9, LONG * 9));
    assert_eq!(desk.names(), Some(MemberId(9)));
    let mut desk = following(8, LONG);
    desk.hear(9, check(9, LONG * 9));
    assert_eq!(desk.names(), Some(MemberId(9)));
    let mut desk = following(8, LONG);
    desk.hear(9, check(9, HOP));
    assert_eq!(desk.names(), Some(MemberId(8)));
    assert_eq!(desk.papers.told, [(MemberId(9), answer(8, LONG))]);
}

/// Those who relayed may have been told that there is a leader, and have fallen silent.
#[test]
fn a_newcomer_that_heard_nothing_asks_before_it_calls_another_round() {
    for is_told in [true, false] {
        let mut desk = seat();
        let (round, k, after) = (ROUND, 0, Duration::ZERO);
        desk.hear(2, Message::Initiation { round, k, after });
        desk.wait_for(Timer::Phase);
        assert!(desk.member.recalls());
        desk.wait_for(Timer::Phase);
        assert_eq!(desk.papers.told, [(MemberId(2), Message::Question)]);
        assert_eq!(desk.papers.said, []);
        if is_told {
            desk.hear(2, answer(9, LONG));
            assert_eq!(desk.names(), Some(MemberId(9)));
        }
        desk.wait(HOP * 3);
        assert_eq!(desk.papers.said.is_empty(), is_told);
    }
}

/// They come up while the network between them and the rest is cut, for a moment or for as long as their election takes.
#[test]
fn newcomers_that_know_only_each_other_change_no_leader() {
    const OLD: u32 = 24;
    const ALL: u32 = 34;
    for seed in 0..60 {
        let mut world = group(ALL, 1.0, 0.0, seed);
        world.schedule(
            Instant::START,
            Verb::Kill(Who::Members((OLD..ALL).collect())),
        );
        world.run_until(ms(5_000));
        let leader = agreed(&world).expect("they agree");
        let cut = Verb::Cut(vec![Who::Members((OLD..ALL).collect())]);
        world.schedule(ms(5_000), cut);
        for member in OLD..ALL {
            let (who, keep_state) = (Who::one(member), false);
            world.schedule(ms(5_000), Verb::Restart { who, keep_state });
        }
        world.schedule(ms(5_001 + seed * 10), Verb::Heal);
        for at in (5_000..8_000).step_by(10) {
            world.run_until(ms(at));
            for member in 0..OLD {
                let nominee = world.nominee(member).map(|(id, _)| id);
                assert_eq!(nominee, Some(leader), "{seed}: {member} at {at} ms");
            }
        }
        world.run_until(ms(60_000));
        assert_eq!(agreed(&world), Some(leader), "{seed}: {:?}", named(&world));
    }
}
