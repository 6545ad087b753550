//! Networks that never heal: agreement comes with time, with high probability.

use hustings_protocol::Priority;
use hustings_sim::{
    Boot, Delay, Detection, LossModel, Network, Reordering, Scenario, Seeds, Setup, Stream,
};

use crate::support::family::Family;
use crate::support::{Experiment, UNIT, ranked, script, shuffle};

/// The number of `runs` groups of five, with a permanent loss of one message in ten and a dead best
/// member, that do not agree after `patiences` times their patience.
pub(crate) fn disagreements<P: Family>(runs: u64, patiences: u64) -> u64 {
    let disagree = |run: &u64| {
        let seeds = Seeds::new(11, *run);
        let election_timeout = UNIT * 21;
        let mut priorities: Vec<Priority> = ranked(5);
        shuffle(&mut priorities, &mut seeds.rng(Stream::Layout));
        let experiment = Experiment {
            setup: Setup {
                priorities,
                network: lossy::<P>(),
                detection: Detection::After(UNIT),
                view: 1.0,
            },
            scenario: deaths(),
            limit: crate::support::units(100) + election_timeout * patiences,
        };
        let config = P::field(election_timeout);
        let summary = experiment.run(config, seeds, |_: Boot<P>| P::default());
        !summary.elected_best
    };
    (0..runs).filter(disagree).count() as u64
}

fn deaths() -> Scenario {
    script("at 0s start all\nat 50s kill best\nat 100s restart 2")
}

fn lossy<P: Family>() -> Network {
    Network {
        delay: if P::ORDERED {
            Delay::Constant(UNIT)
        } else {
            Delay::Uniform { from: UNIT.mul_f64(0.1), to: UNIT }
        },
        unicast_loss: 0.1,
        multicast_loss: 0.0,
        loss_model: LossModel::Uncorrelated,
        duplicate: 0.05,
        reordering: Reordering { probability: 0.0, by: UNIT },
    }
}
