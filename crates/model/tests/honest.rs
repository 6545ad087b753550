//! Tenure keeps its promises in every run of every setting, and not because nothing ever happens there.

use hustings_model::{Answers, Clocks, Others, Search, Setting, Sight, settings};
use hustings_protocol::tenure::Tenure;

/// More than any of these needs.
const MOST_STEPS: usize = 30_000_000;

/// Searches a setting to its end.
#[track_caller]
fn exhaust(setting: &Setting) -> Search {
    let search = Search::of::<Tenure>(setting, 1, MOST_STEPS);
    let name = setting.name;
    assert!(search.found.is_none(), "{name}: {:#?}", search.found);
    assert!(search.is_exhaustive, "{name} is too large");
    search
}

#[test]
fn no_run_of_a_quick_setting_breaks_a_promise_and_all_kinds_of_tenure_occur() {
    let searches: Vec<Search> = settings::quick().iter().map(exhaust).collect();
    for sight in Sight::ALL {
        let is_seen = searches.iter().any(|search| search.has_seen(sight));
        // Only in a setting that takes minutes.
        assert_eq!(is_seen, sight != Sight::Prolonged, "{sight:?}");
    }
}

/// Clocks of voters faster, and clocks of nominees slower, than nominees take them for.
const TOO_FAST: Setting = Setting {
    name: "too fast",
    drift_ppm: 200_000,
    others: Others::informed_from(3),
    ..Setting::drifting()
};

#[test]
fn clocks_beyond_the_bound_let_two_hold_at_once_but_never_with_one_fence() {
    let search = Search::of::<Tenure>(&TOO_FAST, 1, MOST_STEPS);
    assert!(search.found.is_some(), "two may hold at once");
    exhaust(&Setting {
        clocks: Clocks::BeyondTheBound,
        ..TOO_FAST
    });
    exhaust(&Setting {
        drift_ppm: Setting::drifting().drift_ppm,
        ..TOO_FAST
    });
}

/// The reduction: what is found with answers that come together is found with those that come one by one.
#[test]
fn answers_may_as_well_come_together() {
    let setting = Setting {
        ticks: 1,
        ballots: Some(1),
        others: Others::informed_from(0),
        ..Setting::small()
    };
    let together = exhaust(&setting);
    let one_by_one = exhaust(&Setting {
        answers: Answers::NoRefusals,
        ..setting
    });
    assert!(one_by_one.states > together.states);
    for sight in Sight::ALL {
        assert_eq!(
            one_by_one.has_seen(sight),
            together.has_seen(sight),
            "{sight:?}"
        );
    }
}
