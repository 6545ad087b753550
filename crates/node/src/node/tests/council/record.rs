//! The record of a centre's elections agrees with their results, whatever happened to the messages:
//! the audit never convicts an honest draw.

use std::collections::BTreeSet;

use hustings_protocol::council::{
    Algorithm, Cause, Coin, Config, Draws, Elected, Estimate, Knowledge, Message, Replay, Reply,
    Round, audit, audit_first, audit_later, replay,
};
use hustings_protocol::{Candidate, Duration, MemberId, Priority};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{Field, ROUND, address, centre_status, host_fleet, member, rules};
use crate::council::{CentreStatus, CouncilPart, public_seed};
use crate::driver::encode;
use crate::frame::{Body, Frame, Sender};
use crate::identity::{Incarnation, group_id, member_id};
use crate::node::Outbox;
use crate::peer_table::Channel;

const HOSTS: usize = 60;

fn public(algorithm: Algorithm, seed: u64) -> Config {
    let mut config = rules();
    (config.algorithm, config.coin) =
        (algorithm, Coin::Public { seed: public_seed(&format!("lottery {seed}")) });
    config
}

/// The rounds of the first election of the centre with this index, from its status. There must be
/// one.
#[track_caller]
fn first_election(field: &mut Field, centre: usize) -> Vec<Round> {
    let mut rounds = 0;
    while !centre_status(field, centre).is_filled() {
        field.run(ROUND);
        rounds += 1;
        assert!(rounds < 2_000, "no council");
    }
    // Late replies are recorded too.
    field.run(ROUND * 5);
    let record = centre_status(field, centre).record;
    let first = record.into_iter().take_while(|it| it.feedback.seated == 0);
    first.collect()
}

fn hosts() -> Vec<Candidate> {
    (0..HOSTS)
        .map(|number| Candidate { priority: Priority(0), id: member_id(&format!("host-{number}")) })
        .collect()
}

#[track_caller]
fn assert_honest(config: &Config, rounds: &[Round], seed: u64) {
    let disputes = audit(config, rounds, &hosts()).expect("these are rounds");
    let fault = disputes.iter().find(|it| it.cause.is_fault());
    assert_eq!(fault, None, "{:?}, seed {seed}", config.algorithm);
    let last = rounds.last().expect("there were some").feedback.round;
    let replay = replay(config, rounds);
    assert!(
        matches!(&replay, Replay::Elected(it) if it.first.0 == last),
        "{:?}, seed {seed}: {replay:?}, the last was {last}",
        config.algorithm
    );
}

const ALGORITHMS: [Algorithm; 4] =
    [Algorithm::Naive, Algorithm::SkipReset, Algorithm::CHOICE, Algorithm::HISTORY];

/// A fleet that loses a fifth of all messages, with late replies: in some fleets later than a
/// round.
fn lossy_fleet(config: &Config, seed: u64) -> Field {
    let mut field = Field::empty();
    field.chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    field.lost_percent = 20;
    field.slow = Some((0, Duration(ROUND.0 * (seed % 5) * 4 / 10)));
    let centre = CouncilPart::Centre(Box::new(config.clone()));
    field.admit_member(member("centre", centre), None, &[], 0);
    host_fleet(&mut field, HOSTS);
    field
}

#[test]
fn record_is_honest_when_messages_are_lost_or_late() {
    let (mut late, mut careful) = (0, 0);
    for algorithm in ALGORITHMS {
        for seed in 0..25 {
            let config = public(algorithm, seed);
            let mut field = lossy_fleet(&config, seed);
            let rounds = first_election(&mut field, 0);
            assert_honest(&config, &rounds, seed);
            late += rounds.iter().map(|it| it.late.len()).sum::<usize>();
            let voices = rounds.iter().flat_map(|it| &it.replies);
            careful += voices.filter(|it| it.number > 200).count();
        }
    }
    assert!(late > 100 && careful > 10, "{late} {careful}");
}

/// At first there are too few hosts, and the centre searches again.
#[test]
fn record_is_honest_when_hosts_start_while_the_centre_rests() {
    for seed in 0..10 {
        let mut field = Field::empty();
        let config = public(Algorithm::SkipReset, seed);
        let centre = CouncilPart::Centre(Box::new(config.clone()));
        field.admit_member(member("centre", centre), None, &[], 0);
        field.run(ROUND * 50);
        host_fleet(&mut field, HOSTS);
        let rounds = first_election(&mut field, 0);
        assert!(rounds.len() > 6, "it has rested");
        assert_honest(&config, &rounds, seed);
    }
}

#[test]
fn record_is_honest_after_a_centre_with_a_longer_lease() {
    for seed in 0..10 {
        let mut field = Field::empty();
        let mut long = rules();
        let lease = long.lease.as_mut().expect("it has one");
        (lease.beat, lease.lasts) = (ROUND * 5, ROUND * 60);
        let first = CouncilPart::Centre(Box::new(long));
        field.admit_member(member("first", first), None, &[], 0);
        host_fleet(&mut field, HOSTS);
        while !centre_status(&field, 0).is_filled() {
            field.run(ROUND);
        }
        field.sides[0] = 1;
        let config = public(Algorithm::SkipReset, seed);
        let second = CouncilPart::Centre(Box::new(config.clone()));
        field.admit_member(member("second", second), None, &[], 0);
        let index = field.members.len() - 1;
        field.run(ROUND * 30);
        assert!(centre_status(&field, index).awaits.is_some(), "seed {seed}");
        let rounds = first_election(&mut field, index);
        assert_honest(&config, &rounds, seed);
    }
}

/// A host that has missed calls draws with a greater number. Of two coins, one may be a yes by the
/// smaller number alone.
#[test]
fn record_is_honest_when_a_host_has_missed_calls() {
    let mut config = public(Algorithm::CHOICE, 1);
    config.knowledge = Knowledge::Estimated(Estimate::conservative(1_000));
    let mut seen = 0;
    for seed in 0..40 {
        config.coin = Coin::Public { seed: seed.into() };
        let mut field = Field::empty();
        field.chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        field.lost_percent = 40;
        let centre = CouncilPart::Centre(Box::new(config.clone()));
        field.admit_member(member("centre", centre), None, &[], 0);
        host_fleet(&mut field, HOSTS);
        let rounds = first_election(&mut field, 0);
        assert_honest(&config, &rounds, seed);
        seen += rounds.len();
    }
    assert!(seen > 200, "{seen}");
}

/// The hosts that these rounds elected, with the draws of their election.
#[track_caller]
fn elected(config: &Config, rounds: &[Round], what: &str) -> (u32, BTreeSet<MemberId>) {
    let replay = replay(config, rounds);
    let Replay::Elected(Elected { first, all, lost_from: None }) = replay else {
        panic!("{what}: {replay:?}");
    };
    let of_draw = |(round, draw): &(u32, u8)| {
        let (round, draw) = (*round as usize, *draw);
        let voices = rounds[round - 1].replies.iter(); // rounds are numbered from 1
        voices.filter(move |it| it.draws.has(draw)).map(|it| it.host)
    };
    (first.0, all.iter().flat_map(of_draw).collect())
}

/// Runs a centre in a fleet that loses messages. Seated hosts are cut off and come back, again and
/// again, and the centre recruits others for them. Returns the number of rounds of the first
/// election.
fn keep_and_lose(field: &mut Field, config: &Config, seed: u64) -> usize {
    let what = format!("{:?}, seed {seed}", config.algorithm);
    let first = first_election(field, 0).len();
    for _ in 0..5 {
        let status = centre_status(field, 0);
        let (_, drawn) = elected(config, &status.record, &what);
        let seated: BTreeSet<MemberId> = status.seats().map(|it| it.member.id).collect();
        assert!(seated.is_subset(&drawn), "{what}: {seated:?} {drawn:?}");
        let lost = status.seats().map(|it| it.member.name.clone());
        let lost: Vec<String> = lost.skip(seed as usize % 3).collect();
        let places = (0..HOSTS).filter(|it| lost.contains(&format!("host-{it}")));
        let places: Vec<usize> = places.map(|it| it + 1).collect(); // after the centre
        places.iter().for_each(|it| field.sides[*it] = 1);
        field.run(ROUND * 40);
        places.iter().for_each(|it| field.sides[*it] = 0);
    }
    first
}

#[test]
fn record_is_honest_when_vacant_seats_are_filled() {
    let (mut later, mut favours) = (0, 0);
    for algorithm in ALGORITHMS {
        for seed in 0..10 {
            let config = public(algorithm, seed);
            let mut field = lossy_fleet(&config, seed);
            let first = keep_and_lose(&mut field, &config, seed);
            let all = centre_status(&field, 0).record;
            let last = first as u32;
            let what = format!("{algorithm:?}, seed {seed}");
            assert_eq!(elected(&config, &all, &what).0, last, "{what}");
            // Replies that were late for the first rounds may be recorded with later ones.
            let parts = [audit_first, audit_later].map(|it| it(&config, (last, &all), &hosts()));
            for mut disputes in parts.map(|it| it.expect("these are rounds")) {
                disputes.retain(|it| it.cause.is_fault());
                assert_eq!(disputes, [], "{what}");
            }
            let mut rounds = all.clone();
            let favoured = |rounds: &[Round]| {
                let disputes = audit_later(&config, (last, rounds), &hosts());
                let mut disputes = disputes.expect("these are rounds");
                disputes.retain(|it| it.cause == Cause::Favoured);
                disputes
            };
            assert_eq!(favoured(&rounds), [], "{what}");
            later += rounds.len() - first;
            // A host that did not reply is not among the recorded replies.
            let replied = |it: &Round, host| it.replies.iter().any(|it| it.host == host);
            let mut later_ones = rounds[first..].iter_mut();
            let Some(round) = later_ones.find(|it| !it.replies.is_empty()) else {
                continue;
            };
            let favourite = hosts().iter().map(|it| it.id).find(|it| !replied(round, *it));
            round.replies[0].host = favourite.expect("not all replied");
            favours += usize::from(!favoured(&rounds).is_empty());
        }
    }
    assert!(later > 200, "{later}");
    assert!(favours > 20, "{favours}"); // not if its coins say yes by chance
}

/// The audit finds a centre that fills vacant seats and then calls at will, or that records other
/// replies than it used.
#[test]
fn forged_later_round_is_found() {
    let (mut calls, mut silences, mut silenced) = (0, 0, 0);
    for algorithm in ALGORITHMS {
        for seed in 0..10 {
            let config = public(algorithm, seed);
            let mut field = lossy_fleet(&config, seed);
            let first = keep_and_lose(&mut field, &config, seed);
            let honest = centre_status(&field, 0).record;
            for place in first..honest.len() {
                let mut forged = honest.clone();
                let feedback = &mut forged[place].feedback;
                let round = feedback.round;
                // With a number that no centre here would send: the next one may follow if other
                // seats became vacant.
                feedback.word += 4 << 12;
                assert_eq!(replay(&config, &forged), Replay::Departs(round));
                calls += 1;
                if honest[place].replies.is_empty() || place + 1 == honest.len() {
                    continue;
                }
                let mut forged = honest.clone();
                forged[place].replies.clear();
                silences += 1;
                silenced += usize::from(matches!(replay(&config, &forged), Replay::Departs(_)));
            }
        }
    }
    assert!(calls > 200, "{calls}");
    // If another host replied before, or late, the number may be the same.
    assert!(silences > 50 && silenced * 10 > silences * 9, "{silenced} of {silences}");
}

/// A host that lies about its number or its coins would influence the election, and the audit would
/// convict the centre.
#[test]
fn impossible_reply_of_a_host_is_not_recorded() {
    let names: Vec<String> = (0..HOSTS).map(|number| format!("host-{number}")).collect();
    // No host is there, so that the centre calls with 1,000 and then with 126, the next step.
    let drawn = (0..20).find_map(|seed| {
        let config = public(Algorithm::SkipReset, seed);
        let mut field = Field::empty();
        let centre = CouncilPart::Centre(Box::new(config.clone()));
        field.admit_member(member("centre", centre), None, &[], 0);
        while centre_status(&field, 0).record.len() < 2 {
            field.run(ROUND);
        }
        let record = centre_status(&field, 0).record;
        let mut due = audit(&config, &record, &hosts()).expect("these are rounds");
        due.retain(|it| it.round == 2);
        let (due, others): (Vec<&String>, Vec<&String>) =
            names.iter().partition(|name| due.iter().any(|it| it.host == member_id(name)));
        let (due, liar) = (due.first()?.to_string(), others.first()?.to_string());
        Some((field, due, liar))
    });
    let (mut field, due, liar) = drawn.expect("in one of them somebody has to");
    let CentreStatus { record, session, .. } = centre_status(&field, 0);
    let [_, second] = &record[..] else {
        panic!("two rounds were called: {record:?}");
    };
    let lucky = |number| Reply {
        session,
        class: 0,
        round: second.feedback.round,
        draws: Draws(1),
        number,
        priority: Priority(0),
        former: Duration::ZERO,
    };
    let now = field.now;
    let mut say = |host: &str, number_of_frame, reply: Reply| {
        let message = encode(&Message::Reply(reply));
        let frame = Frame {
            group: group_id("test"),
            sender: Sender::new(host, member_id(host), Incarnation(7), 7400),
            number: number_of_frame,
            to_all: false,
            body: Body::HostMessage { message: &message },
        };
        let centre = &mut field.members[0];
        centre.hear(now, address(9), Channel::Unicast, &frame, &mut Outbox::new());
        let refused = centre.emit.counters.council_senseless;
        let record = centre_status(&field, 0).record;
        (refused, record[1].replies.len())
    };
    for (refused, number) in [(1, 125), (2, 127), (3, 999), (4, 1_001), (5, u32::MAX)] {
        assert_eq!(say(&due, refused, lucky(number)), (refused, 0), "{number}");
    }
    assert_eq!(say(&liar, 1, lucky(126)), (6, 0), "its coins say no");
    assert_eq!(say(&due, 6, lucky(126)), (6, 1));
}
