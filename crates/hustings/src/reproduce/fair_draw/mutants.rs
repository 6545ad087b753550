//! What each claim is about, done wrong: the verdict must fall. A claim is as good as the mutants that turn it.

use hustings_protocol::wagner::Config;
use hustings_protocol::wagner::subset::{Compare, Selection};
use hustings_sim::wagner::{Cheat, Segment, Trial};

use super::super::fall::{assert_ours_falls, mutants};
use super::stage::Stage;
use super::{draws, faults};

/// The same, wrong in one thing.
type Mutant = fn(Trial) -> Trial;

mutants!(Mutant);

fn with_config(trial: Trial, change: fn(Config) -> Config) -> Trial {
    Trial {
        config: change(trial.config),
        ..trial
    }
}

fn with_cheaters(trial: Trial, change: fn(Segment) -> Segment) -> Trial {
    Trial {
        cheaters: trial.cheaters.into_iter().map(change).collect(),
        ..trial
    }
}

/// One member more cheats, if two are left.
fn one_more(trial: Trial) -> Trial {
    let is_one_too_many = |it: &Segment| it.len(trial.members) + 2 >= trial.members;
    if trial.cheaters.iter().all(is_one_too_many) {
        return trial;
    }
    with_cheaters(trial, |segment| Segment {
        to: segment.to + 1,
        ..segment
    })
}

/// One member fewer cheats.
fn one_fewer(trial: Trial) -> Trial {
    with_cheaters(trial, |segment| Segment {
        to: segment.to - 1,
        ..segment
    })
}

/// They cheat by flips alone, which nobody notices.
fn by_flips(trial: Trial) -> Trial {
    with_cheaters(trial, |segment| Segment {
        cheat: Cheat::DeterministicFlip,
        ..segment
    })
}

/// Equal stages are never a fault.
fn without_limit(trial: Trial) -> Trial {
    with_config(trial, |config| Config {
        stall_limit: None,
        ..config
    })
}

/// Comparisons are strict, as printed.
fn strictly(trial: Trial) -> Trial {
    with_config(trial, |config| Config {
        compare: Compare::Strict,
        ..config
    })
}

/// The part that stays is chosen in the proportion of its members.
fn in_proportion(trial: Trial) -> Trial {
    with_config(trial, |config| Config {
        selection: Selection::Proportional,
        ..config
    })
}

#[test]
fn w1_falls_if_one_more_cheats() {
    assert_falls(faults::w1, one_more);
}

#[test]
fn w2_falls_if_no_message_is_wrong() {
    assert_falls(faults::w2, by_flips);
}

#[test]
fn w3_falls_if_nobody_minds_silence() {
    assert_falls(faults::w3, |trial| {
        with_config(trial, |config| Config {
            respond_within: None,
            ..config
        })
    });
}

#[test]
fn w4_falls_if_one_fewer_cheats() {
    assert_falls(faults::w4, one_fewer);
}

#[test]
fn w5_falls_if_the_coin_is_the_cheaters() {
    assert_falls(draws::w5, |trial| {
        let bests = |it: &Segment| matches!(it.cheat, Cheat::Best(_));
        if trial.cheaters.iter().any(bests) {
            return trial; // what they know is not for more of them
        }
        one_more(trial)
    });
}

#[test]
fn w6_falls_if_equal_stages_are_no_fault() {
    assert_falls(draws::w6, without_limit);
}

/// What it says of logarithms is theory; what we add to it is measured.
#[test]
fn w7_is_not_as_we_say_if_comparisons_are_strict() {
    assert_ours_falls(&evaluate(draws::w7, strictly));
}

#[test]
fn w8_falls_if_two_stall() {
    assert_falls(draws::w8, |trial| Trial {
        cheaters: vec![Segment {
            cheat: Cheat::StaleMate,
            from: 0,
            to: 1,
        }],
        ..trial
    });
}

#[test]
fn w9_falls_if_comparisons_are_strict() {
    assert_falls(draws::w9, strictly);
}

#[test]
fn w10_falls_if_the_informal_protocol_is_fair() {
    assert_falls(draws::w10, in_proportion);
}

#[test]
fn w11_falls_if_equal_stages_are_no_fault() {
    assert_falls(draws::w11, without_limit);
}

#[test]
fn w12_falls_if_nobody_says_that_there_is_a_fault() {
    assert_falls(faults::w12, by_flips);
}
