//! Shared parts of the tests: groups, scripts, counts, random numbers.

#![allow(dead_code, reason = "every test file uses a part of it")]

pub(crate) mod desk;
pub(crate) mod family;
pub(crate) mod faults;
pub(crate) mod text;
pub(crate) mod watch;
pub(crate) mod wrapper;

use std::ops::Range;

use hustings_protocol::{Duration, Instant, Priority, Simulated};
use hustings_sim::classics::Layout;
use hustings_sim::{
    Boot, Delay, Detection, Network, Scenario, Seeds, Setup, Silent, Summary, Tally, Trace, Who,
    World,
};
use rand_core::Rng;

/// The delay of every message in the papers' examples.
pub(crate) const UNIT: Duration = Duration::from_secs(1);

/// A group in which every message takes one unit and all members know each other.
pub(crate) fn group(priorities: Vec<Priority>, detection: Detection) -> Setup {
    Setup { priorities, network: Network::perfect(Delay::Constant(UNIT)), detection, view: 1.0 }
}

/// The priorities of `members` members, each better than the one before: "the greatest id wins".
pub(crate) fn ranked(members: u32) -> Vec<Priority> {
    (0..u64::from(members)).map(Priority).collect()
}

/// Reads a scenario that a test wrote.
pub(crate) fn script(text: &str) -> Scenario {
    text.parse().unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

/// The moment `count` units after the beginning.
pub(crate) fn units(count: u64) -> Instant {
    Instant::START + UNIT * count
}

/// All messages that were sent.
pub(crate) fn total(tally: &Tally) -> u64 {
    tally.unicasts.iter().chain(&tally.multicasts).sum()
}

/// Runs `scenario` among members without initial state, for at most `limit` units.
pub(crate) fn run<P: Simulated + Default + 'static>(
    setup: Setup,
    scenario: Scenario,
    config: P::Config,
    limit: u64,
) -> Summary {
    experiment(setup, scenario, limit).run(config, Seeds::new(0, 0), |_: Boot<P>| P::default())
}

/// The same, with a trace.
pub(crate) fn run_traced<P: Simulated + Default + 'static, T: Trace<P>>(
    setup: Setup,
    scenario: Scenario,
    config: P::Config,
    limit: u64,
    trace: T,
) -> (Summary, T) {
    let make = |_: Boot<P>| P::default();
    experiment(setup, scenario, limit).run_traced(config, Seeds::new(0, 0), trace, make)
}

fn experiment(setup: Setup, scenario: Scenario, limit: u64) -> Experiment {
    scenario.check(setup.priorities.len()).unwrap_or_else(|error| panic!("{error} in\n{scenario}"));
    Experiment { setup, scenario, limit: units(limit) }
}

/// The definition of one run: a world, a scenario and a time limit.
#[derive(Debug, Clone)]
pub(crate) struct Experiment {
    /// The properties of the world.
    pub(crate) setup: Setup,
    /// The scenario, which also starts members.
    pub(crate) scenario: Scenario,
    /// The time at which the run stops if events are still pending.
    pub(crate) limit: Instant,
}

impl Experiment {
    /// Executes the run.
    pub(crate) fn run<P: Simulated>(
        self,
        config: P::Config,
        seeds: Seeds,
        make: impl FnMut(Boot<P>) -> P + 'static,
    ) -> Summary {
        self.run_traced(config, seeds, Silent, make).0
    }

    /// Executes the run and records it.
    pub(crate) fn run_traced<P: Simulated, T: Trace<P>>(
        self,
        config: P::Config,
        seeds: Seeds,
        trace: T,
        make: impl FnMut(Boot<P>) -> P + 'static,
    ) -> (Summary, T) {
        let mut world = World::traced(self.setup, config, seeds, trace, make);
        world.follow(&self.scenario);
        let halt = world.run_until(self.limit);
        (Summary::of(&world, halt), world.into_trace())
    }
}

/// A number below `bound`.
pub(crate) fn below(bound: u64, rng: &mut impl Rng) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(bound)) >> 64) as u64
}

/// One of `choices`.
pub(crate) fn choose<T: Copy>(choices: &[T], rng: &mut impl Rng) -> T {
    choices[below(choices.len() as u64, rng) as usize]
}

/// True with probability `percent` / 100.
pub(crate) fn happens(percent: u64, rng: &mut impl Rng) -> bool {
    below(100, rng) < percent
}

/// Puts `items` into random order.
pub(crate) fn shuffle<T>(items: &mut [T], rng: &mut impl Rng) {
    for at in (1..items.len()).rev() {
        items.swap(at, below(at as u64 + 1, rng) as usize);
    }
}

/// The seeds of a test: `0..count`, or the one in `HUSTINGS_SEED`.
pub(crate) fn seeds(count: u64) -> Range<u64> {
    match std::env::var("HUSTINGS_SEED") {
        Ok(seed) => {
            let seed = seed.parse().expect("HUSTINGS_SEED is a number");
            seed..seed + 1
        }
        Err(_) => 0..count,
    }
}

/// While it exists, a panic is followed by the command that replays it.
pub(crate) struct Replay {
    pub(crate) file: &'static str,
    pub(crate) test: &'static str,
    pub(crate) seed: u64,
}

impl Drop for Replay {
    fn drop(&mut self) {
        let Self { file, test, seed } = self;
        if std::thread::panicking() {
            eprintln!(
                "replay with: HUSTINGS_SEED={seed} cargo test -p hustings-sim --test {file} -- --exact {test}"
            );
        }
    }
}

/// All elections of a ring that `callers` members call at once: every order of priorities with
/// every set of callers. The best is at 0 without loss of generality, because rotating the ring
/// changes nothing.
pub(crate) fn layouts(members: u32, callers: u32) -> impl Iterator<Item = Layout> {
    let best = Priority(u64::from(members));
    let others: Vec<Priority> = ranked(members - 1);
    let sets = (0..1_u32 << members).filter(move |set| set.count_ones() == callers);
    let sets: Vec<Vec<u32>> =
        sets.map(|set| (0..members).filter(|at| set >> at & 1 == 1).collect()).collect();
    orders(&others).into_iter().flat_map(move |order| {
        let priorities: Vec<Priority> = [best].into_iter().chain(order).collect();
        let layout = |callers: &Vec<u32>| Layout {
            priorities: priorities.clone(),
            starters: Who::Members(callers.clone()),
        };
        sets.iter().map(layout).collect::<Vec<_>>()
    })
}

fn orders(items: &[Priority]) -> Vec<Vec<Priority>> {
    if items.is_empty() {
        return vec![vec![]];
    }
    let mut all = Vec::new();
    for &first in items {
        let rest: Vec<Priority> = items.iter().copied().filter(|it| *it != first).collect();
        for mut order in orders(&rest) {
            order.insert(0, first);
            all.push(order);
        }
    }
    all
}
