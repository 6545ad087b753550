//! A cheater of the simulator on a real ring.
//!
//! Cheaters communicate outside the protocol over the link between them, on which they have nothing
//! else to send. There are therefore at most two.

use hustings_protocol::wagner::fault::{Fault, FaultCause, Side};
use hustings_protocol::wagner::{Config, DrawOutcome, Message, Timer};
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, NoRequest, Protocol, View,
};
use hustings_sim::wagner::{Note, Seat, Segment, Setting};
use hustings_sim::{Seeds, Stream};
use rand_core::Rng;

/// A cheating member.
pub(crate) struct Cheater {
    place: u32,
    setting: Setting,
    segment: Segment,
    seat: Seat,
    has_concluded: bool,
}

impl Cheater {
    /// Creates the cheater at `place`.
    pub(crate) fn new(place: u32, members: u32, honest: Config, segment: Segment) -> Self {
        let setting = Setting { honest, members, cheaters: vec![segment.clone()] };
        let mut seat = Seat::of(MemberId(place.into()), &setting);
        // The plan is not part of the draw: the transcript contains only the random words of an
        // honest member.
        let seed = getrandom::u64().expect("the operating system has randomness");
        seat.plan(&mut Seeds::new(seed, 0).rng(Stream::Faults));
        Self { place, seat, setting, segment, has_concluded: false }
    }

    fn is_fellow(&self, MemberId(id): MemberId) -> bool {
        self.segment.holds(id as u32, self.setting.members)
    }

    /// Signs what an honest member would: the cheater has nothing to hide.
    fn conclude(&mut self, told: Option<Side>, io: &mut impl Io<Self>) {
        let outcome = match (self.seat.foreseen(), told) {
            (_, Some(side)) => DrawOutcome::Fault(Fault {
                place: self.place,
                round: 1,
                cause: FaultCause::Told { side },
            }),
            (Some(leader), None) => DrawOutcome::Nominee(Candidate::new(leader.0, 0)),
            (None, None) => return,
        };
        if !std::mem::replace(&mut self.has_concluded, true) {
            io.report(outcome);
        }
    }
}

impl Protocol for Cheater {
    type Config = Config;
    type Message = Message;
    type Timer = Timer;
    type Durable = ();
    type Outcome = DrawOutcome;
    type Request = NoRequest;

    fn step(&mut self, input: Input<Self>, io: &mut impl Io<Self>) {
        let mut told = None;
        let input = match input {
            Input::Start => Input::Start,
            Input::Message { from, message } => {
                if message == Message::Fault {
                    let is_right = io.view().successor(io.me().id).id == from;
                    told = Some(if is_right { Side::Right } else { Side::Left });
                }
                let note = match self.is_fellow(from) {
                    true => Note::Whisper { whisper: message },
                    false => Note::Ring(message),
                };
                Input::Message { from, message: note }
            }
            Input::Timer(timer) => Input::Timer(timer),
            Input::ViewChanged(change) => Input::ViewChanged(change),
            Input::Leave => Input::Leave,
            Input::Request(none) => match none {},
        };
        let setting = &self.setting;
        self.seat.step(input, &mut OnTheRing { io, setting });
        self.conclude(told, io);
    }
}

/// The environment of a simulated cheater on a real ring.
struct OnTheRing<'a, I> {
    io: &'a mut I,
    setting: &'a Setting,
}

impl<I: Io<Cheater>> Io<Seat> for OnTheRing<'_, I> {
    fn me(&self) -> Candidate {
        self.io.me()
    }

    fn config(&self) -> &Setting {
        self.setting
    }

    fn now(&self) -> Instant {
        self.io.now()
    }

    fn rng(&mut self) -> &mut impl Rng {
        self.io.rng()
    }

    fn view(&self) -> impl View {
        self.io.view()
    }

    fn unicast(&mut self, to: MemberId, note: Note) {
        match note {
            Note::Ring(message) | Note::Whisper { whisper: message } => {
                self.io.unicast(to, message);
            }
        }
    }

    fn multicast(&mut self, _: Note) {} // a ring has no multicast

    fn arm(&mut self, timer: Timer, after: Duration) {
        self.io.arm(timer, after);
    }

    fn disarm(&mut self, timer: Timer) {
        self.io.disarm(timer);
    }

    fn save(&mut self, (): ()) {}

    fn report(&mut self, outcome: DrawOutcome) {
        self.io.report(outcome);
    }
}
