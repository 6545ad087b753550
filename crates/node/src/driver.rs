//! Drives one member's side of a protocol in the real world, as the simulator does in its own.
//!
//! Purpose     connects a protocol's state machine to frames, timers and disk
//! Inputs      the time, encoded messages, view changes, hints
//! Outputs     [`Effect`]s, in order; the agent's loop carries them out
//! Owns        the protocol's state, its timers, its view and its random numbers
//! Invariants  a timer fires at most once for each time that it is armed; no clock and no socket
//!
//! The driver reports every event to a [`Recorder`], if there is one.

use std::fmt::Debug;

use hustings_protocol::trace::Line;
use hustings_protocol::{
    Candidate, Duration, ElectionOutcome, Input, Instant, Io, MemberId, Protocol, Roster, Timer,
    View, ViewChange,
};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::record::Recorder;
use crate::seal::Rejected;

/// An action that a protocol requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect<O = ElectionOutcome> {
    /// Sends to one member.
    Unicast {
        /// The receiver.
        to: MemberId,
        /// The encoded message.
        message: Vec<u8>,
    },
    /// Sends to all other members.
    Multicast {
        /// The encoded message.
        message: Vec<u8>,
    },
    /// Makes the state durable before any later effect is carried out.
    Save(Vec<u8>),
    /// Reports an outcome to the user.
    Report(O),
    /// A message came from, or named, this member. A partial view may add it.
    Meet(Candidate),
}

/// A fact about the group that a protocol may use while it runs. Most protocols ignore it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// The approximate number of members, this one included.
    GroupSize(u64),
    /// The number of members that should relay in the first round of an election.
    FirstK(u32),
}

/// One member's side of an election, for any protocol. By default it does nothing, as in a group
/// without elections.
pub trait ElectionDriver<O = ElectionOutcome>: Send {
    /// Starts the member.
    fn start(&mut self, _now: Instant) {}
    /// Handles a message.
    ///
    /// # Errors
    /// If it is not a message of this protocol.
    fn receive(&mut self, _now: Instant, _from: MemberId, _message: &[u8]) -> Result<(), Rejected> {
        Ok(())
    }
    /// The number of followers that `message` claims, if it is an announcement of an established
    /// leader.
    fn follower_count(&self, _message: &[u8]) -> Option<u16> {
        None
    }
    /// Handles a change of the view by the failure detector.
    fn view_changed(&mut self, _now: Instant, _change: ViewChange) {}
    /// Updates the view without telling the protocol. A member that no longer follows a leader is
    /// not gone.
    fn count(&mut self, _change: ViewChange) {}
    /// Passes a hint to the protocol.
    fn hint(&mut self, _now: Instant, _hint: Hint) {}
    /// Fires the timers that are due at `now`.
    fn pass(&mut self, _now: Instant) {}
    /// The time of the next timer.
    fn due(&self) -> Option<Instant> {
        None
    }
    /// Stops the member in good order.
    fn leave(&mut self, _now: Instant) {}
    /// The fraction of the leader's messages that is lost, if the protocol measures it.
    fn measured_loss(&self) -> Option<f64> {
        None
    }
    /// Takes the effects of the last inputs.
    fn take_effects(&mut self) -> Vec<Effect<O>> {
        Vec::new()
    }
}

/// Reads the followers that a message of an established leader claims.
pub type FollowerCounter<P> = fn(&<P as Protocol>::Message) -> Option<u16>;

/// The driver of a member that runs `P`.
pub struct Driver<P: Protocol> {
    /// The protocol's state, from which its owner may take results.
    pub(crate) protocol: P,
    world: DriverIo<P>,
    /// Translates a hint into a request; none if the protocol takes no hints.
    pub(crate) hint_to_request: Option<fn(Hint) -> P::Request>,
    /// Reads the loss that the protocol has measured; none if it measures none.
    pub(crate) measures: Option<fn(&P) -> Option<f64>>,
    /// Reads the followers that a leader's message claims; none if no message claims any.
    pub(crate) counts_followers: Option<FollowerCounter<P>>,
}

/// The state behind the driver's implementation of [`Io`].
struct DriverIo<P: Protocol> {
    me: Candidate,
    config: P::Config,
    now: Instant,
    rng: Xoshiro256PlusPlus,
    view: Roster,
    /// The time at which each timer fires, by index.
    timers: Vec<Option<Instant>>,
    effects: Vec<Effect<P::Outcome>>,
    recorder: Option<Recorder>,
}

impl<P> Driver<P>
where
    P: Protocol,
    P::Message: Serialize,
    P::Durable: Serialize,
{
    /// The driver of the member `me`, which runs `protocol`.
    pub fn new(
        me: Candidate,
        protocol: P,
        config: P::Config,
        rng: Xoshiro256PlusPlus,
        recorder: Option<Recorder>,
    ) -> Self {
        Self {
            protocol,
            world: DriverIo {
                me,
                config,
                now: Instant::START,
                rng,
                view: Roster::alone(me),
                timers: vec![None; P::Timer::ALL.len()],
                effects: Vec::new(),
                recorder,
            },
            hint_to_request: None,
            measures: None,
            counts_followers: None,
        }
    }

    fn step(&mut self, now: Instant, input: Input<P>) {
        self.world.now = now;
        self.protocol.step(input, &mut self.world);
    }

    /// Passes a request to the protocol.
    pub(crate) fn request(&mut self, now: Instant, request: P::Request) {
        self.step(now, Input::Request(request));
    }

    /// Handles a message that is decoded already.
    pub(crate) fn hear(&mut self, now: Instant, from: MemberId, message: P::Message) {
        self.step(now, Input::Message { from, message });
    }

    /// Replaces the configuration.
    pub(crate) fn set_config(&mut self, config: P::Config) {
        self.world.config = config;
    }

    /// The current configuration.
    pub(crate) fn config(&self) -> &P::Config {
        &self.world.config
    }
}

impl<P> ElectionDriver<P::Outcome> for Driver<P>
where
    P: Protocol + Send,
    P::Config: Send,
    P::Message: Serialize + DeserializeOwned,
    P::Durable: Serialize,
    P::Outcome: Send,
    P::Timer: Debug,
{
    fn start(&mut self, now: Instant) {
        self.world.record(|me| Line::start(now, me));
        self.step(now, Input::Start);
    }

    fn receive(&mut self, now: Instant, from: MemberId, message: &[u8]) -> Result<(), Rejected> {
        let message = postcard::from_bytes(message).map_err(|_| Rejected::Malformed)?;
        self.world.record(|me| Line::deliver(now, from, me, &message));
        self.step(now, Input::Message { from, message });
        Ok(())
    }

    fn follower_count(&self, message: &[u8]) -> Option<u16> {
        self.counts_followers?(&postcard::from_bytes(message).ok()?)
    }

    fn view_changed(&mut self, now: Instant, change: ViewChange) {
        let is_news = match change {
            ViewChange::Joined(candidate) => self.world.view.insert(candidate),
            ViewChange::Left(id) if id == self.world.me.id => false,
            // Even if it was in no view: a protocol without views may know it as the leader.
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

    fn hint(&mut self, now: Instant, hint: Hint) {
        if let Some(hint_to_request) = self.hint_to_request {
            self.request(now, hint_to_request(hint));
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
        self.world.record(|me| Line::scenario(now, format!("leave {me}")));
        self.step(now, Input::Leave);
    }

    fn measured_loss(&self) -> Option<f64> {
        self.measures.and_then(|measures| measures(&self.protocol))
    }

    fn take_effects(&mut self) -> Vec<Effect<P::Outcome>> {
        std::mem::take(&mut self.world.effects)
    }
}

impl<P: Protocol> DriverIo<P>
where
    P::Message: Serialize,
{
    /// Passes a line to the recorder. Without a recorder the line is not built.
    fn record<'a>(&self, line: impl FnOnce(MemberId) -> Line<&'a P::Message, P::Outcome>)
    where
        P::Message: 'a,
    {
        if let Some(recorder) = &self.recorder {
            recorder.record(&line(recorder.member()));
        }
    }
}

/// Decodes a value from the start of `bytes`. Returns the remaining bytes too.
pub(crate) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<(T, &'a [u8]), Rejected> {
    postcard::take_from_bytes(bytes).map_err(|_| Rejected::Malformed)
}

/// Encodes a value for frames and for disk.
pub(crate) fn encode(value: &impl Serialize) -> Vec<u8> {
    // Writing our own plain types to memory cannot fail.
    postcard::to_allocvec(value).unwrap_or_default()
}

impl<P: Protocol> Io<P> for DriverIo<P>
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

    fn report(&mut self, outcome: P::Outcome) {
        self.record(|me| Line::outcome(self.now, me, outcome));
        self.effects.push(Effect::Report(outcome));
    }

    fn meet(&mut self, candidate: Candidate) {
        self.effects.push(Effect::Meet(candidate));
    }
}

#[cfg(test)]
mod tests {
    use super::{Driver, Effect, ElectionDriver};
    use crate::record::Recorder;
    use hustings_protocol::bully::{Bully, Config, Message};
    use hustings_protocol::{Candidate, Duration, ElectionOutcome, Instant, MemberId, ViewChange};
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use std::path::Path;

    #[test]
    fn effects_are_in_order_and_a_timer_fires_once() {
        let me = Candidate::new(1, 1);
        let better = Candidate::new(2, 2);
        let config = Config::paper(Duration::from_millis(10));
        let rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut election = Driver::new(me, Bully::default(), config, rng, None);
        election.view_changed(Instant::START, ViewChange::Joined(better));
        election.start(Instant::START);
        let effects = election.take_effects();
        assert!(
            effects
                .iter()
                .any(|effect| matches!(effect, Effect::Unicast { to, .. } if *to == better.id)),
            "{effects:?}"
        );
        let due = election.due().unwrap();
        election.pass(due);
        let effects = election.take_effects();
        assert!(
            effects.contains(&Effect::Report(ElectionOutcome::Nominee(me))),
            "nobody answered: {effects:?}"
        );
        election.pass(due);
        assert_eq!(election.take_effects(), []);
    }

    #[test]
    fn events_are_recorded_in_order_under_the_recorders_name() {
        let recorded = |me: Candidate, who: u64| {
            let better = Candidate::new(2, 2);
            let config = Config::paper(Duration::from_millis(10));
            let rng = Xoshiro256PlusPlus::seed_from_u64(1);
            let (recorder, lines) = Recorder::queueing(Path::new("x"), MemberId(who));
            let mut election = Driver::new(me, Bully::default(), config, rng, Some(recorder));
            election.view_changed(Instant(1_000_000_000), ViewChange::Joined(better));
            election.view_changed(Instant(1_000_000_000), ViewChange::Joined(better)); // no change
            election.start(Instant(1_500_000_000));
            let answer = Message::Answer { sender: better };
            let answer = postcard::to_allocvec(&answer).unwrap();
            let _ = election.receive(Instant(1_500_001_000), better.id, &[255; 9]);
            election.receive(Instant(1_500_001_000), better.id, &answer).unwrap();
            election.view_changed(Instant(2_000_000_000), ViewChange::Left(better.id));
            let due = election.due();
            due.into_iter().for_each(|due| election.pass(due));
            election.leave(Instant(3_000_000_000));
            let lines: Vec<u8> = lines.try_iter().flatten().collect();
            String::from_utf8(lines).unwrap()
        };
        let lines = recorded(Candidate::new(1, 1), 1);
        let expected = "\
{\"time\":1.0,\"kind\":\"view\",\"member\":\"1\",\"joined\":\"2\"}
{\"time\":1.5,\"kind\":\"start\",\"member\":\"1\"}
{\"time\":1.5,\"kind\":\"outcome\",\"member\":\"1\",\"outcome\":{\"Standing\":{\"round\":1}}}
{\"time\":1.5,\"kind\":\"send\",\"from\":\"1\",\"to\":\"2\",\"name\":\"election\",\"message\":{\"Election\":{\"sender\":{\"priority\":1,\"id\":\"1\"}}}}
{\"time\":1.500001,\"kind\":\"deliver\",\"from\":\"2\",\"to\":\"1\",\"name\":\"answer\",\"message\":{\"Answer\":{\"sender\":{\"priority\":2,\"id\":\"2\"}}}}
{\"time\":2.0,\"kind\":\"view\",\"member\":\"1\",\"left\":\"2\"}
";
        assert!(lines.starts_with(expected), "{lines}");
        let rest: Vec<&str> = lines[expected.len()..].lines().collect();
        assert!(rest[0].contains("\"kind\":\"timer\",\"member\":\"1\",\"timer\":"), "{rest:?}");
        assert!(
            rest.iter()
                .any(|line| line
                    .ends_with("\"outcome\":{\"Nominee\":{\"priority\":1,\"id\":\"1\"}}}")),
            "{rest:?}"
        );
        let left = "{\"time\":3.0,\"kind\":\"scenario\",\"verb\":\"leave 1\"}";
        assert!(rest.contains(&left), "{rest:?}");
        let observer = recorded(Candidate::new(u64::MAX, 0), 1);
        assert!(
            observer.contains("{\"time\":1.5,\"kind\":\"start\",\"member\":\"1\"}"),
            "{observer}"
        );
    }

    #[test]
    fn malformed_message_is_rejected() {
        let config = Config::paper(Duration::from_millis(10));
        let rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let me = Candidate::new(1, 1);
        let mut election = Driver::new(me, Bully::default(), config, rng, None);
        assert!(election.receive(Instant::START, me.id, &[255; 9]).is_err());
    }
}
