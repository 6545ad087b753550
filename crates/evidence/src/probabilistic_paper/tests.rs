//! Mutants of the report's elections. Each breaks what a claim is about, and the claim must then
//! fail: a claim is as good as the mutants that refute it.

use hustings_protocol::Duration;
use hustings_protocol::probabilistic::{
    Config, GroupSize, Introduction, LastRound, Recall, ReplyRule, Strategy,
};

use super::super::tests::{assert_own_check_fails, assert_refuted};
use super::{analysis, simulations, theorems};

/// K does not grow after the first round.
fn without_growth(config: Config, _: u64) -> Config {
    with_strategy(config, |strategy| Strategy {
        growth: 1.0,
        // A fifth round of all members takes minutes, and the other rounds are there to avoid it.
        last: LastRound::Grown,
        ..strategy
    })
}

/// No member starts a second round.
fn in_one_round(config: Config, _: u64) -> Config {
    with_strategy(config, |strategy| Strategy { rounds: 1, ..strategy })
}

/// One member relays instead of K.
fn by_one(config: Config, _: u64) -> Config {
    with_strategy(config, |strategy| Strategy { first: 1, last: LastRound::Grown, ..strategy })
}

fn with_strategy(config: Config, change: fn(Strategy) -> Strategy) -> Config {
    Config { strategy: change(config.strategy), ..config }
}

/// The filter assumes the same size for every group.
fn of_five_thousand(config: Config, _: u64) -> Config {
    Config { size: GroupSize::Known(5_000), ..config }
}

#[test]
fn p1_is_refuted_if_one_member_decides_for_all() {
    assert_refuted(analysis::p1, by_one);
}

#[test]
fn p2_is_refuted_if_all_relay_members_hear_each_other() {
    assert_refuted(analysis::p2, |config, _| Config {
        introduction: Introduction::Multicast,
        ..config
    });
}

#[test]
fn p4_is_refuted_if_no_member_waits_for_decisions() {
    assert_refuted(theorems::p4, |config, _| Config { wait: Duration::ZERO, ..config });
}

#[test]
fn p5_is_refuted_if_a_hash_selects_the_next_initiator() {
    assert_refuted(theorems::p5, |config, _| Config { recall: Recall::Hash, ..config });
}

#[test]
fn p6_is_refuted_if_equal_choices_are_answered() {
    assert_refuted(theorems::p6, |config, _| Config { reply: ReplyRule::Literal, ..config });
}

#[test]
fn p6_is_refuted_if_a_round_takes_longer_in_a_larger_group() {
    assert_refuted(theorems::p6, |config, members| Config {
        hop: config.hop * (members / 2_000),
        ..config
    });
}

#[test]
fn p7_is_refuted_if_a_hash_selects_the_next_initiator() {
    assert_refuted(simulations::p7, |config, _| Config { recall: Recall::Hash, ..config });
}

#[test]
fn p8_is_refuted_if_k_does_not_grow() {
    assert_refuted(simulations::p8, without_growth);
}

#[test]
fn p9_is_refuted_if_the_filter_assumes_a_wrong_group_size() {
    assert_refuted(simulations::p9, of_five_thousand);
}

#[test]
fn p10_is_refuted_if_there_is_no_second_round() {
    assert_refuted(simulations::p10, in_one_round);
}

/// The claim does not hold unchanged. Our own statement must fail.
#[test]
fn p11_our_check_fails_if_one_member_decides_for_all() {
    assert_own_check_fails(simulations::p11, by_one);
}

#[test]
fn p12_is_refuted_if_the_filter_assumes_a_wrong_group_size() {
    assert_refuted(analysis::p12, of_five_thousand);
}
