//! Drives one member's side of a protocol in the real world, as the simulator does in its own.
//!
//! The driver is as free of sockets and clocks as the protocol: it is told the time and what arrived,
//! and keeps what the protocol wants done as a list of [`Effect`]s, in order. The agent's loop
//! carries them out.

use hustings_protocol::{
    Candidate, Duration, Input, Instant, Io, MemberId, Outcome, Protocol, Roster, Timer, View,
    ViewChange,
};
use rand_core::Rng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;
use serde::de::DeserializeOwned;

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
    /// Tell the user.
    Report(Outcome),
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
    /// The failure detector saw somebody come or go.
    fn view_changed(&mut self, now: Instant, change: ViewChange);
    /// The view is so, and nobody need be told: who follows a leader, and no longer does, is not gone.
    fn count(&mut self, change: ViewChange);
    /// Time passed: timers that are due run out.
    fn pass(&mut self, now: Instant);
    /// When the next timer runs out.
    fn due(&self) -> Option<Instant>;
    /// The member is stopped in good order.
    fn leave(&mut self, now: Instant);
    /// Takes what is to be done.
    fn take_effects(&mut self) -> Vec<Effect>;
}

/// The seat of a member that runs `P`.
pub struct Driver<P: Protocol> {
    protocol: P,
    world: World<P>,
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
}

impl<P> Driver<P>
where
    P: Protocol,
    P::Message: Serialize,
{
    /// The member `me`, which runs `protocol`.
    pub fn new(me: Candidate, protocol: P, config: P::Config, rng: Xoshiro256PlusPlus) -> Self {
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
            },
        }
    }

    fn step(&mut self, now: Instant, input: Input<P>) {
        self.world.now = now;
        self.protocol.step(input, &mut self.world);
    }
}

impl<P> Seat for Driver<P>
where
    P: Protocol + Send,
    P::Config: Send,
    P::Message: Serialize + DeserializeOwned,
{
    fn start(&mut self, now: Instant) {
        self.step(now, Input::Start);
    }

    fn receive(&mut self, now: Instant, from: MemberId, message: &[u8]) -> Result<(), Rejected> {
        let message = postcard::from_bytes(message).map_err(|_| Rejected::Malformed)?;
        self.step(now, Input::Message { from, message });
        Ok(())
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
            self.step(now, Input::ViewChanged(change));
        }
    }

    fn count(&mut self, change: ViewChange) {
        match change {
            ViewChange::Joined(candidate) => self.world.view.insert(candidate),
            ViewChange::Left(id) => self.world.view.remove(id),
        };
    }

    fn pass(&mut self, now: Instant) {
        for (index, &timer) in P::Timer::ALL.iter().enumerate() {
            if self.world.timers[index].is_some_and(|due| due <= now) {
                self.world.timers[index] = None;
                self.step(now, Input::Timer(timer));
            }
        }
    }

    fn due(&self) -> Option<Instant> {
        self.world.timers.iter().flatten().min().copied()
    }

    fn leave(&mut self, now: Instant) {
        self.step(now, Input::Leave);
    }

    fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.world.effects)
    }
}

impl<P: Protocol> World<P>
where
    P::Message: Serialize,
{
    fn encode(message: &P::Message) -> Vec<u8> {
        // Writing plain types of our own to memory cannot fail.
        postcard::to_allocvec(message).unwrap_or_default()
    }
}

impl<P: Protocol> Io<P> for World<P>
where
    P::Message: Serialize,
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
        let message = Self::encode(&message);
        self.effects.push(Effect::Unicast { to, message });
    }

    fn multicast(&mut self, message: P::Message) {
        let message = Self::encode(&message);
        self.effects.push(Effect::Multicast { message });
    }

    fn arm(&mut self, timer: P::Timer, after: Duration) {
        self.timers[timer.index()] = Some(self.now + after);
    }

    fn disarm(&mut self, timer: P::Timer) {
        self.timers[timer.index()] = None;
    }

    /// What elections save is the number of their life, and the calendar tells that: see
    /// [`crate::identity::Life`].
    fn save(&mut self, _: P::Durable) {}

    fn report(&mut self, outcome: Outcome) {
        self.effects.push(Effect::Report(outcome));
    }
}

#[cfg(test)]
mod tests {
    use super::{Driver, Effect, Seat};
    use hustings_protocol::bully::{Bully, Config};
    use hustings_protocol::{Candidate, Duration, Instant, Outcome, ViewChange};
    use rand_core::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    #[test]
    fn effects_come_in_order_and_timers_run_out_once() {
        let me = Candidate::new(1, 1);
        let better = Candidate::new(2, 2);
        let config = Config::slides(Duration::from_millis(10));
        let rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut seat = Driver::new(me, Bully::new(), config, rng);
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
    fn nonsense_is_rejected() {
        let config = Config::slides(Duration::from_millis(10));
        let rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let me = Candidate::new(1, 1);
        let mut seat = Driver::new(me, Bully::new(), config, rng);
        assert!(seat.receive(Instant::START, me.id, &[255; 9]).is_err());
    }
}
