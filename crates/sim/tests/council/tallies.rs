//! The two engines of the simulator: individual hosts, and aggregate counts. All metrics have the
//! same distribution.

use hustings_protocol::council::{Algorithm, Estimate, Knowledge, Seats};
use hustings_sim::council::{CouncilTrial, elect};
use hustings_sim::statistics::Sample;
use hustings_sim::{Scratch, Seeds, council_aggregate};
use hustings_theory::council::{self as theory, Election, Loss};

use crate::theory::{ALL, FOUR_TO_EIGHT, ONE, election};
use crate::{Means, measure, trial};

const RUNS: u64 = 3_000;
/// Aggregate runs per run of hosts: they are quick, so that nearly all of the error is the hosts'.
const TALLIES: u64 = 10;
const MOST_ROUNDS: u64 = 100_000;
/// The permitted difference of means in standard errors: one in 150,000 exceeds it by chance.
const STANDARD_ERRORS: f64 = 4.5;

/// The loss of replies and of multicasts.
type Lost = (f64, f64);

const NOTHING: Lost = (0.0, 0.0);

fn tally(runs: u64, one: impl Fn(Seeds) -> council_aggregate::PollRun) -> Means {
    let mut means = Means::default();
    for run in 0..runs {
        let it = one(Seeds::new(9, run));
        assert!(it.seats.is_some(), "no end: run {run}");
        means.rounds.add(it.rounds as f64);
        means.messages.add(it.messages as f64);
        means.peak.add(it.peak_replies as f64);
        let is_first = u8::from(it.success_first_round());
        means.success.add(f64::from(is_first));
    }
    means
}

#[track_caller]
fn assert_alike(what: &str, hosts: &Means, tallies: &Means) {
    for (metric, one, other) in [
        ("rounds", &hosts.rounds, &tallies.rounds),
        ("messages", &hosts.messages, &tallies.messages),
        ("success", &hosts.success, &tallies.success),
        ("peak", &hosts.peak, &tallies.peak),
    ] {
        let mean = |it: &Sample| it.estimate().expect("there were runs").mean;
        let variance = |it: &Sample| it.deviation().powi(2) / it.count() as f64;
        let error = (variance(one) + variance(other)).sqrt();
        let (one, other) = (mean(one), mean(other));
        assert!(
            (one - other).abs() <= STANDARD_ERRORS * error + 1e-9,
            "{what}: {metric} {one} by hosts, {other} by tallies, +- {error}"
        );
    }
}

/// Runs an election with both engines, `runs` times host by host.
#[track_caller]
fn compare(mut trial: CouncilTrial, (reply, multicast): Lost, runs: u64) {
    (trial.reply_loss, trial.multicast_loss) = (reply, multicast);
    let chamber = &trial.config.chambers[0];
    let knowledge = match trial.config.knowledge {
        Knowledge::Told(hosts) if hosts == trial.hosts => theory::Knowledge::Known,
        Knowledge::Told(hosts) => theory::Knowledge::Taken(f64::from(hosts)),
        Knowledge::Polled => theory::Knowledge::Known,
        Knowledge::Estimated(Estimate { alpha, beta, first }) => {
            let first = f64::from(first);
            theory::Knowledge::Estimated(theory::Estimate { alpha, beta, first })
        }
    };
    let (algorithm, c) = (trial.config.algorithm, chamber.c(0));
    let election = Election {
        knowledge,
        loss: Loss { reply, multicast },
        ..election(trial.hosts, chamber.seats, algorithm, c)
    };
    let tallies =
        tally(runs * TALLIES, |seeds| council_aggregate::elect(&election, MOST_ROUNDS, seeds));
    let hosts = measure(&trial, 8, runs);
    assert_alike(&format!("{election:?}"), &hosts, &tallies);
}

/// On average 0.1 of 30 hosts are to reply: there are many rounds without a reply.
#[test]
fn hosts_and_aggregate_agree_on_repeated_undershoots() {
    for algorithm in ALL {
        for lost in [NOTHING, (0.2, 0.1)] {
            compare(trial(30, ONE, algorithm, Knowledge::Told(30), 0.1), lost, RUNS);
        }
    }
}

/// The poll before the rounds is not counted among them, nor are its replies: if all find room
/// there is nothing to count.
#[test]
fn hosts_and_aggregate_agree_if_the_poll_decides() {
    for algorithm in ALL {
        let trial = trial(6, FOUR_TO_EIGHT, algorithm, Knowledge::Polled, 6.0);
        compare(trial, NOTHING, 10);
    }
}

/// Four of six hosts must be heard: polls of all find too few, time after time.
#[test]
fn hosts_and_aggregate_agree_if_most_replies_are_lost() {
    let known = Knowledge::Told(6);
    let estimated = Knowledge::Estimated(Estimate::aggressive(100));
    for algorithm in ALL {
        for knowledge in [known, estimated] {
            let trial = trial(6, FOUR_TO_EIGHT, algorithm, knowledge, 7.0);
            compare(trial, (0.6, 0.0), RUNS);
        }
    }
}

/// Fractional estimates, as small as they become: the smaller they are the more a fraction matters.
#[test]
fn hosts_and_aggregate_agree_on_small_estimates() {
    for (hosts, estimate) in [
        (7, Estimate::aggressive(2_000)),
        (10, Estimate::aggressive(100_000)),
        (10, Estimate::conservative(999)),
    ] {
        for algorithm in ALL {
            let knowledge = Knowledge::Estimated(estimate);
            let trial = trial(hosts, FOUR_TO_EIGHT, algorithm, knowledge, 6.0);
            compare(trial, NOTHING, 3 * RUNS);
        }
    }
}

#[test]
fn hosts_and_aggregate_agree_if_multicasts_are_lost() {
    let few = Seats::new(2, 5);
    for algorithm in ALL {
        for knowledge in [
            Knowledge::Told(50),
            Knowledge::Told(20), // which is wrong
            Knowledge::Estimated(Estimate::aggressive(1_000)),
            Knowledge::Estimated(Estimate::conservative(9)), // far too low
        ] {
            compare(trial(50, few, algorithm, knowledge, 4.5), (0.1, 0.3), RUNS);
        }
    }
}

/// Without loss none of nine hosts would ever draw out with this `c`.
#[test]
fn hosts_and_aggregate_agree_on_a_large_c_with_loss() {
    for algorithm in ALL {
        let trial = trial(60, FOUR_TO_EIGHT, algorithm, Knowledge::Told(60), 10.0);
        compare(trial, (0.2, 0.2), RUNS);
    }
}

/// The naive algorithm ends with any `c`: here all reply at first, and the centre learns their
/// number.
#[test]
fn hosts_and_aggregate_agree_on_a_c_above_the_number_of_hosts() {
    let low = Knowledge::Estimated(Estimate::conservative(9));
    for lost in [NOTHING, (0.3, 0.2)] {
        compare(trial(25, FOUR_TO_EIGHT, Algorithm::Naive, low, 11.0), lost, RUNS);
    }
}

/// Four of six hosts must be heard, and more than half of all replies are lost: many
/// elections take more than three rounds.
#[test]
fn hosts_and_aggregate_stop_after_the_same_rounds() {
    let lost = Loss { reply: 0.6, multicast: 0.0 };
    let mut trial = trial(6, FOUR_TO_EIGHT, Algorithm::Naive, Knowledge::Told(6), 7.0);
    (trial.reply_loss, trial.most_rounds) = (lost.reply, 3);
    let election = Election { loss: lost, ..election(6, FOUR_TO_EIGHT, Algorithm::Naive, 7.0) };
    let (mut hosts, mut tallies) = (Means::default(), Means::default());
    for run in 0..RUNS {
        let (by_hosts, _) = elect(&trial, Seeds::new(10, run), Scratch::default());
        let by_tallies = council_aggregate::elect(&election, 3, Seeds::new(11, run));
        for (means, rounds, messages, is_elected) in [
            (&mut hosts, by_hosts.rounds, by_hosts.messages, by_hosts.seats > 0),
            (&mut tallies, by_tallies.rounds, by_tallies.messages, by_tallies.seats.is_some()),
        ] {
            assert!(is_elected || rounds == 3, "run {run}: {rounds} rounds");
            means.rounds.add(rounds as f64);
            means.messages.add(messages as f64);
            means.success.add(f64::from(u8::from(is_elected)));
            means.peak.add(0.0);
        }
    }
    assert_alike("three rounds at most", &hosts, &tallies);
}

#[test]
fn hosts_and_aggregate_agree_on_the_baseline() {
    let seats = Seats::new(1, 64);
    for (reply, multicast) in [NOTHING, (0.6, 0.0), (0.5, 0.4)] {
        for hosts in [1, 10] {
            let mut trial = trial(hosts, seats, Algorithm::Bolot, Knowledge::Told(1), 1.0);
            (trial.reply_loss, trial.multicast_loss) = (reply, multicast);
            let loss = Loss { reply, multicast };
            let tallies = tally(RUNS * TALLIES, |seeds| {
                council_aggregate::poll(u64::from(hosts), loss, MOST_ROUNDS, seeds)
            });
            let what = format!("{hosts} hosts, {loss:?}");
            assert_alike(&what, &measure(&trial, 8, RUNS), &tallies);
        }
    }
}
