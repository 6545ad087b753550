//! Everything at once, from many seeds: messages lost, late and doubled, members that crash, clocks that
//! drift to the bound. The model is thorough where this is long.

use hustings_protocol::tenure::{Config, Message, Request};
use hustings_protocol::{Duration, Fence, MemberId, Outcome};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::config;
use crate::hall::{Hall, millis};

fn below(bound: u64, rng: &mut impl Rng) -> u64 {
    rng.next_u64() % bound
}

/// A tenth of the messages is lost, a tenth doubled, and some take longer than tenure lasts.
fn weather(seed: u64) -> impl FnMut(MemberId, MemberId, &Message) -> Vec<Duration> {
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
fn in_any_weather_at_most_one_holds_and_fences_rise() {
    let mut tenures = 0;
    for seed in 1..=60 {
        let config = Config {
            drift_ppm: 100_000,
            ..config()
        };
        let mut hall = Hall::of_three(&config, seed);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        hall.network = Box::new(weather(seed));
        for id in 1..=3 {
            let drift = [-100_000, 0, 100_000][below(3, &mut rng) as usize];
            hall.seat(id).drift(drift);
        }
        let mut highest = Fence(0);
        for _ in 0..100 {
            let id = 1 + below(3, &mut rng);
            match below(8, &mut rng) {
                0 => hall.crash(id),
                1 => hall.start(id),
                2 => hall.ask(id, Request::Release),
                3 => {
                    let to = MemberId(1 + below(3, &mut rng));
                    hall.ask(id, Request::Transfer { to });
                }
                _ => {
                    if !hall.seat(id).is_up {
                        hall.start(id);
                    }
                    hall.ask(id, Request::Acquire);
                }
            }
            let end = hall.now + millis(below(400, &mut rng));
            while hall.next(end) {
                assert!(hall.holders().len() <= 1, "seed {seed} at {:?}", hall.now);
                for seat in &mut hall.seats {
                    for outcome in seat.outcomes.drain(..) {
                        if let Outcome::TenureGained { fence } = outcome {
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
