//! After any faults: all name the same, in time, and permanently.

use std::fmt;

use hustings_protocol::announce::{Config, Joining, Listen, Takeover};
use hustings_protocol::{Duration, Instant, Priority};
use hustings_sim::{Delay, LossModel, Network, Reordering, Scenario, Seeds, Stream, Verb, Who};
use rand_core::Rng;

use crate::group::{ANNOUNCE, agreed, field, listen_interval, ranking, world};
use crate::kin::Kin;
use crate::support::faults::{self, DRIFT};
use crate::support::{below, choose, happens};
use crate::{Verdict, require};

/// The end of the last fault.
pub(crate) const OVER: Instant = Instant(40_000_000_000);
/// The number of consecutive announcements that may be lost on a lossy network.
const LOST_IN_A_ROW: u64 = 8;

/// A group, and its faults until [`OVER`].
pub(crate) struct Storm {
    pub(crate) config: Config,
    pub(crate) priorities: Vec<Priority>,
    pub(crate) network: Network,
    /// The maximum delay of a message.
    pub(crate) longest: Duration,
    pub(crate) scenario: Scenario,
}

impl Storm {
    pub(crate) fn new(seed: u64) -> Self {
        let rng = &mut Seeds::new(seed, 0).rng(Stream::Faults);
        let members = 2 + below(6, rng) as u32;
        let (network, longest) = network(rng);
        let is_lossy = network.multicast_loss > 0.0;
        let election_timeout = ANNOUNCE.mul_f64(0.1);
        let config = Config {
            takeover: choose(&[Takeover::Never, Takeover::ByTheBetter], rng),
            leaders: choose(&[1, 1, 2, 3], rng),
            joining: choose(
                &[
                    Joining::Announce,
                    Joining::Query { election_timeout },
                    Joining::SuppressThenQuery { election_timeout },
                ],
                rng,
            ),
            listen: match is_lossy {
                // Long enough that no leader is missed by chance.
                true => Listen::For(ANNOUNCE.mul_f64(15.5)),
                false => choose(
                    &[Listen::Measured { miss: 1e-3 }, Listen::For(ANNOUNCE.mul_f64(2.5))],
                    rng,
                ),
            },
            ..field()
        };
        Self {
            config,
            priorities: (0..members).map(|_| Priority(below(4, rng))).collect(),
            network,
            longest,
            scenario: scenario(members, rng),
        }
    }

    /// The time after [`OVER`] by which all are settled, given the longest T_L.
    pub(crate) fn bound(&self, listen: Duration) -> Duration {
        let Config { suppress, announce, .. } = self.config;
        // With several leaders, the nominee may change until all are established.
        let established = match (self.config.leaders, self.config.takeover) {
            (1, _) | (_, Takeover::ByTheBetter) => Duration::ZERO,
            (_, Takeover::Never) => suppress + announce,
        };
        let lost = match self.network.multicast_loss > 0.0 {
            true => announce * LOST_IN_A_ROW,
            false => Duration::ZERO,
        };
        let bound = listen + suppress + announce + self.longest * 4 + lost + established;
        bound.mul_f64(1.0 + 2.0 * DRIFT)
    }
}

impl fmt::Display for Storm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let priorities: Vec<u64> = self.priorities.iter().map(|priority| priority.0).collect();
        writeln!(f, "merits {priorities:?}, {:?}", self.config)?;
        write!(f, "{:?}\n{}", self.network, self.scenario)
    }
}

fn network(rng: &mut impl Rng) -> (Network, Duration) {
    let ms = Duration::from_millis;
    let (from, to) = (ms(1), ms(20));
    let delay = choose(&[Delay::Constant(to), Delay::Uniform { from, to }], rng);
    let held_back = choose(&[0, 0, 30, 300], rng);
    let network = Network {
        multicast_loss: choose(&[0.0, 0.0, 0.1, 0.3], rng),
        loss_model: choose(&[LossModel::Uncorrelated, LossModel::Correlated], rng),
        duplicate: choose(&[0.0, 0.2], rng),
        reordering: Reordering {
            probability: if held_back > 0 { 0.2 } else { 0.0 },
            by: ms(held_back),
        },
        ..Network::perfect(delay)
    };
    (network, to + ms(held_back))
}

/// All start. Then members crash, leave, restart, pause, are cut off, and their clocks drift. In
/// the end all cuts heal, all members resume, and some of those that are down restart.
fn scenario(members: u32, rng: &mut impl Rng) -> Scenario {
    let mut scenario = Scenario::default();
    for member in 0..members {
        let when = Instant::START + ANNOUNCE.mul_f64(below(8, rng) as f64 / 4.0);
        scenario.push(when, Verb::Start(Who::one(member)));
    }
    // Some storms have their faults near the end.
    let begins = choose(&[3_000, 3_000, 20_000, 36_000], rng);
    let mut times: Vec<u64> =
        (0..2 + below(14, rng)).map(|_| begins + below(39_900 - begins, rng)).collect();
    times.sort_unstable();
    let mut down = vec![false; members as usize];
    for millis in times {
        let member = below(u64::from(members), rng) as u32;
        let who = choose(&[None, Some(member), Some(member)], rng);
        let who = who.map_or(Who::Best, Who::one);
        let verb = match below(13, rng) {
            0 | 1 => {
                down[member as usize] = true;
                Verb::Kill(Who::one(member))
            }
            2 | 3 => {
                down[member as usize] = true;
                Verb::Leave(Who::one(member))
            }
            4 | 5 => {
                down[member as usize] = false;
                faults::restart(member, rng)
            }
            6 | 7 => faults::cut(members, rng),
            8 => faults::cut_one_way(who, members, rng),
            9 => Verb::Heal,
            10 => Verb::Pause(who),
            11 => Verb::Resume(who),
            _ => faults::drift(who, rng),
        };
        scenario.push(Instant::START + Duration::from_millis(millis), verb);
    }
    scenario.push(OVER, Verb::Heal);
    scenario.push(OVER, Verb::Resume(Who::All));
    let survivor = below(u64::from(members), rng) as u32;
    for member in (0..members).filter(|&member| down[member as usize]) {
        if member == survivor || happens(60, rng) {
            scenario.push(OVER, faults::restart(member, rng));
        }
    }
    scenario
}

/// All live members follow the same leaders, in the configured number, within the time that the
/// header of `announce` states from the last fault on, and permanently. With takeover by the
/// better, the best lead.
pub(crate) fn all_settle_in_time_and_permanently<P: Kin>(seed: u64) -> Verdict {
    let storm = Storm::new(seed);
    let config = storm.config;
    let mut world = world::<P>(&storm.priorities, storm.network, config, seed, &storm.scenario);
    world.run_until(OVER);
    let deadline = OVER + storm.bound(listen_interval(&world, &config));
    world.run_until(deadline);
    let leaders = agreed(&world, &config).map_err(|what| format!("{what} after\n{storm}"))?;
    let best = ranking(&world)[..leaders.len()].to_vec();
    require(config.takeover == Takeover::Never || leaders == best, || {
        format!("{leaders:?} lead, not {best:?}, after\n{storm}")
    })?;
    let named = world.nominee(leaders[0]);
    for beat in 1..=20 {
        world.run_until(deadline + ANNOUNCE * beat);
        let now =
            agreed(&world, &config).map_err(|what| format!("{what}, later, after\n{storm}"))?;
        require(now == leaders, || format!("{leaders:?} led, then {now:?}, after\n{storm}"))?;
    }
    let names = &world.into_trace().names;
    let late = names.iter().find(|(at, _, _)| *at > deadline);
    require(late.is_none(), || format!("{named:?} was named, then {late:?}, after\n{storm}"))
}
