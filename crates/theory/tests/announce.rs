//! The announce family against a table of values computed independently.
//!
//! `data/le.json` has closed forms (`compare: formula`, or `closed_form`), which must agree to
//! about the digits given, and means of simulations. Some of the latter have a formula here all the
//! same; those must lie within the tolerance of the simulation. The simulator's tests check the
//! others.

use hustings_theory::announce::delay::{last_send, last_send_of_first_round, leadership_delay};
use hustings_theory::announce::messages::{
    first_round_messages, messages_of_le_s_until_sent, messages_until_heard,
};
use hustings_theory::announce::repeats_until_heard::{average_rounds, rounds};
use hustings_theory::announce::{
    AnnounceModel, MulticastLoss, Variant, Wake, printed, recurrence, reestablishment,
};
use serde_json::Value;

mod table;

use table::{Said, assert_met, float, text};

const TABLE: &str = include_str!("data/le.json");

/// Closed forms of the table.
const CLOSED_FORMS: usize = 1_052;
/// Means of simulations that have a formula here.
const FURTHER_FORMULAS: usize = 254;
/// The precision of the closed forms among the simulated points: some of the table come from a
/// quadrature.
const KNOWN_TO: f64 = 1e-6;

#[test]
fn every_closed_form_of_the_table_agrees() {
    assert_met(TABLE, CLOSED_FORMS, |point| {
        if point["compare"] == "formula" {
            return Some(said(point, float(point, "tolerance")));
        }
        let is_known = point["closed_form"] == true;
        is_known.then(|| said(point, KNOWN_TO * float(point, "expected").abs()))
    });
}

#[test]
fn simulated_means_with_a_formula_agree() {
    assert_met(TABLE, FURTHER_FORMULAS, |point| {
        let has_formula = point["kind"] == "mc" && theory(point).is_some();
        has_formula.then(|| said(point, float(point, "tolerance")))
    });
}

fn said(point: &Value, tolerance: f64) -> Said {
    Said { value: theory(point), tolerance }
}

/// The formula for a point of the table, if there is one.
fn theory(point: &Value) -> Option<f64> {
    let params = &point["params"];
    let metric = text(point, "metric");
    if params["alg"].is_string() {
        of_an_election(metric, algorithm(params), &model(params))
    } else {
        of_a_section(metric, params)
    }
}

fn of_an_election(metric: &str, algorithm: Variant, model: &AnnounceModel) -> Option<f64> {
    match metric {
        "t_max" => last_send(algorithm, model),
        "rounds" => Some(rounds(model)),
        "avg_rounds" => Some(average_rounds(model)),
        "first_msgs" => first_round_messages(algorithm, model),
        "first_tmax" => last_send_of_first_round(algorithm, model),
        "num_msgs" => messages_until_heard(algorithm, model),
        "num_msgs_tmax" if algorithm == Variant::LeS => messages_of_le_s_until_sent(model),
        "num_msgs_tmax" => None,
        other => panic!("unknown metric {other}"),
    }
}

fn of_a_section(metric: &str, params: &Value) -> Option<f64> {
    let loss = params["l"].as_f64().unwrap_or(0.0);
    let n = params["N"].as_u64().unwrap_or(2);
    let listen = params["T_L"].as_f64().unwrap_or(f64::NAN);
    let departed = params["E_td"].as_f64().unwrap_or(0.5);
    let named = model(params);
    let correlated = AnnounceModel { loss: MulticastLoss::Correlated(loss), ..named };
    let uncorrelated = AnnounceModel { loss: MulticastLoss::Uncorrelated(loss), ..named };
    let value = match metric {
        "leadership_delay_LE-S_corr" => leadership_delay(Variant::LeS, &correlated)?,
        "leadership_delay_LE-S_uc_derived" => leadership_delay(Variant::LeS, &uncorrelated)?,
        "leadership_delay_LE-S_uc_printed" => {
            printed::leadership_delay(Variant::LeS, &uncorrelated)?
        }
        "leader_departure_printed" => printed::leader_departure(&named, listen, departed),
        "re_establishment_delay" => {
            reestablishment::leader_departure(Variant::LeS, &named, listen, departed)?
        }
        "false_departure_printed" => printed::false_departure(&correlated, listen),
        "false_departure_conditional" | "re_establishment_delay_false_departure" => {
            reestablishment::false_departure(&correlated, listen)
        }
        "inconsistent_fraction_false_departure" => {
            reestablishment::inconsistent_fraction(&correlated, listen)
        }
        "late_joiner_greater_corr" => reestablishment::greater_joiner(Variant::LeS, &correlated)?,
        "late_joiner_greater_uc_derived" => {
            reestablishment::greater_joiner(Variant::LeS, &uncorrelated)?
        }
        "late_joiner_greater_uc_printed" => printed::greater_joiner(&uncorrelated),
        "late_joiner_lesser_corr" | "re_establishment_delay_join_lesser" => {
            reestablishment::lesser_joiner(&correlated)
        }
        "late_joiner_lesser_uc_derived" => reestablishment::lesser_joiner(&uncorrelated),
        "late_joiner_lesser_uc_printed" => printed::lesser_joiner(&uncorrelated),
        "first_interval_messages_LE-S" => first_round_messages(Variant::LeS, &named)?,
        "first_round_messages_LE-S_uc_D0_corrected" => {
            first_round_messages(Variant::LeS, &uncorrelated)?
        }
        "first_round_messages_printed_Q" => printed::mean_messages(n, loss),
        "Q(i,n)_corrected" => {
            let law = recurrence::law_of_messages(count(params, "n"), loss);
            law[count(params, "i") as usize]
        }
        other => panic!("unknown metric {other}"),
    };
    Some(value)
}

/// The model of a point; missing parameters are as in the chapter's figures.
fn model(params: &Value) -> AnnounceModel {
    let number = |name: &str, default: f64| params[name].as_f64().unwrap_or(default);
    let loss = number("l", 0.0);
    let wake = match params["dist"].as_str() {
        Some("exponential") => Wake::Exponential { rate: number("lam", 10.0) },
        Some("uniform") | None => Wake::Uniform,
        Some(other) => panic!("unknown wake-up law {other}"),
    };
    let suppress_interval = match params["E_ts"].as_f64() {
        Some(mean) => mean / wake.mean(),
        None => number("T_S", 1.0),
    };
    AnnounceModel {
        members: members(params),
        suppress_interval,
        announce_interval: number("T_A", 1.0),
        delay: number("Delta", 0.1),
        loss: match params["loss"].as_str() {
            Some("corr") => MulticastLoss::Correlated(loss),
            Some("uc") => MulticastLoss::Uncorrelated(loss),
            Some("none") | None => MulticastLoss::None,
            Some(other) => panic!("unknown loss {other}"),
        },
        wake,
    }
}

/// The group, a late joiner included; two if the formula does not depend on it.
fn members(params: &Value) -> u64 {
    match (params["N"].as_u64(), params["N_before"].as_u64()) {
        (Some(members), _) => members,
        (None, Some(before)) => before + 1,
        (None, None) => 2,
    }
}

fn algorithm(params: &Value) -> Variant {
    match text(params, "alg") {
        "LE-A" => Variant::LeA,
        "LE-S" => Variant::LeS,
        "LE-M" => Variant::LeM,
        "SUP" => Variant::Sup,
        "AL" => Variant::Al,
        other => panic!("unknown algorithm {other}"),
    }
}

fn count(params: &Value, name: &str) -> u64 {
    params[name].as_u64().unwrap_or_else(|| panic!("no number {name} in {params}"))
}
