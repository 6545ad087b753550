//! When members wake up and what that costs; and the two baselines.

use hustings_protocol::announce::{Announce, Config, MeritScale, Wake};
use hustings_protocol::announce_listen::{self, AnnounceListen};
use hustings_protocol::suppression::{self, Suppression};
use hustings_protocol::{Merit, Protocol};
use hustings_sim::{Boot, Detection, LossModel, Network, Seeds, Setup, World};

use crate::group::{ANNOUNCE, at, calm, lossy, world};
use crate::support::{ranked, script};

const MEMBERS: u32 = 100;

/// Who speaks first, and how many announcements are made until all know the best.
fn election(wake: Wake, seed: u64) -> (u32, u64) {
    let config = Config {
        wake,
        ..Config::chapter(ANNOUNCE, ANNOUNCE * 2)
    };
    let scenario = script("at 0s start all");
    let mut world = world::<Announce>(&ranked(MEMBERS), calm(), config, seed, &scenario);
    // Everybody has woken up or been silenced, and the winner has not announced itself again.
    world.run_until(at(1_050));
    let names = |it| world.nominee(it).map(|(id, _)| id.0);
    let best = Some(u64::from(MEMBERS - 1));
    assert!((0..MEMBERS).all(|it| names(it) == best), "seed {seed}");
    let log = world.into_trace();
    (log.said[0].1, log.said.len() as u64)
}

#[test]
fn by_merit_the_best_wakes_first_and_few_speak() {
    let runs = 30;
    let scale = MeritScale::up_to(Merit(u64::from(MEMBERS - 1)));
    let exact = MeritScale {
        chance: 0.0,
        ..scale
    };
    let mean = |wake: Wake| {
        let counts = (0..runs).map(|seed| election(wake, seed).1);
        counts.sum::<u64>() as f64 / runs as f64
    };
    for seed in 0..runs {
        // Those within one delay of the best speak too.
        let (first, count) = election(Wake::ByMerit(exact), seed);
        assert_eq!(first, MEMBERS - 1);
        assert!(count <= 2, "{count}");
    }
    let (by_merit, uniform) = (mean(Wake::ByMerit(scale)), mean(Wake::Uniform));
    assert!(by_merit < 4.0, "{by_merit}");
    // LE-S: the harmonic sum and those who have not heard yet.
    assert!(
        uniform > 5.0 && by_merit * 1.5 < uniform,
        "{by_merit} {uniform}"
    );
}

/// A group of a baseline in which all have started.
fn baseline<P: Protocol + Default + 'static>(
    config: P::Config,
    network: Network,
    seed: u64,
) -> World<P> {
    let setup = Setup {
        merits: ranked(MEMBERS),
        network,
        detection: Detection::Never,
        view: 1.0,
    };
    let make = |_: Boot<P>| P::default();
    let mut world = World::new(setup, config, Seeds::new(seed, 0), make);
    world.follow(&script("at 0s start all"));
    world
}

#[test]
fn suppression_speaks_one_round_and_stops() {
    for seed in 0..50 {
        let loss = if seed % 2 == 0 { 0.0 } else { 0.3 };
        let config = suppression::Config {
            suppress: ANNOUNCE,
            wake: Wake::Uniform,
        };
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
    let config = announce_listen::Config {
        announce: ANNOUNCE,
        listen: Some(ANNOUNCE.mul_f64(10.5)),
    };
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
