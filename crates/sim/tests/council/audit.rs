//! Draws with public coins can be checked by any member that has heard the feedbacks.

use hustings_protocol::council::{
    Algorithm, Cause, Coin, Config, Council, Dispute, Draws, Knowledge, Message, Replay, Round,
    Seats, Voice, audit, audit_later, replay,
};
use hustings_protocol::{Candidate, Instant, MemberId};
use hustings_sim::council::{CouncilTrial, elect_traced};
use hustings_sim::{Event, Scratch, Seeds, Trace};

use crate::{ROUND, assert_mean, measure, trial};

/// The rounds, as a centre would publish them.
#[derive(Default)]
struct Records(Vec<Round>);

impl Trace<Council> for Records {
    const ON: bool = true;

    fn record(&mut self, _: Instant, event: Event<'_, Council>) {
        match event {
            Event::Multicast { message: Message::Feedback(feedback), .. } => {
                self.0.push(Round { feedback: *feedback, replies: Vec::new(), late: Vec::new() });
            }
            Event::Sent { from, message: Message::Reply(reply), .. } => {
                let round = self.0.last_mut().expect("a reply follows a feedback");
                round.replies.push(Voice {
                    host: MemberId(u64::from(from)),
                    draws: reply.draws,
                    number: reply.number,
                });
            }
            _ => {}
        }
    }
}

fn public(algorithm: Algorithm) -> CouncilTrial {
    let mut trial = trial(500, Seats::new(1, 1), algorithm, Knowledge::Told(500), 1.1);
    trial.config.coin = Coin::Public { seed: 4711 };
    trial
}

fn rounds(trial: &CouncilTrial, run: u64) -> Vec<Round> {
    let seeds = Seeds::new(17, run);
    elect_traced(trial, seeds, Scratch::default(), Records::default(), || true).1.0
}

fn hosts() -> Vec<Candidate> {
    (1..=500).map(|id| Candidate::new(id, 0)).collect()
}

const ALGORITHMS: [Algorithm; 5] = [
    Algorithm::Naive,
    Algorithm::Basic,
    Algorithm::SkipReset,
    Algorithm::CHOICE,
    Algorithm::HISTORY,
];

/// The coins of a session are the same for every run, so that runs differ by the seed of the coins
/// alone.
fn seeded(algorithm: Algorithm, seed: u64) -> CouncilTrial {
    let mut trial = public(algorithm);
    trial.config.coin = Coin::Public { seed: seed.into() };
    trial
}

#[test]
fn exactly_the_required_hosts_replied() {
    let mut longest = 0;
    for algorithm in ALGORITHMS {
        for seed in 0..20 {
            let trial = seeded(algorithm, seed);
            let rounds = rounds(&trial, 0);
            longest = longest.max(rounds.len());
            let disputes = audit(&trial.config, &rounds, &hosts());
            assert_eq!(disputes, Some(vec![]), "{algorithm:?}, seed {seed}");
            let replay = replay(&trial.config, &rounds);
            let last = rounds.last().expect("there were some").feedback.round;
            let is_over = matches!(&replay, Replay::Elected(it) if it.first.0 == last);
            assert!(is_over, "{algorithm:?}, seed {seed}: {replay:?}");
        }
    }
    assert!(longest >= 4, "no election was long enough for the test");
}

#[test]
fn favoured_and_omitted_hosts_are_found() {
    for algorithm in ALGORITHMS {
        let trial = public(algorithm);
        let mut rounds = rounds(&trial, 0);
        let last = rounds.iter_mut().rfind(|it| !it.replies.is_empty());
        let last = last.expect("a host replied");
        let round = last.feedback.round;
        let Voice { host: left_out, number, .. } = last.replies.remove(0);
        let favourite = hosts()
            .iter()
            .map(|it| it.id)
            .find(|id| *id != left_out && last.replies.iter().all(|it| it.host != *id))
            .expect("most did not reply");
        last.replies.push(Voice { host: favourite, draws: Draws(1), number });
        let mut expected = vec![(favourite, Cause::Favoured), (left_out, Cause::Missing)];
        expected.sort_unstable_by_key(|(host, _)| *host);
        let expected: Vec<Dispute> =
            expected.into_iter().map(|(host, cause)| Dispute { round, host, cause }).collect();
        let disputes = audit(&trial.config, &rounds, &hosts()).expect("these are rounds");
        assert_eq!(disputes, expected, "{algorithm:?}");
    }
}

/// All replied as they had to, but the centre broke its rules: it called all again until the host
/// that it wanted replied.
#[test]
fn centre_that_breaks_its_rules_is_found() {
    let mut found = 0;
    for seed in 0..20 {
        let mut trial = seeded(Algorithm::SkipReset, seed);
        let rounds = rounds(&trial, 0);
        let before = replay(&trial.config, &rounds);
        assert!(matches!(before, Replay::Elected(_)), "{before:?}");
        trial.config.knowledge = Knowledge::Told(499);
        assert_eq!(replay(&trial.config, &rounds), Replay::Departs(1));
        let mut rounds = rounds;
        trial.config.knowledge = Knowledge::Told(500);
        for round in &mut rounds {
            if round.feedback.base != 0 {
                round.feedback.base = 0;
                round.feedback.word = 500 << 1 | 1;
                let number = round.feedback.round;
                assert_eq!(replay(&trial.config, &rounds), Replay::Departs(number));
                found += 1;
                break;
            }
        }
    }
    assert!(found > 5, "{found}");
}

/// Coins depend on the round: a centre that could begin with any round would look for one whose
/// coins it prefers.
#[test]
fn election_that_skips_the_first_round_is_no_draw() {
    for algorithm in ALGORITHMS {
        let trial = public(algorithm);
        let mut shifted = rounds(&trial, 0);
        for Round { feedback, .. } in &mut shifted {
            feedback.round += 7;
            feedback.base += if feedback.base == 0 { 0 } else { 7 };
        }
        assert_eq!(replay(&trial.config, &shifted), Replay::Begins(8));
        assert_eq!(audit(&trial.config, &shifted, &hosts()), None);
    }
    // A number chosen such that a friend is the only host that must reply.
    let trial = public(Algorithm::SkipReset);
    let (first, friend) = (rounds(&trial, 0)[0].clone(), MemberId(77));
    let ground = (2..).map(|number| {
        let mut round = first.clone();
        round.feedback.round = number;
        let only = |host| Voice { host, draws: Draws(1), number: 500 };
        round.replies = vec![only(friend)];
        [round]
    });
    let is_clean = |it: &[Round; 1]| {
        let last = it[0].feedback.round - 1;
        audit_later(&trial.config, (last, it), &hosts()) == Some(vec![])
    };
    let ground = ground.take(20_000).find(is_clean).expect("some number does");
    let begins = ground[0].feedback.round;
    assert_eq!(replay(&trial.config, &ground), Replay::Begins(begins));
    assert_eq!(audit(&trial.config, &ground, &hosts()), None);
}

/// After an election the next begins with the number that it has left, and with the round that
/// follows.
#[test]
fn centre_that_breaks_its_rules_when_refilling_is_found() {
    for algorithm in ALGORITHMS {
        let mut trial = public(algorithm);
        trial.config.chambers[0].keep = 1;
        let mut rounds = rounds(&trial, 0);
        let last = rounds.last().expect("there were some").feedback.round;
        let mut next = rounds[0].clone();
        (next.feedback.round, next.replies) = (last + 1, Vec::new());
        rounds.push(next);
        let went = replay(&trial.config, &rounds);
        assert!(
            matches!(&went, Replay::Elected(it) if it.first.0 == last),
            "{algorithm:?}: {went:?}"
        );

        // In a poll every host that did not reply is missing.
        let poll = rounds.last_mut().expect("just pushed");
        poll.feedback.word = match algorithm {
            Algorithm::Naive | Algorithm::Basic => 0,
            Algorithm::CHOICE => 2,
            _ => 1,
        };
        assert_eq!(replay(&trial.config, &rounds), Replay::Departs(last + 1));
        let later = |after| audit_later(&trial.config, (after, &rounds[last as usize..]), &hosts());
        let missing = later(last).expect("it follows");
        assert_eq!(missing.len(), 500, "{algorithm:?}");
        assert!(missing.iter().all(|it| it.cause == Cause::Missing));
        assert_eq!(later(last - 1), None);
    }
}

/// A centre that begins anew gets the same coins; otherwise it could repeat until it likes the
/// result.
#[test]
fn new_session_has_the_same_coins() {
    let trial = public(Algorithm::SkipReset);
    let mut again = rounds(&trial, 0);
    for round in &mut again {
        round.feedback.session += 1;
    }
    assert_eq!(audit(&trial.config, &again, &hosts()), Some(vec![]));
}

#[test]
fn missing_rounds_and_private_coins_cannot_be_checked() {
    let trial = (0..50).map(|seed| seeded(Algorithm::SkipReset, seed));
    let long = trial.map(|it| (it.clone(), rounds(&it, 0)));
    let (trial, mut rounds) = long.rev().find(|(_, it)| it.len() >= 3).expect("one is long");
    rounds.remove(1);
    assert_eq!(audit(&trial.config, &rounds, &hosts()), None);
    let private = Config { coin: Coin::Private, ..trial.config };
    assert_eq!(audit(&private, &rounds[..1], &hosts()), None);
    assert_eq!(private.round, ROUND);
}

#[test]
fn public_coins_are_as_fair_as_private_ones() {
    // A new seed for each run: one seed is one election.
    let mut rounds = hustings_sim::statistics::Sample::new(hustings_sim::statistics::Kind::Number);
    for seed in 0..3_000 {
        let trial = seeded(Algorithm::SkipReset, seed);
        let (run, _) = hustings_sim::council::elect(&trial, Seeds::new(18, 0), Scratch::default());
        rounds.add(run.rounds as f64);
    }
    let private = trial(500, Seats::new(1, 1), Algorithm::SkipReset, Knowledge::Told(500), 1.1);
    let private = measure(&private, 19, 20_000).rounds;
    let mean = private.estimate().expect("there were runs").mean;
    assert_mean("rounds with public coins", &rounds, mean);
}

/// The centre refuses what the audit finds to be a fault, so honest hosts must never be among it,
/// for any calls that they miss.
#[test]
fn host_that_misses_calls_is_never_reported_as_faulty() {
    let mut missed_calls = 0;
    for algorithm in ALGORITHMS {
        for seed in 0..40 {
            let mut config = Config::field(Seats::new(4, 8), 100_000, ROUND);
            (config.algorithm, config.lease) = (algorithm, None);
            config.coin = Coin::Public { seed: seed.into() };
            let mut trial = CouncilTrial::new(500, config);
            (trial.multicast_loss, trial.reply_loss) = (0.5, 0.5);
            let rounds = rounds(&trial, seed);
            let disputes = audit(&trial.config, &rounds, &hosts()).expect("these are rounds");
            let faults = disputes.iter().filter(|it| it.cause.is_fault());
            let faults: Vec<&Dispute> = faults.collect();
            assert!(faults.is_empty(), "{algorithm:?}, seed {seed}: {faults:?}");
            let missed = disputes.iter().filter(|it| it.cause == Cause::MissedCalls);
            missed_calls += missed.count();
        }
    }
    assert!(missed_calls > 200, "{missed_calls}");
}
