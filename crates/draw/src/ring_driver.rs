//! Driver of one member's protocol. It passes in the time and received messages, and returns a list
//! of effects.
//!
//! The protocol is [`Wagner`], or in tests a cheating protocol over the same messages.

use std::convert::Infallible;

use hustings_protocol::wagner::fault::Side;
use hustings_protocol::wagner::{Config, DrawOutcome, Message, Timer, Wagner};
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, NoRequest, Protocol, Roster, View,
};
use rand_core::{Rng, TryRng};

use super::bytes::Bytes;
use super::ring::{self, Ring};

/// A protocol that can run on the ring: Wagner's, or a cheater's.
pub trait RingMember:
    Protocol<
        Config = Config,
        Message = Message,
        Timer = Timer,
        Durable = (),
        Outcome = DrawOutcome,
        Request = NoRequest,
    >
{
}

impl<P> RingMember for P where
    P: Protocol<
            Config = Config,
            Message = Message,
            Timer = Timer,
            Durable = (),
            Outcome = DrawOutcome,
            Request = NoRequest,
        >
{
}

/// The source of a member's random words.
pub(super) trait Chance {
    /// Returns a random word and a salt that hides it in the transcript's hash. `None` if there is
    /// no randomness.
    fn draw(&mut self) -> Option<(u64, [u8; 16])>;
}

/// An effect of a protocol step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// The protocol drew a random word.
    Drew { word: Bytes<8>, salt: Bytes<16> },
    /// The protocol sends a message to one side.
    Say { side: Side, message: Message },
    /// The protocol reports an outcome.
    Report(DrawOutcome),
}

/// A protocol at one place on the ring, with its inputs and effects.
pub(super) struct RingDriver<P, C> {
    player: P,
    table: Table<C>,
}

/// The driver of an honest member.
pub(super) type Honest<C> = RingDriver<Wagner, C>;

struct Table<C> {
    me: Candidate,
    config: Config,
    now: Instant,
    left: MemberId,
    right: MemberId,
    view: Roster,
    due: Option<Instant>,
    chance: Drawn<C>,
    effects: Vec<Effect>,
}

/// A source of randomness that records the words drawn.
struct Drawn<C> {
    source: C,
    record: Vec<(u64, [u8; 16])>,
    has_failed: bool,
}

/// The operating system has no randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoChance;

impl<P: RingMember, C: Chance> RingDriver<P, C> {
    pub(super) fn new(player: P, ring: &Ring, place: u32, chance: C) -> Self {
        let neighbour = |side| ring::candidate(ring.neighbour(place, side)).id;
        Self {
            player,
            table: Table {
                me: ring::candidate(place),
                config: ring.config,
                now: Instant::START,
                left: neighbour(Side::Left),
                right: neighbour(Side::Right),
                view: ring.roster(),
                due: None,
                chance: Drawn { source: chance, record: Vec::new(), has_failed: false },
                effects: Vec::new(),
            },
        }
    }

    pub(super) fn begin(&mut self, now: Instant) -> Result<Vec<Effect>, NoChance> {
        self.step(now, Input::Start)
    }

    pub(super) fn hear(
        &mut self,
        now: Instant,
        side: Side,
        message: Message,
    ) -> Result<Vec<Effect>, NoChance> {
        let from = self.table.neighbour(side);
        self.step(now, Input::Message { from, message })
    }

    /// Reports to the protocol that the timer has expired.
    pub(super) fn ring_out(&mut self, now: Instant) -> Result<Vec<Effect>, NoChance> {
        self.table.due = None;
        self.step(now, Input::Timer(Timer::ResponseDue))
    }

    pub(super) fn leave(&mut self, now: Instant) -> Result<Vec<Effect>, NoChance> {
        self.step(now, Input::Leave)
    }

    /// The protocol.
    pub(super) fn player(&self) -> &P {
        &self.player
    }

    /// The time at which the timer expires.
    pub(super) fn due(&self) -> Option<Instant> {
        self.table.due
    }

    /// Runs one step and returns its effects in order. If the randomness failed, the effects must
    /// not be carried out.
    fn step(&mut self, now: Instant, input: Input<P>) -> Result<Vec<Effect>, NoChance> {
        self.table.now = now;
        self.player.step(input, &mut self.table);
        self.table.note_chance();
        match self.table.chance.has_failed {
            true => Err(NoChance),
            false => Ok(std::mem::take(&mut self.table.effects)),
        }
    }
}

impl<C> Table<C> {
    fn neighbour(&self, side: Side) -> MemberId {
        match side {
            Side::Left => self.left,
            Side::Right => self.right,
        }
    }

    /// Records the words drawn since the last effect before the next effect is recorded.
    fn note_chance(&mut self) {
        for (word, salt) in self.chance.record.drain(..) {
            self.effects.push(Effect::Drew { word: Bytes(word.to_be_bytes()), salt: Bytes(salt) });
        }
    }

    fn note(&mut self, effect: Effect) {
        self.note_chance();
        self.effects.push(effect);
    }
}

impl<P: RingMember, C: Chance> Io<P> for Table<C> {
    fn me(&self) -> Candidate {
        self.me
    }

    fn config(&self) -> &Config {
        &self.config
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn rng(&mut self) -> &mut impl Rng {
        &mut self.chance
    }

    fn view(&self) -> impl View {
        &self.view
    }

    fn unicast(&mut self, to: MemberId, message: Message) {
        let side = match to {
            _ if to == self.left => Side::Left,
            _ if to == self.right => Side::Right,
            _ => return, // no link leads to any other member
        };
        self.note(Effect::Say { side, message });
    }

    fn multicast(&mut self, _: Message) {} // a ring has no multicast

    fn arm(&mut self, _: Timer, after: Duration) {
        self.due = Some(self.now + after);
    }

    fn disarm(&mut self, _: Timer) {
        self.due = None;
    }

    fn save(&mut self, (): ()) {}

    fn report(&mut self, outcome: DrawOutcome) {
        self.note(Effect::Report(outcome));
    }
}

impl<C: Chance> TryRng for Drawn<C> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| (word >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let drawn = self.source.draw();
        self.has_failed |= drawn.is_none();
        let drawn = drawn.unwrap_or_default();
        self.record.push(drawn);
        Ok(drawn.0)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.try_next_u64()?.to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

/// The operating system's source of randomness.
pub(super) struct System;

impl Chance for System {
    fn draw(&mut self) -> Option<(u64, [u8; 16])> {
        let (mut word, mut salt) = ([0; 8], [0; 16]);
        getrandom::fill(&mut word).ok()?;
        getrandom::fill(&mut salt).ok()?;
        Some((u64::from_be_bytes(word), salt))
    }
}
