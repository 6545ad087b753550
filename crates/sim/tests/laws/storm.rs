//! Random faults up to a moment, and none after it.

use std::fmt;

use hustings_protocol::{Duration, Input, Instant, Io, MemberId, Priority, Protocol, Simulated};
use hustings_sim::{
    Boot, Delay, Detection, Network, Scenario, Seeds, Setup, Stream, Verb, Who, World,
};
use rand_core::Rng;

use crate::support::family::Family;
use crate::support::faults::{self, DRIFT};
use crate::support::watch::Watch;
use crate::support::wrapper::{Through, Wrapper, all, inward};
use crate::support::{UNIT, below, choose, happens};

/// The end of the last fault.
const OVER: Instant = Instant(60_000_000_000);

/// A group and its faults until [`OVER`].
pub(crate) struct Storm {
    pub(crate) priorities: Vec<Priority>,
    pub(crate) election_timeout: Duration,
    pub(crate) scenario: Scenario,
    pub(crate) weather: Weather,
    noticed_after: Duration,
    seeds: Seeds,
}

/// The network faults until [`OVER`], in percent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Weather {
    loss: u64,
    doubling: u64,
    overtaking: u64,
}

impl Storm {
    /// The storm of a seed. Patience is at least `least_laps` times round the ring.
    pub(crate) fn new(seed: u64, least_laps: u64) -> Self {
        let seeds = Seeds::new(seed, 0);
        let rng = &mut seeds.rng(Stream::Faults);
        let members = 2 + below(6, rng) as u32;
        let noticed_after = choose(&[UNIT.mul_f64(0.5), UNIT, UNIT.mul_f64(3.7)], rng);
        let laps = least_laps + below(4, rng);
        let election_timeout = noticed_after + UNIT * (laps * u64::from(members) + 1);
        Self {
            priorities: (0..members).map(|_| Priority(below(4, rng))).collect(),
            election_timeout,
            weather: Weather {
                loss: choose(&[0, 10, 40], rng),
                doubling: choose(&[0, 0, 20], rng),
                overtaking: choose(&[0, 0, 20], rng),
            },
            scenario: scenario(members, rng),
            noticed_after,
            seeds,
        }
    }

    pub(crate) fn members(&self) -> u32 {
        self.priorities.len() as u32
    }

    /// The time from which nothing is lost and the views are right.
    pub(crate) fn all_well(&self) -> Instant {
        OVER + self.noticed_after
    }

    /// The time by which all members should name the best, with an allowance for clock drift.
    pub(crate) fn deadline<P: Family>(&self) -> Instant {
        let bound = P::settles_within(self.members(), self.election_timeout);
        self.all_well() + bound.mul_f64(1.0 + 2.0 * DRIFT)
    }

    /// At most one unit; if links keep order, exactly that.
    fn delay<P: Family>(&self) -> Delay {
        if P::ORDERED || self.members().is_multiple_of(2) {
            return Delay::Constant(UNIT);
        }
        Delay::Uniform { from: UNIT.mul_f64(0.1), to: UNIT }
    }

    /// The world that will execute this storm.
    pub(crate) fn world<P: Family>(&self) -> World<Rough<P>, Watch> {
        let setup = Setup {
            priorities: self.priorities.clone(),
            network: Network::perfect(self.delay::<P>()),
            detection: Detection::After(self.noticed_after),
            view: 1.0,
        };
        let config = RoughConfig { inner: P::field(self.election_timeout), weather: self.weather };
        let watch = Watch::default();
        let make = |_: Boot<Rough<P>>| Rough::default();
        let mut world = World::traced(setup, config, self.seeds, watch, make);
        world.follow(&self.scenario);
        world
    }
}

impl fmt::Display for Storm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let priorities: Vec<u64> = self.priorities.iter().map(|priority| priority.0).collect();
        let Self { election_timeout, noticed_after, weather, scenario, .. } = self;
        writeln!(f, "merits {priorities:?}, patience {election_timeout}, {weather:?}")?;
        write!(f, "changes are noticed after {noticed_after}\n{scenario}")
    }
}

/// All start. Then members crash, restart, pause, resume, are cut off, and their clocks drift. In
/// the end all cuts heal, all members resume, and some of those that are down restart.
fn scenario(members: u32, rng: &mut impl Rng) -> Scenario {
    let mut scenario = Scenario::default();
    for member in 0..members {
        let at = UNIT.mul_f64(below(8, rng) as f64 / 2.0);
        scenario.push(Instant::START + at, Verb::Start(Who::one(member)));
    }
    // Some storms have their faults near the end.
    let begins = choose(&[8_000, 8_000, 35_000, 52_000], rng);
    let mut times: Vec<u64> = (0..2 + below(14, rng))
        .map(|_| begins + below((59_500 - begins) / 500, rng) * 500 + choose(&[0, 0, 137], rng))
        .collect();
    times.sort_unstable();
    let mut down = vec![false; members as usize];
    for millis in times {
        let member = below(u64::from(members), rng) as u32;
        let who = Who::one(member);
        let verb = match below(12, rng) {
            0..3 => {
                down[member as usize] = true;
                Verb::Kill(who)
            }
            3 | 4 => {
                down[member as usize] = false;
                faults::restart(member, rng)
            }
            5 | 6 => faults::cut(members, rng),
            7 => faults::cut_one_way(who, members, rng),
            8 => Verb::Heal,
            9 => Verb::Pause(who),
            10 => Verb::Resume(who),
            _ => faults::drift(who, rng),
        };
        scenario.push(Instant::START + Duration::from_millis(millis), verb);
    }
    scenario.push(OVER, Verb::Heal);
    scenario.push(OVER, Verb::Resume(Who::All));
    let survivor = below(u64::from(members), rng) as u32;
    let back = (0..members).filter(|&member| down[member as usize]);
    let back: Vec<u32> = back.filter(|&member| member == survivor || happens(60, rng)).collect();
    if !back.is_empty() {
        let who = Who::Members(back);
        let keep_state = true;
        scenario.push(OVER, Verb::Restart { who, keep_state });
    }
    scenario
}

/// A member whose messages are lost, duplicated and reordered until the storm is over.
#[derive(Debug)]
pub(crate) struct Rough<P: Protocol> {
    member: P,
    /// A message that the next one overtakes.
    held: Option<(MemberId, P::Message)>,
}

#[derive(Debug)]
pub(crate) struct RoughConfig<C> {
    inner: C,
    weather: Weather,
}

impl<P: Protocol + Default> Default for Rough<P> {
    fn default() -> Self {
        let member = P::default();
        Self { member, held: None }
    }
}

impl<P: Protocol> Wrapper for Rough<P> {
    type Inner = P;

    fn inner_config(config: &Self::Config) -> &P::Config {
        &config.inner
    }
}

impl<P: Protocol> Protocol for Rough<P> {
    type Config = RoughConfig<P::Config>;
    type Message = P::Message;
    type Timer = P::Timer;
    type Durable = P::Durable;
    type Outcome = P::Outcome;
    type Request = P::Request;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        // Its own clock may be off: so the network faults end a little before the storm is over.
        let is_over = io.now().as_secs_f64() > OVER.as_secs_f64() * (1.0 - 2.0 * DRIFT);
        if is_over {
            self.held = None;
        }
        match input {
            Input::Message { from, message } if !is_over => self.hear(from, message, io),
            input => self.pass(inward(input), io),
        }
    }
}

impl<P: Simulated> Simulated for Rough<P> {}

impl<P: Protocol> Rough<P> {
    fn hear(&mut self, from: MemberId, message: P::Message, io: &mut impl Io<Self>) {
        let weather = io.config().weather;
        if happens(weather.loss, io.rng()) {
            return;
        }
        if self.held.is_none() && happens(weather.overtaking, io.rng()) {
            self.held = Some((from, message));
            return;
        }
        let copy = happens(weather.doubling, io.rng()).then(|| (from, message.clone()));
        let overtaken = self.held.take();
        for (from, message) in [Some((from, message)), copy, overtaken].into_iter().flatten() {
            self.pass(Input::Message { from, message }, io);
        }
    }

    fn pass(&mut self, input: Input<P>, io: &mut impl Io<Self>) {
        self.member.step(input, &mut Through::new(io, all::<P>));
    }
}
