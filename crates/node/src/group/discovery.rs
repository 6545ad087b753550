//! Discovery: members find each other by multicast, and by a hello to the `join` addresses.
//!
//! Purpose     finds the other members, and delays the election until they can be reached
//! Inputs      the `join` addresses, frames and the channels by which they came, time
//! Outputs     `Hello` and `Up` messages, a membership, the start of election and council
//! Owns        the timers of hello, call and start ([`Discovery`])
//! Invariants  a member with `join` addresses always keeps a membership: it may be on no other
//!             member's list, and without multicast no member would ever hear of it
//!
//! A member with `join` addresses takes part in the election once its hello was answered, or the
//! time for an answer is over. Before that, its messages would reach only the configured addresses.
//!
//! Members that have found some others may not have found all: some came up during a partition, or
//! have different `join` addresses. So a member with a membership goes on to call the configured
//! addresses that it does not know. If the protocol needs a view, one member at a time also sends a
//! hello by multicast.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};

use super::{Group, Outbox, Route};
use crate::config::{ProtocolConfig, presets};
use crate::frame::{Body, Frame, Sender};
use crate::identity::Incarnation;
use crate::membership::{Membership, PartialView};
use crate::multicast_probe::Verdict;
use crate::peer_table::{Channel, PeerTable};
use crate::seal::Rejected;

/// The time between two hellos of a member that knows no other, at first and later.
const HELLO_FIRST_EVERY: Duration = Duration::from_millis(50);
const HELLO_EVERY: Duration = Duration::from_millis(250);

/// The time between two calls to configured addresses that are not known.
const CALL_EVERY: Duration = Duration::from_secs(2);

/// The time that name resolution may take, and then an answer, before the member takes part.
const RESOLVED_WITHIN: Duration = Duration::from_secs(1);
const ANSWERED_WITHIN: Duration = Duration::from_millis(250);
/// The time in which a member that answered passes on all others.
const TOLD_WITHIN: Duration = Duration::from_millis(20);

/// The time without a frame of any member after which a member that relies on multicast reports it.
const LONELY_AFTER: Duration = Duration::from_secs(5);

/// A multiplier that spreads close numbers.
pub(super) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The state of a member's search for others.
#[derive(Debug, Default)]
pub(super) struct Discovery {
    hello_at: Option<Instant>,
    /// The time of the next call to unknown addresses.
    call_at: Option<Instant>,
    calls: u64,
    /// The time until which the member holds back from the election.
    partakes_at: Option<Instant>,
    /// The time to report that no other member was found.
    lonely_at: Option<Instant>,
    /// True if a multicast of another group has arrived: the network carries multicasts.
    hears_other_groups: bool,
    /// True if a centre has logged why it does not call yet.
    has_said_why: bool,
    /// The members whose membership messages were unreadable, each with its incarnation.
    misread: BTreeMap<MemberId, Incarnation>,
    misread_incarnations: u64,
}

impl Discovery {
    pub(super) fn due(&self) -> Option<Instant> {
        let times = [self.hello_at, self.call_at, self.partakes_at, self.lonely_at];
        times.into_iter().flatten().min()
    }
}

impl Group {
    /// Notes that a multicast of another group has arrived.
    pub fn note_other_group(&mut self) {
        self.discovery.hears_other_groups = true;
    }

    /// True if a multicast of another group has arrived.
    pub fn hears_other_groups(&self) -> bool {
        self.discovery.hears_other_groups
    }

    /// Notes that this host cannot carry multicasts.
    pub fn give_up_multicast(&mut self) {
        self.multicast_probe.give_up_multicast();
    }

    /// Adapts the protocol's times to gossip, if multicast may miss some members.
    fn allow_for_rumours(&mut self) {
        if let Some(leader_probe) = &mut self.leader_probe
            && self.multicast_probe.may_miss_some()
            && let ProtocolConfig::Probabilistic(protocol) = self.config.protocol
        {
            let slower = protocol.by_rumour();
            leader_probe.set_spread(slower.spread);
            self.config.protocol = ProtocolConfig::Probabilistic(slower);
            self.reset_election();
        }
    }

    /// Starts the member.
    pub fn start(&mut self, now: Instant, out: &mut Outbox) {
        let was_told_of_others = !self.config.join.is_empty();
        self.allow_for_rumours();
        if self.config.protocol.needs_view()
            || was_told_of_others
            || !self.multicast_probe.has_multicast()
        {
            self.begin_membership(now, out);
        } else {
            self.say_where_it_is(now, out);
        }
        if !was_told_of_others
            && self.multicast_probe.has_multicast()
            && !self.config.protocol.is_none()
        {
            self.discovery.lonely_at = Some(now + LONELY_AFTER);
        }
        match (was_told_of_others, self.membership.is_some()) {
            (true, _) => self.discovery.partakes_at = Some(now + RESOLVED_WITHIN),
            (false, true) => self.discovery.partakes_at = Some(now + ANSWERED_WITHIN),
            (false, false) => self.election.start(now),
        }
        if self.discovery.partakes_at.is_none() || self.is_host() {
            self.start_council(now, out);
        }
        self.start_tenure(now, out);
        self.watch_isolation(now);
        self.act(now, out);
    }

    /// Announces this member's address and incarnation to all others.
    pub(super) fn say_where_it_is(&mut self, now: Instant, out: &mut Outbox) {
        if !self.is_silent() {
            self.broadcast(now, &Body::Up, out);
        }
    }

    /// Looks for other members at `seeds`.
    pub fn join(&mut self, now: Instant, seeds: &[SocketAddr], out: &mut Outbox) {
        self.multicast_probe.set_seeds(seeds);
        self.discovery.partake_by(now + ANSWERED_WITHIN);
        self.hello(now, out);
    }

    /// Starts a membership, unless there is one.
    fn begin_membership(&mut self, now: Instant, out: &mut Outbox) {
        if self.membership.is_some() {
            return;
        }
        let membership = match (self.config.view, &self.leader_probe) {
            (Some(view), Some(leader_probe)) => {
                let partial_view =
                    PartialView::new(now, self.me, self.incarnation, view, leader_probe.bound());
                Membership::partial(partial_view)
            }
            (Some(view), None) if self.config.protocol.is_none() => {
                let partial_view =
                    PartialView::new(now, self.me, self.incarnation, view, presets::HOP);
                Membership::partial(partial_view)
            }
            _ => {
                let sender = Sender::new(&self.member, self.me.id, self.incarnation, self.port);
                match self.config.protocol.is_none() {
                    true => Membership::of_bystander(&sender),
                    false => Membership::whole(&sender, self.me.priority),
                }
            }
        };
        self.membership = Some(membership);
        self.discovery.call_at = Some(now + CALL_EVERY);
        self.hello(now, out);
    }

    /// Sends a hello to all reachable addresses, as long as no other member is known.
    fn hello(&mut self, now: Instant, out: &mut Outbox) {
        self.discovery.hello_at = None;
        if self.is_alone() {
            self.broadcast(now, &Body::Hello { alone: true }, out);
            self.discovery.hello_again(now);
        }
    }

    /// Calls the configured addresses at which no member is known.
    fn call(&mut self, now: Instant, out: &mut Outbox) {
        self.discovery.calls += 1;
        self.discovery.call_at = Some(now + CALL_EVERY);
        let Some(membership) = self.membership.as_ref().filter(|_| !self.is_absent()) else {
            return;
        };
        let known: BTreeSet<SocketAddr> = membership.addresses().into_iter().collect();
        let unknown = |seed: &&SocketAddr| !known.contains(seed);
        let seeds: Vec<SocketAddr> =
            self.multicast_probe.seeds().iter().filter(unknown).copied().collect();
        // One of all members, on average, each time.
        let lot = (self.me.id.0 ^ self.discovery.calls).wrapping_mul(GOLDEN) >> 32;
        let partial_view = membership.partial_view();
        let members = partial_view.map_or(known.len() as u64 + 1, PartialView::size_or_view);
        let is_its_turn = lot.is_multiple_of(members);
        let needs_view = self.config.protocol.needs_view();
        let multicast = self.multicast_probe.multicast().filter(|_| needs_view && is_its_turn);
        let hello = Body::Hello { alone: false };
        // With a partial view, a member normally knows only some of its configured addresses.
        let knows_enough = partial_view.is_some() && !membership.is_alone() && !is_its_turn;
        let routes = seeds.into_iter().filter(|_| !knows_enough).map(Route::To);
        for route in routes.chain(multicast.map(Route::Multicast)) {
            self.send(route, &hello, out);
        }
    }

    /// True if the member knows no other and looks for one. A member that has stepped down does
    /// not.
    fn is_alone(&self) -> bool {
        let is_alone = self.membership.as_ref().is_some_and(Membership::is_alone);
        is_alone && !self.is_absent()
    }

    /// Ends the wait for an answer if another member is known; otherwise resumes the hellos.
    pub(super) fn look_around(&mut self, now: Instant) {
        if !self.is_alone() {
            self.discovery.partake_by(now + TOLD_WITHIN);
        } else if self.discovery.hello_at.is_none() {
            self.discovery.hello_again(now);
        }
    }

    /// Sends and starts what is due.
    pub(super) fn pass_discovery(&mut self, now: Instant, out: &mut Outbox) {
        let is_due = |at: &mut Instant| *at <= now;
        if self.discovery.hello_at.take_if(is_due).is_some() {
            self.hello(now, out);
        }
        if self.discovery.call_at.take_if(is_due).is_some() {
            self.call(now, out);
        }
        if self.discovery.partakes_at.take_if(is_due).is_some() {
            self.start_when_ready(now);
            match self.discovery.partakes_at {
                None if !self.is_host() => self.start_council(now, out),
                Some(_) if self.is_centre() => self.discovery.say_that_it_waits(&self.config.name),
                None | Some(_) => {}
            }
        }
        if self.discovery.lonely_at.take_if(is_due).is_some()
            && self.peer_table.iter().next().is_none()
        {
            // Followers are silent, so all may be well.
            let question = match self.hears_other_groups() {
                _ if self.counters.unknown_key > 0 => {
                    "have they the same key? Frames of this group under another key arrive here"
                }
                true => "have they the same group name? Multicasts of other groups arrive here",
                false => {
                    "does the network drop multicasts? Then name one or more of them with --join"
                }
            };
            tracing::info!(
                "group `{}`: nobody was heard by {} so far. If others run, and lead themselves: {question}",
                self.config.name,
                self.multicast_probe
            );
        }
    }

    /// Starts the election if the member is ready; otherwise checks again later.
    pub(super) fn start_when_ready(&mut self, now: Instant) {
        match self.may_elect() {
            true => self.election.start(now),
            false => self.discovery.partakes_at = Some(now + ANSWERED_WITHIN),
        }
    }

    /// Notes the channel by which a frame came.
    pub(super) fn note_channel(
        &mut self,
        now: Instant,
        address: SocketAddr,
        channel: Channel,
        frame: &Frame<'_>,
        is_new: bool,
        out: &mut Outbox,
    ) {
        match (frame.to_all, is_new) {
            (true, true) if self.multicast_probe.note_first(channel) => {
                tracing::warn!(
                    "group `{}`: what members say comes by unicast alone, though multicasts used to arrive: trying both ways again",
                    self.config.name
                );
                self.peer_table.forget_ways();
            }
            (true, false) => self.multicast_probe.note_copy(channel),
            (true, true) | (false, _) => {}
        }
        let known = |peer_table: &PeerTable| peer_table.get(frame.sender.id).map(|it| it.address);
        let before = known(&self.peer_table);
        self.peer_table.note(frame, address, channel, now);
        if known(&self.peer_table) != before {
            self.word_last_words(); // the sender may be a voter, which the last will must reach
        }
        if self.multicast_probe.judge(now, &self.peer_table) == Verdict::SomeAreMissed {
            tracing::warn!(
                "group `{}`: multicasts of `{}` do not arrive here though its unicasts do: sending by {} from now on",
                self.config.name,
                frame.sender.name,
                self.multicast_probe
            );
            self.begin_membership(now, out);
        }
    }

    pub(super) fn on_hello(
        &mut self,
        now: Instant,
        (sender, address, channel): (&Sender<'_>, SocketAddr, Channel),
        alone: bool,
        out: &mut Outbox,
    ) {
        if self.config.protocol.is_none()
            && channel == Channel::Multicast
            && self.membership.is_none()
        {
            return; // not for a fleet: a member that needs it sends a unicast
        }
        self.begin_membership(now, out); // the sender needs it
        if let Some(membership) = &mut self.membership
            && (alone || !membership.knows(sender))
        {
            membership.greet(sender, address, channel);
        }
    }

    pub(super) fn hear_membership(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        from: SocketAddr,
        bytes: &[u8],
        out: &mut Outbox,
    ) {
        self.begin_membership(now, out);
        if let Some(membership) = &mut self.membership
            && membership.hear(now, sender, from, bytes).is_err()
        {
            self.counters.reject(Rejected::Malformed);
            if self.discovery.is_to_complain_of(sender.id, sender.incarnation()) {
                // The frame is sealed, so a member of the group sent it.
                let knows = match self.config.view {
                    Some(view) => format!("a few others (`view` is {view})"),
                    None => "all others (it has no `view`)".to_owned(),
                };
                tracing::warn!(
                    "group `{}`: what `{}` says of members cannot be read: this member is to know {knows}, and that one probably \
                     not; give both the same `view`",
                    self.config.name,
                    sender.name
                );
            }
        }
    }
}

impl Group {
    /// True if the member stays silent: a host of a fleet, until a centre calls.
    fn is_silent(&self) -> bool {
        self.config.protocol.is_none() && self.is_host()
    }
}

impl Discovery {
    fn say_that_it_waits(&mut self, group: &str) {
        if !std::mem::replace(&mut self.has_said_why, true) {
            tracing::info!(
                "group `{group}`: calling when it is known how many members there are: a group that has just come up counts them first, \
                 which takes some 10 s"
            );
        }
    }

    /// True if unreadable membership messages of a member are to be logged: once per incarnation,
    /// because its configuration may change. Of all such incarnations only the 1st, 2nd, 4th, 8th
    /// and so on are logged, to spare the log of a fleet.
    fn is_to_complain_of(&mut self, id: MemberId, incarnation: Incarnation) -> bool {
        let is_new = self.misread.insert(id, incarnation) != Some(incarnation);
        self.misread_incarnations += u64::from(is_new);
        is_new && self.misread_incarnations.is_power_of_two()
    }

    fn hello_again(&mut self, now: Instant) {
        let pause = match self.partakes_at {
            Some(_) => HELLO_FIRST_EVERY,
            None => HELLO_EVERY,
        };
        self.hello_at = Some(now + pause);
    }

    /// Holds back from the election until `at` at most, if it holds back.
    fn partake_by(&mut self, at: Instant) {
        self.partakes_at = self.partakes_at.map(|by| by.min(at));
    }
}

#[cfg(test)]
mod tests {
    use super::Discovery;
    use crate::identity::Incarnation;
    use hustings_protocol::MemberId;

    #[test]
    fn unreadable_membership_is_logged_once_per_incarnation() {
        let mut discovery = Discovery::default();
        let mut complains =
            |id, incarnation| discovery.is_to_complain_of(MemberId(id), Incarnation(incarnation));
        let of_one: Vec<bool> =
            [1, 1, 1, 1, 2, 2].map(|incarnation| complains(7, incarnation)).into();
        assert_eq!(of_one, [true, false, false, false, true, false]);
        let of_a_fleet = (100..1_098).filter(|id| complains(*id, 1)).count();
        assert_eq!(of_a_fleet, 8, "4, 8, .. 512");
    }
}
