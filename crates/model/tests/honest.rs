//! Tenure keeps its promises in every run within all bounds, and tenures of all kinds occur.

use hustings_model::{Answers, Clocks, Others, Search, Setting, Sight, settings};
use hustings_protocol::tenure::Tenure;

/// More than any search here needs.
const MOST_STEPS: usize = 30_000_000;

/// Searches exhaustively.
#[track_caller]
fn exhaust(setting: &Setting) -> Search {
    let search = Search::of::<Tenure>(setting, 1, MOST_STEPS);
    let name = setting.name;
    assert!(search.found.is_none(), "{name}: {:#?}", search.found);
    assert!(search.is_exhaustive, "{name} is too large");
    search
}

#[test]
fn quick_searches_break_no_promise_and_cover_all_kinds_of_tenure() {
    let searches: Vec<Search> = settings::quick().iter().map(exhaust).collect();
    for sight in Sight::ALL {
        let is_seen = searches.iter().any(|search| search.has_seen(sight));
        // Only within bounds whose search takes minutes.
        assert_eq!(is_seen, sight != Sight::Prolonged, "{sight:?}");
    }
}

/// Voters' clocks are faster, and nominees' clocks slower, than nominees allow for.
const TOO_FAST: Setting = Setting {
    name: "too fast",
    drift_ppm: 200_000,
    others: Others::informed_from(3),
    ..Setting::drifting()
};

#[test]
fn excess_drift_allows_two_holders_but_never_with_one_fence() {
    let search = Search::of::<Tenure>(&TOO_FAST, 1, MOST_STEPS);
    assert!(search.found.is_some(), "two may hold at once");
    exhaust(&Setting { clocks: Clocks::BeyondTheBound, ..TOO_FAST });
    exhaust(&Setting { drift_ppm: Setting::drifting().drift_ppm, ..TOO_FAST });
}

/// The reduction is sound: answers that arrive together show the same as answers that arrive one by
/// one.
#[test]
fn grouped_answers_cover_the_same_as_single_ones() {
    let setting = Setting {
        ticks: 1,
        ballots: Some(1),
        others: Others::informed_from(0),
        ..Setting::small()
    };
    let together = exhaust(&setting);
    let one_by_one = exhaust(&Setting { answers: Answers::NoRefusals, ..setting });
    assert!(one_by_one.states > together.states);
    for sight in Sight::ALL {
        assert_eq!(one_by_one.has_seen(sight), together.has_seen(sight), "{sight:?}");
    }
}
