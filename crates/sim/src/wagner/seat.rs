//! A position on the ring: an honest member, or one of a segment that cheats.
//!
//! The segment's left end decides. Its right end forwards its messages to the left end and sends
//! what that decides. The members between do nothing: "just the two faulty processors at the
//! segment ends could simulate the whole segment". Messages between the two ends go outside the
//! ring and do not count as messages.

use hustings_protocol::wagner::fault::Side;
use hustings_protocol::wagner::{self, Config, DrawOutcome, Timer, Wagner};
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, Message, NoRequest, Protocol, Simulated,
    View,
};
use rand_core::Rng;
use serde::Serialize;

use super::cheat::{Plot, Segment};

/// The configuration of all members; the honest ones ignore the cheaters.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The configuration of the honest members.
    pub honest: Config,
    /// The number of members.
    pub members: u32,
    /// The cheating segments, which are disjoint.
    pub cheaters: Vec<Segment>,
}

/// A position on the ring.
// Nearly all members are honest.
#[derive(Debug, Clone)]
pub enum Seat {
    /// An honest member.
    Honest(Wagner),
    /// The left end of a cheating segment, which decides for it.
    Mind(Box<Plot>),
    /// The right end of a cheating segment, with the position of the left end.
    Mouth(u32),
    /// A member between the two ends.
    Between,
}

/// A message between members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Note {
    /// A message on the ring.
    Ring(wagner::Message),
    /// A message outside the ring: one that the right end received, or is to send.
    Whisper {
        /// The message.
        whisper: wagner::Message,
    },
}

impl Message for Note {
    const KINDS: &'static [&'static str] = &["flip", "fault", "whisper"];

    #[inline]
    fn kind(&self) -> usize {
        match self {
            Self::Ring(message) => message.kind(),
            Self::Whisper { .. } => 2,
        }
    }
}

impl Seat {
    /// The member at position `id`.
    ///
    /// # Panics
    /// If the cheaters are not on the ring, or leave fewer than two others.
    pub fn of(id: MemberId, setting: &Setting) -> Self {
        let place = id.0 as u32;
        let mut segments = setting.cheaters.iter();
        let Some(segment) = segments.find(|it| it.holds(place, setting.members)) else {
            return Self::Honest(Wagner::default());
        };
        if place == segment.from {
            Self::Mind(Box::new(Plot::new(segment.clone(), setting)))
        } else if place == segment.to {
            Self::Mouth(segment.from)
        } else {
            Self::Between
        }
    }

    /// Lets the deciding end of a segment draw its plan from random numbers that are not the
    /// draw's. Otherwise it draws the plan at the start, from the member's random numbers.
    pub fn plan(&mut self, rng: &mut impl Rng) {
        match self {
            Self::Mind(plot) => plot.plan(rng),
            Self::Honest(_) | Self::Mouth(_) | Self::Between => {}
        }
    }

    /// The member that the deciding end of a segment has seen elected.
    pub fn foreseen(&self) -> Option<MemberId> {
        match self {
            Self::Mind(plot) => plot.elected(),
            Self::Honest(_) | Self::Mouth(_) | Self::Between => None,
        }
    }

    /// The member, if it is honest.
    pub fn honest(&self) -> Option<&Wagner> {
        match self {
            Self::Honest(member) => Some(member),
            Self::Mind(_) | Self::Mouth(_) | Self::Between => None,
        }
    }
}

impl Protocol for Seat {
    type Config = Setting;
    type Message = Note;
    type Timer = Timer;
    type Durable = ();
    type Outcome = DrawOutcome;
    type Request = NoRequest;

    #[inline]
    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        match self {
            Self::Honest(member) => {
                let Some(input) = on_the_ring(&input) else {
                    return; // only cheaters whisper
                };
                member.step(input, &mut OnTheRing(io));
            }
            Self::Mind(plot) => think(plot, &input, io),
            Self::Mouth(mind) => speak(MemberId((*mind).into()), &input, io),
            Self::Between => {}
        }
    }
}

impl Simulated for Seat {}

/// The corresponding input to an honest member.
#[inline]
fn on_the_ring(input: &Input<Seat>) -> Option<Input<Wagner>> {
    match *input {
        Input::Start => Some(Input::Start),
        Input::Message { from, message: Note::Ring(message) } => {
            Some(Input::Message { from, message })
        }
        Input::Message { message: Note::Whisper { .. }, .. } => None,
        Input::Timer(timer) => Some(Input::Timer(timer)),
        Input::ViewChanged(change) => Some(Input::ViewChanged(change)),
        Input::Leave => Some(Input::Leave),
        Input::Request(none) => match none {},
    }
}

/// The step of a segment's left end.
fn think(plot: &mut Plot, input: &Input<Seat>, io: &mut impl Io<Seat>) {
    match *input {
        Input::Start => plot.begin(io.rng()),
        Input::Message { from, message: Note::Ring(message) } => {
            let side = if plot.left_neighbour() == from { Side::Left } else { Side::Right };
            plot.hear(side, message, io.rng());
        }
        Input::Message { message: Note::Whisper { whisper }, .. } => {
            plot.hear(Side::Right, whisper, io.rng());
        }
        Input::Timer(_) | Input::ViewChanged(_) | Input::Leave => {}
        Input::Request(none) => match none {},
    }
    for (side, message) in plot.take_said() {
        match side {
            Side::Left => io.unicast(plot.left_neighbour(), Note::Ring(message)),
            Side::Right => match plot.mouth() {
                Some(mouth) => io.unicast(mouth, Note::Whisper { whisper: message }),
                None => io.unicast(plot.right_neighbour(), Note::Ring(message)),
            },
        }
    }
}

/// The step of a segment's right end.
fn speak(mind: MemberId, input: &Input<Seat>, io: &mut impl Io<Seat>) {
    match *input {
        Input::Message { from, message } => match message {
            Note::Ring(message) if from != mind => {
                io.unicast(mind, Note::Whisper { whisper: message });
            }
            Note::Ring(_) => {} // cheaters do not use the ring between them
            Note::Whisper { whisper } => {
                let next = io.view().successor(io.me().id).id;
                io.unicast(next, Note::Ring(whisper));
            }
        },
        Input::Start | Input::Timer(_) | Input::ViewChanged(_) | Input::Leave => {}
        Input::Request(none) => match none {},
    }
}

/// An honest member's access to the world.
struct OnTheRing<'a, I>(&'a mut I);

impl<I: Io<Seat>> Io<Wagner> for OnTheRing<'_, I> {
    #[inline]
    fn me(&self) -> Candidate {
        self.0.me()
    }

    #[inline]
    fn config(&self) -> &Config {
        &self.0.config().honest
    }

    #[inline]
    fn now(&self) -> Instant {
        self.0.now()
    }

    #[inline]
    fn rng(&mut self) -> &mut impl Rng {
        self.0.rng()
    }

    fn view(&self) -> impl View {
        self.0.view()
    }

    #[inline]
    fn unicast(&mut self, to: MemberId, message: wagner::Message) {
        self.0.unicast(to, Note::Ring(message));
    }

    fn multicast(&mut self, message: wagner::Message) {
        self.0.multicast(Note::Ring(message));
    }

    #[inline]
    fn arm(&mut self, timer: Timer, after: Duration) {
        self.0.arm(timer, after);
    }

    #[inline]
    fn disarm(&mut self, timer: Timer) {
        self.0.disarm(timer);
    }

    fn save(&mut self, state: ()) {
        self.0.save(state);
    }

    fn report(&mut self, outcome: DrawOutcome) {
        self.0.report(outcome);
    }
}
