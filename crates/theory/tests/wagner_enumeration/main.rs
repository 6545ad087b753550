//! Wagner's ring, executed for every case: all flips of all members, all bits of `t`, all streams
//! of a faulty segment.
//!
//! No formula is used here. Sets of members are bits of a number, and sets change as the paper
//! says.

mod basic;
mod election;

use basic::{Arc, Watch};
use election::Election;
use hustings_theory::wagner::election::{
    adjacent_pair, cost, probability_elected, stages_to_one_or_neighbours,
};
use hustings_theory::wagner::informal::{Parity, Sees, best_cheater};
use hustings_theory::wagner::stall::{StallLimit, endless};
use hustings_theory::wagner::subset::{flips_to_decide, survivors};
use hustings_theory::wagner::{Compare, Ring, segment};
use serde_json::Value;

const RULES: [Compare; 2] = [Compare::Strict, Compare::NonStrict];

#[track_caller]
fn assert_close(got: f64, expected: f64, what: impl std::fmt::Debug) {
    let error = (got - expected).abs();
    assert!(error <= 1e-11 * expected.abs().max(1.0), "{what:?}: {got}, not {expected}");
}

#[test]
fn step_4_flips_agree_with_enumeration() {
    for compare in RULES {
        for active in 2..=40 {
            for heads in 1..active {
                let (flips, below) = election::compare_bits(heads, active, compare);
                let expected = flips_to_decide(heads, active, compare);
                assert_close(flips, expected, (heads, active, compare));
                assert_close(below, heads as f64 / active as f64, "fair");
            }
        }
    }
}

#[test]
fn election_cost_agrees_with_enumeration() {
    for compare in RULES {
        for n in 2..=8 {
            let played = Election::play(n, compare, None);
            let expected = cost(n, compare, None);
            assert_close(played.stages, expected.stages, (n, compare));
            assert_close(played.flips, expected.flips, (n, compare));
            for elected in played.elected {
                assert_close(elected, probability_elected(n, None), n);
            }
            if n >= 3 {
                assert_close(played.adjacent, adjacent_pair(n), n);
                let stages = played.stages_to_neighbours;
                assert_close(stages, stages_to_one_or_neighbours(n), n);
            }
        }
    }
}

#[test]
fn stall_limit_agrees_with_enumeration() {
    for n in 2..=7 {
        for stages in 1..=4 {
            let limit = StallLimit::new(stages);
            let played = Election::play(n, Compare::NonStrict, Some(stages));
            let expected = cost(n, Compare::NonStrict, Some(limit));
            assert_close(played.stages, expected.stages, (n, stages));
            assert_close(played.flips, expected.flips, (n, stages));
            assert_close(played.alarm, expected.false_alarm, (n, stages));
            for elected in played.elected {
                assert_close(elected, probability_elected(n, Some(limit)), (n, stages));
            }
        }
    }
}

#[test]
fn one_member_stays_active_and_each_other_by_a_flip() {
    for active in 2..=8 {
        for (place, chance) in election::survivors_of(active).iter().enumerate() {
            assert_close(*chance, survivors(active)[place], (active, place));
        }
    }
}

#[test]
fn best_cheater_agrees_with_enumeration() {
    for n in 3..=8 {
        for parity in [Parity::Ring, Parity::Active] {
            for sees in [Sees::Both, Sees::Clockwise] {
                let found = election::informal_cheater(n, parity, sees);
                assert_close(best_cheater(n, parity, sees), found, (n, parity, sees));
            }
        }
    }
}

/// The repair is needed: without it the game of stalling has this value.
#[test]
fn stalling_agrees_with_enumeration() {
    for (n, cheaters) in [(4, 1), (5, 1), (6, 1), (6, 2), (7, 2), (8, 2), (8, 3)] {
        let found = election::stalling(n, cheaters);
        let error = (found - endless(n, cheaters)).abs();
        assert!(error < 1e-9, "{n} {cheaters}: {found}");
    }
}

/// A segment that may still choose a flip when all honest ones are known controls the parity;
/// otherwise it is fair.
#[test]
fn segment_controls_the_coin_if_it_can_see_all_flips() {
    for ring in [Ring::BothWays, Ring::Clockwise] {
        for n in 2..=13 {
            for cheaters in 1..n {
                let hidden = Arc::fewest_hidden(n, cheaters, ring);
                let coin = if hidden == 0 { 1.0 } else { 0.5 };
                let expected = segment::best_coin(n, cheaters, ring);
                assert_eq!(coin, expected, "{n} {cheaters} {ring:?}");
            }
        }
    }
}

/// W2: of all streams that a segment can send, only those of `n` consistent flips pass.
#[test]
fn every_inconsistent_stream_is_noticed() {
    let points: Value = serde_json::from_str(include_str!("../data/wagner.json")).unwrap();
    let mut met = 0;
    for (n, cheaters) in [(4, 1), (4, 2), (5, 1), (5, 2), (6, 1)] {
        let Watch { faults, fewest } = Watch::all_streams(n, cheaters);
        let all = 1 << (n - cheaters + 2 * n);
        assert_eq!(faults, all - (1 << n), "{n} {cheaters}");
        for (what, found) in [("exhaustive", faults), ("min", fewest)] {
            let id = format!("detect_{what}_n{n}_f{cheaters}");
            let points = points["points"].as_array().unwrap();
            if let Some(point) = points.iter().find(|point| point["id"] == id.as_str()) {
                assert_eq!(point["value"], found, "{id}");
                met += 1;
            }
        }
    }
    assert_eq!(met, 6);
}
