//! Wake-up times and their cost; and the two baselines.

use hustings_protocol::announce::{Announce, Config, PriorityScale, Wake};
use hustings_protocol::announce_listen::{self, AnnounceListen};
use hustings_protocol::suppression::{self, Suppression};
use hustings_protocol::{Priority, Simulated};
use hustings_sim::{Boot, Detection, LossModel, Network, Seeds, Setup, World};

use crate::group::{ANNOUNCE, at, calm, lossy, world};
use crate::support::{ranked, script};

const MEMBERS: u32 = 100;

/// The first announcer, and the number of announcements until all know the best.
fn election(wake: Wake, seed: u64) -> (u32, u64) {
    let config = Config { wake, ..Config::paper(ANNOUNCE, ANNOUNCE * 2) };
    let scenario = script("at 0s start all");
    let mut world = world::<Announce>(&ranked(MEMBERS), calm(), config, seed, &scenario);
    // All members have woken up or been silenced, and the winner has not announced itself again.
    world.run_until(at(1_050));
    let names = |it| world.nominee(it).map(|(id, _)| id.0);
    let best = Some(u64::from(MEMBERS - 1));
    assert!((0..MEMBERS).all(|it| names(it) == best), "seed {seed}");
    let log = world.into_trace();
    (log.said[0].1, log.said.len() as u64)
}

#[test]
fn wake_up_by_priority_lets_the_best_speak_first() {
    let runs = 30;
    let scale = PriorityScale::up_to(Priority(u64::from(MEMBERS - 1)));
    let exact = PriorityScale { chance: 0.0, ..scale };
    let mean = |wake: Wake| {
        let counts = (0..runs).map(|seed| election(wake, seed).1);
        counts.sum::<u64>() as f64 / runs as f64
    };
    for seed in 0..runs {
        // Members within one delay of the best announce themselves too.
        let (first, count) = election(Wake::ByPriority(exact), seed);
        assert_eq!(first, MEMBERS - 1);
        assert!(count <= 2, "{count}");
    }
    let (by_priority, uniform) = (mean(Wake::ByPriority(scale)), mean(Wake::Uniform));
    assert!(by_priority < 4.0, "{by_priority}");
    // LE-S: the harmonic sum and those that have not heard yet.
    assert!(uniform > 5.0 && by_priority * 1.5 < uniform, "{by_priority} {uniform}");
}

/// A group of a baseline in which all have started.
fn baseline<P: Simulated + Default + 'static>(
    config: P::Config,
    network: Network,
    seed: u64,
) -> World<P> {
    let setup =
        Setup { priorities: ranked(MEMBERS), network, detection: Detection::Never, view: 1.0 };
    let make = |_: Boot<P>| P::default();
    let mut world = World::new(setup, config, Seeds::new(seed, 0), make);
    world.follow(&script("at 0s start all"));
    world
}

#[test]
fn suppression_speaks_one_round_and_stops() {
    for seed in 0..50 {
        let loss = if seed % 2 == 0 { 0.0 } else { 0.3 };
        let config = suppression::Config { suppress: ANNOUNCE, wake: Wake::Uniform };
        let network = lossy(loss, LossModel::Uncorrelated);
        let mut world = baseline::<Suppression>(config, network, seed);
        world.run_until(at(1_100));
        let spoken = world.tally().multicasts[0];
        assert!((1..=u64::from(MEMBERS)).contains(&spoken), "{spoken}");
        assert!((0..MEMBERS).all(|it| world.nominee(it).is_some()));
        let halt = world.run_until(at(100_000));
        assert_eq!(halt, hustings_sim::Halt::Quiet);
        assert_eq!(world.tally().multicasts[0], spoken);
    }
}

#[test]
fn announce_listen_names_the_best_at_n_announcements_each_interval() {
    let config =
        announce_listen::Config { announce: ANNOUNCE, listen: Some(ANNOUNCE.mul_f64(10.5)) };
    for (loss, seed) in [(0.0, 0), (0.3, 1), (0.3, 2)] {
        let network = lossy(loss, LossModel::Uncorrelated);
        let mut world = baseline::<AnnounceListen>(config, network, seed);
        world.run_until(at(9_500));
        assert_eq!(world.tally().multicasts[0], u64::from(MEMBERS) * 10);
        let best = u64::from(MEMBERS - 1);
        let names = |it| world.nominee(it).map(|(id, _)| id.0);
        assert!((0..MEMBERS).all(|it| names(it) == Some(best)));
        // The best leaves: the next one is named when the last word of it is T_L old.
        world.follow(&script("at 9600ms kill 99"));
        world.run_until(at(32_000));
        let names = |it| world.nominee(it).map(|(id, _)| id.0);
        assert!((0..MEMBERS - 1).all(|it| names(it) == Some(best - 1)));
    }
}
