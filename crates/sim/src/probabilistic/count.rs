//! Estimates of the group's size for groups in which no member knows all others: a census before
//! the election, in a separate world under the same conditions.

use hustings_protocol::census::{Census, Config, Request};
use hustings_protocol::mix64::unit;
use hustings_protocol::{Instant, Priority};
use rand_core::Rng;

use super::ProbabilisticTrial;
use crate::statistics::{Kind, Sample};
use crate::{Detection, Network, Seeds, Setup, Stream, Verb, Who, World};

/// The members' estimates of the size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sizes {
    /// The mean over the members that have an estimate: no others are drawn.
    pub mean: f64,
    /// The standard deviation.
    pub deviation: f64,
}

impl Sizes {
    /// Summarises the estimates; `None` if no member has one.
    pub(super) fn of(sizes: &[Option<u64>]) -> Option<Self> {
        let mut sample = Sample::new(Kind::Number);
        let known = sizes.iter().flatten();
        known.for_each(|&size| sample.add(size as f64));
        sample
            .estimate()
            .map(|estimate| Self { mean: estimate.mean, deviation: sample.deviation() })
    }
}

/// Hops in a period: six tries, each one hop longer than a round trip.
const PERIOD: u64 = 18;
/// Periods after the caller's last turn by which every member's last turn is over: members heard of
/// the count within that time.
const AFTERWARDS: u64 = 10;

/// One census, as in the field, called by a random member. Each member crashes in it with the
/// probability of a round, at a uniform time. A crashed member has no estimate, and neither has a
/// member that the census has not reached.
pub(super) fn count(
    trial: &ProbabilisticTrial,
    seeds: Seeds,
    goes_on: impl Fn() -> bool,
) -> Vec<Option<u64>> {
    let members = trial.members;
    let config = Config { kept: 1, ..Config::field(trial.config.hop * PERIOD) };
    let setup = Setup {
        priorities: vec![Priority(0); members as usize],
        network: Network::lossy(trial.config.hop, trial.unicast_loss, 0.0),
        detection: Detection::Never,
        view: trial.view,
    };
    let mut world = World::new(setup, config, seeds, |_| Census::default());
    let mut chance = seeds.rng(Stream::Faults);
    let caller = (unit(chance.next_u64()) * f64::from(members)) as u32;
    let length = config.period * u64::from(config.turns);
    for member in 0..members {
        if unit(chance.next_u64()) < trial.crash {
            let at = Instant::START + length.mul_f64(unit(chance.next_u64()));
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
    all.map(|(member, it)| it.size().filter(|_| world.is_up(member))).collect()
}
