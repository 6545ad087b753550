//! One LE-S election in a large group: memory and CPU time.

use hustings_protocol::announce::{Announce, Config};
use hustings_protocol::{Duration, Instant};
use hustings_sim::{Delay, Network, Seeds, announcing};

use crate::cpu_nanos;

const LOSS: f64 = 0.1;
const INTERVAL: Duration = Duration::from_secs(1);
/// An election that has not converged by then never does.
const LIMIT: Instant = Instant(1_000_000_000_000);

/// The cost of an election.
pub(crate) struct ElectionCost {
    /// Announcements until all had heard the leader.
    pub(crate) announcements: u64,
    /// CPU time, set-up included.
    pub(crate) nanos: f64,
    /// The size of the protocol's state per member, in bytes.
    pub(crate) state: usize,
}

/// Holds an election with T_S = T_A = 1 s and a loss of one tenth. Returns `None` if not all
/// members hear the leader.
pub(crate) fn hold(members: u32, delay: Duration, seed: u64) -> Option<ElectionCost> {
    let config = Config::paper(INTERVAL, INTERVAL);
    let network = Network { multicast_loss: LOSS, ..Network::perfect(Delay::Constant(delay)) };
    let begin = cpu_nanos();
    let watch = announcing::elect(members, config, network, Seeds::new(seed, 0), LIMIT);
    let nanos = cpu_nanos() - begin;
    Some(ElectionCost {
        announcements: watch.hearing().convergence()?.messages,
        nanos,
        state: size_of::<Announce>(),
    })
}
