//! One member, its machine, and the `Io` through which it acts.

use hustings_protocol::tenure::{Config, Durable, Held, Message, Role, Saved, Timer};
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, Outcome, Roster, Timer as _, View,
};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;

use super::chance::Chance;
use super::clock::{Clock, Micros};
use super::letters::Letter;
use crate::Subject;

/// How many timers a member has.
const TIMERS: usize = Timer::ALL.len();
/// What a timer that is not armed waits for.
const NEVER: Micros = Micros::MAX;
/// More timers than any step arms that comes to an end.
const MOST_ARMED: u32 = 1_000;

/// A member, its disk, its clock, and what runs for it.
pub(super) struct Seat<S> {
    pub(super) member: S,
    pub(super) condition: Condition,
    /// Which of its lives this is.
    pub(super) life: u32,
    pub(super) stands: bool,
    /// What is on its disk, if it votes.
    pub(super) disk: Option<Saved>,
    pub(super) clock: Clock,
    pub(super) config: Config,
    /// What its clock must show for a timer to ring.
    targets: [Option<Instant>; TIMERS],
    /// When that will be.
    rings: [Micros; TIMERS],
    /// If so, it dies in its next step.
    pub(super) death: Option<Death>,
    /// What it held after its last step.
    pub(super) held: Option<Held>,
    /// What arrived while its process was stopped.
    pub(super) waiting: Vec<Letter>,
}

/// What a member is able to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    Up,
    /// Its process is stopped.
    Paused,
    /// Its machine sleeps.
    Asleep,
    Down,
}

/// How a member dies in the midst of a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Death {
    /// How many effects come before it.
    pub(super) after: u32,
    /// How long it is down.
    pub(super) lasts: Micros,
    pub(super) disk: Disk,
}

/// What becomes of a disk whose member dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disk {
    Stays,
    GoesToo,
}

/// What a member did in one step.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) sent: Vec<(MemberId, Message)>,
    pub(super) died: Option<Death>,
}

impl<S: Subject> Seat<S> {
    pub(super) fn new(stands: bool, votes: bool, clock: Clock, config: Config) -> Self {
        Self {
            member: S::new(Role::default()),
            condition: Condition::Down,
            life: 0,
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

    /// A new life, with nothing but what is on its disk.
    pub(super) fn revive(&mut self) {
        self.stop();
        self.life += 1;
        self.condition = Condition::Up;
        self.member = S::new(Role {
            votes: self.disk,
            stands: self.stands,
        });
    }

    /// The end of a life.
    pub(super) fn stop(&mut self) {
        self.condition = Condition::Down;
        self.targets = [None; TIMERS];
        self.rings = [NEVER; TIMERS];
        self.death = None;
        self.held = None;
        self.waiting.clear();
    }

    /// The counter on its disk, if there is one to be read and somebody to read it.
    pub(super) fn promised(&self) -> Option<u64> {
        match (self.condition, self.disk) {
            (Condition::Up, Some(Saved::Initialised(durable))) => Some(durable.counter),
            (Condition::Up, Some(Saved::Missing) | None) => None,
            (Condition::Paused | Condition::Asleep | Condition::Down, _) => None,
        }
    }

    /// When it has the next thing to do of its own accord.
    pub(super) fn due(&self) -> Micros {
        match self.condition {
            Condition::Up => self.rings.into_iter().min().unwrap_or(NEVER),
            Condition::Paused | Condition::Asleep | Condition::Down => NEVER,
        }
    }

    /// The timer that rings first, which it does not any more then.
    pub(super) fn ring(&mut self) -> Option<Timer> {
        let first = (0..TIMERS).min_by_key(|at| self.rings[*at])?;
        self.targets[first].take()?;
        self.rings[first] = NEVER;
        Some(Timer::ALL[first])
    }

    /// The same, but for a timer that is not due.
    pub(super) fn ring_early(&mut self, number: u64) -> Option<Timer> {
        let at = (number % TIMERS as u64) as usize;
        self.targets[at].take()?;
        self.rings[at] = NEVER;
        Some(Timer::ALL[at])
    }

    /// Its clock goes at another rate: its timers ring at other times.
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
        let mut port = Port {
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

struct Port<'a> {
    me: Candidate,
    config: &'a Config,
    now: Instant,
    seed: u64,
    rng: &'a mut Xoshiro256PlusPlus,
    /// How many timers it armed so far.
    armed: u32,
    disk: &'a mut Option<Saved>,
    targets: &'a mut [Option<Instant>; TIMERS],
    /// How many effects there will be before it dies.
    left: u32,
    done: &'a mut Done,
}

impl Port<'_> {
    /// Whether it lives to see the next effect.
    fn lives(&mut self) -> bool {
        let lives = self.left > 0;
        self.left = self.left.saturating_sub(1);
        lives
    }
}

impl<S: Subject> Io<S> for Port<'_> {
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
        if self.lives() {
            self.done.sent.push((to, message));
        }
    }

    fn multicast(&mut self, _: Message) {
        unreachable!("tenure speaks to voters and nominees, never to all");
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
        if self.lives() {
            *self.disk = Some(Saved::Initialised(state));
        }
    }

    /// What it says of itself is not what is judged.
    fn report(&mut self, _: Outcome) {}
}
