//! Tenure keeps its promises in every run within all bounds, and tenures of all kinds occur.

use hustings_model::{Answers, Bounds, Clocks, Coverage, Others, Search, suites};
use hustings_protocol::tenure::Tenure;

/// More than any search here needs.
const MOST_STEPS: usize = 30_000_000;

/// Searches exhaustively.
#[track_caller]
fn exhaust(bounds: &Bounds) -> Search {
    let search = Search::of::<Tenure>(bounds, 1, MOST_STEPS);
    let name = bounds.name;
    assert!(search.found.is_none(), "{name}: {:#?}", search.found);
    assert!(search.is_exhaustive, "{name} is too large");
    search
}

#[test]
fn quick_searches_break_no_promise_and_cover_all_kinds_of_tenure() {
    let searches: Vec<Search> = suites::quick().iter().map(exhaust).collect();
    for event in Coverage::ALL {
        let is_seen = searches.iter().any(|search| search.covers(event));
        // Only within bounds whose search takes minutes.
        assert_eq!(is_seen, event != Coverage::Prolonged, "{event:?}");
    }
}

/// Voters' clocks are faster, and nominees' clocks slower, than nominees allow for.
const TOO_FAST: Bounds = Bounds {
    name: "too fast",
    drift_ppm: 200_000,
    others: Others::informed_from(3),
    ..Bounds::drifting()
};

#[test]
fn excess_drift_allows_two_holders_but_never_with_one_fence() {
    let search = Search::of::<Tenure>(&TOO_FAST, 1, MOST_STEPS);
    assert!(search.found.is_some(), "two may hold at once");
    exhaust(&Bounds { clocks: Clocks::BeyondTheBound, ..TOO_FAST });
    exhaust(&Bounds { drift_ppm: Bounds::drifting().drift_ppm, ..TOO_FAST });
}

/// The reduction is sound: answers that arrive together show the same as answers that arrive one by
/// one.
#[test]
fn grouped_answers_cover_the_same_as_single_ones() {
    let bounds =
        Bounds { ticks: 1, ballots: Some(1), others: Others::informed_from(0), ..Bounds::small() };
    let together = exhaust(&bounds);
    let one_by_one = exhaust(&Bounds { answers: Answers::NoRefusals, ..bounds });
    assert!(one_by_one.states > together.states);
    for event in Coverage::ALL {
        assert_eq!(one_by_one.covers(event), together.covers(event), "{event:?}");
    }
}
