//! Wagner's ring against a table of values computed independently.
//!
//! Every entry of `data/wagner.json` must find its formula here, or be of a run: `fault_` is the
//! protocol's reaction to a wrong message, which the simulator's tests check, and `detect_` an
//! exhaustive search, in `wagner_enumeration`. An entry of an unknown family fails the test.

mod families;

use hustings_theory::wagner::election::{
    adjacent_pair, cost, printed_bound, probability_elected, stages_exceed,
    stages_to_one_or_neighbours, table,
};
use hustings_theory::wagner::informal::{Parity, Sees, best_cheater, printed_cheater};
use hustings_theory::wagner::stall::{StallLimit, endless, false_alarm, least_limit, longest};
use hustings_theory::wagner::subset::{flips_to_decide, rounds};
use hustings_theory::wagner::{Compare, Ring, segment};
use serde_json::Value;

use families::{assert_met, family};

const TABLE: &str = include_str!("data/wagner.json");

/// The number of entries of the table that have a formula.
const FORMULAS: usize = 402;

#[test]
fn every_formula_of_the_table_agrees() {
    assert_met(TABLE, FORMULAS, &["fault_", "detect_"], formula);
}

#[test]
fn unknown_family_has_no_formula() {
    let params = serde_json::json!({ "n": 4 });
    assert_eq!(formula(&family("stages_n4x"), &params), None);
    assert_eq!(formula(&family("messages_n4"), &params), None);
}

fn formula(family: &str, params: &Value) -> Option<f64> {
    let count = |name| families::number(params, name) as usize;
    let (n, f, m) = (|| count("n"), || count("f"), || count("m"));
    let strict = |n| cost(n, Compare::Strict, None);
    let non_strict = |n| cost(n, Compare::NonStrict, None);
    let value = match family {
        "bits_strict_#_#" => flips_to_decide(count("mH"), m(), Compare::Strict),
        "bits_nonstrict_#_#" => flips_to_decide(count("mH"), m(), Compare::NonStrict),
        "subset_rounds_strict_m#" => rounds(m(), Compare::Strict),
        "subset_rounds_nonstrict_m#" => rounds(m(), Compare::NonStrict),
        "stages_n#" => strict(n()).stages,
        "stages_stop#_n#" => stages_to_one_or_neighbours(n()),
        "stages_exceed_n#" => stages_exceed(n(), printed_bound(n())),
        "flips_strict_n#" => strict(n()).flips,
        "flips_nonstrict_n#" => non_strict(n()).flips,
        "rounds_strict_n#" => strict(n()).basic_rounds,
        "rounds_nonstrict_n#" => non_strict(n()).basic_rounds,
        "bits_total_strict_n#" => strict(n()).bits,
        "bits_total_nonstrict_n#" => non_strict(n()).bits,
        "adjacent_pair_n#" => adjacent_pair(n()),
        "elect_prob_n#" => probability_elected(n(), None),
        "df_parity_n#_f#" => segment::best_coin(n(), f(), Ring::BothWays),
        "wagner_df_n#_f#" => segment::elected(n(), f(), Ring::BothWays),
        "stall_n#_f#" => endless(n(), f()),
        "naive_best_ring_both_n#" => best_cheater(n(), Parity::Ring, Sees::Both),
        "naive_best_ring_clockwise_n#" => best_cheater(n(), Parity::Ring, Sees::Clockwise),
        "naive_best_active_both_n#" => best_cheater(n(), Parity::Active, Sees::Both),
        "naive_best_active_clockwise_n#" => best_cheater(n(), Parity::Active, Sees::Clockwise),
        "naive_text_ring_n#" => printed_cheater(n(), Parity::Ring),
        "naive_text_active_n#" => printed_cheater(n(), Parity::Active),
        _ => return None,
    };
    Some(value)
}

/// Independent of the recurrence: the mean of the distribution of the stages.
#[test]
fn stages_have_the_mean_of_their_distribution() {
    let costs = table(1_000, Compare::Strict, None);
    assert_eq!(costs.len(), 999);
    for (place, cost) in costs.iter().enumerate() {
        let mean: f64 = (0..200).map(|stages| stages_exceed(place + 2, stages)).sum();
        assert!((cost.stages / mean - 1.0).abs() < 1e-12, "{place} {cost:?}");
        assert_eq!(cost.basic_rounds, cost.stages + cost.flips);
        assert_eq!(cost.false_alarm, 0.0);
    }
}

#[test]
fn printed_bound_on_stages_holds_for_the_mean_only() {
    for n in [4, 8, 25, 64, 1_000] {
        assert!(cost(n, Compare::Strict, None).stages < f64::from(printed_bound(n)));
        assert!(stages_exceed(n, printed_bound(n)) > 0.1, "{n}");
    }
}

/// W9: two flips in step 4 and a little less than three rounds a subset are true of the non-strict
/// comparison.
#[test]
fn subset_takes_below_three_rounds_if_not_strict() {
    for active in 2..=50 {
        assert!(rounds(active, Compare::NonStrict) < 3.0, "{active}");
    }
    for active in [4, 8, 16, 32] {
        assert!(rounds(active, Compare::Strict) > 3.0, "{active}");
    }
}

/// W10; and the paper's best strategy is not the best.
#[test]
fn informal_protocol_gives_a_cheater_more_than_its_share() {
    for n in [4, 5, 6, 7, 8, 25, 300] {
        let fair = 1.0 / n as f64;
        let best = best_cheater(n, Parity::Ring, Sees::Both);
        assert!(best > fair, "{n}: {best}");
        assert!(best > printed_cheater(n, Parity::Ring), "{n}: {best}");
        assert!(best >= best_cheater(n, Parity::Ring, Sees::Clockwise));
    }
}

#[test]
fn false_alarm_halves_with_each_stage_of_the_limit() {
    let half = |n, stages| {
        let (one, next) = (StallLimit::new(stages), StallLimit::new(stages + 1));
        false_alarm(n, next) / false_alarm(n, one)
    };
    for n in [2, 3, 25, 1_000] {
        assert!((half(n, 40) - 0.5).abs() < 1e-9, "{n}");
        let limit = StallLimit::new(40);
        let alarm = false_alarm(n, limit);
        assert!(alarm > 0.6 * 0.5_f64.powi(40) && alarm <= 0.5_f64.powi(40));
        let elected = probability_elected(n, Some(limit));
        assert!((elected * n as f64 - (1.0 - alarm)).abs() < 1e-15, "{n}");
        assert_eq!(cost(n, Compare::Strict, Some(limit)).false_alarm, alarm);
    }
    assert_eq!(longest(25, StallLimit::new(40)), 960.0);
}

#[test]
fn least_limit_keeps_false_alarms_as_rare_as_wanted() {
    for n in [2, 5, 64] {
        for at_most in [0.9, 0.5, 1e-3, 1e-12] {
            let limit = least_limit(n, at_most);
            assert!(false_alarm(n, limit) <= at_most);
            if limit.equal_stages() > 1 {
                let less = StallLimit::new(limit.equal_stages() - 1);
                assert!(false_alarm(n, less) > at_most, "{n} {at_most}");
            }
        }
    }
    assert_eq!(least_limit(2, 0.5).equal_stages(), 1);
    assert_eq!(least_limit(2, 0.49).equal_stages(), 2);
}

/// W1: an agreed direction lets one more of an odd ring cheat; `floor(n/2) + 1` honest members are
/// too few there.
#[test]
fn longest_harmless_segment_is_below_half_of_the_ring() {
    for (n, both_ways, clockwise) in
        [(2, 0, 0), (3, 0, 1), (4, 1, 1), (5, 1, 2), (6, 2, 2), (25, 11, 12)]
    {
        assert_eq!(segment::largest(n, Ring::BothWays), both_ways, "{n}");
        assert_eq!(segment::largest(n, Ring::Clockwise), clockwise, "{n}");
    }
}
