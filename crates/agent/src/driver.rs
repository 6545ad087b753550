//! Drives one member's side of a protocol in the real world, as the simulator does in its own.
//!
//! The driver is as free of sockets and clocks as the protocol: it is told the time and what arrived,
//! and keeps what the protocol wants done as a list of [`Effect`]s, in order. The agent's loop
//! carries them out. What happens it tells a [`Recorder`], where there is one.

use std::fmt::Debug;

use hustings_protocol::trace::Line;
use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, Message, Outcome, Protocol, Roster, Timer,
    View, ViewChange,
};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::record::Recorder;
use crate::seal::Rejected;

/// What a protocol wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Send to one member.
    Unicast {
        /// Whom.
        to: MemberId,
        /// The message.
        message: Vec<u8>,
    },
    /// Send to all other members.
    Multicast {
        /// The message.
        message: Vec<u8>,
    },
    /// Make it durable before anything later is done.
    Save(Vec<u8>),
    /// Tell the user.
    Report(Outcome),
    /// This one was heard from, or of: who knows only a few may know it from now on.
    Meet(Candidate),
}

/// What a protocol may be told of its group while it runs. Most make nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// It has about so many members, this one included.
    GroupSize(u64),
    /// So many are to relay in the first round of an election.
    FirstK(u32),
}

/// One member's seat in an election, whatever the protocol.
pub trait Seat: Send {
    /// The member comes up.
    fn start(&mut self, now: Instant);
    /// A message arrived.
    ///
    /// # Errors
    /// If it is not one of this protocol's.
    fn receive(&mut self, now: Instant, from: MemberId, message: &[u8]) -> Result<(), Rejected>;
    /// Of the word of a leader that is established, how many members are behind it, as far as it knows.
    fn backing(&self, message: &[u8]) -> Option<u16>;
    /// The failure detector saw somebody come or go.
    fn view_changed(&mut self, now: Instant, change: ViewChange);
    /// The view is so, and nobody need be told: who follows a leader, and no longer does, is not gone.
    fn count(&mut self, change: ViewChange);
    /// Tells the protocol something of its group.
    fn advise(&mut self, now: Instant, advice: Advice);
    /// Time passed: timers that are due run out.
    fn pass(&mut self, now: Instant);
    /// When the next timer runs out.
    fn due(&self) -> Option<Instant>;
    /// The member is stopped in good order.
    fn leave(&mut self, now: Instant);
    /// The part of the leader's messages that are lost, as far as the protocol has measured it.
    fn measured_loss(&self) -> Option<f64>;
    /// Takes what is to be done.
    fn take_effects(&mut self) -> Vec<Effect>;
}

/// The seat of a member that runs `P`.
pub struct Driver<P: Protocol> {
    protocol: P,
    world: World<P>,
    /// What the protocol makes of advice; none if it takes none.
    heeds: Option<fn(Advice) -> P::Request>,
    /// Reads the loss that the protocol has measured; none if it measures none.
    measures: Option<fn(&P) -> Option<f64>>,
}

/// What the driver's side of [`Io`] needs.
struct World<P: Protocol> {
    me: Candidate,
    config: P::Config,
    now: Instant,
    rng: Xoshiro256PlusPlus,
    view: Roster,
    /// When each timer runs out, by index.
    timers: Vec<Option<Instant>>,
    effects: Vec<Effect>,
    recorder: Option<Recorder>,
}

impl<P> Driver<P>
where
    P: Protocol,
    P::Message: Serialize,
    P::Durable: Serialize,
{
    /// The member `me`, which runs `protocol`.
    pub fn new(
        me: Candidate,
        protocol: P,
        config: P::Config,
        rng: Xoshiro256PlusPlus,
        recorder: Option<Recorder>,
    ) -> Self {
        Self {
            protocol,
            world: World {
                me,
                config,
                now: Instant::START,
                rng,
                view: Roster::alone(me),
                timers: vec![None; P::Timer::ALL.len()],
                effects: Vec::new(),
                recorder,
            },
            heeds: None,
            measures: None,
        }
    }

    /// Takes advice, as requests of its protocol.
    pub fn heeding(self, heeds: fn(Advice) -> P::Request) -> Self {
        Self {
            heeds: Some(heeds),
            ..self
        }
    }

    /// Tells what loss its protocol has measured.
    pub fn measuring(self, measures: fn(&P) -> Option<f64>) -> Self {
        Self {
            measures: Some(measures),
            ..self
        }
    }

    fn step(&mut self, now: Instant, input: Input<P>) {
        self.world.now = now;
        self.protocol.step(input, &mut self.world);
    }

    /// Asks something of the protocol.
    pub(crate) fn request(&mut self, now: Instant, request: P::Request) {
        self.step(now, Input::Request(request));
    }

    /// A message arrived, which somebody has read already.
    pub(crate) fn hear(&mut self, now: Instant, from: MemberId, message: P::Message) {
        self.step(now, Input::Message { from, message });
    }

    /// Goes by another configuration from now on.
    pub(crate) fn set_config(&mut self, config: P::Config) {
        self.world.config = config;
    }

    /// What it goes by.
    pub(crate) fn config(&self) -> &P::Config {
        &self.world.config
    }

    /// The protocol's state, to take from it what it holds for whoever runs it.
    pub(crate) fn protocol_mut(&mut self) -> &mut P {
        &mut self.protocol
    }

    /// The protocol's state.
    pub(crate) fn protocol(&self) -> &P {
        &self.protocol
    }
}

impl<P> Seat for Driver<P>
where
    P: Protocol + Send,
    P::Config: Send,
    P::Message: Serialize + DeserializeOwned,
    P::Durable: Serialize,
    P::Timer: Debug,
{
    fn start(&mut self, now: Instant) {
        self.world.record(|me| Line::start(now, me));
        self.step(now, Input::Start);
    }

    fn receive(&mut self, now: Instant, from: MemberId, message: &[u8]) -> Result<(), Rejected> {
        let message = postcard::from_bytes(message).map_err(|_| Rejected::Malformed)?;
        self.world
            .record(|me| Line::deliver(now, from, me, &message));
        self.step(now, Input::Message { from, message });
        Ok(())
    }

    fn backing(&self, message: &[u8]) -> Option<u16> {
        let message = postcard::from_bytes::<P::Message>(message);
        message.ok()?.backing()
    }

    fn view_changed(&mut self, now: Instant, change: ViewChange) {
        let is_news = match change {
            ViewChange::Joined(candidate) => self.world.view.insert(candidate),
            ViewChange::Left(id) if id == self.world.me.id => false,
            // Even if it was in no view: protocols without views may know it as their leader.
            ViewChange::Left(id) => {
                self.world.view.remove(id);
                true
            }
        };
        if is_news {
            self.world.record(|me| Line::view(now, me, change));
            self.step(now, Input::ViewChanged(change));
        }
    }

    fn count(&mut self, change: ViewChange) {
        match change {
            ViewChange::Joined(candidate) => self.world.view.insert(candidate),
            ViewChange::Left(id) => self.world.view.remove(id),
        };
    }

    fn advise(&mut self, now: Instant, advice: Advice) {
        if let Some(heeds) = self.heeds {
            self.request(now, heeds(advice));
        }
    }

    fn pass(&mut self, now: Instant) {
        for (index, &timer) in P::Timer::ALL.iter().enumerate() {
            if self.world.timers[index].is_some_and(|due| due <= now) {
                self.world.timers[index] = None;
                self.world.record(|me| Line::timer(now, me, timer));
                self.step(now, Input::Timer(timer));
            }
        }
    }

    fn due(&self) -> Option<Instant> {
        self.world.timers.iter().flatten().min().copied()
    }

    fn leave(&mut self, now: Instant) {
        self.world
            .record(|me| Line::scenario(now, format!("leave {me}")));
        self.step(now, Input::Leave);
    }

    fn measured_loss(&self) -> Option<f64> {
        self.measures.and_then(|measures| measures(&self.protocol))
    }

    fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.world.effects)
    }
}

impl<P: Protocol> World<P>
where
    P::Message: Serialize,
{
    /// Tells the recorder. Without one the line is not even made.
    fn record<'a>(&self, line: impl FnOnce(MemberId) -> Line<&'a P::Message>)
    where
        P::Message: 'a,
    {
        if let Some(recorder) = &self.recorder {
            recorder.record(&line(recorder.member()));
        }
    }
}

/// A value as frames and disks have it.
pub(crate) fn encode(value: &impl Serialize) -> Vec<u8> {
    // Writing plain types of our own to memory cannot fail.
    postcard::to_allocvec(value).unwrap_or_default()
}

impl<P: Protocol> Io<P> for World<P>
where
    P::Message: Serialize,
    P::Durable: Serialize,
{
    fn me(&self) -> Candidate {
        self.me
    }

    fn config(&self) -> &P::Config {
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

    fn unicast(&mut self, to: MemberId, message: P::Message) {
        self.record(|me| Line::send(self.now, me, to, &message));
        let message = encode(&message);
        self.effects.push(Effect::Unicast { to, message });
    }

    fn multicast(&mut self, message: P::Message) {
        self.record(|me| Line::multicast(self.now, me, &message));
        let message = encode(&message);
        self.effects.push(Effect::Multicast { message });
    }

    fn arm(&mut self, timer: P::Timer, after: Duration) {
        self.timers[timer.index()] = Some(self.now + after);
    }

    fn disarm(&mut self, timer: P::Timer) {
        self.timers[timer.index()] = None;
    }

    fn save(&mut self, state: P::Durable) {
        self.effects.push(Effect::Save(encode(&state)));
    }

    fn report(&mut self, outcome: Outcome) {
        self.record(|me| Line::outcome(self.now, me, outcome));
        self.effects.push(Effect::Report(outcome));
    }

    fn meet(&mut self, candidate: Candidate) {
        self.effects.push(Effect::Meet(candidate));
    }
}

#[cfg(test)]
mod tests {
    use super::{Driver, Effect, Seat};
    use crate::record::Recorder;
    use hustings_protocol::bully::{Bully, Config, Message};
    use hustings_protocol::{Candidate, Duration, Instant, MemberId, Outcome, ViewChange};
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::path::Path;

    #[test]
    fn effects_come_in_order_and_timers_run_out_once() {
        let me = Candidate::new(1, 1);
        let better = Candidate::new(2, 2);
        let config = Config::slides(Duration::from_millis(10));
        let rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut seat = Driver::new(me, Bully::new(), config, rng, None);
        seat.view_changed(Instant::START, ViewChange::Joined(better));
        seat.start(Instant::START);
        let effects = seat.take_effects();
        assert!(
            effects
                .iter()
                .any(|effect| matches!(effect, Effect::Unicast { to, .. } if *to == better.id)),
            "{effects:?}"
        );
        let due = seat.due().unwrap();
        seat.pass(due);
        let effects = seat.take_effects();
        assert!(
            effects.contains(&Effect::Report(Outcome::Nominee(me))),
            "nobody answered: {effects:?}"
        );
        seat.pass(due);
        assert_eq!(seat.take_effects(), []);
    }

    #[test]
    fn all_that_happens_is_recorded_in_order_under_the_recorders_name() {
        let recorded = |me: Candidate, who: u64| {
            let better = Candidate::new(2, 2);
            let config = Config::slides(Duration::from_millis(10));
            let rng = Xoshiro256PlusPlus::seed_from_u64(1);
            let (recorder, lines) = Recorder::queueing(Path::new("x"), MemberId(who));
            let mut seat = Driver::new(me, Bully::new(), config, rng, Some(recorder));
            seat.view_changed(Instant(1_000_000_000), ViewChange::Joined(better));
            seat.view_changed(Instant(1_000_000_000), ViewChange::Joined(better)); // no news
            seat.start(Instant(1_500_000_000));
            let answer = Message::Answer { sender: better };
            let answer = postcard::to_allocvec(&answer).unwrap();
            let _ = seat.receive(Instant(1_500_001_000), better.id, &[255; 9]);
            seat.receive(Instant(1_500_001_000), better.id, &answer)
                .unwrap();
            seat.view_changed(Instant(2_000_000_000), ViewChange::Left(better.id));
            let due = seat.due();
            due.into_iter().for_each(|due| seat.pass(due));
            seat.leave(Instant(3_000_000_000));
            let lines: Vec<u8> = lines.try_iter().flatten().collect();
            String::from_utf8(lines).unwrap()
        };
        let lines = recorded(Candidate::new(1, 1), 1);
        let expected = "\
{\"time\":1.0,\"kind\":\"view\",\"member\":\"1\",\"joined\":\"2\"}
{\"time\":1.5,\"kind\":\"start\",\"member\":\"1\"}
{\"time\":1.5,\"kind\":\"outcome\",\"member\":\"1\",\"outcome\":{\"Standing\":{\"round\":1}}}
{\"time\":1.5,\"kind\":\"send\",\"from\":\"1\",\"to\":\"2\",\"name\":\"election\",\"message\":{\"Election\":{\"sender\":{\"merit\":1,\"id\":\"1\"}}}}
{\"time\":1.500001,\"kind\":\"deliver\",\"from\":\"2\",\"to\":\"1\",\"name\":\"answer\",\"message\":{\"Answer\":{\"sender\":{\"merit\":2,\"id\":\"2\"}}}}
{\"time\":2.0,\"kind\":\"view\",\"member\":\"1\",\"left\":\"2\"}
";
        assert!(lines.starts_with(expected), "{lines}");
        let rest: Vec<&str> = lines[expected.len()..].lines().collect();
        assert!(
            rest[0].contains("\"kind\":\"timer\",\"member\":\"1\",\"timer\":"),
            "{rest:?}"
        );
        assert!(
            rest.iter()
                .any(|line| line.ends_with("\"outcome\":{\"Nominee\":{\"merit\":1,\"id\":\"1\"}}}")),
            "{rest:?}"
        );
        let left = "{\"time\":3.0,\"kind\":\"scenario\",\"verb\":\"leave 1\"}";
        assert!(rest.contains(&left), "{rest:?}");
        let onlooker = recorded(Candidate::new(u64::MAX, 0), 1);
        assert!(
            onlooker.contains("{\"time\":1.5,\"kind\":\"start\",\"member\":\"1\"}"),
            "{onlooker}"
        );
    }

    #[test]
    fn nonsense_is_rejected() {
        let config = Config::slides(Duration::from_millis(10));
        let rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let me = Candidate::new(1, 1);
        let mut seat = Driver::new(me, Bully::new(), config, rng, None);
        assert!(seat.receive(Instant::START, me.id, &[255; 9]).is_err());
    }
}
