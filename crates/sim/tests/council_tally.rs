//! Council elections as aggregate counts: against theory in every case that has one, and against
//! means of simulations that were computed independently.

use hustings_sim::council_aggregate::{PollRun, elect, poll};
use hustings_sim::statistics::{Kind, Sample};
use hustings_sim::{Seeds, monte_carlo};
use hustings_theory::bolot::{self, Keys};
use hustings_theory::council::estimate::by_pseudocode;
use hustings_theory::council::{
    Algorithm, Election, Estimate, Knowledge, Loss, Pick, Reset, Seats,
};
use serde_json::Value;
use std::ops::ControlFlow;

const RUNS: u64 = 20_000;
const MOST_ROUNDS: u64 = 1_000_000;
/// The permitted deviation of a mean in standard errors: one in 150,000 exceeds it by chance.
const STANDARD_ERRORS: f64 = 4.5;

const ALGORITHMS: [Algorithm; 7] = [
    Algorithm::Naive,
    Algorithm::Basic,
    Algorithm::SkipReset,
    Algorithm::CHOICE,
    Algorithm::Choice(Pick::First, Reset::Skipped),
    Algorithm::Choice(Pick::SmallestOvershoot, Reset::Polled),
    Algorithm::History,
];

const LOSSES: [Loss; 3] =
    [Loss::NONE, Loss { reply: 0.3, multicast: 0.0 }, Loss { reply: 0.1, multicast: 0.2 }];

/// The statistics of many runs.
struct Measured {
    rounds: Sample,
    messages: Sample,
    first_round: Sample,
}

fn measure(one: impl Fn(Seeds) -> PollRun + Sync) -> Measured {
    let mut measured = Measured {
        rounds: Sample::new(Kind::Number),
        messages: Sample::new(Kind::Number),
        first_round: Sample::new(Kind::Proportion),
    };
    let take = |run: PollRun| {
        assert!(run.seats.is_some(), "{run:?}");
        measured.rounds.add(run.rounds as f64);
        measured.messages.add(run.messages as f64);
        let is_first = u8::from(run.success_first_round());
        measured.first_round.add(f64::from(is_first));
        ControlFlow::Continue(())
    };
    let one = |number| one(Seeds::new(1, number));
    monte_carlo::run(RUNS, 0, one, || (), take).expect("threads can be had");
    measured
}

/// `variance`: of the expected value, if that is only an estimate.
#[track_caller]
fn assert_near(what: &str, sample: &Sample, expected: f64, variance: f64) {
    let estimate = sample.estimate().expect("there are runs");
    let error = (sample.deviation().powi(2) / RUNS as f64 + variance).sqrt();
    // If all runs agree, a deviation of one in a thousand would have been seen.
    let allowed = STANDARD_ERRORS * error + 1e-3 * f64::from(u8::from(error == 0.0));
    assert!(
        (estimate.mean - expected).abs() <= allowed,
        "{what}: {} measured, {expected} expected, {allowed} allowed",
        estimate.mean
    );
}

#[track_caller]
fn assert_as_in_theory(election: &Election) {
    let cost = match election.knowledge {
        Knowledge::Estimated(_) => by_pseudocode(election).unwrap_or_else(|| election.cost()),
        Knowledge::Known | Knowledge::Taken(_) => election.cost(),
    };
    let measured = measure(|seeds| elect(election, MOST_ROUNDS, seeds));
    let what = |name| format!("{name} of {election:?}");
    assert_near(&what("rounds"), &measured.rounds, cost.rounds, 0.0);
    assert_near(&what("messages"), &measured.messages, cost.messages, 0.0);
    let first = cost.success_first_round;
    assert_near(&what("first round"), &measured.first_round, first, 0.0);
}

const BILLION: u64 = 1_000_000_000;

fn elections() -> impl Iterator<Item = Election> {
    let cases = [(1, 1, 7, 1.1), (4, 8, 500, 5.6)];
    cases.into_iter().flat_map(|(least, most, members, c)| {
        let seats = Seats { least, most };
        ALGORITHMS.into_iter().flat_map(move |algorithm| {
            LOSSES
                .into_iter()
                .map(move |loss| Election { loss, ..Election::new(seats, members, algorithm, c) })
        })
    })
}

#[test]
fn known_n_costs_what_theory_says() {
    for election in elections() {
        assert_as_in_theory(&election);
    }
    for algorithm in ALGORITHMS {
        let seats = Seats { least: 2, most: 4 };
        assert_as_in_theory(&Election::new(seats, BILLION, algorithm, 3.0));
    }
}

#[test]
fn wrong_n_costs_what_theory_says() {
    for election in elections().filter(|it| it.members == 500) {
        // Too low for one loss, too high for another: theory takes a second if hosts draw twice and
        // replies are lost.
        let taken = if election.loss.multicast > 0.0 { 200.0 } else { 2_000.0 };
        assert_as_in_theory(&Election { knowledge: Knowledge::Taken(taken), ..election });
    }
}

#[test]
fn estimated_n_costs_what_theory_says() {
    for election in elections().filter(|it| it.members == 500) {
        let is_slow = matches!(election.algorithm, Algorithm::Choice(..) | Algorithm::History);
        let estimates = if election.loss == Loss::NONE {
            vec![
                Estimate::conservative(100_000.0),
                Estimate::aggressive(100_000.0),
                // Far too low: counts correct it.
                Estimate::conservative(10.0),
            ]
        } else if election.loss.multicast > 0.0 && !is_slow {
            vec![Estimate::aggressive(100_000.0)]
        } else {
            Vec::new() // theory takes minutes
        };
        for estimate in estimates {
            assert_as_in_theory(&Election {
                knowledge: Knowledge::Estimated(estimate),
                ..election
            });
        }
    }
}

/// Every number can come up that is a count over `c` of an estimate: with few hosts, many, losses,
/// and with a first round in which all reply.
#[test]
fn guessed_n_of_the_naive_centre_costs_what_theory_says() {
    for (seats, members, c, estimate, (reply, multicast)) in [
        ((4, 8), 7, 6.0, Estimate::aggressive(2_000.0), (0.0, 0.0)),
        ((4, 8), 10, 6.0, Estimate::conservative(999.0), (0.0, 0.0)),
        ((4, 8), 6, 7.0, Estimate::aggressive(100.0), (0.6, 0.0)),
        ((4, 8), 25, 11.0, Estimate::conservative(9.0), (0.3, 0.2)),
        ((1, 1), 30, 0.1, Estimate::aggressive(1e5), (0.0, 0.0)),
        ((1, 1), BILLION, 1.1, Estimate::aggressive(1e9), (0.0, 0.1)),
        ((100, 150), 1_000, 120.0, Estimate::aggressive(1e9), (0.0, 0.0)),
        ((4, 8), 10_000, 6.1, Estimate::aggressive(1e5), (0.0, 0.0)),
    ] {
        let (least, most) = seats;
        let seats = Seats { least, most };
        assert_as_in_theory(&Election {
            knowledge: Knowledge::Estimated(estimate),
            loss: Loss { reply, multicast },
            ..Election::new(seats, members, Algorithm::Naive, c)
        });
    }
}

#[test]
fn fewer_hosts_than_seats_are_a_council_once_counted() {
    let seats = Seats { least: 2, most: 8 };
    let few = Election::new(seats, 5, Algorithm::SkipReset, 5.0);
    let run = elect(&few, MOST_ROUNDS, Seeds::new(1, 0));
    assert_eq!((run.rounds, run.messages, run.seats), (0, 0, Some(5)));
    assert!(run.success_first_round());
}

#[test]
fn endless_election_is_stopped() {
    let seats = Seats { least: 4, most: 4 };
    let lost = Loss { reply: 1.0, multicast: 0.0 };
    let election = Election { loss: lost, ..Election::new(seats, 100, Algorithm::Naive, 4.0) };
    let run = elect(&election, 50, Seeds::new(1, 0));
    assert_eq!((run.rounds, run.seats), (50, None));
    assert!(!run.success_first_round() && run.messages > 50);
    let run = poll(100, lost, 50, Seeds::new(1, 0));
    assert_eq!((run.rounds, run.seats, run.peak_replies), (50, None, 100));
}

#[test]
fn baseline_costs_what_theory_says() {
    for members in [1, 10, 1_000, 100_000, BILLION] {
        let cost = bolot::cost(members, Keys::Nested);
        let measured = measure(|seeds| poll(members, Loss::NONE, MOST_ROUNDS, seeds));
        let what = |name| format!("{name} of {members}");
        assert_near(&what("rounds"), &measured.rounds, cost.rounds, 0.0);
        assert_near(&what("messages"), &measured.messages, cost.messages, 0.0);
    }
}

/// One host: one round for each bit that must no longer be equal, and then as many as it takes to
/// hear it.
#[test]
fn baseline_repeats_until_a_reply_is_heard() {
    let loss = Loss { reply: 0.5, multicast: 0.2 };
    let measured = measure(|seeds| poll(1, loss, MOST_ROUNDS, seeds));
    let keys = bolot::cost(1, Keys::Nested);
    assert_near("rounds", &measured.rounds, keys.rounds + 1.5, 0.0);
    assert_near("messages", &measured.messages, 2.0, 0.0);
}

const TABLE: &str = include_str!("../../theory/tests/data/council.json");
/// Means of simulations in the table, except for one of an algorithm that is wrong as printed.
const SIMULATED: usize = 43;

#[test]
fn every_simulated_mean_of_the_table_is_reproduced() {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    let points = table["points"].as_array().unwrap().iter();
    let mut met = 0;
    for point in points.filter(|it| it["kind"] == "mc" && it["params"]["literal"] != true) {
        let params = &point["params"];
        let measured = if params["alg"] == "bolot" {
            let members = params["n"].as_u64().unwrap();
            measure(|seeds| poll(members, Loss::NONE, MOST_ROUNDS, seeds))
        } else {
            let election = election(params);
            measure(|seeds| elect(&election, MOST_ROUNDS, seeds))
        };
        let id = point["id"].as_str().unwrap();
        let sample = match id.split('_').nth(1) {
            Some("T") => measured.rounds,
            Some("N") => measured.messages,
            _ => panic!("{id} is neither T nor N"),
        };
        let float = |name: &str| point[name].as_f64().unwrap();
        let variance = float("sd").powi(2) / float("runs");
        assert_near(id, &sample, float("value"), variance);
        met += 1;
    }
    assert_eq!(met, SIMULATED);
}

fn election(params: &Value) -> Election {
    let float = |name: &str| params[name].as_f64().expect("the table has the number");
    let whole = |name: &str| float(name) as u64;
    let algorithm = match params["alg"].as_str().expect("the table has the algorithm") {
        "naive" => Algorithm::Naive,
        "basic" => Algorithm::Basic,
        "skip" | "estimate" => Algorithm::SkipReset,
        "choice" => Algorithm::CHOICE,
        "history" => Algorithm::History,
        other => panic!("unknown algorithm {other}"),
    };
    let seats = Seats { least: whole("L"), most: whole("U") };
    let knowledge = match params["alpha"].as_f64() {
        Some(alpha) => {
            Knowledge::Estimated(Estimate { alpha, beta: float("beta"), first: float("n0") })
        }
        None => Knowledge::Known,
    };
    Election {
        knowledge,
        loss: Loss { reply: params["q"].as_f64().unwrap_or(0.0), multicast: 0.0 },
        ..Election::new(seats, whole("n"), algorithm, float("c"))
    }
}

/// Speed as a ratio: a billion hosts cost no more draws than ten thousand.
#[test]
fn number_of_hosts_does_not_change_the_number_of_draws() {
    let seats = Seats { least: 4, most: 8 };
    for algorithm in ALGORITHMS {
        let rounds = |members| {
            let election = Election::new(seats, members, algorithm, 5.6);
            let runs = (0..1_000).map(|run| elect(&election, MOST_ROUNDS, Seeds::new(2, run)));
            runs.map(|run| run.rounds).sum::<u64>() as f64
        };
        let ratio = rounds(BILLION) / rounds(10_000);
        assert!((0.8..1.25).contains(&ratio), "{algorithm:?}: {ratio}");
    }
}
