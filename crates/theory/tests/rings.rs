//! The closed forms against a table of values computed independently.
//!
//! Every entry of `data/rings.json` must find its closed form here, or be a scenario (`scn_`): the
//! run of one particular group, which the simulator's tests check. An entry of an unknown family
//! fails the test.

mod families;

use hustings_theory::bully::{Best, Initiator, bully, bully_if_best_known_dead};
use hustings_theory::rings::{
    Failure, Order, chang_roberts, chang_roberts_literal, modified_ring, modified_ring_with_failure,
};
use serde_json::Value;

use families::{assert_met, family, number};

const TABLE: &str = include_str!("data/rings.json");

/// The number of entries of the table that are not scenarios.
const CLOSED_FORMS: usize = 191;

#[test]
fn every_entry_of_the_table_agrees() {
    assert_met(TABLE, CLOSED_FORMS, &["scn_"], closed_form);
}

#[test]
fn unknown_family_has_no_closed_form() {
    let params = serde_json::json!({ "N": 4, "k": 2 });
    assert_eq!(closed_form(&family("cr_sync_N4_k2x"), &params), None);
    assert_eq!(closed_form(&family("bully_N4"), &params), None);
}

fn closed_form(family: &str, params: &Value) -> Option<f64> {
    let n = number(params, "N");
    let down = |initiator| bully(n, initiator, Best::Down);
    let value = match family {
        "cr_one_best_N#" => chang_roberts(n, 1, Order::Best).messages,
        "cr_one_worst_N#" => chang_roberts(n, 1, Order::Worst).messages,
        "cr_one_expected_N#" => chang_roberts(n, 1, Order::Random).messages,
        "cr_all_best_N#" => chang_roberts(n, n, Order::Best).messages,
        "cr_all_worst_N#" => chang_roberts(n, n, Order::Worst).messages,
        "cr_all_expected_N#" => chang_roberts(n, n, Order::Random).messages,
        "cr_sync_N#_k#" => chang_roberts(n, number(params, "k"), Order::Random).messages,
        "cr_literal_all_N#" => chang_roberts_literal(n).messages,
        "mod_one_N#" => modified_ring(n, 1, Order::Random).messages,
        "mod_all_expected_N#" => modified_ring(n, n, Order::Random).messages,
        "mod_k#_expected_N#" => modified_ring(n, number(params, "k"), Order::Random).messages,
        "mod_one_crash_N#" => modified_ring_with_failure(n, Failure::BestAfterSigning).messages,
        "mod_initiator_dies_N#" => {
            modified_ring_with_failure(n, Failure::InitiatorAfterElection).messages
        }
        "mod_initiator_dies_coord_N#" => {
            modified_ring_with_failure(n, Failure::InitiatorAfterCoordinator).messages
        }
        "bully_best_slide_N#" => bully_if_best_known_dead(n).messages,
        "bully_best_rule_N#" => down(Initiator::SecondHighest).messages,
        "bully_worst_N#" => down(Initiator::Lowest).messages,
        "bully_worst_noans_N#" => {
            let cost = down(Initiator::Lowest);
            cost.messages - cost.messages_answer
        }
        "bully_worst_live_N#" => {
            let cost = down(Initiator::Lowest);
            cost.messages - cost.messages_to_dead
        }
        "bully_expected_N#" => down(Initiator::Random).messages,
        _ => return None,
    };
    Some(value)
}
