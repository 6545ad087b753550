//! Each wrong version breaks a promise, and the checker finds a run that shows it.

use hustings_model::{Answers, Bounds, Faults, Others, Rate, Search, Sut, wrong};
use hustings_protocol::Duration;
use hustings_protocol::tenure::{Durable, Tenure};

/// More than any search here needs.
const MOST_STEPS: usize = 30_000_000;

/// The original passes within these bounds, and the wrong version does not.
#[track_caller]
fn caught<S: Sut>(bounds: &Bounds) {
    survives(bounds);
    breaks::<S>(bounds);
}

/// The original breaks no property within these bounds.
#[track_caller]
fn survives(bounds: &Bounds) {
    let honest = Search::of::<Tenure>(bounds, 1, MOST_STEPS);
    assert!(honest.found.is_none(), "{:#?}", honest.found);
    let (states, is_exhaustive) = (honest.states, honest.is_exhaustive);
    println!("honest: {states} states, exhaustive {is_exhaustive}");
}

/// Searches until a property is broken.
#[track_caller]
fn breaks<S: Sut>(bounds: &Bounds) {
    let search = Search::of::<S>(bounds, 1, MOST_STEPS);
    let found = search.found.expect("the wrong version breaks a property");
    let (states, steps) = (search.states, found.steps.len());
    println!("wrong: {states} states, {steps} steps: {}", found.property);
}

const NONE: Faults = Faults::NONE;

/// Two units per tick, and a grant of three: a grant of one tick lasts for the next tick, and not
/// for the one after it.
const COARSE: Bounds = Bounds {
    ttl: 3,
    max_ttl: 3,
    voter_rate: Rate { units: 2, ticks: 1 },
    nominee_rate: Rate { units: 2, ticks: 1 },
    ticks: 1,
    others: Others::informed_from(1),
    ..Bounds::small()
};

/// No time passes.
const INSTANT: Bounds = Bounds { ticks: 0, others: Others::informed_from(0), ..Bounds::small() };

/// The limits that nominees allow for.
const DRIFTING: Bounds = Bounds { others: Others::informed_from(3), ..Bounds::drifting() };

/// Only their owners distinguish ballots.
const ONE_COUNTER: Bounds = Bounds {
    counters: 1,
    others: Others::AT_ONCE,
    faults: Faults { releases: 1, ..NONE },
    ..INSTANT
};

#[test]
fn promise_not_durable() {
    let bounds = Bounds {
        faults: Faults { voter_restarts: 1, ..NONE },
        ballots: Some(1),
        others: INSTANT.others,
        ..Bounds::small()
    };
    caught::<wrong::promise_not_durable::Tenure>(&bounds);
}

#[test]
fn no_quarantine() {
    let bounds = Bounds { faults: Faults { voter_restarts: 1, ..NONE }, ..INSTANT };
    caught::<wrong::no_quarantine::Tenure>(&bounds);
}

#[test]
fn clock_started_at_the_reply() {
    let bounds = Bounds { ticks: 2, others: Others::informed_from(2), ..COARSE };
    caught::<wrong::clock_started_at_the_reply::Tenure>(&bounds);
}

#[test]
fn proposals_mixed() {
    let bounds = Bounds {
        ticks: 2,
        ballots: Some(1),
        proposals: 2,
        others: Others::informed_from(2),
        answers: Answers::NoRefusals,
        ..COARSE
    };
    caught::<wrong::proposals_mixed::Tenure>(&bounds);
}

#[test]
fn grant_shortened() {
    let bounds = Bounds { shorter_ttl: Some(1), ballots: Some(1), proposals: 2, ..COARSE };
    caught::<wrong::grant_shortened::Tenure>(&bounds);
}

#[test]
fn no_incarnation() {
    let bounds = Bounds { nominees: 1, faults: Faults { nominee_restarts: 1, ..NONE }, ..INSTANT };
    caught::<wrong::no_incarnation::Tenure>(&bounds);
}

#[test]
fn release_not_checked() {
    let bounds = Bounds {
        nominees: 3,
        counters: 3,
        ballots: Some(1),
        faults: Faults { releases: 1, ..NONE },
        ..INSTANT
    };
    caught::<wrong::release_not_checked::Tenure>(&bounds);
}

#[test]
fn grant_below_the_promise() {
    caught::<wrong::grant_below_the_promise::Tenure>(&INSTANT);
}

#[test]
fn no_drift_factor() {
    caught::<wrong::no_drift_factor::Tenure>(&DRIFTING);
}

#[test]
fn live_grant_does_not_refuse() {
    caught::<wrong::live_grant_does_not_refuse::Tenure>(&INSTANT);
}

#[test]
fn no_majority_of_promises() {
    let bounds = Bounds { answers: Answers::NoRefusals, ..INSTANT };
    caught::<wrong::no_majority_of_promises::Tenure>(&bounds);
}

#[test]
fn deadline_inclusive() {
    caught::<wrong::deadline_inclusive::Tenure>(&DRIFTING);
}

#[test]
fn max_ttl_lowered() {
    let bounds = Bounds {
        shorter_ttl: Some(1),
        lower_max_ttl: Some(1),
        ballots: Some(1),
        faults: Faults { voter_restarts: 1, ..NONE },
        ..COARSE
    };
    caught::<wrong::max_ttl_lowered::Tenure>(&bounds);
}

#[test]
fn promise_not_raised_by_a_grant() {
    let bounds = Bounds { counters: 3, proposals: 2, ..INSTANT };
    caught::<wrong::promise_not_raised_by_a_grant::Tenure>(&bounds);
}

#[test]
fn holding_after_release() {
    let bounds = Bounds { faults: Faults { releases: 1, ..NONE }, ..INSTANT };
    caught::<wrong::holding_after_release::Tenure>(&bounds);
}

#[test]
fn lost_disk_initialised_with_just_what_others_know() {
    let bounds = Bounds {
        faults: Faults { lost_disks: 1, ..NONE },
        ballots: Some(1),
        others: INSTANT.others,
        ..Bounds::small()
    };
    survives(&bounds);
    let just_the_highest = |highest, max_ttl: Duration| Durable {
        counter: highest,
        ..Durable::replacing(highest, max_ttl)
    };
    breaks::<Tenure>(&Bounds { replacing: just_the_highest, ..bounds });
}

/// A voter loses its disk for the second time. The answers to its first query were recorded, and
/// arrive before the new ones.
#[test]
fn answers_not_bound() {
    let bounds = Bounds {
        faults: Faults { lost_disks: 1, ..NONE },
        recorded: Some(0),
        counters: 1,
        ballots: Some(1),
        others: Others { from: 2, knowing: 0 },
        answers: Answers::NoRefusals,
        ..Bounds::small()
    };
    caught::<wrong::answers_not_bound::Tenure>(&bounds);
}

#[test]
fn counter_followed_anywhere() {
    let bounds = Bounds { faults: Faults { forgeries: 1, ..NONE }, ..INSTANT };
    caught::<wrong::counter_followed_anywhere::Tenure>(&bounds);
}

#[test]
fn owner_breaks_ties() {
    caught::<wrong::owner_breaks_ties::Tenure>(&ONE_COUNTER);
}

#[test]
fn equal_counter_accepted() {
    caught::<wrong::equal_counter_accepted::Tenure>(&ONE_COUNTER);
}

#[test]
fn fence_kept_after_a_lapse() {
    let bounds = Bounds { nominees: 1, proposals: 2, ..Bounds::small() };
    caught::<wrong::fence_kept_after_a_lapse::Tenure>(&bounds);
}

#[test]
fn ballot_goes_on_after_a_lapse() {
    let bounds = Bounds { nominees: 1, ticks: 2, proposals: 2, ..COARSE };
    caught::<wrong::ballot_goes_on_after_a_lapse::Tenure>(&bounds);
}

#[test]
fn release_retires_one_ballot() {
    let bounds =
        Bounds { nominees: 1, proposals: 2, faults: Faults { releases: 1, ..NONE }, ..INSTANT };
    caught::<wrong::release_retires_one_ballot::Tenure>(&bounds);
}

#[test]
fn every_wrong_version_has_its_test() {
    let home = concat!(env!("CARGO_MANIFEST_DIR"), "/wrong");
    let mut versions = 0;
    for entry in std::fs::read_dir(home).expect("there are wrong versions") {
        let path = entry.expect("directories are readable").path();
        let name = path.file_stem().expect("a version has a name");
        let name = name.to_string_lossy().replace('-', "_");
        let test = format!("caught::<wrong::{name}::Tenure>");
        assert!(include_str!("wrong_versions.rs").contains(&test), "{name}");
        versions += 1;
    }
    assert_eq!(versions, 22, "one for each rule, except the rule for operators");
}
