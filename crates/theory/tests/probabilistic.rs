//! The probabilistic election against a table of values computed independently.
//!
//! `data/ple.json` has closed forms (`compare: formula`), which must agree to the eight digits
//! given, and simulations. Simulations that have a formula here must lie within their tolerance.

use hustings_theory::probabilistic::Model;
use hustings_theory::probabilistic::detection::{
    detection_bound, detection_bound_by_hash, detection_bound_printed,
};
use hustings_theory::probabilistic::factors::{e1, e2, e3, e4, e5, success_bound};
use hustings_theory::probabilistic::relay_agreement::{agreement, connected};
use hustings_theory::probabilistic::success::{success_corrected, success_of_best_known};
use serde_json::Value;

mod table;

use table::{Said, assert_met, float, points, text};

const TABLE: &str = include_str!("data/ple.json");

/// Closed forms of the table.
const CLOSED_FORMS: usize = 218;
/// Simulations of the table.
const SIMULATIONS: usize = 6;

#[test]
fn every_closed_form_of_the_table_agrees() {
    assert_met(TABLE, CLOSED_FORMS, |point| {
        let is_closed = point["compare"] == "formula";
        is_closed.then(|| said(point, eight_digits(theory(point))))
    });
}

#[test]
fn simulations_with_a_formula_agree() {
    assert_met(TABLE, SIMULATIONS, |point| {
        (point["compare"] == "simulation").then(|| said(point, theory(point)))
    });
}

fn said(point: &Value, value: f64) -> Said {
    Said { value: Some(value), tolerance: float(point, "tolerance") }
}

/// The bound for any choice function lies below the simulated value for a good one.
#[test]
fn corrected_success_is_below_the_simulated_one() {
    let mut seen = 0;
    for point in points(TABLE) {
        if point["metric"] == "strong" {
            let bound = success_corrected(&model(&point), float(&point["params"], "K_init"));
            let most = float(&point, "expected") + float(&point, "tolerance");
            assert!(bound <= most, "{}: {bound}", point["id"]);
            seen += 1;
        }
    }
    assert_eq!(seen, 4);
}

/// Rounded as in the table: some of its tolerances are finer than that.
fn eight_digits(value: f64) -> f64 {
    let text = format!("{value:.7e}");
    text.parse().expect("a number is written as one")
}

/// The formula for a point of the table.
fn theory(point: &Value) -> f64 {
    let params = &point["params"];
    let k = params["K"].as_f64().unwrap_or(f64::NAN);
    match text(point, "metric") {
        "e1" => e1(&model(point), k),
        "e2" => e2(&model(point), k),
        "e3" => e3(&model(point), k),
        "e4" => e4(&model(point), k),
        "e5" => e5(&model(point), k),
        "product" => success_bound(&model(point), k),
        "p_detection_lb_derived" => detection_bound(&model(point), k),
        "p_detection_lb_printed_literal" => detection_bound_printed(&model(point), k),
        "p_detection_lb_with_hash_suppression" => detection_bound_by_hash(&model(point), k),
        "p_connected_exact" => {
            let members = params["m"].as_u64().expect("a number of vertices");
            connected(members, float(params, "edge_prob"))
        }
        "p_two_leaders_given_2_relays" => 1.0 - agreement(2, float(params, "view_prob"), 0.0),
        "strong" => success_of_best_known(&model(point), float(params, "K_init")),
        other => panic!("unknown metric {other}"),
    }
}

/// The model of a point; Theorem 2 ignores views and unicasts.
fn model(point: &Value) -> Model {
    let params = &point["params"];
    let number = |name: &str| params[name].as_f64().unwrap_or(0.0);
    Model {
        members: params["N"].as_u64().expect("a group"),
        view: number("view_prob"),
        crash: number("p_fail"),
        unicast_loss: number("p_u"),
        multicast_loss: number("p_m"),
    }
}
