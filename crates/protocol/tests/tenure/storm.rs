//! All faults at once, with many seeds: lost, late and duplicated messages, crashes, clocks that
//! drift up to the bound. The model covers all short runs; these runs are long.

use hustings_protocol::tenure::TenureOutcome;
use hustings_protocol::tenure::{Config, Message, Request};
use hustings_protocol::{Duration, Fence, MemberId};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::config;
use crate::hall::{World, millis};

fn below(bound: u64, rng: &mut impl Rng) -> u64 {
    rng.next_u64() % bound
}

/// A tenth of the messages is lost, a tenth duplicated, and some take longer than a tenure.
fn faulty_network(seed: u64) -> impl FnMut(MemberId, MemberId, &Message) -> Vec<Duration> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    move |_, _, _| {
        let copies = match below(10, &mut rng) {
            0 => 0,
            1 => 2,
            _ => 1,
        };
        let delay = |_| match below(20, &mut rng) {
            0 => millis(below(1_000, &mut rng)),
            _ => Duration::from_micros(100 + below(4_000, &mut rng)),
        };
        (0..copies).map(delay).collect()
    }
}

#[test]
fn under_all_faults_at_most_one_holds_and_fences_rise() {
    let mut tenures = 0;
    for seed in 1..=60 {
        let config = Config { drift_ppm: 100_000, ..config() };
        let mut world = World::of_three(&config, seed);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        world.network = Box::new(faulty_network(seed));
        for id in 1..=3 {
            let drift = [-100_000, 0, 100_000][below(3, &mut rng) as usize];
            world.node(id).drift(drift);
        }
        let mut highest = Fence(0);
        for _ in 0..100 {
            let id = 1 + below(3, &mut rng);
            match below(8, &mut rng) {
                0 => world.crash(id),
                1 => world.start(id),
                2 => world.ask(id, Request::Release),
                3 => {
                    let to = MemberId(1 + below(3, &mut rng));
                    world.ask(id, Request::Transfer { to });
                }
                _ => {
                    if !world.node(id).is_up {
                        world.start(id);
                    }
                    world.ask(id, Request::Acquire);
                }
            }
            let end = world.now + millis(below(400, &mut rng));
            while world.next(end) {
                assert!(world.holders().len() <= 1, "seed {seed} at {:?}", world.now);
                for node in &mut world.nodes {
                    for outcome in node.outcomes.drain(..) {
                        if let TenureOutcome::Gained { fence } = outcome {
                            assert!(fence > highest, "seed {seed}: {fence} after {highest}");
                            highest = fence;
                            tenures += 1;
                        }
                    }
                }
            }
        }
    }
    assert!(tenures > 500, "only {tenures} tenures");
}
