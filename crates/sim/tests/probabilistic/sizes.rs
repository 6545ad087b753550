//! The members' estimates of the group's size: a census before the election.

use hustings_sim::probabilistic::ProbabilisticRun;

use super::*;

/// A group whose members know few others, and count themselves.
fn group_that_counts(crash: f64) -> ProbabilisticTrial {
    ProbabilisticTrial {
        members: 1_000,
        view: 0.1,
        crash,
        unicast_loss: 0.2,
        multicast_loss: 0.05,
        config: Config {
            size: GroupSize::Estimate,
            introduction: Introduction::Multicast,
            ..Config::paper(1_000, HOP)
        },
        purge: true,
    }
}

fn runs(trial: &ProbabilisticTrial, count: u64) -> Vec<ProbabilisticRun> {
    let run = |run| elect(trial, Seeds::new(8, run), Scratch::default()).0;
    (0..count).map(run).collect()
}

#[test]
fn counted_size_draws_as_many_relays_as_a_known_size() {
    let runs = runs(&group_that_counts(0.0), 40);
    let mut mean = 0.0;
    for run in &runs {
        let sizes = run.sizes.expect("they have counted");
        assert!(sizes.deviation < 0.05 * sizes.mean, "{run:?}");
        mean += sizes.mean / 40.0;
    }
    assert!((mean / 1_000.0 - 1.0).abs() < 0.01, "{mean}");
    let relay = runs.iter().map(|run| f64::from(run.relay_members)).sum::<f64>();
    // K is 7, and one in twenty misses the call: the standard error of the mean is 0.41. By their
    // views 70 would relay.
    assert!((relay / 40.0 - 6.65).abs() < 4.5 * 0.41, "{relay}");
}

#[test]
fn member_without_an_estimate_is_not_drawn() {
    for run in runs(&group_that_counts(1.0), 5) {
        assert_eq!(run.sizes, None, "all crash in the count");
        assert_eq!(run.relay_members, 0, "{run:?}");
    }
    // A fifth crashes in the count. The remaining weight differs from count to count, and so does
    // the size.
    let expected = |run: &ProbabilisticRun| {
        let sizes = run.sizes.expect("most come to one");
        0.8 * 0.95 * 7.0 * 1_000.0 / sizes.mean
    };
    let runs = runs(&group_that_counts(0.2), 40);
    let expected = runs.iter().map(expected).sum::<f64>() / 40.0;
    let relay = runs.iter().map(|run| f64::from(run.relay_members));
    let relay = relay.sum::<f64>() / 40.0;
    // By their views, of a hundred, the members without an estimate would add 13.
    let error = (expected / 40.0).sqrt();
    assert!((relay - expected).abs() < 4.5 * error, "{relay} of {expected}");
}

#[test]
fn loss_of_two_in_five_leaves_sizes_right() {
    let mean = runs(&ProbabilisticTrial { unicast_loss: 0.4, ..group_that_counts(0.0) }, 20)
        .iter()
        .map(|run| run.sizes.expect("they have counted").mean / 20.0)
        .sum::<f64>();
    assert!((mean / 1_000.0 - 1.0).abs() < 0.05, "{mean}");
}

#[test]
fn count_is_a_part_of_the_run() {
    let trial = group_that_counts(0.1);
    assert_eq!(runs(&trial, 3), runs(&trial, 3));
    let known = ProbabilisticTrial {
        config: Config { size: GroupSize::Known(1_000), ..trial.config },
        ..trial
    };
    let sizes = |run: &ProbabilisticRun| run.sizes.is_some();
    assert!(runs(&trial, 3).iter().all(sizes));
    assert!(!runs(&known, 3).iter().any(sizes));
}
