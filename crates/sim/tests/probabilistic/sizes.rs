//! How large members hold the group to be: as they estimate by a census before the election.

use hustings_protocol::probabilistic::GroupSize;
use hustings_sim::probabilistic::Run;

use super::*;

/// A group whose members know few others, and count themselves.
fn counted(crash: f64) -> Trial {
    Trial {
        members: 1_000,
        view: 0.1,
        crash,
        unicast_loss: 0.2,
        multicast_loss: 0.05,
        config: Config {
            size: GroupSize::Estimate,
            introduction: Introduction::Multicast,
            ..Config::document(1_000, HOP)
        },
        purge: true,
    }
}

fn runs(trial: &Trial, count: u64) -> Vec<Run> {
    let run = |run| elect(trial, Seeds::new(8, run), Scratch::default()).0;
    (0..count).map(run).collect()
}

#[test]
fn members_that_count_themselves_draw_as_many_as_those_who_know() {
    let runs = runs(&counted(0.0), 40);
    let mut mean = 0.0;
    for run in &runs {
        let sizes = run.sizes.expect("they have counted");
        assert!(sizes.deviation < 0.05 * sizes.mean, "{run:?}");
        mean += sizes.mean / 40.0;
    }
    // One count in some dozens is off by a quarter, as an early parcel arrived and no word of it came back.
    assert!((mean / 1_000.0 - 1.0).abs() < 0.05, "{mean}");
    let relay = runs
        .iter()
        .map(|run| f64::from(run.relay_members))
        .sum::<f64>();
    // K is 7, and one in twenty misses the call: the standard error of the mean is 0.41. By their views 70 would relay.
    assert!((relay / 40.0 - 6.65).abs() < 4.5 * 0.41, "{relay}");
}

#[test]
fn where_nobody_comes_to_a_size_members_go_by_their_views() {
    for run in runs(&counted(1.0), 5) {
        assert_eq!(run.sizes, None, "all crash in the count");
        // Each knows a hundred: about 70 pass the filter of which 7 should, and 66 have heard the call.
        assert!((35..105).contains(&run.relay_members), "{run:?}");
    }
}

#[test]
fn a_count_is_a_part_of_the_run() {
    let trial = counted(0.1);
    assert_eq!(runs(&trial, 3), runs(&trial, 3));
    let known = Trial {
        config: Config {
            size: GroupSize::Known(1_000),
            ..trial.config
        },
        ..trial
    };
    let sizes = |run: &Run| run.sizes.is_some();
    assert!(runs(&trial, 3).iter().all(sizes));
    assert!(!runs(&known, 3).iter().any(sizes));
}
