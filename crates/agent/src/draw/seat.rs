//! One member's side of the protocol, driven: it is told the time and what was heard, and what it wants done is a list.
//!
//! [`Wagner`] sits here, and in tests whoever cheats: another protocol over the same messages.

use std::convert::Infallible;

use hustings_protocol::wagner::fault::Side;
use hustings_protocol::wagner::{Config, Message, Timer, Wagner};
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, NoRequest, Outcome, Protocol, Roster, View,
};
use rand_core::{Rng, TryRng};

use super::bytes::Bytes;
use super::ring::{self, Ring};

/// A protocol that can sit on the ring: Wagner's, or a cheater's.
pub trait Player:
    Protocol<Config = Config, Message = Message, Timer = Timer, Durable = (), Request = NoRequest>
{
}

impl<P> Player for P where
    P: Protocol<
            Config = Config,
            Message = Message,
            Timer = Timer,
            Durable = (),
            Request = NoRequest,
        >
{
}

/// Where a seat's chance comes from.
pub(super) trait Chance {
    /// A word, and a salt to go with it.
    fn draw(&mut self) -> Option<(u64, [u8; 16])>;
}

/// What a protocol wants done, or did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// It drew chance.
    Drew { word: Bytes<8>, salt: Bytes<16> },
    /// Say it to one side.
    Say { side: Side, message: Message },
    /// It came to a conclusion.
    Report(Outcome),
}

/// A place on the ring.
pub(super) struct Seat<P, C> {
    player: P,
    table: Table<C>,
}

/// The seat of an honest member.
pub(super) type Honest<C> = Seat<Wagner, C>;

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

/// Chance, recorded.
struct Drawn<C> {
    source: C,
    record: Vec<(u64, [u8; 16])>,
    has_failed: bool,
}

/// The operating system has no randomness to give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoChance;

impl<P: Player, C: Chance> Seat<P, C> {
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
                chance: Drawn {
                    source: chance,
                    record: Vec::new(),
                    has_failed: false,
                },
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

    /// The timer runs out.
    pub(super) fn ring_out(&mut self, now: Instant) -> Result<Vec<Effect>, NoChance> {
        self.table.due = None;
        self.step(now, Input::Timer(Timer::ResponseDue))
    }

    pub(super) fn leave(&mut self, now: Instant) -> Result<Vec<Effect>, NoChance> {
        self.step(now, Input::Leave)
    }

    /// Who sits here.
    pub(super) fn player(&self) -> &P {
        &self.player
    }

    /// When the timer runs out.
    pub(super) fn due(&self) -> Option<Instant> {
        self.table.due
    }

    /// What is to be done, in order. Where there was no chance to be had nothing may be done of it.
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

    /// What was drawn since the last effect comes before the next.
    fn note_chance(&mut self) {
        for (word, salt) in self.chance.record.drain(..) {
            self.effects.push(Effect::Drew {
                word: Bytes(word.to_be_bytes()),
                salt: Bytes(salt),
            });
        }
    }

    fn note(&mut self, effect: Effect) {
        self.note_chance();
        self.effects.push(effect);
    }
}

impl<P: Player, C: Chance> Io<P> for Table<C> {
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
            _ => return, // there is no link to anybody else
        };
        self.note(Effect::Say { side, message });
    }

    fn multicast(&mut self, _: Message) {} // there is none on a ring

    fn arm(&mut self, _: Timer, after: Duration) {
        self.due = Some(self.now + after);
    }

    fn disarm(&mut self, _: Timer) {
        self.due = None;
    }

    fn save(&mut self, (): ()) {}

    fn report(&mut self, outcome: Outcome) {
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

/// The operating system's.
pub(super) struct System;

impl Chance for System {
    fn draw(&mut self) -> Option<(u64, [u8; 16])> {
        let (mut word, mut salt) = ([0; 8], [0; 16]);
        getrandom::fill(&mut word).ok()?;
        getrandom::fill(&mut salt).ok()?;
        Some((u64::from_be_bytes(word), salt))
    }
}
