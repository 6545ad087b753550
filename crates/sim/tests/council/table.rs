//! Means of independent simulations: `kind: mc` in the table of `hustings-theory`.

use hustings_protocol::council::{Algorithm, Estimate, Knowledge, Seats};
use hustings_sim::statistics::Sample;
use serde_json::Value;

use crate::{Means, measure, trial};

const TABLE: &str = include_str!("../../../theory/tests/data/council.json");

/// All points of that kind but one, which is of a misprint (Fig. 13 literally) that this
/// implementation does not have.
const POINTS: usize = 43;

#[test]
fn every_simulated_mean_of_the_table_is_reproduced() {
    let table: Value = serde_json::from_str(TABLE).expect("the table is JSON");
    let points = table["points"].as_array().expect("a list of points");
    let such = |it: &&Value| it["kind"] == "mc" && it["params"]["literal"] != true;
    let mut met = 0;
    let mut measured: Option<(Value, Means)> = None;
    for point in points.iter().filter(such) {
        let params = &point["params"];
        // Points of the same election are adjacent.
        let means = match measured.take() {
            Some((of, means)) if of == *params => means,
            Some(_) | None => measure(&of_params(params), 7, 6_000),
        };
        let id = point["id"].as_str().expect("an id");
        let ours = match id.starts_with("mc_N_") {
            true => &means.messages,
            false => &means.rounds,
        };
        assert_near(id, ours, point);
        met += 1;
        measured = Some((params.clone(), means));
    }
    assert_eq!(met, POINTS);
}

/// Asserts that two means differ by at most four and a half of their standard errors.
#[track_caller]
fn assert_near(id: &str, ours: &Sample, point: &Value) {
    let float = |name: &str| point[name].as_f64().expect("a number");
    let mean = ours.estimate().expect("there were runs").mean;
    let theirs = float("sd").powi(2) / float("runs");
    let error = (ours.deviation().powi(2) / ours.count() as f64 + theirs).sqrt();
    let value = float("value");
    assert!((mean - value).abs() <= 4.5 * error, "{id}: {mean}, not {value} +- {error}");
}

fn of_params(params: &Value) -> hustings_sim::council::CouncilTrial {
    let whole = |name: &str| params[name].as_u64().map(|it| it as u32);
    let hosts = whole("n").expect("n");
    let told = Knowledge::Told(hosts);
    let (algorithm, knowledge) = match params["alg"].as_str().expect("alg") {
        "naive" => (Algorithm::Naive, told),
        "basic" => (Algorithm::Basic, told),
        "skip" => (Algorithm::SkipReset, told),
        "choice" => (Algorithm::CHOICE, told),
        "history" => (Algorithm::HISTORY, told),
        "bolot" => (Algorithm::Bolot, told),
        "estimate" => {
            let estimate = Estimate {
                alpha: params["alpha"].as_f64().expect("alpha"),
                beta: params["beta"].as_f64().expect("beta"),
                first: whole("n0").expect("n0"),
            };
            (Algorithm::SkipReset, Knowledge::Estimated(estimate))
        }
        other => panic!("unknown algorithm {other}"),
    };
    let seats = Seats::new(whole("L").unwrap_or(1), whole("U").unwrap_or(8));
    let c = params["c"].as_f64().unwrap_or(1.0);
    let mut trial = trial(hosts, seats, algorithm, knowledge, c);
    trial.reply_loss = params["q"].as_f64().unwrap_or(0.0);
    trial
}
