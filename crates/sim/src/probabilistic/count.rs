//! How large members hold the group to be where nobody knows all: a census before the election, in a world of its own
//! under the same conditions.

use hustings_protocol::census::{Census, Config, Request};
use hustings_protocol::{Instant, Merit};

use super::{Trial, uniform};
use crate::statistics::{Kind, Sample};
use crate::{Delay, Detection, Network, Seeds, Setup, Stream, Verb, Who, World};

/// What members hold the size to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes {
    /// The mean over those who know one: nobody else is drawn.
    pub mean: f64,
    /// How far they differ: the standard deviation.
    pub deviation: f64,
}

impl Sizes {
    /// None if nobody knows one.
    pub(super) fn of(sizes: &[Option<u64>]) -> Option<Self> {
        let mut sample = Sample::new(Kind::Number);
        let known = sizes.iter().flatten();
        known.for_each(|&size| sample.add(size as f64));
        sample.estimate().map(|estimate| Self {
            mean: estimate.mean,
            deviation: sample.deviation(),
        })
    }
}

/// Hops in a period: six tries, and a hop more than there and back for each.
const PERIOD: u64 = 18;
/// Periods after the last turn of the caller by which everybody's is over: hearing of the count took them no longer.
const AFTERWARDS: u64 = 10;

/// One count, as in the field, called by one member drawn by chance. Each crashes in it with the probability of a round, at
/// a time uniform in it, and comes to no size, and neither does whom the count has not reached.
pub(super) fn count(trial: &Trial, seeds: Seeds, goes_on: impl Fn() -> bool) -> Vec<Option<u64>> {
    let members = trial.members;
    let config = Config {
        kept: 1,
        ..Config::field(trial.config.hop * PERIOD)
    };
    let setup = Setup {
        merits: vec![Merit(0); members as usize],
        network: Network {
            unicast_loss: trial.unicast_loss,
            ..Network::perfect(Delay::Constant(trial.config.hop))
        },
        detection: Detection::Never,
        view: trial.view,
    };
    let mut world = World::new(setup, config, seeds, |_| Census::new());
    let mut chance = seeds.rng(Stream::Faults);
    let caller = (uniform(&mut chance) * f64::from(members)) as u32;
    let length = config.period * u64::from(config.turns);
    for member in 0..members {
        if uniform(&mut chance) < trial.crash {
            let at = Instant::START + length.mul_f64(uniform(&mut chance));
            world.schedule(at, Verb::Kill(Who::one(member)));
        }
    }
    world.request(caller, Request::Count);
    for period in 1..=u64::from(config.turns) + AFTERWARDS {
        if !goes_on() {
            break;
        }
        world.run_until(Instant::START + config.period * period);
    }
    let all = (0..).zip(world.members());
    all.map(|(member, it)| it.size().filter(|_| world.is_up(member)))
        .collect()
}
