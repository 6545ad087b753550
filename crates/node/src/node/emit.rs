//! The actions of a component: frames, events, counters and random numbers.
//!
//! Purpose     the only way in which a component acts ([`Io`]). Frames are numbered, encoded and
//!             sealed here
//! Inputs      messages and destinations
//! Outputs     sealed frames in an [`Outbox`], and events for the other components
//! Owns        the number of frames, the keys, the source of random numbers, the counters
//! Invariants  every frame has its own number. The copies of one frame on several routes are
//!             identical, so a receiver accepts it once

use std::net::SocketAddr;
use std::ops::Deref;

use hustings_protocol::{Duration, Instant, MemberId};

use super::context::Context;
use super::event::Event;
use super::{Outbox, Route};
use crate::counters::Counters;
use crate::entropy::Entropy;
use crate::frame::{Body, Frame};
use crate::membership::Membership;
use crate::seal::Keyring;

/// The age of a frame, once to twice this, beyond which it no longer counts when its sender proves
/// itself.
const RECENT: Duration = Duration::from_secs(1);

/// The outputs of a node, as its components see them.
pub(crate) struct Emit {
    pub(super) outbox: Outbox,
    /// Events that are not handled yet.
    pub(super) events: Vec<Option<Event<'static>>>,
    pub(super) keyring: Keyring,
    /// The number of frames sent in this incarnation.
    pub(super) number: u64,
    numbers: RecentNumbers,
    content: Vec<u8>,
    pub(crate) counters: Counters,
    /// Unpredictable numbers, from the driver.
    pub(crate) entropy: Entropy,
}

/// The number of the first frame that this member sent in the last second or two.
#[derive(Debug, Default)]
struct RecentNumbers {
    marked_at: Option<Instant>,
    mark: u64,
    before: u64,
}

impl RecentNumbers {
    /// Notes that the next frame has the number `next`.
    fn note(&mut self, now: Instant, next: u64) {
        match self.marked_at.map(|at| now - at) {
            Some(passed) if passed < RECENT => return,
            Some(passed) if passed < RECENT * 2 => self.before = self.mark,
            Some(_) => self.before = next,
            None => {} // just came up: all its frames are recent
        }
        (self.marked_at, self.mark) = (Some(now), next);
    }
}

impl Emit {
    pub(super) fn new(keyring: Keyring, entropy: Entropy) -> Self {
        Self {
            outbox: Outbox::new(),
            events: Vec::new(),
            keyring,
            number: 0,
            numbers: RecentNumbers::default(),
            content: Vec::new(),
            counters: Counters::default(),
            entropy,
        }
    }

    /// Notes the time of an input. It must be called before any frame is sent.
    pub(super) fn note_time(&mut self, now: Instant) {
        self.numbers.note(now, self.number);
    }

    /// Numbers the frames of a new incarnation from zero.
    pub(super) fn number_anew(&mut self) {
        self.number = 0;
        self.numbers = RecentNumbers::default();
    }
}

/// The facts that a component may read while it handles an event, and its outputs. It can be read
/// like its [`Context`].
pub(crate) struct Io<'a> {
    pub(crate) context: &'a Context,
    pub(crate) emit: &'a mut Emit,
}

impl Deref for Io<'_> {
    type Target = Context;

    fn deref(&self) -> &Context {
        self.context
    }
}

impl<'a> Io<'a> {
    pub(super) fn new(context: &'a Context, emit: &'a mut Emit) -> Self {
        Self { context, emit }
    }

    /// Returns the number of the next frame.
    pub(crate) fn number(&self) -> u64 {
        self.emit.number
    }

    /// Raises an event. It is handled when the component returns.
    pub(crate) fn raise(&mut self, event: Event<'static>) {
        self.emit.events.push(Some(event));
    }

    /// Sends a frame to every member that can be reached. In a group with partial views it goes by
    /// multicast and, if multicast may miss some members, by gossip.
    pub(crate) fn broadcast(&mut self, body: &Body<'_>) {
        self.encode(body, true);
        if self.context.partial_view().is_some_and(|it| !it.is_alone()) {
            if let Some(multicast) = self.context.reach.multicast() {
                self.dispatch(None, &[Route::Multicast(multicast)]);
            }
            if self.context.reach.may_miss_some() {
                self.raise(Event::Relay(self.emit.content.clone()));
            }
            return;
        }
        let members = self.context.members.get().into_iter().flat_map(Membership::addresses);
        // A newcomer may be in no view yet, but needs an answer.
        let newcomers = self.context.peers.reached_by_unicast(self.context.now);
        let is_rare = !self.context.is_nominee()
            && !self.context.config.protocol.is_for_many()
            && !matches!(body, Body::CentreMessage { .. });
        let routes = self.context.reach.routes(members.chain(newcomers), is_rare);
        self.dispatch(None, &routes);
    }

    /// Sends a frame to an address, for any member that receives there.
    pub(crate) fn send(&mut self, route: Route, body: &Body<'_>) {
        self.encode(body, false);
        self.dispatch(None, &[route]);
    }

    /// Sends a frame to the member `receiver` alone. No other member accepts the frame, even if a
    /// third party forwards it.
    pub(crate) fn send_to(&mut self, receiver: MemberId, route: Route, body: &Body<'_>) {
        self.encode(body, false);
        self.dispatch(Some(receiver), &[route]);
    }

    /// Returns a sealed frame for `receiver` without sending it.
    pub(crate) fn sealed(&mut self, receiver: MemberId, body: &Body<'_>) -> Option<Vec<u8>> {
        self.encode(body, false);
        self.seal(Some(receiver))
    }

    /// Returns a sealed frame with the number `number`, which no other frame of this incarnation
    /// gets.
    pub(crate) fn sealed_as(
        &mut self,
        number: u64,
        receiver: MemberId,
        body: &Body<'_>,
    ) -> Option<Vec<u8>> {
        let next = std::mem::replace(&mut self.emit.number, number);
        let sealed = self.sealed(receiver, body);
        self.emit.number = next;
        sealed
    }

    /// Announces this member's address and incarnation to all others.
    pub(crate) fn announce_presence(&mut self) {
        if !self.context.is_silent() {
            self.broadcast(&Body::Up);
        }
    }

    /// Challenges a member.
    pub(crate) fn ping_at(&mut self, to: MemberId, address: SocketAddr, challenge: u64) {
        self.emit.counters.challenges_sent += 1;
        self.send_to(to, Route::To(address), &Body::Ping { challenge });
    }

    /// Challenges `whom`, by broadcast if its address is unknown.
    pub(crate) fn ping(&mut self, whom: MemberId, challenge: u64) {
        match self.context.address_of(whom) {
            Some(address) => self.ping_at(whom, address, challenge),
            None => {
                self.emit.counters.challenges_sent += 1;
                self.broadcast(&Body::WhoIs { whom, challenge });
            }
        }
    }

    /// Answers a challenge, perhaps with a challenge in return.
    pub(crate) fn answer(
        &mut self,
        to: MemberId,
        address: SocketAddr,
        (challenge, asks): (u64, Option<u64>),
    ) {
        let here = Body::Pong { challenge, since: self.emit.numbers.before, asks };
        self.emit.counters.challenges_sent += u64::from(asks.is_some());
        self.send_to(to, Route::To(address), &here);
    }

    /// Encodes a frame under the next number.
    fn encode(&mut self, body: &Body<'_>, to_all: bool) {
        let frame = Frame {
            group: self.context.id,
            sender: self.context.sender(),
            number: self.emit.number,
            to_all,
            body: *body,
        };
        frame.encode(&mut self.emit.content);
        self.emit.number += 1;
    }

    /// Sends the last encoded frame on all of `routes`. It is the same frame, so a receiver that
    /// gets it twice accepts it once.
    fn dispatch(&mut self, receiver: Option<MemberId>, routes: &[Route]) {
        if let Some((first, others)) = routes.split_first()
            && let Some(frame) = self.seal(receiver)
        {
            self.emit.counters.sent += routes.len() as u64;
            let copies = others.iter().map(|route| (self.context.id, *route, frame.clone()));
            self.emit.outbox.extend(copies);
            self.emit.outbox.push((self.context.id, *first, frame));
        }
    }

    /// Seals the last encoded frame, for `receiver` alone or for every member. Each frame gets a
    /// new random nonce.
    fn seal(&mut self, receiver: Option<MemberId>) -> Option<Vec<u8>> {
        let Some(nonce) = self.emit.entropy.draw() else {
            self.emit.counters.unsent += 1;
            tracing::error!("cannot seal a frame: the operating system gives no random numbers");
            return None;
        };
        let mut sealed = Vec::new();
        self.emit.keyring.seal(&nonce, receiver, &self.emit.content, &mut sealed);
        Some(sealed)
    }
}

#[cfg(test)]
mod tests {
    use super::{RECENT, RecentNumbers};
    use hustings_protocol::{Duration, Instant};

    #[test]
    fn recent_frames_are_those_of_the_last_second_or_two() {
        let mut numbers = RecentNumbers::default();
        let quarter = Duration(RECENT.0 / 4);
        let mut now = Instant::START;
        for number in 0..40 {
            numbers.note(now, number);
            let age = number - numbers.before.min(number);
            assert!(age <= 8 && (number < 4 || age >= 3), "{number}: {age}");
            now = now + quarter;
        }
        numbers.note(now + RECENT * 2, 40);
        assert_eq!(numbers.before, 40);
    }
}
