//! One test a claim.

use crate::report;

/// Whoever changes a verdict has to change it here as well.
#[track_caller]
fn assert_verdict(id: &str, verdict: &str) {
    let report = report(id);
    let claims = report["claims"].as_array().expect("a list of claims");
    assert_eq!(claims.len(), 1, "{report}");
    let claim = &claims[0];
    assert_eq!(claim["id"], id);
    assert_eq!(claim["verdict"], verdict, "{claim:#}");
    assert_eq!(claim["as_on_record"], true, "{claim:#}");
    let checks = claim["checks"].as_array().expect("a list of checks");
    for check in checks.iter().filter(|check| check["word"] == "ours") {
        assert_eq!(check["agrees"], true, "{id}: {check:#}");
    }
}

#[test]
fn r1_one_initiator_needs_at_most_3n_minus_1_messages() {
    assert_verdict("R1", "holds");
}

#[test]
fn r2_several_initiators_are_not_bounded_by_3n_minus_1() {
    assert_verdict("R2", "does not hold");
}

#[test]
fn r3_the_best_is_elected_once_if_initiators_participate() {
    assert_verdict("R3", "holds with correction");
}

#[test]
fn r4_the_best_dies_while_its_id_circulates() {
    assert_verdict("R4", "holds");
}

#[test]
fn r5_the_modified_ring_needs_2n_messages() {
    assert_verdict("R5", "holds");
}

#[test]
fn r6_a_coordinator_missing_from_the_list_leads_to_a_new_election() {
    assert_verdict("R6", "holds");
}

#[test]
fn r7_the_successor_of_a_dead_initiator_finds_its_own_id() {
    assert_verdict("R7", "holds");
}

#[test]
fn r8_of_two_initiators_the_lower_is_discarded() {
    assert_verdict("R8", "holds");
}

#[test]
fn r9_a_coordinator_that_dies_after_signing_is_a_new_failure() {
    assert_verdict("R9", "holds");
}

#[test]
fn r10_the_bully_needs_at_best_n_minus_2_messages() {
    assert_verdict("R10", "holds");
}

#[test]
fn r11_the_bully_needs_at_worst_the_square_of_n() {
    assert_verdict("R11", "holds");
}

#[test]
fn r12_the_bully_elects_the_best_live_member_while_time_outs_bound_delays() {
    assert_verdict("R12", "holds");
}
