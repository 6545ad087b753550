//! The conditions of an election: the network and the faults.

use hustings_protocol::Duration;

use crate::{Delay, Detection, Network};

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
