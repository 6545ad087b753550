//! The announce family, simulated, against a table of values computed independently.
//!
//! Every entry of theory's `le.json` that is a mean of simulations must find its runs here. The
//! model: all start at once, the delay is fixed, a message is lost for all receivers together
//! (`corr`) or for each by itself (`uc`), and listen timers never expire. The exceptions are the
//! entries on re-establishment, which run Program 5.2 in full.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use hustings_protocol::announce::{Announce, Config, Criterion, Listen, Wake};
use hustings_protocol::{Duration, Instant, announce_listen, suppression};
use hustings_sim::announcing::{self, Perturbation};
use hustings_sim::convergence::{Expected, Watch};
use hustings_sim::statistics::{Kind, Sample};
use hustings_sim::{
    Boot, Delay, Detection, LossModel, Network, Seeds, Setup, Stream, Verb, Who, World, monte_carlo,
};
use rand_core::Rng;
use serde_json::Value;

const TABLE: &str = include_str!("../../theory/tests/data/le.json");
/// Means of simulations in the table.
const ENTRIES: usize = 1_332;
/// The number of runs that the entries' tolerances assume.
const RUNS: u64 = 1_000;
/// The number of runs for re-establishment: not every group has settled in time.
const RUNS_OF_CHANGES: u64 = 6_000;

#[test]
fn every_simulated_mean_of_the_table_is_reproduced() {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    // Entries with the same parameters share their runs.
    let mut by_parameters: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    let simulated = table["points"].as_array().unwrap().iter();
    let simulated = simulated.filter(|point| point["compare"] == "simulation");
    for point in simulated {
        let mut key = point["params"].to_string();
        if point["params"].get("alg").is_none() {
            key += point["metric"].as_str().unwrap();
        }
        by_parameters.entry(key).or_default().push(point);
    }
    let mut missed = Vec::new();
    let mut met = 0;
    for points in by_parameters.values() {
        let measured = measure(points[0]);
        for point in points {
            let (expected, tolerance) = (number(point, "expected"), number(point, "tolerance"));
            let metric = point["metric"].as_str().unwrap();
            let sample = &measured[metric];
            assert!(sample.count() >= RUNS, "{}", point["id"]);
            let mean = sample.estimate().map(|estimate| estimate.mean);
            match mean {
                Some(mean) if (mean - expected).abs() <= tolerance => met += 1,
                mean => {
                    missed
                        .push(format!("{}: {mean:?}, not {expected} +- {tolerance}", point["id"]));
                }
            }
        }
    }
    let count = missed.len();
    assert!(missed.is_empty(), "{count} missed\n{}", missed.join("\n"));
    assert_eq!(met, ENTRIES);
}

/// The means that belong to the parameters of `point`, by metric.
fn measure(point: &Value) -> BTreeMap<&'static str, Sample> {
    let params = &point["params"];
    match params["alg"].as_str() {
        Some(algorithm) => convergence(algorithm, params),
        None => reestablishment(point),
    }
}

fn convergence(algorithm: &str, params: &Value) -> BTreeMap<&'static str, Sample> {
    let members = number(params, "N") as u32;
    let network = network(params);
    let wake = match params["dist"].as_str() {
        Some("exponential") => Wake::Exponential { rate: 10.0 },
        _ => Wake::Uniform,
    };
    let (suppress, announce) = (seconds(params, "T_S"), seconds(params, "T_A"));
    let limit = Instant::START + Duration::from_secs(100_000);
    let config =
        |suppress, criterion| Config { wake, criterion, ..Config::paper(suppress, announce) };
    let elect = |config, seeds| announcing::elect(members, config, network, seeds, limit);
    let one = |seeds| match algorithm {
        "LE-A" => elect(config(Duration::ZERO, Criterion::Priority), seeds),
        "LE-S" => elect(config(suppress, Criterion::Priority), seeds),
        "LE-M" => elect(config(suppress, Criterion::EarliestWake), seeds),
        "SUP" => {
            let config = suppression::Config { suppress, wake };
            announcing::suppression(members, config, network, seeds)
        }
        "AL" => {
            let listen = None;
            let config = announce_listen::Config { announce, listen };
            announcing::announce_listen(members, config, network, seeds, limit)
        }
        other => panic!("an unknown algorithm: {other}"),
    };
    let mut samples = BTreeMap::new();
    each_run(RUNS, one, |watch| {
        let values = if algorithm == "SUP" { suppressed(&watch) } else { heard(&watch) };
        for (metric, value) in values {
            let sample = samples.entry(metric);
            sample.or_insert_with(|| Sample::new(Kind::Number)).add(value);
        }
    });
    samples
}

/// The metrics of a run that ended when all had heard the leader.
fn heard(watch: &Watch) -> Vec<(&'static str, f64)> {
    let hearing = &watch.hearing;
    let end = hearing.convergence.expect("all hear the leader at last");
    vec![
        ("t_max", end.tmax.as_secs_f64()),
        ("num_msgs", end.messages as f64),
        ("num_msgs_tmax", end.messages_by_tmax as f64),
        ("rounds", f64::from(end.rounds)),
        ("avg_rounds", end.avg_rounds),
        ("first_msgs", hearing.first_round_messages as f64),
        ("first_tmax", hearing.first_round_ended.as_secs_f64()),
    ]
}

/// The metrics of a run of suppression.
fn suppressed(watch: &Watch) -> Vec<(&'static str, f64)> {
    let last = watch.hearing.last_sent().expect("a member sends");
    vec![("t_max", last.as_secs_f64()), ("num_msgs", watch.hearing.messages() as f64)]
}

fn reestablishment(point: &Value) -> BTreeMap<&'static str, Sample> {
    let params = &point["params"];
    let (metric, perturbation) = match point["metric"].as_str() {
        Some("re_establishment_delay") => ("re_establishment_delay", Perturbation::LeaderDies),
        Some("re_establishment_delay_join_lesser") => {
            ("re_establishment_delay_join_lesser", Perturbation::LesserJoins)
        }
        Some("re_establishment_delay_false_departure") => {
            return BTreeMap::from([(
                "re_establishment_delay_false_departure",
                false_departures(params),
            )]);
        }
        other => panic!("an unknown metric: {other:?}"),
    };
    let second = Duration::from_secs(1);
    let config = Config {
        listen: params["T_L"]
            .as_f64()
            .map_or(Listen::Never, |span| Listen::For(Duration::from_secs_f64(span))),
        ..Config::paper(second, second)
    };
    let members = params["N"].as_f64().unwrap_or(2.0) as u32;
    let network = network(params);
    let one = |seeds: Seeds| {
        let within = seeds.rng(Stream::Faults).next_u64() % 1_000_000_000;
        let at = Instant::START + Duration::from_secs(60) + Duration(within);
        let limit = at + Duration::from_secs(60);
        announcing::reestablishment(members, config, network, perturbation, (at, limit), seeds)
    };
    let mut sample = Sample::new(Kind::Number);
    each_run(RUNS_OF_CHANGES, one, |delay: Option<Duration>| {
        delay.into_iter().for_each(|delay| sample.add(delay.as_secs_f64()));
    });
    BTreeMap::from([(metric, sample)])
}

fn false_departures(params: &Value) -> Sample {
    let second = Duration::from_secs(1);
    let config =
        Config { listen: Listen::For(seconds(params, "T_L")), ..Config::paper(second, second) };
    let network = Network {
        multicast_loss: number(params, "l"),
        ..Network::perfect(Delay::Constant(Duration::from_millis(100)))
    };
    let after = |seconds| Instant::START + Duration::from_secs(seconds);
    let span = (after(10), after(100));
    let mut sample = Sample::new(Kind::Number);
    each_run(
        RUNS,
        |seeds| false_departure(config, network, span, seeds),
        |missed| sample.add(missed.expect("it is missed before long").as_secs_f64()),
    );
    sample
}

/// The duration for which a member of a settled group of two falsely considers its leader gone:
/// from the first time after `at` until it hears the leader again. `None` if that does not happen
/// by `limit`.
fn false_departure(
    config: Config,
    network: Network,
    (at, limit): (Instant, Instant),
    seeds: Seeds,
) -> Option<Duration> {
    let priorities = announcing::priorities(2);
    let setup = Setup { priorities, network, detection: Detection::Never, view: 1.0 };
    let watch = Watch::new(2, Expected::Member(1));
    let make = |boot: Boot<Announce>| Announce::new(boot.saved);
    let mut world = World::traced(setup, config, seeds, watch, make);
    world.schedule(Instant::START, Verb::Start(Who::All));
    world.run_until(limit);
    let spans = &world.trace().agreement.disagreements;
    let missed = spans.iter().find(|(begin, _)| *begin > at)?;
    Some(missed.1 - missed.0)
}

fn each_run<R: Send>(runs: u64, one: impl Fn(Seeds) -> R + Sync, mut take: impl FnMut(R) + Send) {
    let take = |result| {
        take(result);
        ControlFlow::Continue(())
    };
    monte_carlo::run(runs, 0, |number| one(Seeds::new(4, number)), || (), take)
        .expect("threads can be had");
}

fn network(params: &Value) -> Network {
    let loss = params["l"].as_f64().unwrap_or(0.0);
    let uncorrelated = params["loss"] == "uc";
    Network {
        multicast_loss: loss,
        loss_model: match uncorrelated {
            true => LossModel::Uncorrelated,
            false => LossModel::Correlated,
        },
        ..Network::perfect(Delay::Constant(seconds(params, "Delta")))
    }
}

fn seconds(params: &Value, name: &str) -> Duration {
    Duration::from_secs_f64(number(params, name))
}

fn number(point: &Value, name: &str) -> f64 {
    point[name].as_f64().unwrap_or_else(|| panic!("{name} of {point}"))
}
