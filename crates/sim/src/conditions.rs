//! The conditions of an election: the network and random crashes.

use hustings_protocol::{Duration, Instant};
use rand_core::Rng;

use crate::{Delay, Detection, Network, Seeds, Stream, Verb, Who};

/// The conditions of an election.
#[derive(Debug, Clone, Copy)]
pub struct Conditions {
    /// The network model.
    pub network: Network,
    /// The probability that a member crashes in a round.
    pub crash: f64,
    /// The probability that a member knows another.
    pub view: f64,
    /// The failure detection. `None` stands for the one that the protocol's source assumes.
    pub detection: Option<Detection>,
}

impl Conditions {
    /// Conditions without crashes and with full views. Only `network` affects messages.
    pub fn of(network: Network) -> Self {
        Self { network, crash: 0.0, view: 1.0, detection: None }
    }

    /// Returns the mean delay of a message.
    pub fn mean_delay(&self) -> Duration {
        self.network.delay.mean()
    }

    /// True if the copies of a multicast may arrive at different times.
    pub fn copies_part(&self) -> bool {
        let network = &self.network;
        !matches!(network.delay, Delay::Constant(_)) || network.reordering.probability > 0.0
    }

    /// Returns a bound of the delay. It always holds if delays are bounded, and mostly otherwise.
    pub fn delay_bound(&self) -> Duration {
        match self.network.delay {
            Delay::Constant(delay) => delay,
            Delay::Uniform { to, .. } => to,
            Delay::Exponential { .. } | Delay::LogNormal { .. } => self.mean_delay() * 4,
        }
    }

    /// Returns the configured failure detection, or `usual` if none is configured.
    pub fn detection(&self, usual: Detection) -> Detection {
        self.detection.unwrap_or(usual)
    }
}

/// Crashes at a rate: in each round, each live member crashes with `probability`, at a time uniform
/// in the round. Rounds of length `round` follow each other until `until`.
pub(crate) fn crashes(
    members: u32,
    probability: f64,
    round: Duration,
    until: Instant,
    seeds: Seeds,
) -> Vec<(Instant, Verb)> {
    let mut crashes = Vec::new();
    if probability <= 0.0 || round == Duration::ZERO {
        return crashes;
    }
    let mut rng = seeds.rng(Stream::Faults);
    let mut uniform = || ((rng.next_u64() >> 11) + 1) as f64 * 2f64.powi(-53);
    for member in 0..members {
        // The number of rounds survived is geometric.
        let survived = (uniform().ln() / (-probability).ln_1p()).floor();
        let at = Duration::from_secs_f64((survived + uniform()) * round.as_secs_f64());
        if Instant::START + at <= until {
            crashes.push((Instant::START + at, Verb::Kill(Who::one(member))));
        }
    }
    crashes
}

#[cfg(test)]
mod tests {
    use super::crashes;
    use crate::Seeds;
    use hustings_protocol::{Duration, Instant};

    #[test]
    fn the_stated_share_crashes_in_each_round() {
        let round = Duration::from_secs(1);
        let crashed = crashes(100_000, 0.1, round, Instant(2_000_000_000), Seeds::new(3, 0));
        let first = crashed.iter().filter(|(at, _)| at.0 <= 1_000_000_000).count() as f64;
        let second = crashed.len() as f64 - first;
        // Means 10,000 and 9,000; standard deviations below 95.
        assert!((first - 10_000.0).abs() < 430.0, "{first}");
        assert!((second - 9_000.0).abs() < 430.0, "{second}");
        // Uniform in the round: mean 0.5 s, standard error 0.29 / sqrt(10,000).
        let times = crashed.iter().map(|(at, _)| at.as_secs_f64());
        let mean = times.filter(|&at| at <= 1.0).sum::<f64>() / first;
        assert!((mean - 0.5).abs() < 0.013, "{mean}");
        assert_eq!(crashes(10, 0.0, round, Instant(1), Seeds::new(3, 0)).len(), 0);
    }
}
