//! What each claim is about, done wrong: the verdict must fall. A claim is as good as the mutants that turn it.

use hustings_protocol::Duration;
use hustings_protocol::probabilistic::{
    Config, GroupSize, Introduction, LastRound, Recall, Reply, Strategy,
};

use super::super::fall::{assert_ours_falls, mutants};
use super::stage::Stage;
use super::{analysis, strategy, theorems};

/// The same, wrong in one thing.
type Mutant = fn(Config, u64) -> Config;

mutants!(Mutant);

/// K stays what it was in the first round.
fn without_growth(config: Config, _: u64) -> Config {
    with_strategy(config, |strategy| Strategy {
        growth: 1.0,
        // A fifth round of all members is what the others are to avoid, and takes minutes.
        last: LastRound::Grown,
        ..strategy
    })
}

/// Nobody calls a second round.
fn in_one_round(config: Config, _: u64) -> Config {
    with_strategy(config, |strategy| Strategy {
        rounds: 1,
        ..strategy
    })
}

/// One member relays, instead of K.
fn by_one(config: Config, _: u64) -> Config {
    with_strategy(config, |strategy| Strategy {
        first: 1,
        last: LastRound::Grown,
        ..strategy
    })
}

fn with_strategy(config: Config, change: fn(Strategy) -> Strategy) -> Config {
    Config {
        strategy: change(config.strategy),
        ..config
    }
}

/// The filter takes every group to be of the same size.
fn of_five_thousand(config: Config, _: u64) -> Config {
    Config {
        size: GroupSize::Known(5_000),
        ..config
    }
}

#[test]
fn p1_falls_if_one_member_decides_for_all() {
    assert_falls(analysis::p1, by_one);
}

#[test]
fn p2_falls_if_all_that_relay_hear_each_other() {
    assert_falls(analysis::p2, |config, _| Config {
        introduction: Introduction::Multicast,
        ..config
    });
}

#[test]
fn p4_falls_if_nobody_waits_for_decisions() {
    assert_falls(theorems::p4, |config, _| Config {
        wait: Duration::ZERO,
        ..config
    });
}

#[test]
fn p5_falls_if_who_notices_asks_a_hash() {
    assert_falls(theorems::p5, |config, _| Config {
        recall: Recall::Hash,
        ..config
    });
}

#[test]
fn p6_falls_if_equal_choices_are_answered() {
    assert_falls(theorems::p6, |config, _| Config {
        reply: Reply::Literal,
        ..config
    });
}

#[test]
fn p6_falls_if_a_round_takes_longer_in_a_larger_group() {
    assert_falls(theorems::p6, |config, members| Config {
        hop: config.hop * (members / 2_000),
        ..config
    });
}

#[test]
fn p7_falls_if_who_notices_asks_a_hash() {
    assert_falls(strategy::p7, |config, _| Config {
        recall: Recall::Hash,
        ..config
    });
}

#[test]
fn p8_falls_if_k_does_not_grow() {
    assert_falls(strategy::p8, without_growth);
}

#[test]
fn p9_falls_if_the_filter_does_not_know_the_group() {
    assert_falls(strategy::p9, of_five_thousand);
}

#[test]
fn p10_falls_if_there_is_no_second_round() {
    assert_falls(strategy::p10, in_one_round);
}

/// It does not hold as it is: what we say instead falls.
#[test]
fn p11_is_not_as_we_say_if_one_member_decides_for_all() {
    assert_ours_falls(&evaluate(strategy::p11, by_one));
}

#[test]
fn p12_falls_if_the_filter_does_not_know_the_group() {
    assert_falls(analysis::p12, of_five_thousand);
}
