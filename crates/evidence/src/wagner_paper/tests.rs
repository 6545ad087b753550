//! Mutants of the paper's draws. Each breaks what a claim is about, and the claim must then fail: a
//! claim is as good as the mutants that refute it.

use hustings_protocol::wagner::Config;
use hustings_protocol::wagner::subset::{Compare, Selection};
use hustings_sim::wagner::{Cheat, DrawTrial, Segment};

use super::super::tests::{assert_own_check_fails, assert_refuted};
use super::{draws, faults};

fn with_config(trial: DrawTrial, change: fn(Config) -> Config) -> DrawTrial {
    DrawTrial { config: change(trial.config), ..trial }
}

fn with_cheaters(trial: DrawTrial, change: fn(Segment) -> Segment) -> DrawTrial {
    DrawTrial { cheaters: trial.cheaters.into_iter().map(change).collect(), ..trial }
}

/// One more member cheats, if at least two honest members are left.
fn one_more(trial: DrawTrial) -> DrawTrial {
    let is_one_too_many = |it: &Segment| it.len(trial.members) + 2 >= trial.members;
    if trial.cheaters.iter().all(is_one_too_many) {
        return trial;
    }
    with_cheaters(trial, |segment| Segment { to: segment.to + 1, ..segment })
}

/// One member fewer cheats.
fn one_fewer(trial: DrawTrial) -> DrawTrial {
    with_cheaters(trial, |segment| Segment { to: segment.to - 1, ..segment })
}

/// Members cheat by flips alone. No other member can notice that.
fn by_flips(trial: DrawTrial) -> DrawTrial {
    with_cheaters(trial, |segment| Segment { cheat: Cheat::DeterministicFlip, ..segment })
}

/// Equal stages are never a fault.
fn without_limit(trial: DrawTrial) -> DrawTrial {
    with_config(trial, |config| Config { stall_limit: None, ..config })
}

/// Comparisons are strict, as printed.
fn strictly(trial: DrawTrial) -> DrawTrial {
    with_config(trial, |config| Config { compare: Compare::Strict, ..config })
}

/// The subset that stays is chosen in proportion to its members.
fn in_proportion(trial: DrawTrial) -> DrawTrial {
    with_config(trial, |config| Config { selection: Selection::Proportional, ..config })
}

#[test]
fn w1_is_refuted_if_one_more_member_cheats() {
    assert_refuted(faults::w1, one_more);
}

#[test]
fn w2_is_refuted_if_no_message_is_wrong() {
    assert_refuted(faults::w2, by_flips);
}

#[test]
fn w3_is_refuted_if_silence_is_no_fault() {
    assert_refuted(faults::w3, |trial| {
        with_config(trial, |config| Config { respond_within: None, ..config })
    });
}

#[test]
fn w4_is_refuted_if_one_fewer_member_cheats() {
    assert_refuted(faults::w4, one_fewer);
}

#[test]
fn w5_is_refuted_if_cheaters_control_the_coin() {
    assert_refuted(draws::w5, |trial| {
        let bests = |it: &Segment| matches!(it.cheat, Cheat::Best(_));
        if trial.cheaters.iter().any(bests) {
            return trial; // the scheme is computed for this number of cheaters
        }
        one_more(trial)
    });
}

#[test]
fn w6_is_refuted_if_equal_stages_are_no_fault() {
    assert_refuted(draws::w6, without_limit);
}

/// The claim on logarithms is theory. Our measured addition must fail.
#[test]
fn w7_our_check_fails_if_comparisons_are_strict() {
    assert_own_check_fails(draws::w7, strictly);
}

#[test]
fn w8_is_refuted_if_two_members_stall() {
    assert_refuted(draws::w8, |trial| DrawTrial {
        cheaters: vec![Segment { cheat: Cheat::StaleMate, from: 0, to: 1 }],
        ..trial
    });
}

#[test]
fn w9_is_refuted_if_comparisons_are_strict() {
    assert_refuted(draws::w9, strictly);
}

#[test]
fn w10_is_refuted_if_the_informal_protocol_is_fair() {
    assert_refuted(draws::w10, in_proportion);
}

#[test]
fn w11_is_refuted_if_equal_stages_are_no_fault() {
    assert_refuted(draws::w11, without_limit);
}

#[test]
fn w12_is_refuted_if_no_member_reports_a_fault() {
    assert_refuted(faults::w12, by_flips);
}
