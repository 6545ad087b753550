//! Each wrong version breaks a promise, and the checker finds a run that shows it.

use hustings_model::{Answers, Faults, Others, Rate, Search, Setting, Subject, wrong};
use hustings_protocol::Duration;
use hustings_protocol::tenure::{Durable, Tenure};

/// More than any search here needs.
const MOST_STEPS: usize = 30_000_000;

/// The original passes within these bounds, and the wrong version does not.
#[track_caller]
fn caught<S: Subject>(setting: &Setting) {
    survives(setting);
    breaks::<S>(setting);
}

/// The original breaks no property within these bounds.
#[track_caller]
fn survives(setting: &Setting) {
    let honest = Search::of::<Tenure>(setting, 1, MOST_STEPS);
    assert!(honest.found.is_none(), "{:#?}", honest.found);
    let (states, is_exhaustive) = (honest.states, honest.is_exhaustive);
    println!("honest: {states} states, exhaustive {is_exhaustive}");
}

/// Searches until a property is broken.
#[track_caller]
fn breaks<S: Subject>(setting: &Setting) {
    let search = Search::of::<S>(setting, 1, MOST_STEPS);
    let found = search.found.expect("the wrong version breaks a property");
    let (states, steps) = (search.states, found.steps.len());
    println!("wrong: {states} states, {steps} steps: {}", found.property);
}

const NONE: Faults = Faults::NONE;

/// Two units per tick, and a grant of three: a grant of one tick lasts for the next tick, and not
/// for the one after it.
const COARSE: Setting = Setting {
    ttl: 3,
    max_ttl: 3,
    voter_rate: Rate { units: 2, ticks: 1 },
    nominee_rate: Rate { units: 2, ticks: 1 },
    ticks: 1,
    others: Others::informed_from(1),
    ..Setting::small()
};

/// No time passes.
const INSTANT: Setting = Setting { ticks: 0, others: Others::informed_from(0), ..Setting::small() };

/// The limits that nominees allow for.
const DRIFTING: Setting = Setting { others: Others::informed_from(3), ..Setting::drifting() };

/// Only their owners distinguish ballots.
const ONE_COUNTER: Setting = Setting {
    counters: 1,
    others: Others::AT_ONCE,
    faults: Faults { releases: 1, ..NONE },
    ..INSTANT
};

#[test]
fn promise_not_durable() {
    let setting = Setting {
        faults: Faults { voter_restarts: 1, ..NONE },
        ballots: Some(1),
        others: INSTANT.others,
        ..Setting::small()
    };
    caught::<wrong::promise_not_durable::Tenure>(&setting);
}

#[test]
fn no_quarantine() {
    let setting = Setting { faults: Faults { voter_restarts: 1, ..NONE }, ..INSTANT };
    caught::<wrong::no_quarantine::Tenure>(&setting);
}

#[test]
fn clock_started_at_the_reply() {
    let setting = Setting { ticks: 2, others: Others::informed_from(2), ..COARSE };
    caught::<wrong::clock_started_at_the_reply::Tenure>(&setting);
}

#[test]
fn proposals_mixed() {
    let setting = Setting {
        ticks: 2,
        ballots: Some(1),
        proposals: 2,
        others: Others::informed_from(2),
        answers: Answers::NoRefusals,
        ..COARSE
    };
    caught::<wrong::proposals_mixed::Tenure>(&setting);
}

#[test]
fn grant_shortened() {
    let setting = Setting { shorter_ttl: Some(1), ballots: Some(1), proposals: 2, ..COARSE };
    caught::<wrong::grant_shortened::Tenure>(&setting);
}

#[test]
fn no_incarnation() {
    let setting =
        Setting { nominees: 1, faults: Faults { nominee_restarts: 1, ..NONE }, ..INSTANT };
    caught::<wrong::no_incarnation::Tenure>(&setting);
}

#[test]
fn release_not_checked() {
    let setting = Setting {
        nominees: 3,
        counters: 3,
        ballots: Some(1),
        faults: Faults { releases: 1, ..NONE },
        ..INSTANT
    };
    caught::<wrong::release_not_checked::Tenure>(&setting);
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
    let setting = Setting { answers: Answers::NoRefusals, ..INSTANT };
    caught::<wrong::no_majority_of_promises::Tenure>(&setting);
}

#[test]
fn deadline_inclusive() {
    caught::<wrong::deadline_inclusive::Tenure>(&DRIFTING);
}

#[test]
fn max_ttl_lowered() {
    let setting = Setting {
        shorter_ttl: Some(1),
        lower_max_ttl: Some(1),
        ballots: Some(1),
        faults: Faults { voter_restarts: 1, ..NONE },
        ..COARSE
    };
    caught::<wrong::max_ttl_lowered::Tenure>(&setting);
}

#[test]
fn promise_not_raised_by_a_grant() {
    let setting = Setting { counters: 3, proposals: 2, ..INSTANT };
    caught::<wrong::promise_not_raised_by_a_grant::Tenure>(&setting);
}

#[test]
fn holding_after_release() {
    let setting = Setting { faults: Faults { releases: 1, ..NONE }, ..INSTANT };
    caught::<wrong::holding_after_release::Tenure>(&setting);
}

#[test]
fn lost_disk_initialised_with_just_what_others_know() {
    let setting = Setting {
        faults: Faults { lost_disks: 1, ..NONE },
        ballots: Some(1),
        others: INSTANT.others,
        ..Setting::small()
    };
    survives(&setting);
    let just_the_highest = |highest, max_ttl: Duration| Durable {
        counter: highest,
        ..Durable::replacing(highest, max_ttl)
    };
    breaks::<Tenure>(&Setting { replacing: just_the_highest, ..setting });
}

/// A voter loses its disk for the second time. The answers to its first query were recorded, and
/// arrive before the new ones.
#[test]
fn answers_not_bound() {
    let setting = Setting {
        faults: Faults { lost_disks: 1, ..NONE },
        recorded: Some(0),
        counters: 1,
        ballots: Some(1),
        others: Others { from: 2, knowing: 0 },
        answers: Answers::NoRefusals,
        ..Setting::small()
    };
    caught::<wrong::answers_not_bound::Tenure>(&setting);
}

#[test]
fn counter_followed_anywhere() {
    let setting = Setting { faults: Faults { forgeries: 1, ..NONE }, ..INSTANT };
    caught::<wrong::counter_followed_anywhere::Tenure>(&setting);
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
    let setting = Setting { nominees: 1, proposals: 2, ..Setting::small() };
    caught::<wrong::fence_kept_after_a_lapse::Tenure>(&setting);
}

#[test]
fn ballot_goes_on_after_a_lapse() {
    let setting = Setting { nominees: 1, ticks: 2, proposals: 2, ..COARSE };
    caught::<wrong::ballot_goes_on_after_a_lapse::Tenure>(&setting);
}

#[test]
fn release_retires_one_ballot() {
    let setting =
        Setting { nominees: 1, proposals: 2, faults: Faults { releases: 1, ..NONE }, ..INSTANT };
    caught::<wrong::release_retires_one_ballot::Tenure>(&setting);
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
