//! The protocols, simulated, against a table of values computed independently.
//!
//! Every entry of theory's `rings.json` must find its run here; an entry of an unknown family fails
//! the test. The model: one hop is one message and takes one unit, a hop over a dead member is
//! free; N counts the live members of a ring, and a bully group with its dead coordinator.

mod support;

use std::ops::ControlFlow;

use hustings_protocol::bully::{self, Bully};
use hustings_protocol::chang_roberts::{self, ChangRoberts, Initiator};
use hustings_protocol::modified_ring::{self, ModifiedRing};
use hustings_protocol::{Instant, MAX_KINDS, Priority, Simulated};
use hustings_sim::classics::{self, Best, BullyInitiator, Initiators, Layout, Order, Ring};
use hustings_sim::statistics::{Kind, Sample};
use hustings_sim::{
    Detection, Ending, Event, Scenario, Seeds, Setup, Silent, Summary, Trace, monte_carlo,
};
use serde_json::Value;

use support::{group, layouts, ranked, run, run_traced, script, total};

const TABLE: &str = include_str!("../../theory/tests/data/rings.json");
const ENTRIES: usize = 226;

/// The largest ring for which every order of priorities and every set of initiators is run.
const ENUMERATE_UP_TO: u32 = 7;
/// Units after which a running election is taken to be endless.
const FOR_EVER: u64 = 20_000;

/// The result of the runs of an entry.
#[derive(Debug, PartialEq)]
enum Finding {
    Exact(f64),
    Words(String),
    /// The mean of random runs.
    Estimated(Sample),
    /// A mean, and a bound of its error.
    Within(f64, f64),
}

#[test]
fn every_entry_of_the_table_is_reproduced_by_simulation() {
    let table: Value = serde_json::from_str(TABLE).unwrap();
    let points = table["points"].as_array().unwrap();
    let missed: Vec<String> = points.iter().filter_map(miss).collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
    assert_eq!(points.len(), ENTRIES);
}

#[test]
fn entry_of_an_unknown_family_has_no_run() {
    for id in ["cr_some_N4", "bully_N4", "scn_plain_unheard_of", "mod_k#_N4"] {
        let point = serde_json::json!({ "id": id, "params": { "N": 4, "k": 2 } });
        assert_eq!(simulate(&point), None, "{id}");
    }
}

/// The difference between an entry and its runs, if there is one.
fn miss(point: &Value) -> Option<String> {
    let id = point["id"].as_str().expect("an entry has an id");
    let finding = simulate(point).unwrap_or_else(|| panic!("{id}: nothing simulates its family"));
    let value = &point["value"];
    let (got, tolerance) = match finding {
        Finding::Words(words) => {
            return (*value != words).then(|| format!("{id}: {words}, not {value}"));
        }
        Finding::Exact(got) => (got, number(point, "tol_exact")),
        Finding::Within(got, bound) => (got, bound),
        Finding::Estimated(sample) => {
            let sd = point["sd"].as_f64().unwrap_or(sample.deviation());
            let tolerance = 4.5 * sd / (sample.count() as f64).sqrt();
            (sample.estimate().expect("there were runs").mean, tolerance)
        }
    };
    let expected = number(point, "value");
    let is_met = (got - expected).abs() <= tolerance;
    (!is_met).then(|| format!("{id}: {got}, not {expected} +- {tolerance}"))
}

fn number(point: &Value, name: &str) -> f64 {
    point[name].as_f64().expect("an entry has numbers")
}

/// Executes the runs of an entry; `None` if its family is unknown.
fn simulate(point: &Value) -> Option<Finding> {
    let id = point["id"].as_str()?;
    if let Some(name) = id.strip_prefix("scn_") {
        let (name, counts) = match name.strip_suffix("_messages") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let (summary, first_name) = scenario(name)?;
        return Some(if counts {
            count(&summary)
        } else {
            Finding::Words(ending(summary.ending, first_name))
        });
    }
    let params = &point["params"];
    let n = params["N"].as_u64()? as u32;
    let k = || params["k"].as_u64().map(|k| k as u32);
    Some(match family(id).as_str() {
        "cr_one_best_N#" => ring(Ring::ChangRoberts, n, 1, Order::Best),
        "cr_one_worst_N#" => ring(Ring::ChangRoberts, n, 1, Order::Worst),
        "cr_one_expected_N#" => ring(Ring::ChangRoberts, n, 1, Order::Random),
        "cr_all_best_N#" => ring(Ring::ChangRoberts, n, n, Order::Best),
        "cr_all_worst_N#" => ring(Ring::ChangRoberts, n, n, Order::Worst),
        "cr_all_expected_N#" => ring(Ring::ChangRoberts, n, n, Order::Random),
        "cr_sync_N#_k#" => ring(Ring::ChangRoberts, n, k()?, Order::Random),
        "cr_literal_all_N#" => literal_ring(n),
        "mod_one_N#" => ring(Ring::Modified, n, 1, Order::Worst),
        "mod_all_expected_N#" => ring(Ring::Modified, n, n, Order::Random),
        "mod_k#_expected_N#" => ring(Ring::Modified, n, k()?, Order::Random),
        "mod_one_crash_N#" => modified_ring_with_death(n, "at 1500ms kill 1"),
        "mod_initiator_dies_N#" => modified_ring_with_death(n, "at 500ms kill 0"),
        "mod_initiator_dies_coord_N#" => {
            modified_ring_with_death(n, &format!("at {n}500ms kill 0"))
        }
        "bully_best_slide_N#" => count(&bully(n, BullyInitiator::SecondHighest, Detection::Oracle)),
        "bully_best_rule_N#" => count(&bully(n, BullyInitiator::SecondHighest, Detection::Never)),
        "bully_worst_N#" => count(&bully(n, BullyInitiator::Lowest, Detection::Never)),
        "bully_worst_noans_N#" => {
            let by_kind = bully(n, BullyInitiator::Lowest, Detection::Never).tally.unicasts;
            let [election, _answer, coordinator] = by_kind[..3] else {
                unreachable!("there are {MAX_KINDS} places to count in")
            };
            Finding::Exact((election + coordinator) as f64)
        }
        "bully_worst_live_N#" => Finding::Exact(bully_messages_to_the_living(n) as f64),
        "bully_expected_N#" => bully_from_anyone(n),
        _ => return None,
    })
}

/// The id with each number replaced by `#`.
fn family(id: &str) -> String {
    let mut family = String::new();
    for c in id.chars() {
        if !c.is_ascii_digit() {
            family.push(c);
        } else if !family.ends_with('#') {
            family.push('#');
        }
    }
    family
}

fn count(summary: &Summary) -> Finding {
    Finding::Exact(total(&summary.tally) as f64)
}

// Rings.

fn ring(kind: Ring, n: u32, k: u32, order: Order) -> Finding {
    if order == Order::Random && n <= ENUMERATE_UP_TO {
        return Finding::Exact(mean_over_layouts(n, k, |layout| run_ring(kind, layout)));
    }
    let layout = |seeds| classics::ring(kind, n, Initiators::Count(k), order, seeds);
    match order {
        Order::Best | Order::Worst | Order::Ascending => {
            count(&run_ring(kind, layout(Seeds::new(0, 0))))
        }
        Order::Random => {
            let hops = match kind {
                Ring::ChangRoberts => 10 * n,
                Ring::Modified => 10 * n * (n / 10).max(1), // its messages grow with the ring
            };
            let runs = (60_000_000 / u64::from(hops)).clamp(100, 10_000);
            Finding::Estimated(estimate(runs, |run| run_ring(kind, layout(Seeds::new(1, run)))))
        }
    }
}

fn run_ring(kind: Ring, layout: Layout) -> Summary {
    let (priorities, scenario) = layout.scenario();
    let setup = group(priorities, Detection::Oracle);
    let summary = match kind {
        Ring::ChangRoberts => {
            let config = chang_roberts::Config::paper();
            run::<ChangRoberts>(setup, scenario, config, FOR_EVER)
        }
        Ring::Modified => {
            let config = modified_ring::Config::paper();
            run::<ModifiedRing>(setup, scenario, config, FOR_EVER)
        }
    };
    assert!(summary.elected_best, "{summary:?}");
    summary
}

/// The slides read literally: every order, all start, and each leader is declared twice.
fn literal_ring(n: u32) -> Finding {
    let config =
        chang_roberts::Config { initiator: Initiator::Literal, ..chang_roberts::Config::paper() };
    Finding::Exact(mean_over_layouts(n, n, |layout| {
        let (priorities, scenario) = layout.scenario();
        let setup = group(priorities, Detection::Oracle);
        let summary = run::<ChangRoberts>(setup, scenario, config, FOR_EVER);
        let announcements = summary.tally.unicasts[1];
        assert_eq!(announcements, 2 * u64::from(n), "declared twice");
        summary
    }))
}

/// The mean number of messages over all orders and all sets of `k` initiators.
fn mean_over_layouts(n: u32, k: u32, run: impl Fn(Layout) -> Summary) -> f64 {
    let messages: Vec<u64> = layouts(n, k).map(|layout| total(&run(layout).tally)).collect();
    messages.iter().sum::<u64>() as f64 / messages.len() as f64
}

fn estimate(runs: u64, one: impl Fn(u64) -> Summary + Sync) -> Sample {
    let mut sample = Sample::new(Kind::Number);
    let one = |number| total(&one(number).tally) as f64;
    let taken = monte_carlo::run(
        runs,
        0,
        one,
        || {},
        |messages| {
            sample.add(messages);
            ControlFlow::Continue(())
        },
    );
    assert_eq!(taken.expect("threads can be had"), runs);
    sample
}

/// Member 0 initiates, 1 is the best, and one of them dies.
fn modified_ring_with_death(n: u32, death: &str) -> Finding {
    let mut priorities = ranked(n);
    priorities[1] = Priority(u64::from(n));
    let setup = group(priorities, Detection::Oracle);
    let scenario = script(&format!("at 0s start 0\n{death}"));
    let config = modified_ring::Config::paper();
    let summary = run::<ModifiedRing>(setup, scenario, config, FOR_EVER);
    assert!(summary.elected_best, "{death}: {summary:?}");
    count(&summary)
}

// Bully.

fn bully(n: u32, initiator: BullyInitiator, detection: Detection) -> Summary {
    let (priorities, scenario) = classics::bully(n, initiator, Best::Down, Seeds::new(0, 0));
    run_bully(group(priorities, detection), scenario, Silent).0
}

fn run_bully<T: Trace<Bully>>(setup: Setup, scenario: Scenario, trace: T) -> (Summary, T) {
    let config = bully::Config::paper(support::UNIT);
    let (summary, trace) = run_traced(setup, scenario, config, FOR_EVER, trace);
    assert!(summary.elected_best, "{summary:?}");
    (summary, trace)
}

fn bully_messages_to_the_living(n: u32) -> u64 {
    /// Counts messages to members other than `dead`.
    struct ToTheLiving {
        dead: u64,
        sent: u64,
    }
    impl Trace<Bully> for ToTheLiving {
        const ON: bool = true;

        fn record(&mut self, _: Instant, event: Event<'_, Bully>) {
            if let Event::Sent { to, .. } = event {
                self.sent += u64::from(to != self.dead);
            }
        }
    }
    let (priorities, scenario) =
        classics::bully(n, BullyInitiator::Lowest, Best::Down, Seeds::new(0, 0));
    let dead = u64::from(n - 1);
    let trace = ToTheLiving { dead, sent: 0 };
    run_bully(group(priorities, Detection::Never), scenario, trace).1.sent
}

/// The mean over all live initiators, or, in a large group, over the middle ones of equal strata.
/// The cost falls from the lowest initiator to the highest, so this mean is off by at most half of
/// the total fall, over the number of strata.
fn bully_from_anyone(n: u32) -> Finding {
    const STRATA: u32 = 20;
    let messages = |initiator: u32| {
        let scenario = script(&format!("at 0s kill {}\nat 0s start {initiator}", n - 1));
        let setup = group(ranked(n), Detection::Never);
        total(&run_bully(setup, scenario, Silent).0.tally)
    };
    let live = n - 1;
    let initiators: Vec<u32> = if n <= 100 {
        (0..live).collect()
    } else {
        let middle = |stratum| (2 * stratum + 1) * live / (2 * STRATA);
        (0..STRATA).map(middle).collect()
    };
    let costs: Vec<u64> = initiators.iter().copied().map(messages).collect();
    assert!(costs.is_sorted_by(|lower, higher| lower > higher), "{costs:?}");
    let mean = costs.iter().sum::<u64>() as f64 / costs.len() as f64;
    if n <= 100 {
        return Finding::Exact(mean);
    }
    let fall = messages(0) - messages(live - 1);
    Finding::Within(mean, fall as f64 / f64::from(2 * STRATA))
}

// Scenarios.

/// Runs a scenario; also returns the number by which the examples call member 0.
fn scenario(name: &str) -> Option<(Summary, u64)> {
    let (protocol, rest) = name.split_once('_')?;
    Some(match protocol {
        "plain" => {
            let config = chang_roberts::Config::paper();
            (five_on_a_ring::<ChangRoberts>(plain(rest)?, config), 0)
        }
        "mod" => {
            let config = modified_ring::Config::paper();
            (five_on_a_ring::<ModifiedRing>(modified(rest)?, config), 0)
        }
        "bully" => {
            let (members, text) = bullies(rest)?;
            let setup = group(ranked(members), Detection::Never);
            let config = bully::Config::paper(support::UNIT);
            (run::<Bully>(setup, script(text), config, FOR_EVER), 1)
        }
        _ => return None,
    })
}

fn five_on_a_ring<P: Simulated + Default + 'static>(text: &str, config: P::Config) -> Summary {
    let setup = group(ranked(5), Detection::Oracle);
    run::<P>(setup, script(text), config, FOR_EVER)
}

fn plain(name: &str) -> Option<&'static str> {
    Some(match name {
        "ok" => "at 0s start 2",
        "p4_dies" => "at 0s start 2\nat 2500ms kill 4",
        "p4_dies_early" => "at 0s start 2\nat 500ms kill 4",
        "initiator_dies" => "at 0s start 2\nat 500ms kill 2",
        "max_initiator_dies" => "at 0s start 4\nat 500ms kill 4",
        "holder_dies" => "at 0s start 2\nat 2500ms kill 0",
        _ => return None,
    })
}

fn modified(name: &str) -> Option<&'static str> {
    Some(match name {
        "ok" => "at 0s start 2",
        "p4_dies" => "at 0s start 2\nat 2500ms kill 4",
        "p4_dies_before_coord" => "at 0s start 2\nat 5500ms kill 4",
        "p4_dies_after_sign" => "at 0s start 2\nat 7500ms kill 4",
        "initiator_dies" => "at 0s start 2\nat 500ms kill 2",
        "initiator_dies_coord" => "at 0s start 2\nat 5500ms kill 2",
        "initiator_and_p4_die" => "at 0s start 2\nat 500ms kill 2\nat 2500ms kill 4",
        "two" => "at 0s start 1,3",
        "all" => "at 0s start all",
        "two_high_initiator_dies" => "at 0s start 1,3\nat 500ms kill 3",
        "holder_dies" => "at 0s start 2\nat 2500ms kill 0",
        _ => return None,
    })
}

/// The number of members, and the scenario; the examples count from 1.
fn bullies(name: &str) -> Option<(u32, &'static str)> {
    Some(match name {
        "p2" => (6, "at 0s kill 5\nat 0s start 2"),
        "p4_fails_p3_fails_early" => (4, "at 0s kill 3\nat 0s start 0\nat 1500ms kill 2"),
        "p4_fails_p3_fails_late" => (4, "at 0s kill 3\nat 0s start 0\nat 2500ms kill 2"),
        "all" => (5, "at 0s kill 4\nat 0s start 0-3"),
        "initiator_dies" => (5, "at 0s kill 4\nat 0s start 0\nat 500ms kill 0"),
        "only_one_left" => (4, "at 0s kill 1-3\nat 0s start 0"),
        _ => return None,
    })
}

fn ending(ending: Ending, first_name: u64) -> String {
    match ending {
        Ending::Elected(leader) => format!("elected {}", leader.0 + first_name),
        Ending::ElectedDead(leader) => format!("elected dead {}", leader.0 + first_name),
        Ending::Livelock => "livelock".to_owned(),
        Ending::SilentDeadlock => "silent deadlock".to_owned(),
    }
}
