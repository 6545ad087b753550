//! One member with its machine, and the `Io` through which it acts.

use hustings_protocol::tenure::{Config, Durable, Held, Message, Role, Saved, Timer};
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, Roster, Timer as _, View,
};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::chance::Chance;
use super::clock::{Clock, Micros};
use super::in_flight::Datagram;
use crate::Sut;

/// The number of timers of a member.
const TIMERS: usize = Timer::ALL.len();
/// The expiry of a timer that is not armed.
const NEVER: Micros = Micros::MAX;
/// More timers than any terminating step arms.
const MOST_ARMED: u32 = 1_000;

/// A member with its disk, clock and timers.
pub(super) struct Machine<S> {
    pub(super) member: S,
    pub(super) condition: Condition,
    /// The number of its present incarnation.
    pub(super) incarnation: u32,
    pub(super) stands: bool,
    /// The contents of its disk, if it votes.
    pub(super) disk: Option<Saved>,
    pub(super) clock: Clock,
    pub(super) config: Config,
    /// For each timer, the reading of its clock at which the timer expires.
    targets: [Option<Instant>; TIMERS],
    /// The moment of that reading.
    rings: [Micros; TIMERS],
    /// If set, the member dies in its next step.
    pub(super) death: Option<Death>,
    /// The tenure that it held after its last step.
    pub(super) held: Option<Held>,
    /// Messages that arrived while its process was stopped.
    pub(super) waiting: Vec<Datagram>,
}

/// The condition of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    Up,
    /// The process is stopped.
    Paused,
    /// The machine sleeps.
    Asleep,
    Down,
}

/// A death within a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Death {
    /// The number of effects before it.
    pub(super) after: u32,
    /// The time for which the member is down.
    pub(super) lasts: Micros,
    pub(super) disk: Disk,
}

/// The fate of the disk of a member that dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disk {
    Stays,
    GoesToo,
}

/// The effects of one step.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) sent: Vec<(MemberId, Message)>,
    pub(super) died: Option<Death>,
}

impl<S: Sut> Machine<S> {
    pub(super) fn new(stands: bool, votes: bool, clock: Clock, config: Config) -> Self {
        Self {
            member: S::new(Role::default()),
            condition: Condition::Down,
            incarnation: 0,
            stands,
            disk: votes.then_some(Saved::Initialised(Durable::FOUNDING)),
            clock,
            config,
            targets: [None; TIMERS],
            rings: [NEVER; TIMERS],
            death: None,
            held: None,
            waiting: Vec::new(),
        }
    }

    /// Begins a new incarnation with only the contents of its disk.
    pub(super) fn revive(&mut self) {
        self.stop();
        self.incarnation += 1;
        self.condition = Condition::Up;
        self.member = S::new(Role { votes: self.disk, stands: self.stands });
    }

    /// Ends an incarnation.
    pub(super) fn stop(&mut self) {
        self.condition = Condition::Down;
        self.targets = [None; TIMERS];
        self.rings = [NEVER; TIMERS];
        self.death = None;
        self.held = None;
        self.waiting.clear();
    }

    /// The counter on its disk, if the member is up and its disk is readable.
    pub(super) fn promised(&self) -> Option<u64> {
        match (self.condition, self.disk) {
            (Condition::Up, Some(Saved::Initialised(durable))) => Some(durable.counter),
            (Condition::Up, Some(Saved::Missing) | None) => None,
            (Condition::Paused | Condition::Asleep | Condition::Down, _) => None,
        }
    }

    /// The time of its next timer.
    pub(super) fn due(&self) -> Micros {
        match self.condition {
            Condition::Up => self.rings.into_iter().min().unwrap_or(NEVER),
            Condition::Paused | Condition::Asleep | Condition::Down => NEVER,
        }
    }

    /// Takes the timer that expires first.
    pub(super) fn ring(&mut self) -> Option<Timer> {
        let first = (0..TIMERS).min_by_key(|at| self.rings[*at])?;
        self.targets[first].take()?;
        self.rings[first] = NEVER;
        Some(Timer::ALL[first])
    }

    /// Takes a timer that is not due yet.
    pub(super) fn ring_early(&mut self, number: u64) -> Option<Timer> {
        let at = (number % TIMERS as u64) as usize;
        self.targets[at].take()?;
        self.rings[at] = NEVER;
        Some(Timer::ALL[at])
    }

    /// Changes the rate of its clock: its timers expire at other times.
    pub(super) fn change_rate(&mut self, now: Micros, rate_ppm: u64) {
        self.clock.change_rate(now, rate_ppm);
        for (ring, target) in self.rings.iter_mut().zip(self.targets) {
            *ring = target.map_or(NEVER, |shown| self.clock.when(shown).max(now));
        }
    }

    pub(super) fn step(
        &mut self,
        me: usize,
        input: Input<S>,
        now: Micros,
        latest: Micros,
        chance: &mut Chance,
        done: &mut Done,
    ) {
        let before = self.targets;
        let mut port = StormIo {
            me: Candidate::new(me as u64, 0),
            config: &self.config,
            now: self.clock.shows(now),
            seed: chance.seed,
            rng: &mut chance.rng,
            armed: 0,
            disk: &mut self.disk,
            targets: &mut self.targets,
            left: self.death.map_or(u32::MAX, |death| death.after),
            done,
        };
        self.member.step(input, &mut port);
        done.died = self.death.take();
        for (at, target) in self.targets.into_iter().enumerate() {
            if target != before[at] {
                self.rings[at] = target.map_or(NEVER, |shown| {
                    let late = chance.between(1, latest);
                    self.clock.when(shown).max(now).saturating_add(late)
                });
            }
        }
    }
}

struct StormIo<'a> {
    me: Candidate,
    config: &'a Config,
    now: Instant,
    seed: u64,
    rng: &'a mut Xoshiro256PlusPlus,
    /// The number of timers armed up to now.
    armed: u32,
    disk: &'a mut Option<Saved>,
    targets: &'a mut [Option<Instant>; TIMERS],
    /// The number of effects before it dies.
    left: u32,
    done: &'a mut Done,
}

impl StormIo<'_> {
    /// True if the member is alive for the next effect.
    fn is_alive(&mut self) -> bool {
        let is_alive = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_alive
    }
}

impl<S: Sut> Io<S> for StormIo<'_> {
    fn me(&self) -> Candidate {
        self.me
    }

    fn config(&self) -> &Config {
        self.config
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn rng(&mut self) -> &mut impl Rng {
        self.rng
    }

    fn view(&self) -> impl View {
        Roster::alone(self.me)
    }

    fn unicast(&mut self, to: MemberId, message: Message) {
        if self.is_alive() {
            self.done.sent.push((to, message));
        }
    }

    fn multicast(&mut self, _: Message) {
        unreachable!("tenure sends only unicasts");
    }

    fn arm(&mut self, timer: Timer, after: Duration) {
        self.armed += 1;
        let seed = self.seed;
        assert!(self.armed < MOST_ARMED, "seed {seed}: a step does not end");
        self.targets[timer.index()] = Some(self.now + after);
    }

    fn disarm(&mut self, timer: Timer) {
        self.targets[timer.index()] = None;
    }

    fn save(&mut self, state: Durable) {
        if self.is_alive() {
            *self.disk = Some(Saved::Initialised(state));
        }
    }

    /// The judge ignores a member's own reports.
    fn report(&mut self, _: S::Outcome) {}
}
