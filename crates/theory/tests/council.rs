//! The council election against a table of values computed independently.
//!
//! `data/council.json` has values of the equations (`kind: exact`), each with its tolerance, and
//! means of simulations (`kind: mc`), which must lie within four and a half standard errors of the
//! values computed here.

use hustings_theory::bolot::{self, Keys};
use hustings_theory::council::estimate::{Estimate, by_pseudocode};
use hustings_theory::council::optimum::{Goal, best_c};
use hustings_theory::council::{
    Algorithm, Cost, Election, Knowledge, Loss, Pick, Reset, Seats, misprints,
};
use serde_json::Value;

const TABLE: &str = include_str!("data/council.json");

/// Values of equations in the table.
const EXACT: usize = 696;
/// Means of simulations in the table.
const SIMULATED: usize = 44;

#[test]
fn every_exact_value_of_the_table_agrees() {
    let met = assert_met("exact", |point| float(point, "tol_exact"));
    assert_eq!(met, EXACT);
}

#[test]
fn impossible_first_round_has_probability_positive_zero() {
    let election = Election {
        knowledge: Knowledge::Estimated(Estimate::aggressive(1e9)),
        ..Election::new(Seats { least: 4, most: 8 }, 10, Algorithm::Naive, 5.8)
    };
    let chance = election.cost().success_first_round;
    assert_eq!(format!("{chance}"), "0");
}

#[test]
fn every_simulated_mean_of_the_table_agrees() {
    let met = assert_met("mc", |point| 4.5 * float(point, "sd") / float(point, "runs").sqrt());
    assert_eq!(met, SIMULATED);
}

/// The table searched for this optimum only up to `c = 1.95`, which is not far enough: beyond it, a
/// draw leaves no host, and all have to reply, less often still.
#[test]
fn fewest_messages_for_one_seat_are_below_the_tables() {
    let seats = Seats { least: 1, most: 1 };
    let election = Election::new(seats, 10_000, Algorithm::Basic, 1.0);
    let best = best_c(&election, Goal::MESSAGES);
    assert!((1.98..1.99).contains(&best.c), "{best:?}");
    assert!((2001.7..2001.8).contains(&best.cost.messages), "{best:?}");
}

/// Checks theory against every point of a kind, and returns their number.
#[track_caller]
fn assert_met(kind: &str, tolerance: impl Fn(&Value) -> f64) -> usize {
    let table: Value = serde_json::from_str(TABLE).expect("the table is JSON");
    let points = table["points"].as_array().expect("a list of points");
    let mut missed = Vec::new();
    let mut met = 0;
    for point in points.iter().filter(|point| point["kind"] == kind) {
        let (got, expected) = (theory(point), float(point, "value"));
        let tolerance = tolerance(point);
        if (got - expected).abs() <= tolerance {
            met += 1;
        } else {
            missed.push(format!("{}: {got}, not {expected} +- {tolerance}", point["id"]));
        }
    }
    assert!(missed.is_empty(), "{} missed\n{}", missed.len(), missed.join("\n"));
    met
}

/// The value for a point of the table.
fn theory(point: &Value) -> f64 {
    match text(point, "id") {
        "bound_16_fixed" => misprints::rounds_bound_corrected(1.1, 5.0),
        "bound_16_printed" => misprints::rounds_bound(1.1, 5.0),
        "fig17_aggressive_maxT" => greatest_of_figure_17(|cost| cost.rounds),
        "fig17_aggressive_maxN" => greatest_of_figure_17(|cost| cost.messages),
        _ => of_election(point),
    }
}

/// Over 121 numbers of hosts from 10 to 100,000, in equal ratios.
fn greatest_of_figure_17(value: impl Fn(&Cost) -> f64) -> f64 {
    let numbers = (0..=120).map(|index| 10.0_f64.powf(1.0 + f64::from(index) / 30.0));
    let costs = numbers.map(|number| {
        let seats = Seats { least: 1, most: 8 };
        Election {
            knowledge: Knowledge::Estimated(Estimate::aggressive(1e5)),
            ..Election::new(seats, number.round() as u64, Algorithm::SkipReset, 5.6)
        }
        .cost()
    });
    costs.map(|cost| value(&cost)).fold(0.0, f64::max)
}

/// The quantity of a point.
enum Quantity {
    Success,
    BestC,
    Rounds,
    Messages,
}

fn quantity(id: &str) -> Quantity {
    let has = |part: &str| id.contains(part);
    if has("fig1_") || has("naive_p_") {
        Quantity::Success
    } else if has("optc_") || has("_opt_c_") {
        Quantity::BestC
    } else if has("_N_") || has("optN_") || id.starts_with("mc_N_") {
        Quantity::Messages
    } else {
        Quantity::Rounds
    }
}

fn of_election(point: &Value) -> f64 {
    let params = &point["params"];
    let id = text(point, "id");
    let quantity = quantity(id);
    if params["alg"] == "bolot" {
        let keys = match params["nested"].as_bool() {
            Some(false) => Keys::Independent,
            Some(true) | None => Keys::Nested,
        };
        let cost = bolot::cost(whole(params, "n"), keys);
        return match quantity {
            Quantity::Messages => cost.messages,
            Quantity::Rounds | Quantity::Success | Quantity::BestC => cost.rounds,
        };
    }
    let election = election(params);
    if params["alg"] == "basic_printed" {
        return misprints::basic_messages(&election);
    }
    let cost = match &params["c"] {
        _ if id == "optN_basic_1_1_n10000" => election.with_c(1.95).cost(),
        Value::Number(_) if id.contains("loss_eq21") => misprints::with_loss(&election),
        Value::Number(_) if params["literal"] == true => misprints::literal_history(&election),
        Value::Number(_) if params["alg"] == "estimate" && params["model"] != "eq" => {
            by_pseudocode(&election).expect("an estimate with resets")
        }
        Value::Number(_) => election.cost(),
        Value::String(goal) if goal == "optimal for N" => best_c(&election, Goal::MESSAGES).cost,
        _ => {
            let best = best_c(&election, Goal::ROUNDS);
            if let Quantity::BestC = quantity {
                return best.c;
            }
            best.cost
        }
    };
    match quantity {
        Quantity::Success => cost.success_first_round,
        Quantity::Messages => cost.messages,
        Quantity::Rounds | Quantity::BestC => cost.rounds,
    }
}

fn election(params: &Value) -> Election {
    let members = whole(params, "n");
    let seats = Seats { least: whole(params, "L"), most: whole(params, "U") };
    let pick = match params["rule"].as_str() {
        Some("first") => Pick::First,
        Some("small") | None => Pick::SmallestOvershoot,
        Some(other) => panic!("unknown rule {other}"),
    };
    let algorithm = match text(params, "alg") {
        "naive" => Algorithm::Naive,
        "basic" | "basic_printed" => Algorithm::Basic,
        "skip" | "estimate" => Algorithm::SkipReset,
        "choice" => Algorithm::Choice(pick, Reset::Skipped),
        "choice_basic" => Algorithm::Choice(pick, Reset::Polled),
        "history" => Algorithm::History,
        other => panic!("unknown algorithm {other}"),
    };
    // Any value, because the best one is searched for.
    let c = params["c"].as_f64().unwrap_or(1.0);
    let taken = params["estimate_over_n"].as_f64().map(|ratio| ratio * members as f64);
    let first = params["n0"].as_f64().or(taken);
    let knowledge = match (first, params["alpha"].as_f64()) {
        (Some(first), Some(alpha)) => {
            Knowledge::Estimated(Estimate { alpha, beta: float(params, "beta"), first })
        }
        (Some(taken), None) => Knowledge::Taken(taken),
        (None, _) => Knowledge::Known,
    };
    Election {
        loss: Loss { reply: params["q"].as_f64().unwrap_or(0.0), multicast: 0.0 },
        knowledge,
        ..Election::new(seats, members, algorithm, c)
    }
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_else(|| panic!("no text {name} in {object}"))
}

fn float(object: &Value, name: &str) -> f64 {
    object[name].as_f64().unwrap_or_else(|| panic!("no number {name} in {object}"))
}

fn whole(object: &Value, name: &str) -> u64 {
    object[name].as_u64().unwrap_or_else(|| panic!("no whole number {name} in {object}"))
}
