//! Single steps of a node, for tests.

use super::*;
use crate::frame::{Body, Sender};
use crate::membership::PartialView;
use crate::node::Io;
use hustings_protocol::Candidate;
use hustings_protocol::tenure::{Fence, Refused};

impl Node {
    /// Handles an event as if a component had raised it.
    pub(super) fn handle(&mut self, now: Instant, event: &Event<'_>, out: &mut Outbox) {
        self.input(now, out, |node| node.raise(event));
    }

    fn within<T>(&mut self, now: Instant, act: impl FnOnce(&mut Self) -> T) -> T {
        self.input(now, &mut Outbox::new(), act)
    }

    /// Handles a body of the member `from` that counts.
    fn hear_body(&mut self, now: Instant, from: MemberId, body: Body<'_>, out: &mut Outbox) {
        let known = self.context.peers.get(from);
        let incarnation = known.map_or(Incarnation(1), |it| it.incarnation);
        let name = self.context.describe(from).name;
        let sender = Sender::new(&name, from, incarnation, 9);
        let frame = Frame { group: self.context.id, sender, number: 0, to_all: true, body };
        let heard = Admitted { frame: &frame, address: address(8), channel: Channel::Unicast };
        self.input(now, out, |node| node.raise(&Event::Heard(heard)));
    }

    pub(super) fn begin_incarnation_after(&mut self, other: Incarnation) {
        self.within(self.context.now, |node| node.begin_incarnation(Some(other)));
    }

    pub(super) fn broadcast(&mut self, now: Instant, body: &Body<'_>, out: &mut Outbox) {
        self.input(now, out, |node| Io::new(&node.context, &mut node.emit).broadcast(body));
    }

    pub(super) fn partial_view(&self) -> Option<&PartialView> {
        self.context.partial_view()
    }

    pub(super) fn meet(&mut self, now: Instant, candidate: Candidate) {
        self.handle(now, &Event::Meet(candidate), &mut Outbox::new());
    }

    pub(super) fn must_prove(&mut self, now: Instant, frame: &Frame<'_>) -> bool {
        self.context.now = now;
        self.admission.must_prove(frame, &self.context)
    }

    pub(super) fn is_proven(&self, id: MemberId) -> bool {
        self.admission.is_proven(id)
    }

    pub(super) fn outlived(&self) -> u64 {
        self.admission.outlived()
    }

    pub(super) fn asked_for_listen(&self) -> Option<Duration> {
        self.election.asked_for_listen()
    }

    pub(super) fn tenure_status(&self, now: Instant) -> Option<TenureStatus> {
        self.tenure.status(&self.context, now)
    }

    pub(super) fn in_words(&self, refused: Refused) -> String {
        self.tenure.describe_refusal(refused, &self.context)
    }

    /// Hears that `from` holds tenure.
    pub(super) fn on_holds(
        &mut self,
        now: Instant,
        from: MemberId,
        fence: u64,
        lasts: Duration,
        out: &mut Outbox,
    ) {
        let authority = self.tenure.authority().id();
        let body = Body::Holds { fence, lasts_ns: lasts.0, authority };
        self.hear_body(now, from, body, out);
    }

    /// Hears of a transfer.
    pub(super) fn on_transfer(
        &mut self,
        now: Instant,
        (to, within): (MemberId, Duration),
        Fence(fence): Fence,
        out: &mut Outbox,
    ) {
        let authority = self.tenure.authority().id();
        let body = Body::Transfer { to, within_ns: within.0, fence, authority };
        self.hear_body(now, id(0), body, out);
    }

    /// Hears that tenure is free.
    pub(super) fn on_released(&mut self, now: Instant, out: &mut Outbox) {
        self.input(now, out, |node| {
            node.tenure.hear_release(&mut Io::new(&node.context, &mut node.emit));
        });
    }

    /// Hears that a member to which tenure may have been transferred holds it.
    pub(super) fn note_transferee(
        &mut self,
        now: Instant,
        holder: MemberId,
        fence: Fence,
        out: &mut Outbox,
    ) {
        self.input(now, out, |node| {
            node.tenure.hear_transferee(holder, fence, &mut Io::new(&node.context, &mut node.emit));
        });
    }

    /// Hears that the election names this member, or not.
    pub(super) fn nominate_it(&mut self, now: Instant, is_named: bool, out: &mut Outbox) {
        self.input(now, out, |node| {
            node.tenure.hear_named(is_named, &mut Io::new(&node.context, &mut node.emit));
        });
    }

    pub(super) fn doubt_holder(&mut self, nominee: MemberId) {
        let now = self.context.now;
        self.within(now, |node| {
            node.tenure.hear_nominee(nominee, &mut Io::new(&node.context, &mut node.emit));
        });
    }

    pub(super) fn explain_silence(&mut self, now: Instant) {
        self.within(now, |node| node.tenure.ask_why(&mut Io::new(&node.context, &mut node.emit)));
    }

    pub(super) fn on_granted(&mut self, from: MemberId, question: u64, longest: Duration) {
        self.tenure.hear_granted(from, question, longest);
    }

    pub(super) fn answers_query(&mut self, from: MemberId, message: &[u8]) -> bool {
        self.tenure.hear_answer(from, message, &self.context)
    }

    /// Hears a message of tenure of a sender that is not known otherwise.
    pub(super) fn on_tenure(&mut self, now: Instant, sender: &Sender<'_>, message: &[u8]) {
        let (to, authority) = (self.context.me.id, self.tenure.authority().id());
        let body = Body::Tenure { to, authority, message };
        let frame =
            Frame { group: self.context.id, sender: *sender, number: 0, to_all: false, body };
        let heard = Admitted { frame: &frame, address: address(8), channel: Channel::Unicast };
        self.within(now, |node| node.raise(&Event::Heard(heard)));
    }

    /// Hears an answer to a challenge.
    pub(super) fn on_answer(&mut self, now: Instant, from: MemberId, challenge: u64) {
        let body = Body::Pong { challenge, since: 0, asks: None };
        self.hear_body(now, from, body, &mut Outbox::new());
    }

    pub(super) fn declare_dead(&mut self, now: Instant, of: MemberId, out: &mut Outbox) {
        self.input(now, out, |node| {
            node.liveness.declare_dead(of, &mut Io::new(&node.context, &mut node.emit));
        });
    }

    pub(super) fn suspicion(&self) -> Option<u64> {
        self.liveness.challenge()
    }
}
