//! The same seed gives the same run.

use std::ops::ControlFlow;

use hustings_protocol::Priority;
use hustings_sim::statistics::{Kind, Sample};
use hustings_sim::{
    Boot, Delay, Detection, JsonLines, LossModel, Network, Reordering, Seeds, Setup, monte_carlo,
};

use crate::storm::Storm;
use crate::support::family::Family;
use crate::support::{Experiment, UNIT, total};

/// The same seed gives the same trace, byte for byte, and the next seed another.
pub(crate) fn same_seed_same_trace<P: Family>(seed: u64) -> Result<(), String> {
    let trace = |seed| {
        let (config, make) = (P::field(UNIT * 30), |_: Boot<P>| P::default());
        let lines = JsonLines::new(Vec::new());
        let (_, lines) = rough(seed).run_traced(config, Seeds::new(seed, 0), lines, make);
        lines.finish().expect("memory takes all")
    };
    let once = trace(seed);
    if once != trace(seed) {
        Err("two runs of one seed differ".to_owned())
    } else if once == trace(seed + 1) {
        Err("the next seed gives the same run".to_owned())
    } else {
        Ok(())
    }
}

/// Estimates are the same, bit for bit, on any number of threads.
pub(crate) fn any_number_of_threads<P: Family>(seed: u64) -> Result<(), String> {
    let estimate = |threads| {
        let mut messages = Sample::new(Kind::Number);
        let mut agreed = Sample::new(Kind::Proportion);
        let one = |run| {
            let (config, make) = (P::field(UNIT * 30), |_: Boot<P>| P::default());
            rough(seed).run(config, Seeds::new(seed, run), make)
        };
        let taken = monte_carlo::run(
            300,
            threads,
            one,
            || {},
            |summary| {
                messages.add(total(&summary.tally) as f64);
                agreed.add(f64::from(u8::from(summary.strong_success)));
                ControlFlow::Continue(())
            },
        );
        assert_eq!(taken.expect("threads can be had"), 300);
        [messages, agreed].map(|sample| {
            let estimate = sample.estimate().expect("there were runs");
            let [low, high] = estimate.ci95.expect("there were several");
            [estimate.mean, low, high, estimate.min, estimate.max].map(f64::to_bits)
        })
    };
    let alone = estimate(1);
    for threads in [2, 5] {
        if estimate(threads) != alone {
            return Err(format!("{threads} threads estimate otherwise than one"));
        }
    }
    Ok(())
}

/// A storm in a network with delays, losses, duplicates and reordering.
fn rough(seed: u64) -> Experiment {
    let storm = Storm::new(seed, 1);
    Experiment {
        setup: Setup {
            priorities: storm.priorities.iter().map(|priority| Priority(priority.0)).collect(),
            network: Network {
                unicast_loss: 0.1,
                multicast_loss: 0.1,
                loss_model: LossModel::Uncorrelated,
                duplicate: 0.1,
                reordering: Reordering { probability: 0.1, by: UNIT * 3 },
                delay: Delay::Exponential { mean: UNIT },
            },
            detection: Detection::After(UNIT),
            view: 1.0,
        },
        scenario: storm.scenario.clone(),
        limit: storm.all_well() + UNIT * 60,
    }
}
