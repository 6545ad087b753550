//! Driver of one member's protocol. It passes in the time and received messages, and returns a list
//! of effects.
//!
//! The protocol is Wagner's, or in tests a cheating protocol over the same messages.

use std::convert::Infallible;

use hustings_protocol::wagner::fault::Side;
use hustings_protocol::wagner::{Config, DrawOutcome, Message, Timer};
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, NoRequest, Protocol, Roster, View,
};
use rand_core::{Rng, TryRng};

use super::bytes::Bytes;
use super::ring::{self, Ring, Sides};

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

/// A source of random words, each with a salt that hides it in the transcript's hash. It returns
/// `None` if there is no randomness.
pub(super) type Randomness = Box<dyn FnMut() -> Option<(u64, [u8; 16])> + Send>;

/// An effect of a protocol step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// The protocol drew a random word.
    Drew { word: Bytes<8>, salt: Bytes<16> },
    /// The protocol sends a message to one side.
    Send { side: Side, message: Message },
    /// The protocol reports an outcome.
    Report(DrawOutcome),
}

/// A protocol at one place on the ring, with its inputs and effects.
pub(super) struct RingDriver<P> {
    pub(super) protocol: P,
    io: RingIo,
}

struct RingIo {
    me: Candidate,
    config: Config,
    now: Instant,
    neighbours: Sides<MemberId>,
    view: Roster,
    due: Option<Instant>,
    rng: RecordedRng,
    effects: Vec<Effect>,
}

/// A source of randomness that records the words drawn.
struct RecordedRng {
    source: Randomness,
    words: Vec<(u64, [u8; 16])>,
    has_failed: bool,
}

/// The operating system has no randomness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoRandomness;

impl<P: RingMember> RingDriver<P> {
    pub(super) fn new(protocol: P, ring: &Ring, place: u32, randomness: Randomness) -> Self {
        let neighbour = |side| ring::candidate(ring.neighbour(place, side)).id;
        let [left, right] = Side::BOTH.map(neighbour);
        Self {
            protocol,
            io: RingIo {
                me: ring::candidate(place),
                config: ring.config,
                now: Instant::START,
                neighbours: Sides { left, right },
                view: ring.roster(),
                due: None,
                rng: RecordedRng { source: randomness, words: Vec::new(), has_failed: false },
                effects: Vec::new(),
            },
        }
    }

    pub(super) fn start(&mut self, now: Instant) -> Result<Vec<Effect>, NoRandomness> {
        self.step(now, Input::Start)
    }

    pub(super) fn receive(
        &mut self,
        now: Instant,
        side: Side,
        message: Message,
    ) -> Result<Vec<Effect>, NoRandomness> {
        let from = self.io.neighbours[side];
        self.step(now, Input::Message { from, message })
    }

    /// Reports to the protocol that the timer has expired.
    pub(super) fn time_out(&mut self, now: Instant) -> Result<Vec<Effect>, NoRandomness> {
        self.io.due = None;
        self.step(now, Input::Timer(Timer::ResponseDue))
    }

    pub(super) fn leave(&mut self, now: Instant) -> Result<Vec<Effect>, NoRandomness> {
        self.step(now, Input::Leave)
    }

    /// The time at which the timer expires.
    pub(super) fn due(&self) -> Option<Instant> {
        self.io.due
    }

    /// Runs one step and returns its effects in order. If the randomness failed, the effects must
    /// not be carried out.
    fn step(&mut self, now: Instant, input: Input<P>) -> Result<Vec<Effect>, NoRandomness> {
        self.io.now = now;
        self.protocol.step(input, &mut self.io);
        self.io.record_words();
        match self.io.rng.has_failed {
            true => Err(NoRandomness),
            false => Ok(std::mem::take(&mut self.io.effects)),
        }
    }
}

impl RingIo {
    /// Records the words drawn since the last effect before the next effect is recorded.
    fn record_words(&mut self) {
        for (word, salt) in self.rng.words.drain(..) {
            self.effects.push(Effect::Drew { word: Bytes(word.to_be_bytes()), salt: Bytes(salt) });
        }
    }

    fn record(&mut self, effect: Effect) {
        self.record_words();
        self.effects.push(effect);
    }
}

impl<P: RingMember> Io<P> for RingIo {
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
        &mut self.rng
    }

    fn view(&self) -> impl View {
        &self.view
    }

    fn unicast(&mut self, to: MemberId, message: Message) {
        let side = match to {
            _ if to == self.neighbours.left => Side::Left,
            _ if to == self.neighbours.right => Side::Right,
            _ => return, // no link leads to any other member
        };
        self.record(Effect::Send { side, message });
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
        self.record(Effect::Report(outcome));
    }
}

impl TryRng for RecordedRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.try_next_u64().map(|word| (word >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let drawn = (self.source)();
        self.has_failed |= drawn.is_none();
        let drawn = drawn.unwrap_or_default();
        self.words.push(drawn);
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

/// Draws from the operating system's randomness.
pub(super) fn os_randomness() -> Option<(u64, [u8; 16])> {
    let (mut word, mut salt) = ([0; 8], [0; 16]);
    getrandom::fill(&mut word).ok()?;
    getrandom::fill(&mut salt).ok()?;
    Some((u64::from_be_bytes(word), salt))
}
