//! A member's part in one group: everything between the sockets and the protocol.
//!
//! Like the driver it is told the time and what arrived; what is to be sent it leaves in an outbox.

use std::net::SocketAddr;

use hustings_protocol::{Candidate, Duration, Instant, MemberId, Outcome, ViewChange};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::config::GroupConfig;
use crate::counters::Counters;
use crate::driver::{Effect, Seat};
use crate::election;
use crate::frame::{Body, Frame, Sender};
use crate::identity::{Life, group_id, member_id};
use crate::leadership::{Leadership, Peer};
use crate::membership::{Membership, MembershipEffect};
use crate::peers::{Peers, Way};
use crate::reach::Reach;
use crate::replay::Replays;
use crate::seal::{Key, Keyring, Rejected};

/// Frames of an earlier life may be on their way for so long.
const AFTERLIFE: Duration = Duration::from_secs(2);

/// How often a member that knows of nobody says hello.
const HELLO_EVERY: Duration = Duration::from_millis(250);

/// Where a sealed frame goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// To one address, by datagram.
    To(SocketAddr),
    /// To everyone.
    Multicast(SocketAddr),
    /// To one address, by the ordered link.
    Link(SocketAddr),
}

/// What is to be sent: for which group, where to, the sealed frame.
pub(crate) type Outbox = Vec<(u64, Route, Vec<u8>)>;

/// A member's part in one group.
pub(crate) struct Group {
    config: GroupConfig,
    id: u64,
    member: String,
    me: Candidate,
    port: u16,
    life: Life,
    came_up: Instant,
    /// How many frames it has sent in this life.
    number: u64,
    keyring: Keyring,
    replays: Replays,
    seat: Box<dyn Seat>,
    membership: Option<Membership>,
    hello_at: Option<Instant>,
    peers: Peers,
    reach: Reach,
    leadership: watch::Sender<Leadership>,
    /// Has stepped down until then.
    abstains_until: Option<Instant>,
    standing: Standing,
    pub(crate) counters: Counters,
    content: Vec<u8>,
}

/// Whether a member takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Partaking,
    /// Somebody who came up before goes by its name, at this address.
    Refused(SocketAddr),
    Gone,
}

/// What a member tells of itself on request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupStatus {
    /// Who leads.
    pub leadership: Leadership,
    /// By which protocol.
    pub protocol: String,
    /// How all members are reached.
    pub reach: String,
    /// The members that this one has heard of, itself not included.
    pub peers: Vec<Peer>,
    /// Who else goes by this member's name, if anybody does.
    pub namesake: Option<SocketAddr>,
    /// What it has counted.
    pub counters: Counters,
}

impl Group {
    /// The member called `member`, which receives at `port`.
    pub(crate) fn new(config: GroupConfig, member: &str, port: u16, now: Instant) -> Self {
        let me = Candidate {
            merit: config.merit,
            id: member_id(member),
        };
        let life = Life::begin();
        let rng = Xoshiro256PlusPlus::seed_from_u64(life.0 ^ me.id.0);
        let public = [Key::public(&config.name)];
        let keys = match config.keys.is_empty() {
            true => &public[..],
            false => &config.keys,
        };
        let seat = election::seat(config.protocol, me, rng, life.incarnations_before());
        let reach = Reach::new(config.multicast, !config.join.is_empty());
        Self {
            id: group_id(&config.name),
            member: member.to_owned(),
            me,
            port,
            life,
            came_up: now,
            number: 0,
            keyring: Keyring::new(&keys[0], &keys[1..]),
            replays: Replays::default(),
            seat,
            membership: None,
            hello_at: None,
            peers: Peers::default(),
            reach,
            leadership: watch::Sender::new(Leadership::unknown(&config.name, member, now)),
            abstains_until: None,
            standing: Standing::Partaking,
            counters: Counters::default(),
            content: Vec::new(),
            config,
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn keyring(&self) -> &Keyring {
        &self.keyring
    }

    pub(crate) fn key_ids(&self) -> Vec<[u8; 4]> {
        self.keyring.ids()
    }

    /// To watch who leads.
    pub(crate) fn watch(&self) -> watch::Receiver<Leadership> {
        self.leadership.subscribe()
    }

    pub(crate) fn status(&self) -> GroupStatus {
        GroupStatus {
            leadership: self.leadership.borrow().clone(),
            protocol: self.config.protocol.name().to_owned(),
            reach: self.reach.to_string(),
            peers: self
                .peers
                .iter()
                .map(|(id, _)| self.peers.describe(id))
                .collect(),
            namesake: match self.standing {
                Standing::Refused(address) => Some(address),
                Standing::Partaking | Standing::Gone => None,
            },
            counters: self.counters,
        }
    }

    /// Whether another member that came up before goes by its name.
    pub(crate) fn is_refused(&self) -> Option<SocketAddr> {
        match self.standing {
            Standing::Refused(address) => Some(address),
            Standing::Partaking | Standing::Gone => None,
        }
    }

    /// The leader, if it is another member: who it is, and where its links are.
    pub(crate) fn leader_elsewhere(&self) -> Option<(MemberId, SocketAddr)> {
        let leadership = self.leadership.borrow();
        let leader = leadership.leader.as_ref()?;
        match leadership.leads {
            true => None,
            false => Some((leader.id, leader.address?)),
        }
    }
}

// What happens to a member.
impl Group {
    /// This host cannot carry multicasts.
    pub(crate) fn give_up_multicast(&mut self) {
        self.reach.give_up_multicast();
    }

    /// Others may be found at `seeds`.
    pub(crate) fn join(&mut self, now: Instant, seeds: &[SocketAddr], out: &mut Outbox) {
        self.reach.set_seeds(seeds);
        self.hello(now, out);
    }

    /// Comes up.
    pub(crate) fn start(&mut self, now: Instant, out: &mut Outbox) {
        if self.config.protocol.needs_view() || !self.reach.has_multicast() {
            self.begin_membership(now, out);
        }
        self.seat.start(now);
        self.act(now, out);
    }

    fn begin_membership(&mut self, now: Instant, out: &mut Outbox) {
        let sender = Sender::new(&self.member, self.me.id, self.life, self.port);
        let membership = Membership::new(&sender, self.me.merit);
        self.membership = Some(membership);
        self.hello(now, out);
    }

    /// Says hello to whoever may be there, for as long as it knows nobody.
    fn hello(&mut self, now: Instant, out: &mut Outbox) {
        self.hello_at = None;
        if self.membership.as_ref().is_some_and(Membership::is_alone) {
            self.broadcast(&Body::Hello, out);
            self.hello_at = Some(now + HELLO_EVERY);
        }
    }

    /// A frame arrived that opens with this group's key.
    pub(crate) fn hear(
        &mut self,
        now: Instant,
        from: SocketAddr,
        way: Way,
        frame: &Frame<'_>,
        out: &mut Outbox,
    ) {
        let sender = &frame.sender;
        if sender.id == self.me.id {
            self.hear_namesake(now, from, sender.life());
            return;
        }
        if !matches!(self.standing, Standing::Partaking) {
            return;
        }
        self.note_way(now, from, way, sender, out);
        if !self.replays.admit(sender.id, sender.life(), frame.number) {
            self.counters.reject(Rejected::Replayed);
            return;
        }
        self.counters.heard += 1;
        let address = SocketAddr::new(from.ip(), sender.port);
        match frame.body {
            Body::Election { protocol, .. } if protocol != self.config.protocol.tag() => {
                self.counters.other_protocol += 1;
            }
            Body::Election { message, .. } => {
                if let Err(why) = self.seat.receive(now, sender.id, message) {
                    self.counters.reject(why);
                }
            }
            Body::Membership(bytes) => self.hear_membership(now, address, bytes, out),
            Body::Hello => self.on_hello(now, sender, address, out),
            Body::Knock | Body::Obituary { .. } => {} // the loop, or the kernel, sees to it
        }
        self.act(now, out);
    }

    /// Somebody goes by our name: we ourselves, looped back or in an earlier life, or somebody else.
    fn hear_namesake(&mut self, now: Instant, from: SocketAddr, life: Life) {
        let may_be_our_past = life < self.life && now - self.came_up < AFTERLIFE;
        if life == self.life || may_be_our_past {
            return;
        }
        self.counters.namesakes += 1;
        let (group, member) = (&self.config.name, &self.member);
        if life > self.life {
            if self.counters.namesakes.is_power_of_two() {
                tracing::error!(
                    "another member called `{member}` of group `{group}` came up at {from}: it should stop by itself; give it another name"
                );
            }
        } else if matches!(self.standing, Standing::Partaking) {
            tracing::error!(
                "a member called `{member}` of group `{group}` is there already, at {from}: taking no part; give one of the two another name"
            );
            self.standing = Standing::Refused(from);
            self.publish(now, None);
        }
    }

    fn note_way(
        &mut self,
        now: Instant,
        from: SocketAddr,
        way: Way,
        sender: &Sender<'_>,
        out: &mut Outbox,
    ) {
        self.peers.note(sender, from, way, now);
        let had_multicast = self.reach.has_multicast();
        self.reach.judge(now, &self.peers);
        if had_multicast && !self.reach.has_multicast() {
            tracing::warn!(
                "group `{}`: multicasts of `{}` do not arrive here though its unicasts do: sending to each member by unicast from now on",
                self.config.name,
                sender.name
            );
            if self.membership.is_none() {
                self.begin_membership(now, out);
            }
        }
    }

    fn on_hello(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        address: SocketAddr,
        out: &mut Outbox,
    ) {
        if self.membership.is_none() {
            self.begin_membership(now, out); // it cannot do without
        }
        if let Some(membership) = &mut self.membership {
            membership.greet(sender, address);
        }
    }

    fn hear_membership(&mut self, now: Instant, from: SocketAddr, bytes: &[u8], out: &mut Outbox) {
        if self.membership.is_none() {
            self.begin_membership(now, out);
        }
        if let Some(membership) = &mut self.membership
            && membership.hear(now, from, bytes).is_err()
        {
            self.counters.reject(Rejected::Malformed);
        }
    }

    /// Time passed.
    pub(crate) fn pass(&mut self, now: Instant, out: &mut Outbox) {
        if !matches!(self.standing, Standing::Partaking) {
            return;
        }
        if self.abstains_until.is_some_and(|until| until <= now) {
            self.abstains_until = None;
            self.renew(now);
        }
        if self.hello_at.is_some_and(|at| at <= now) {
            self.hello(now, out);
        }
        if let Some(membership) = &mut self.membership {
            membership.pass(now);
        }
        self.seat.pass(now);
        self.act(now, out);
    }

    /// When something is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        let membership = self.membership.as_ref().and_then(Membership::due);
        match self.standing {
            Standing::Partaking => {
                let times = [
                    self.seat.due(),
                    self.abstains_until,
                    self.hello_at,
                    membership,
                ];
                times.into_iter().flatten().min()
            }
            Standing::Refused(_) | Standing::Gone => None,
        }
    }

    /// Did not run for longer than others wait: gives up what it may have lost, before anything else.
    pub(crate) fn wake_from_pause(&mut self, now: Instant, paused: Duration, out: &mut Outbox) {
        self.counters.pauses += 1;
        tracing::warn!(
            "group `{}`: did not run for {:.1} s: coming up anew",
            self.config.name,
            paused.as_secs_f64()
        );
        self.renew(now);
        self.act(now, out);
    }

    /// How long a pause may last without anybody else having noticed; none if for ever.
    pub(crate) fn longest_pause(&self) -> Option<Duration> {
        self.config.protocol.longest_pause()
    }

    /// Begins a new life.
    fn renew(&mut self, now: Instant) {
        self.life = Life::begin();
        self.number = 0;
        self.seat.restart(now, self.life.incarnations_before());
        if let Some(membership) = &mut self.membership {
            let sender = Sender::new(&self.member, self.me.id, self.life, self.port);
            membership.renew(&sender, self.me.merit);
        }
    }

    /// Gives up leadership and takes no part for `span`.
    pub(crate) fn step_down(&mut self, now: Instant, span: Duration, out: &mut Outbox) {
        if matches!(self.standing, Standing::Partaking) {
            self.seat.leave(now);
            self.abstains_until = Some(now + span);
            self.act(now, out);
        }
    }

    /// Leaves for good.
    pub(crate) fn leave(&mut self, now: Instant, out: &mut Outbox) {
        if matches!(self.standing, Standing::Partaking) {
            self.seat.leave(now);
            if let Some(membership) = &mut self.membership {
                membership.leave();
            }
            self.act(now, out);
            self.standing = Standing::Gone;
        }
    }

    /// It is certain that the leader is dead. Tells the others, who make certain for themselves.
    pub(crate) fn bury(&mut self, now: Instant, id: MemberId, out: &mut Outbox) {
        self.broadcast(&Body::Obituary { of: id }, out);
        self.seat.view_changed(now, ViewChange::Left(id));
        self.act(now, out);
    }
}

// What a member does.
impl Group {
    /// Carries out what protocol and failure detector want done.
    fn act(&mut self, now: Instant, out: &mut Outbox) {
        loop {
            let seat = self.seat.take_effects();
            let membership = match &mut self.membership {
                Some(membership) => membership.take_effects(now),
                None => Vec::new(),
            };
            if seat.is_empty() && membership.is_empty() {
                break;
            }
            for effect in membership {
                self.carry_out_membership(now, effect, out);
            }
            for effect in seat {
                self.carry_out(now, effect, out);
            }
        }
        if self.hello_at.is_none() && self.membership.as_ref().is_some_and(Membership::is_alone) {
            self.hello_at = Some(now + HELLO_EVERY);
        }
    }

    fn carry_out(&mut self, now: Instant, effect: Effect, out: &mut Outbox) {
        let protocol = self.config.protocol.tag();
        match effect {
            Effect::Unicast { to, message } => {
                let body = Body::Election {
                    protocol,
                    message: &message,
                };
                self.counters.election_sent += 1;
                match self.address_of(to) {
                    Some(address) if self.config.protocol.needs_links() => {
                        self.send(Route::Link(address), &body, out);
                    }
                    Some(address) => self.send(Route::To(address), &body, out),
                    None => self.counters.unsent += 1,
                }
            }
            Effect::Multicast { message } => {
                let body = Body::Election {
                    protocol,
                    message: &message,
                };
                self.counters.election_sent += 1;
                self.broadcast(&body, out);
            }
            Effect::Report(Outcome::Nominee(nominee)) => self.publish(now, Some(nominee.id)),
            Effect::Report(Outcome::Vacant | Outcome::DuplicateIdentity) => self.publish(now, None),
            Effect::Report(Outcome::Standing { .. }) => {}
        }
    }

    fn carry_out_membership(&mut self, now: Instant, effect: MembershipEffect, out: &mut Outbox) {
        match effect {
            MembershipEffect::Send { to, bytes } => {
                self.send(Route::To(to), &Body::Membership(&bytes), out);
            }
            // Who needs no view is not told: the detector errs where the protocol need not.
            MembershipEffect::Up(_) | MembershipEffect::Down(_)
                if !self.config.protocol.needs_view() => {}
            MembershipEffect::Up(candidate) => {
                self.seat.view_changed(now, ViewChange::Joined(candidate));
            }
            MembershipEffect::Down(id) => self.seat.view_changed(now, ViewChange::Left(id)),
        }
    }

    fn address_of(&self, id: MemberId) -> Option<SocketAddr> {
        let heard = self.peers.get(id).map(|peer| peer.address);
        heard.or_else(|| self.membership.as_ref()?.address_of(id))
    }

    /// Sends to everyone who can be reached.
    fn broadcast(&mut self, body: &Body<'_>, out: &mut Outbox) {
        let members = self.membership.iter().flat_map(Membership::addresses);
        let routes = self.reach.routes(members);
        let Some((first, others)) = routes.split_first() else {
            return;
        };
        self.send(*first, body, out);
        // The same frame by all ways: whoever gets it twice takes it once.
        if let Some((group, _, frame)) = out.last().cloned() {
            out.extend(others.iter().map(|route| (group, *route, frame.clone())));
            self.counters.sent += others.len() as u64;
        }
    }

    pub(crate) fn send(&mut self, route: Route, body: &Body<'_>, out: &mut Outbox) {
        let frame = Frame {
            group: self.id,
            sender: Sender::new(&self.member, self.me.id, self.life, self.port),
            number: self.number,
            body: *body,
        };
        frame.encode(&mut self.content);
        self.number += 1;
        let mut sealed = Vec::new();
        match self.keyring.seal(&self.content, &mut sealed) {
            Ok(()) => {
                self.counters.sent += 1;
                out.push((self.id, route, sealed));
            }
            Err(error) => {
                self.counters.unsent += 1;
                tracing::error!("cannot seal a frame: {error}");
            }
        }
    }

    /// Tells the user who leads.
    fn publish(&mut self, now: Instant, leader: Option<MemberId>) {
        let me = self.me.id;
        let leader = leader.map(|id| match id == me {
            true => Peer {
                name: self.member.clone(),
                id,
                address: None,
            },
            false => self.describe(id),
        });
        self.leadership.send_if_modified(|known| {
            let is_same = known.leader.as_ref().map(|it| it.id) == leader.as_ref().map(|it| it.id);
            if is_same {
                return false;
            }
            known.leads = leader.as_ref().is_some_and(|leader| leader.id == me);
            known.leader = leader;
            known.since = now;
            known.changes += 1;
            true
        });
    }

    fn describe(&self, id: MemberId) -> Peer {
        let known = self.peers.describe(id);
        match &self.membership {
            Some(membership) if known.address.is_none() => membership.describe(id).unwrap_or(known),
            Some(_) | None => known,
        }
    }
}
