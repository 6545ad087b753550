//! Protocols for groups in which no member knows all: shuffling of partial views, census, epidemic
//! multicast.

mod census;
mod epidemic;
mod shuffle;
#[path = "../support/mod.rs"]
mod support;

use hustings_protocol::{Duration, Priority, Protocol};
use hustings_sim::{Delay, Detection, Network, Setup};

use support::desk::Desk;

/// The time between two turns, throughout.
const PERIOD: Duration = Duration::from_secs(1);

/// Members that all know each other, on a network with this loss and delays of up to a tenth of a
/// period.
fn setup(members: u32, loss: f64) -> Setup {
    let delay = Delay::Uniform { from: Duration::ZERO, to: PERIOD.mul_f64(0.1) };
    Setup {
        priorities: vec![Priority(0); members as usize],
        network: Network { unicast_loss: loss, ..Network::perfect(delay) },
        detection: Detection::Never,
        view: 1.0,
    }
}

/// Asserts that a member sent no multicast and reported nothing.
fn assert_silent<P: Protocol>(desk: &Desk<P>, seed: u64) {
    assert!(desk.papers.said.is_empty(), "seed {seed}");
    assert_eq!(desk.papers.outcomes, [], "seed {seed}");
}

/// The mean and the variance of some numbers.
fn moments(numbers: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = numbers.clone().count() as f64;
    let mean = numbers.clone().sum::<f64>() / count;
    let spread = numbers.map(|it| (it - mean).powi(2)).sum::<f64>();
    (mean, spread / count)
}
