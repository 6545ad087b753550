//! How members find each other: by multicast, and by saying hello where they were told to join.
//!
//! Who was told addresses keeps a list of members, whatever else turns out to work: it may be on nobody else's
//! list, and where multicasts are dropped nobody would ever hear of it. It takes part in the election once somebody
//! has answered its hello, or nobody did: before that its words would reach only those it was told of.
//!
//! Members that have found some others may not have found all: those who came up while the network was cut, or who
//! were told of different ones. So whoever keeps a list goes on to call whom it was told of and does not know; and
//! where views matter somebody says hello by multicast now and then.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use hustings_protocol::{Duration, Instant, MemberId};

use super::{Group, Outbox, Route};
use crate::config::{ProtocolConfig, presets};
use crate::frame::{Body, Frame, Sender};
use crate::identity::Life;
use crate::membership::{Circle, Membership};
use crate::peers::{Peers, Way};
use crate::reach::Verdict;
use crate::seal::Rejected;

/// How often a member that knows of nobody says hello, at first and later.
const HELLO_FIRST_EVERY: Duration = Duration::from_millis(50);
const HELLO_EVERY: Duration = Duration::from_millis(250);

/// How often those are called whom a member was told of, and does not know.
const CALL_EVERY: Duration = Duration::from_secs(2);

/// How long names may take to be resolved, and hellos to be answered, before it takes part.
const RESOLVED_WITHIN: Duration = Duration::from_secs(1);
const ANSWERED_WITHIN: Duration = Duration::from_millis(250);
/// Whoever answered tells of all others in this time.
const TOLD_WITHIN: Duration = Duration::from_millis(20);

/// Who has heard nobody by multicast for so long, and knows no other way, says so.
const LONELY_AFTER: Duration = Duration::from_secs(5);

/// Spreads numbers that are close to each other.
pub(super) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a member does to find others.
#[derive(Debug, Default)]
pub(super) struct Finding {
    hello_at: Option<Instant>,
    /// Calls whom it does not know then.
    call_at: Option<Instant>,
    calls: u64,
    /// Holds back from the election until then.
    partakes_at: Option<Instant>,
    /// Says that it is alone then.
    lonely_at: Option<Instant>,
    /// Whether a multicast of another group has arrived: the network carries them.
    hears_other_groups: bool,
    /// Whether a centre has said why it does not call yet.
    has_said_why: bool,
    /// Whose words of members it could not read, in which life, and how many such lives there were.
    misread: BTreeMap<MemberId, Life>,
    misread_lives: u64,
}

impl Finding {
    pub(super) fn due(&self) -> Option<Instant> {
        let times = [
            self.hello_at,
            self.call_at,
            self.partakes_at,
            self.lonely_at,
        ];
        times.into_iter().flatten().min()
    }
}

impl Group {
    /// A multicast of another group has arrived.
    pub(crate) fn note_other_group(&mut self) {
        self.finding.hears_other_groups = true;
    }

    /// Whether a multicast of another group has arrived.
    pub(crate) fn hears_other_groups(&self) -> bool {
        self.finding.hears_other_groups
    }

    /// This host cannot carry multicasts.
    pub(crate) fn give_up_multicast(&mut self) {
        self.reach.give_up_multicast();
    }

    /// Where what is said to all may have to go from each to a few others, all wait for so long as that takes.
    fn allow_for_rumours(&mut self) {
        if let Some(lookout) = &mut self.lookout
            && self.reach.may_miss_some()
            && let ProtocolConfig::Probabilistic(protocol) = self.config.protocol
        {
            let slower = protocol.by_rumour();
            lookout.set_spread(slower.spread);
            self.config.protocol = ProtocolConfig::Probabilistic(slower);
            self.take_seat();
        }
    }

    /// Comes up.
    pub(crate) fn start(&mut self, now: Instant, out: &mut Outbox) {
        let was_told_of_others = !self.config.join.is_empty();
        self.allow_for_rumours();
        if self.config.protocol.needs_view() || was_told_of_others || !self.reach.has_multicast() {
            self.begin_membership(now, out);
        } else {
            self.say_where_it_is(now, out);
        }
        if !was_told_of_others && self.reach.has_multicast() && !self.config.protocol.is_none() {
            self.finding.lonely_at = Some(now + LONELY_AFTER);
        }
        match (was_told_of_others, self.membership.is_some()) {
            (true, _) => self.finding.partakes_at = Some(now + RESOLVED_WITHIN),
            (false, true) => self.finding.partakes_at = Some(now + ANSWERED_WITHIN),
            (false, false) => self.seat.start(now),
        }
        if self.finding.partakes_at.is_none() || self.is_host() {
            self.start_council(now, out);
        }
        self.start_tenure(now, out);
        self.look_after_contact(now);
        self.act(now, out);
    }

    /// Lets all others know where it is, in this life.
    pub(super) fn say_where_it_is(&mut self, now: Instant, out: &mut Outbox) {
        if !self.is_silent() {
            self.broadcast(now, &Body::Up, out);
        }
    }

    /// Others may be found at `seeds`.
    pub(crate) fn join(&mut self, now: Instant, seeds: &[SocketAddr], out: &mut Outbox) {
        self.reach.set_seeds(seeds);
        self.finding.partake_by(now + ANSWERED_WITHIN);
        self.hello(now, out);
    }

    /// Keeps a list of members from now on, unless it does already.
    fn begin_membership(&mut self, now: Instant, out: &mut Outbox) {
        if self.membership.is_some() {
            return;
        }
        let membership = match (self.config.view, &self.lookout) {
            (Some(view), Some(lookout)) => {
                let circle = Circle::new(now, self.me, self.life, view, lookout.bound());
                Membership::partial(circle)
            }
            (Some(view), None) if self.config.protocol.is_none() => {
                let circle = Circle::new(now, self.me, self.life, view, presets::HOP);
                Membership::partial(circle)
            }
            _ => {
                let sender = Sender::new(&self.member, self.me.id, self.life, self.port);
                match self.config.protocol.is_none() {
                    true => Membership::of_bystander(&sender),
                    false => Membership::whole(&sender, self.me.merit),
                }
            }
        };
        self.membership = Some(membership);
        self.finding.call_at = Some(now + CALL_EVERY);
        self.hello(now, out);
    }

    /// Says hello to whoever may be there, for as long as it knows nobody.
    fn hello(&mut self, now: Instant, out: &mut Outbox) {
        self.finding.hello_at = None;
        if self.is_alone() {
            self.broadcast(now, &Body::Hello { alone: true }, out);
            self.finding.hello_again(now);
        }
    }

    /// Calls those whom it should know and does not.
    fn call(&mut self, now: Instant, out: &mut Outbox) {
        self.finding.calls += 1;
        self.finding.call_at = Some(now + CALL_EVERY);
        let Some(membership) = self.membership.as_ref().filter(|_| !self.is_absent()) else {
            return;
        };
        let known: BTreeSet<SocketAddr> = membership.addresses().into_iter().collect();
        let unknown = |seed: &&SocketAddr| !known.contains(seed);
        let seeds: Vec<SocketAddr> = self.reach.seeds().iter().filter(unknown).copied().collect();
        // One of all members, on average, each time.
        let lot = (self.me.id.0 ^ self.finding.calls).wrapping_mul(GOLDEN) >> 32;
        let circle = membership.circle();
        let members = circle.map_or(known.len() as u64 + 1, Circle::size_or_view);
        let is_its_turn = lot.is_multiple_of(members);
        let needs_view = self.config.protocol.needs_view();
        let multicast = self.reach.multicast().filter(|_| needs_view && is_its_turn);
        let hello = Body::Hello { alone: false };
        // Who knows a few of many knows some of those that it was told of, in good order.
        let knows_enough = circle.is_some() && !membership.is_alone() && !is_its_turn;
        let routes = seeds.into_iter().filter(|_| !knows_enough).map(Route::To);
        for route in routes.chain(multicast.map(Route::Multicast)) {
            self.send(route, &hello, out);
        }
    }

    /// Whether it is to look for others: who has left for a while is not.
    fn is_alone(&self) -> bool {
        let is_alone = self.membership.as_ref().is_some_and(Membership::is_alone);
        is_alone && !self.is_absent()
    }

    /// Looks whether somebody answered, or nobody is left.
    pub(super) fn look_around(&mut self, now: Instant) {
        if !self.is_alone() {
            self.finding.partake_by(now + TOLD_WITHIN);
        } else if self.finding.hello_at.is_none() {
            self.finding.hello_again(now);
        }
    }

    /// Says what is to be said again.
    pub(super) fn pass_finding(&mut self, now: Instant, out: &mut Outbox) {
        let is_due = |at: &mut Instant| *at <= now;
        if self.finding.hello_at.take_if(is_due).is_some() {
            self.hello(now, out);
        }
        if self.finding.call_at.take_if(is_due).is_some() {
            self.call(now, out);
        }
        if self.finding.partakes_at.take_if(is_due).is_some() {
            self.start_when_ready(now);
            match self.finding.partakes_at {
                None if !self.is_host() => self.start_council(now, out),
                Some(_) if self.is_centre() => self.finding.say_that_it_waits(&self.config.name),
                None | Some(_) => {}
            }
        }
        if self.finding.lonely_at.take_if(is_due).is_some() && self.peers.iter().next().is_none() {
            // Members that only follow are silent, so it may be that all is well.
            let question = match self.hears_other_groups() {
                true => "have they the same group name? Multicasts of other groups arrive here",
                false => {
                    "does the network drop multicasts? Then name one or more of them with --join"
                }
            };
            tracing::info!(
                "group `{}`: nobody was heard by {} so far. If others run, and lead themselves: {question}",
                self.config.name,
                self.reach
            );
        }
    }

    /// Takes part in the election, or looks again later.
    pub(super) fn start_when_ready(&mut self, now: Instant) {
        match self.may_elect() {
            true => self.seat.start(now),
            false => self.finding.partakes_at = Some(now + ANSWERED_WITHIN),
        }
    }

    /// Takes note of how a frame came.
    pub(super) fn note_way(
        &mut self,
        now: Instant,
        address: SocketAddr,
        way: Way,
        frame: &Frame<'_>,
        is_new: bool,
        out: &mut Outbox,
    ) {
        match (frame.to_all, is_new) {
            (true, true) if self.reach.note_first(way) => {
                tracing::warn!(
                    "group `{}`: what members say comes by unicast alone, though multicasts used to arrive: trying both ways again",
                    self.config.name
                );
                self.peers.forget_ways();
            }
            (true, false) => self.reach.note_copy(way),
            (true, true) | (false, _) => {}
        }
        let known = |peers: &Peers| peers.get(frame.sender.id).map(|it| it.address);
        let before = known(&self.peers);
        self.peers.note(frame, address, way, now);
        if known(&self.peers) != before {
            self.word_last_words(); // it may be a voter, to which a release has to go
        }
        if self.reach.judge(now, &self.peers) == Verdict::SomeAreMissed {
            tracing::warn!(
                "group `{}`: multicasts of `{}` do not arrive here though its unicasts do: sending by {} from now on",
                self.config.name,
                frame.sender.name,
                self.reach
            );
            self.begin_membership(now, out);
        }
    }

    pub(super) fn on_hello(
        &mut self,
        now: Instant,
        (sender, address, way): (&Sender<'_>, SocketAddr, Way),
        alone: bool,
        out: &mut Outbox,
    ) {
        if self.config.protocol.is_none() && way == Way::Multicast && self.membership.is_none() {
            return; // not for a fleet: whoever cannot do without says so to one
        }
        self.begin_membership(now, out); // it cannot do without
        if let Some(membership) = &mut self.membership
            && (alone || !membership.knows(sender))
        {
            membership.greet(sender, address, way);
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
            if self.finding.is_to_complain_of(sender.id, sender.life()) {
                // It is sealed, so it is what a member of the group meant to say.
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
    /// Whether nobody need know that it is there: one host of a fleet, until somebody calls.
    fn is_silent(&self) -> bool {
        self.config.protocol.is_none() && self.is_host()
    }
}

impl Finding {
    fn say_that_it_waits(&mut self, group: &str) {
        if !std::mem::replace(&mut self.has_said_why, true) {
            tracing::info!(
                "group `{group}`: calling when it is known how many members there are: a group that has just come up counts them first, \
                 which takes some 10 s"
            );
        }
    }

    /// Whether it is to be said that a member's words of members cannot be read: once in each of its lives, as it may be
    /// configured anew, and of a fleet not of every member.
    fn is_to_complain_of(&mut self, id: MemberId, life: Life) -> bool {
        let is_new = self.misread.insert(id, life) != Some(life);
        self.misread_lives += u64::from(is_new);
        is_new && self.misread_lives.is_power_of_two()
    }

    fn hello_again(&mut self, now: Instant) {
        let pause = match self.partakes_at {
            Some(_) => HELLO_FIRST_EVERY,
            None => HELLO_EVERY,
        };
        self.hello_at = Some(now + pause);
    }

    /// If it holds back, then not for longer than this.
    fn partake_by(&mut self, at: Instant) {
        self.partakes_at = self.partakes_at.map(|by| by.min(at));
    }
}

#[cfg(test)]
mod tests {
    use super::Finding;
    use crate::identity::Life;
    use hustings_protocol::MemberId;

    #[test]
    fn a_member_whose_words_cannot_be_read_is_complained_of_once_in_each_of_its_lives() {
        let mut finding = Finding::default();
        let mut complains = |id, life| finding.is_to_complain_of(MemberId(id), Life(life));
        let of_one: Vec<bool> = [1, 1, 1, 1, 2, 2].map(|life| complains(7, life)).into();
        assert_eq!(of_one, [true, false, false, false, true, false]);
        let of_a_fleet = (100..1_098).filter(|id| complains(*id, 1)).count();
        assert_eq!(of_a_fleet, 8, "4, 8, .. 512");
    }
}
