//! One probabilistic election in a large group: memory and CPU time.

use hustings_protocol::Duration;
use hustings_protocol::probabilistic::{Config, LastRound, Strategy};
use hustings_sim::probabilistic::{ProbabilisticTrial as Trial, elect};
use hustings_sim::{Scratch, Seeds};

use crate::cpu_nanos;

const HOP: Duration = Duration::from_millis(100);
const VIEW: f64 = 0.5;
const CRASH: f64 = 0.001;
/// After a round with K = 1, in which perhaps no member is drawn, the next round succeeds.
const GROWTH_OF_ONE: f64 = 14.0;

/// The cost of an election.
pub(crate) struct DrawCost {
    /// Unicasts and multicasts.
    pub(crate) messages: u64,
    pub(crate) rounds: u32,
    /// CPU time, set-up included.
    pub(crate) nanos: f64,
}

/// Holds a first round with K, and further rounds if necessary.
pub(crate) fn hold(members: u32, k: u32, loss: f64, seed: u64) -> DrawCost {
    let strategy = Strategy {
        first: k,
        growth: match k {
            1 => GROWTH_OF_ONE,
            _ => Strategy::DOCUMENT.growth,
        },
        last: LastRound::Grown,
        ..Strategy::DOCUMENT
    };
    let trial = Trial {
        members,
        view: VIEW,
        crash: CRASH,
        unicast_loss: loss,
        multicast_loss: loss,
        config: Config { strategy, ..Config::paper(u64::from(members), HOP) },
        purge: true,
    };
    let begin = cpu_nanos();
    let (run, _) = elect(&trial, Seeds::new(seed, 0), Scratch::default());
    DrawCost {
        messages: run.unicasts + run.multicasts,
        rounds: run.rounds,
        nanos: cpu_nanos() - begin,
    }
}
