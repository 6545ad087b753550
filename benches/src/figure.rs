//! Figure 5 of the report on probabilistic elections, as a whole: the CPU time of its simulations.

use hustings_protocol::Duration;
use hustings_protocol::probabilistic::{Config, Recall};
use hustings_sim::probabilistic::{ProbabilisticTrial as Trial, elect};
use hustings_sim::{Scratch, Seeds};

use crate::cpu_nanos;

const HOP: Duration = Duration::from_millis(100);
/// The loss and crash probability where they are not varied.
const RARE: f64 = 0.001;
const LOSSES: [f64; 11] = [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5];
const MEMBERS: [u32; 11] =
    [1_000, 1_500, 2_000, 2_500, 3_000, 3_500, 4_000, 4_500, 5_000, 5_500, 6_000];
const VIEWS: [f64; 7] = [0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5];

/// The cost of all elections, one after the other.
pub(crate) struct FigureCost {
    /// Points on its curves, separate for each rule.
    pub(crate) points: usize,
    pub(crate) nanos: f64,
}

/// Simulates `runs` elections per point, for both rules.
pub(crate) fn simulate(runs: u64) -> FigureCost {
    let by_loss = LOSSES.map(|loss| trial(2_000, 0.5, loss));
    let by_members = MEMBERS.map(|members| trial(members, 0.5, RARE));
    let by_view = VIEWS.map(|view| trial(5_000, view, RARE));
    let places = [&by_loss[..], &by_members, &by_view].concat();
    let rules = [Recall::Hash, Recall::Delay];
    let mut scratch = Scratch::default();
    let begin = cpu_nanos();
    for (place, recall) in places.iter().flat_map(|it| rules.map(|rule| (it, rule))) {
        let trial = Trial { config: Config { recall, ..place.config }, ..*place };
        for run in 0..runs {
            let (_, used) = elect(&trial, Seeds::new(1, run), scratch);
            scratch = used;
        }
    }
    FigureCost { points: places.len() * rules.len(), nanos: cpu_nanos() - begin }
}

fn trial(members: u32, view: f64, loss: f64) -> Trial {
    Trial {
        members,
        view,
        crash: RARE,
        unicast_loss: loss,
        multicast_loss: loss,
        config: Config::paper(members.into(), HOP),
        purge: true,
    }
}
