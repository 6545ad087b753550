//! Probabilistic election, simulated, against a table of values computed independently.
//!
//! Every entry of `data/ple.json` must find its runs here. The model: views are independent coins
//! and a member knows itself; the lowest identity is the best; every message takes one unit; a
//! client calls the first round; members crash at a time uniform in a round, and views drop them
//! when the next begins. Some entries are of other orders ([`orders`]).

mod orders;
#[path = "../support/mod.rs"]
mod support;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;

use hustings_protocol::Duration;
use hustings_protocol::probabilistic::{
    Config, GroupSize, Probabilistic, Recall, ReplyRule, Strategy,
};
use hustings_sim::probabilistic::{Elector, ProbabilisticRun, ProbabilisticTrial, elect_by};
use hustings_sim::statistics::{Kind, Sample};
use hustings_sim::{Scratch, Seeds, Silent, monte_carlo};
use serde_json::Value;

use orders::{Held, Order};

const TABLE: &str = include_str!("../data/ple.json");
/// Means in the table.
const ENTRIES: usize = 306;
/// The number of runs that the tolerances assume. Each tolerance is four standard errors of the
/// difference between the mean of this many runs and that of the table, which is of 1,000 to 4,000,
/// plus an allowance for rounding. Fewer runs would fail without a reason; more would hardly find
/// smaller errors, because the table itself is no more precise.
const RUNS: u64 = 1_000;
const UNIT: Duration = Duration::from_millis(100);

#[test]
fn every_simulated_mean_of_the_table_is_reproduced() {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    // Entries with the same parameters share their runs.
    let mut by_parameters: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    let points = table["points"].as_array().unwrap().iter();
    for point in points.filter(|point| point["interpretation"].is_object()) {
        let key = format!("{}{}", point["params"], point["interpretation"]);
        by_parameters.entry(key).or_default().push(point);
    }
    let mut missed = Vec::new();
    let mut met = 0;
    for points in by_parameters.values() {
        let measured = measure(&trial(points[0]), order(points[0]), RUNS);
        for point in points {
            let (expected, tolerance) = (number(point, "expected"), number(point, "tolerance"));
            let mean = measured[point["metric"].as_str().unwrap()];
            if (mean - expected).abs() <= tolerance {
                met += 1;
            } else {
                missed.push(format!("{}: {mean}, not {expected} +- {tolerance}", point["id"]));
            }
        }
    }
    let count = missed.len();
    assert!(missed.is_empty(), "{count} missed\n{}", missed.join("\n"));
    assert_eq!(met, ENTRIES);
}

#[test]
fn two_relays_elect_two_leaders_as_often_as_enumerated() {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    let points = table["points"].as_array().unwrap().iter();
    let points = points.filter(|point| point["metric"] == "p_two_leaders_given_2_relays");
    let mut met = 0;
    for point in points {
        let members = 500;
        let strategy = Strategy { first: 2, rounds: 1, ..Strategy::DOCUMENT };
        let trial = ProbabilisticTrial {
            members,
            view: number(&point["params"], "view_prob"),
            crash: 0.0,
            unicast_loss: 0.0,
            multicast_loss: 0.0,
            config: Config { strategy, ..Config::paper(u64::from(members), UNIT) },
            purge: true,
        };
        let mut split = Sample::new(Kind::Proportion);
        runs(&trial, 20_000, Probabilistic::default, |run| {
            if run.relay_members == 2 {
                split.add(f64::from(u8::from(!run.strong_success)));
            }
        });
        let estimate = split.estimate().expect("two relay in a quarter of all runs");
        let (expected, tolerance) = (number(point, "expected"), number(point, "tolerance"));
        assert!(
            (estimate.mean - expected).abs() <= tolerance,
            "{}: {estimate:?}, not {expected}",
            point["id"]
        );
        met += 1;
    }
    assert_eq!(met, 2);
}

/// The parameters of an entry.
fn trial(point: &Value) -> ProbabilisticTrial {
    let (params, reading) = (&point["params"], &point["interpretation"]);
    let members = number(params, "N") as u32;
    let config = Config {
        size: match reading["filter_n"].as_str() {
            Some("N") => GroupSize::Known(u64::from(members)),
            Some("view") => GroupSize::View,
            other => panic!("filter_n is {other:?}"),
        },
        strategy: Strategy {
            first: number(params, "K_init") as u32,
            rounds: number(params, "max_rounds") as u16,
            ..Strategy::DOCUMENT
        },
        recall: match reading["reinit"].as_str() {
            Some("hash") => Recall::Hash,
            Some("delay") => Recall::Delay,
            Some("all") => Recall::All,
            other => panic!("reinit is {other:?}"),
        },
        reply: match reading["reply"].as_str() {
            Some("worse") => ReplyRule::Worse,
            Some("once") => ReplyRule::Once,
            Some("literal") => ReplyRule::Literal,
            other => panic!("reply is {other:?}"),
        },
        uninformed_detect: reading["detect_without_init"] == true,
        ..Config::paper(u64::from(members), UNIT)
    };
    ProbabilisticTrial {
        members,
        view: number(params, "view_prob"),
        crash: number(params, "p_fail"),
        unicast_loss: number(params, "p_u"),
        multicast_loss: number(params, "p_m"),
        config,
        purge: reading["purge"] == true,
    }
}

/// The order in which messages are handled, if not one at a time as they come.
fn order(point: &Value) -> Option<Order> {
    match point["interpretation"]["order"].as_str() {
        None => None,
        Some("batch") => Some(Order::Batch),
        Some("async") => Some(Order::Any),
        other => panic!("order is {other:?}"),
    }
}

/// The means, by metric.
fn measure(
    trial: &ProbabilisticTrial,
    order: Option<Order>,
    count: u64,
) -> BTreeMap<&'static str, f64> {
    let mut sums = BTreeMap::new();
    let take = |run: ProbabilisticRun| {
        for (name, value) in [
            ("strong", f64::from(u8::from(run.strong_success))),
            ("weak", run.weak_success),
            ("rounds", f64::from(run.rounds)),
            ("messages", run.messages_rounds_1_to_4 as f64),
        ] {
            *sums.entry(name).or_insert(0.0) += value;
        }
    };
    match order {
        None => runs(trial, count, Probabilistic::default, take),
        Some(order) => runs(trial, count, move || Held::new(order), take),
    }
    sums.into_iter().map(|(name, sum)| (name, sum / count as f64)).collect()
}

fn runs<P: Elector + Send>(
    trial: &ProbabilisticTrial,
    count: u64,
    make: impl Fn() -> P + Copy + Sync + 'static,
    mut take: impl FnMut(ProbabilisticRun) + Send,
) {
    // Memory is passed on from run to run: allocating it anew takes as long as a short run.
    let memory: Mutex<Vec<Scratch<P>>> = Mutex::default();
    let pieces = || memory.lock().expect("no thread panics while holding it");
    let one = |run| {
        let scratch = pieces().pop().unwrap_or_default();
        let seeds = Seeds::new(1, run);
        let (run, Silent, scratch) =
            elect_by(trial, seeds, scratch, Silent, move |_| make(), || true);
        pieces().push(scratch);
        run
    };
    let taken = monte_carlo::run(
        count,
        0,
        one,
        || {},
        |run| {
            take(run);
            ControlFlow::Continue(())
        },
    );
    assert_eq!(taken.expect("threads can be had"), count);
}

fn number(value: &Value, name: &str) -> f64 {
    value[name].as_f64().unwrap_or_else(|| panic!("{name} of {value}"))
}
