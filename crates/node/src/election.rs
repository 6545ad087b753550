//! The election component: one member's side of the election protocol.
//!
//! Purpose     passes messages, members and hints to the protocol, and carries its effects out
//! Inputs      election messages, members that come and go, dead leaders, the start and end of
//!             taking part, time
//! Outputs     election messages; [`Event::Elected`], [`Event::Meet`], messages that were held back
//! Owns        the driver, the round that merges two partitions, the hints, the check of the
//!             listen interval
//! Invariants  an effect is carried out, with all that follows from it, before the next one

mod adaptive_k;
mod churn_estimate;
mod listen_check;
mod partition_merge;
mod protocol_choice;

use hustings_protocol::{ElectionOutcome, Instant, MemberId, ViewChange};

use crate::driver::{Effect, ElectionDriver};
use crate::frame::Body;
use crate::membership::Membership;
use crate::node::{Admitted, Component, Context, Event, Io, Route};
use crate::record::Recorder;
use adaptive_k::AdaptiveK;
pub use adaptive_k::Measured;
use listen_check::ListenCheck;
use partition_merge::PartitionMerge;
use protocol_choice::driver;

/// One member's side of the election.
pub(crate) struct Election {
    driver: Box<dyn ElectionDriver>,
    recorder: Option<Recorder>,
    /// `None` if the protocol does not compare leaders by their number of followers.
    merge: Option<PartitionMerge>,
    adaptive_k: AdaptiveK,
    listen_check: ListenCheck,
}

impl Election {
    pub(crate) fn new(context: &Context, recorder: Option<Recorder>) -> Self {
        Self {
            driver: driver(context, recorder.clone()),
            recorder,
            merge: context.config.protocol.contested_every().map(PartitionMerge::new),
            adaptive_k: AdaptiveK::default(),
            listen_check: ListenCheck::default(),
        }
    }

    /// Returns the number of relays in the first round of an election that this member calls.
    pub(crate) fn first_k(&self, context: &Context) -> Option<u32> {
        self.adaptive_k.first_k(context)
    }

    pub(crate) fn measured(&self, context: &Context) -> Option<Measured> {
        self.adaptive_k.measured(context)
    }

    fn heard(&mut self, heard: &Admitted<'_>, io: &mut Io<'_>) {
        let Body::Election { protocol, message } = heard.frame.body else {
            if let Some(merge) = &mut self.merge {
                merge.heard(heard, &mut *self.driver, io);
            }
            return;
        };
        let from = heard.frame.sender.id;
        if io.config.protocol.is_none() {
            return; // no election here
        }
        if protocol != io.config.protocol.tag() {
            return warn_of_other_protocol(heard, io);
        }
        if !io.may_elect() {
            return; // it asks once it may
        }
        let merge = self.merge.as_mut();
        let is_held = merge.is_some_and(|it| it.holds_back((from, message), &*self.driver, io));
        if !is_held {
            self.receive(from, message, io);
        }
    }

    fn receive(&mut self, from: MemberId, message: &[u8], io: &mut Io<'_>) {
        if let Err(why) = self.driver.receive(io.now, from, message) {
            io.emit.counters.reject(why);
        }
    }

    fn carry_out(&mut self, effect: &Effect, io: &mut Io<'_>) {
        let protocol = io.config.protocol.tag();
        match effect {
            Effect::Unicast { to, message } => {
                let body = Body::Election { protocol, message };
                io.emit.counters.election_sent += 1;
                match io.address_of(*to) {
                    Some(address) if io.config.protocol.needs_links() => {
                        io.send_to(*to, Route::Link(address), &body);
                    }
                    Some(address) => io.send_to(*to, Route::To(address), &body),
                    None => io.emit.counters.unsent += 1,
                }
            }
            Effect::Multicast { message } => {
                io.emit.counters.election_sent += 1;
                io.broadcast(&Body::Election { protocol, message });
                if let Some(merge) = &mut self.merge {
                    merge.note_own_message(message, &*self.driver, io);
                }
            }
            // Elections save only their incarnation number, and the calendar provides that.
            Effect::Save(_) => {}
            Effect::Report(ElectionOutcome::Nominee(nominee)) => {
                io.raise(Event::Elected(Some(*nominee)));
            }
            Effect::Report(ElectionOutcome::Vacant | ElectionOutcome::DuplicateIdentity) => {
                io.raise(Event::Elected(None));
            }
            Effect::Report(ElectionOutcome::Standing { .. }) => {}
            Effect::Meet(candidate) => io.raise(Event::Meet(*candidate)),
        }
    }

    /// Removes a member, which may still be up, from the election's view.
    fn forget(&mut self, id: MemberId, context: &Context) {
        if context.nominee != Some(id) {
            self.driver.count(ViewChange::Left(id));
        }
    }

    /// Creates a new driver with the members in view as its candidates.
    fn enter(&mut self, context: &Context) {
        self.driver = driver(context, self.recorder.clone());
        for candidate in context.members.get().into_iter().flat_map(Membership::candidates) {
            self.driver.view_changed(context.now, ViewChange::Joined(candidate));
        }
        self.adaptive_k.hint_anew(&mut *self.driver, context);
    }

    /// Follows the leader without taking part, if the protocol has observers. Otherwise no election
    /// reaches this member.
    fn step_down(&mut self, io: &mut Io<'_>) {
        match protocol_choice::observer(io, self.recorder.clone()) {
            Some(observer) => {
                self.driver = observer;
                self.driver.start(io.now);
            }
            None => {
                self.driver = driver(io, self.recorder.clone()); // it stays empty
                io.raise(Event::Nominated(None));
            }
        }
    }

    fn on_nominee_changed(&mut self, before: Option<MemberId>, context: &Context) {
        if let Some(merge) = &mut self.merge {
            merge.end_round(&mut *self.driver, context);
        }
        // The election's view need not keep the former nominee any longer.
        if let Some(before) = before
            && context.partial_view().is_some_and(|it| !it.has(before))
        {
            self.driver.count(ViewChange::Left(before));
        }
    }

    fn on_timeout(&mut self, io: &mut Io<'_>) {
        if let Some(merge) = &mut self.merge {
            merge.on_timeout(&mut *self.driver, io);
        }
        io.raise(Event::ElectionTimeout);
    }

    fn settle(&mut self, io: &mut Io<'_>) {
        self.adaptive_k.hint(&mut *self.driver, io);
        self.listen_check.check(&*self.driver, io);
        if let Some(merge) = &mut self.merge {
            merge.give_way(io);
        }
    }
}

impl Component for Election {
    fn on(&mut self, event: &Event<'_>, io: &mut Io<'_>) {
        let now = io.now;
        let is_partial = io.partial_view().is_some();
        match event {
            Event::Protocol(effect) => return self.carry_out(effect, io),
            Event::Heard(heard) => self.heard(heard, io),
            Event::HeldBack { from, message } => self.receive(*from, message, io),
            Event::Timeout => return self.on_timeout(io),
            Event::ElectionTimeout => self.driver.pass(now),
            Event::MemberUp(candidate) => {
                self.driver.view_changed(now, ViewChange::Joined(*candidate));
                if is_partial && !io.is_in_view(candidate.id) {
                    // all members learn that it is back, and all partial views would become alike
                    self.forget(candidate.id, io);
                }
            }
            Event::MemberDown(id) => {
                self.adaptive_k.churn_estimate.departed();
                self.driver.view_changed(now, ViewChange::Left(*id));
            }
            Event::MemberMet(candidate) => self.driver.count(ViewChange::Joined(*candidate)),
            Event::MemberForgotten(id) => self.forget(*id, io),
            // With a partial view the report may be refuted.
            Event::LeaderDead(id) if !is_partial => {
                self.driver.view_changed(now, ViewChange::Left(*id));
            }
            Event::NomineeChanged { before, .. } => self.on_nominee_changed(*before, io),
            Event::Nominated(Some(leader)) if is_partial => {
                self.driver.count(ViewChange::Joined(*leader));
            }
            Event::ProtocolSlowed => self.driver = driver(io, self.recorder.clone()),
            Event::EnterElection => self.enter(io),
            Event::StartElection => self.driver.start(now),
            Event::LeaveElection => self.driver.leave(now),
            Event::SteppedDown => self.step_down(io),
            Event::Settled => self.settle(io),
            _ => return,
        }
        for effect in self.driver.take_effects() {
            io.raise(Event::Protocol(effect));
        }
        if let Event::EnterElection = event {
            io.raise(Event::ElectionEntered);
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let merge = self.merge.as_ref().and_then(PartitionMerge::due);
        self.driver.due().into_iter().chain(merge).min()
    }
}

/// Warns that a member runs another protocol: the two cannot elect a leader together.
fn warn_of_other_protocol(heard: &Admitted<'_>, io: &mut Io<'_>) {
    io.emit.counters.other_protocol += 1;
    if io.emit.counters.other_protocol.is_power_of_two() {
        let (group, ours) = (&io.config.name, io.config.protocol.name());
        let (name, address) = (heard.frame.sender.name, heard.address);
        tracing::warn!(
            "group `{group}`: `{name}` at {address} runs another protocol than {ours}: the two cannot elect a leader together; give all members the same protocol"
        );
    }
}

#[cfg(test)]
impl Election {
    /// Returns the listen interval that this member has asked for.
    pub(crate) fn asked_for_listen(&self) -> Option<hustings_protocol::Duration> {
        self.listen_check.asked_for()
    }
}
