//! The membership component: whom this member knows to be up.
//!
//! Purpose     begins a membership when one is needed, and passes events to it
//! Inputs      greetings and membership messages, gossip, reports of dead members, time
//! Outputs     membership messages, answers to greetings; members that come, go or are met
//! Owns        the [`Membership`], and the senders whose membership messages were unreadable
//! Invariants  a group that needs no membership has none. While an event is handled here, the
//!             membership is not in the context

use std::collections::BTreeMap;

use hustings_protocol::{Candidate, Duration, Instant, MemberId};

use super::{Membership, MembershipEffect, PartialView, Swim};
use crate::config::{ProtocolConfig, presets};
use crate::frame::{Body, Sender};
use crate::identity::Incarnation;
use crate::node::{Admitted, Component, Context, Event, Io, Route};
use crate::seal::Rejected;

/// The number of members that are asked to probe another one.
const HELPERS: usize = 3;

/// The membership of one member, if it has begun one.
#[derive(Default)]
pub(crate) struct Members {
    view: Option<Box<dyn Membership>>,
    /// The time within which most messages arrive.
    bound: Duration,
    /// The members whose membership messages were unreadable, each with its incarnation.
    misread: BTreeMap<MemberId, Incarnation>,
    misread_incarnations: u64,
}

impl Members {
    pub(crate) fn new(protocol: &ProtocolConfig) -> Self {
        let bound = match protocol {
            ProtocolConfig::Probabilistic(protocol) => protocol.hop,
            _ => presets::HOP,
        };
        Self { bound, ..Self::default() }
    }

    pub(crate) fn get(&self) -> Option<&dyn Membership> {
        self.view.as_deref()
    }

    fn partial_view_mut(&mut self) -> Option<&mut PartialView> {
        self.view.as_mut()?.partial_view_mut()
    }

    fn begin(&mut self, io: &mut Io<'_>) {
        if self.view.is_some() {
            return;
        }
        let elects_nobody = io.config.protocol.is_none();
        let view: Box<dyn Membership> = match io.config.view {
            Some(view) if elects_nobody || io.probes_leader() => {
                let (now, me, incarnation) = (io.now, io.me, io.incarnation);
                Box::new(PartialView::new(now, me, incarnation, view, self.bound))
            }
            _ if elects_nobody => Box::new(Swim::of_bystander(&io.sender())),
            _ => Box::new(Swim::new(&io.sender(), io.me.priority)),
        };
        self.view = Some(view);
        io.raise(Event::MembershipBegun);
    }

    fn heard(&mut self, heard: &Admitted<'_>, io: &mut Io<'_>) {
        let (sender, address) = (&heard.frame.sender, heard.address);
        let Some(view) = &mut self.view else {
            return;
        };
        match heard.frame.body {
            Body::Hello { alone } if alone || !view.knows(sender) => {
                view.greet(sender, address, heard.channel);
            }
            Body::Membership(bytes) if view.hear(io.now, sender, address, bytes).is_err() => {
                io.emit.counters.reject(Rejected::Malformed);
                self.complain_of(sender, io);
            }
            Body::Alive { priority } => {
                if let Some(view) = view.partial_view_mut() {
                    let candidate = Candidate { priority, id: sender.id };
                    view.note(io.now, candidate, sender, address);
                }
            }
            _ => {}
        }
    }

    /// Puts a member into the partial view, because the protocol received a message of it. The
    /// nominee is left out: every member keeps it in view separately, and all partial views would
    /// become alike.
    fn meet(&mut self, candidate: Candidate, context: &Context) {
        let id = candidate.id;
        if let Some(view) = self.partial_view_mut()
            && let Some(peer) = context.peers.get(id).filter(|_| context.nominee != Some(id))
        {
            let sender = Sender::new(&peer.name, id, peer.incarnation, peer.address.port());
            view.meet(context.now, candidate, &sender, peer.address);
        }
    }

    /// Takes a member for gone in this incarnation.
    fn mark_dead(&mut self, id: MemberId, incarnation: Incarnation, context: &Context) {
        let known = context.peers.describe(id);
        let listed = self.view.as_ref().filter(|_| known.address.is_none());
        let name = listed.and_then(|it| it.describe(id)).unwrap_or(known).name;
        if let Some(view) = self.partial_view_mut()
            && view.mark_dead(context.now, id, incarnation)
        {
            tracing::info!("group `{}`: `{name}` has left or is dead", context.config.name);
        }
    }

    fn probe_through_others(&mut self, of: MemberId, io: &mut Io<'_>) {
        let helpers = self.partial_view_mut().map(|it| it.some(HELPERS));
        for (helper, address) in helpers.into_iter().flatten() {
            io.send_to(helper, Route::To(address), &Body::IndirectProbe { of });
        }
    }

    /// Carries out the effects of the membership.
    fn act(&mut self, io: &mut Io<'_>) {
        let Some(view) = &mut self.view else {
            return;
        };
        let needs_view = io.config.protocol.needs_view();
        for effect in view.take_effects(io.now) {
            match effect {
                MembershipEffect::Send { receiver, to, bytes } => {
                    io.send_to(receiver, Route::To(to), &Body::Membership(&bytes));
                }
                // A protocol without a view ignores the failure detector, which may be wrong about
                // a member.
                MembershipEffect::Finding(Event::MemberUp(_) | Event::MemberDown(_))
                    if !needs_view => {}
                MembershipEffect::Finding(event) => io.raise(event),
            }
        }
    }

    /// Logs that membership messages of a member cannot be read. The frame is sealed, so a member
    /// of the group sent it.
    fn complain_of(&mut self, sender: &Sender<'_>, context: &Context) {
        if !self.is_to_complain_of(sender.id, sender.incarnation) {
            return;
        }
        let knows = match context.config.view {
            Some(view) => format!("a few others (`view` is {view})"),
            None => "all others (it has no `view`)".to_owned(),
        };
        let (group, name) = (&context.config.name, sender.name);
        tracing::warn!(
            "group `{group}`: membership messages of `{name}` cannot be decoded: this member has to know {knows}, and `view` of the sender probably differs; give both the same `view`"
        );
    }

    /// True if unreadable membership messages of a member are to be logged: once per incarnation,
    /// because its configuration may change. Of all such incarnations only the 1st, 2nd, 4th, 8th
    /// and so on are logged, to spare the log of a fleet.
    fn is_to_complain_of(&mut self, id: MemberId, incarnation: Incarnation) -> bool {
        let is_new = self.misread.insert(id, incarnation) != Some(incarnation);
        self.misread_incarnations += u64::from(is_new);
        is_new && self.misread_incarnations.is_power_of_two()
    }
}

impl Component for Members {
    fn on(&mut self, event: &Event<'_>, io: &mut Io<'_>) {
        match event {
            Event::MembershipNeeded => self.begin(io),
            Event::Heard(heard) => self.heard(heard, io),
            Event::Timeout => {
                if let Some(view) = &mut self.view {
                    view.pass(io.now);
                }
            }
            Event::Relay(content) => {
                if let Some(view) = self.partial_view_mut() {
                    view.send_to_all(io.now, content.clone());
                }
            }
            Event::Meet(candidate) => self.meet(*candidate, io),
            Event::MarkDead { id, incarnation } => self.mark_dead(*id, *incarnation, io),
            Event::ProbeThroughOthers(of) => self.probe_through_others(*of, io),
            Event::IncarnationBegun if !io.is_absent() => {
                if let Some(view) = &mut self.view {
                    view.renew(&io.sender(), io.me.priority);
                }
            }
            Event::LeaveMembership => {
                if let Some(view) = &mut self.view {
                    view.leave(io.now);
                }
            }
            _ => return,
        }
        self.act(io);
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.view.as_ref().and_then(|it| it.due())
    }
}

#[cfg(test)]
mod tests {
    use super::Members;
    use crate::identity::Incarnation;
    use hustings_protocol::MemberId;

    #[test]
    fn unreadable_membership_is_logged_once_per_incarnation() {
        let mut members = Members::default();
        let mut complains =
            |id, incarnation| members.is_to_complain_of(MemberId(id), Incarnation(incarnation));
        let of_one: Vec<bool> =
            [1, 1, 1, 1, 2, 2].map(|incarnation| complains(7, incarnation)).into();
        assert_eq!(of_one, [true, false, false, false, true, false]);
        let of_a_fleet = (100..1_098).filter(|id| complains(*id, 1)).count();
        assert_eq!(of_a_fleet, 8, "4, 8, .. 512");
    }
}
