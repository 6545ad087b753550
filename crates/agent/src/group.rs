//! A member's part in one group: everything between the sockets and the protocol.
//!
//! Like the driver it is told the time and what arrived; what is to be sent it leaves in an outbox.

mod acting;
mod finding;
mod handover;
mod muster;
mod namesake;
mod promptness;
mod survey;
mod suspicion;
mod tenancy;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use hustings_protocol::tenure::Fence;
use hustings_protocol::{Candidate, Duration, Instant, MemberId, ViewChange};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::authority::occupancy::Occupancy;
use crate::authority::{Authority, Cell};
use crate::config::GroupConfig;
use crate::counters::Counters;
use crate::driver::Seat;
use crate::election;
use crate::frame::{Body, Frame, Sender};
use crate::identity::{Life, group_id, member_id};
use crate::leadership::{Leadership, Peer};
use crate::membership::Membership;
use crate::peers::{Peers, Way};
use crate::reach::Reach;
use crate::record::Recorder;
use crate::replay::Replays;
use crate::seal::{Key, Keyring, Rejected};
use finding::Finding;
pub(crate) use handover::Heir;
pub use handover::TAKEN_WITHIN;
use handover::{Handover, Sought};
use muster::Muster;
use survey::Survey;
use suspicion::Suspicion;
use tenancy::Tenancy;
pub use tenancy::{REACHED_WITHIN, Refusal, TenureStatus, VoterStatus};

/// How often whoever speaks in a life that is over is told so.
const ANSWER_PAST_EVERY: Duration = Duration::from_millis(20);

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
    /// The first life of this process: what tells it from others of its name.
    born: Life,
    came_at: Instant,
    /// How many frames it has sent in this life.
    number: u64,
    keyring: Keyring,
    replays: Replays,
    seat: Box<dyn Seat>,
    recorder: Option<Recorder>,
    membership: Option<Membership>,
    finding: Finding,
    peers: Peers,
    reach: Reach,
    leadership: watch::Sender<Leadership>,
    /// Whom the election names.
    nominee: Option<MemberId>,
    /// Where that one was when it was named. Somebody who only goes by its name must not be taken for it.
    nominee_at: Option<SocketAddr>,
    tenancy: Tenancy,
    survey: Option<Survey>,
    handover: Option<Handover>,
    /// Those who are to be heirs, and were never heard.
    sought: Vec<Sought>,
    /// None where leaders are not told apart by who follows them.
    muster: Option<Muster>,
    /// Of the leader.
    suspicion: Option<Suspicion>,
    /// When it last told somebody that its life is over.
    answered_past: Option<Instant>,
    /// When it last told somebody who goes by its name how long it has been here.
    claimed_at: Option<Instant>,
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
    /// What its authority tells; none in advisory mode.
    pub tenure: Option<TenureStatus>,
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
    pub(crate) fn new(
        config: GroupConfig,
        member: &str,
        port: u16,
        now: Instant,
        recorder: Option<Recorder>,
        (authority, occupancy): (Authority, Occupancy),
    ) -> Self {
        let me = Candidate {
            merit: config.merit,
            id: member_id(member),
        };
        let life = Life::begin();
        let rng = chance(life, me.id);
        let public = [Key::public(&config.name)];
        let keys = match config.keys.is_empty() {
            true => &public[..],
            false => &config.keys,
        };
        let lives_before = life.incarnations_before();
        let seat = seat(&config, me, rng, lives_before, recorder.clone());
        let reach = Reach::new(config.multicast, !config.join.is_empty());
        let tenancy = Tenancy::new(authority, occupancy);
        let unknown = Leadership::unknown(&config.name, member, tenancy.mode(), now);
        Self {
            id: group_id(&config.name),
            member: member.to_owned(),
            me,
            port,
            life,
            born: life,
            came_at: now,
            number: 0,
            keyring: Keyring::new(&keys[0], &keys[1..]),
            replays: Replays::default(),
            seat,
            recorder,
            membership: None,
            finding: Finding::default(),
            peers: Peers::default(),
            reach,
            leadership: watch::Sender::new(unknown),
            nominee: None,
            nominee_at: None,
            tenancy,
            survey: None,
            handover: None,
            sought: Vec::new(),
            muster: config.protocol.contested_every().map(Muster::new),
            suspicion: None,
            answered_past: None,
            claimed_at: None,
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

    pub(crate) fn status(&self, now: Instant) -> GroupStatus {
        GroupStatus {
            leadership: self.leadership.borrow().clone(),
            tenure: self.tenure_status(now),
            protocol: self.config.protocol.name().to_owned(),
            reach: self.reach.to_string(),
            peers: self
                .peers
                .iter()
                .map(|(id, _)| self.peers.describe(id))
                .collect(),
            namesake: self.namesake(),
            counters: self.counters,
        }
    }

    /// Where another member is that goes by its name and came up before, if there is one.
    pub(crate) fn namesake(&self) -> Option<SocketAddr> {
        match self.standing {
            Standing::Refused(address) => Some(address),
            Standing::Partaking | Standing::Gone => None,
        }
    }

    /// Whom the election names, if it is another member: who it is, and where its links are.
    pub(crate) fn leader_elsewhere(&self) -> Option<(MemberId, SocketAddr)> {
        let nominee = self.nominee.filter(|_| !self.is_nominee())?;
        Some((nominee, self.nominee_at?))
    }

    /// Whether the election names `id`, which is another member.
    fn follows(&self, id: MemberId) -> bool {
        self.leader_elsewhere()
            .is_some_and(|(leader, _)| leader == id)
    }

    /// Whether the election names this member.
    fn is_nominee(&self) -> bool {
        self.nominee == Some(self.me.id)
    }

    /// What it holds, if somebody grants tenure here.
    pub(crate) fn cell(&self) -> Option<Cell> {
        self.tenancy.authority.cell()
    }
}

/// The seat of a member; of one that may not lead, among those who listen.
fn seat(
    config: &GroupConfig,
    me: Candidate,
    rng: Xoshiro256PlusPlus,
    lives_before: u32,
    recorder: Option<Recorder>,
) -> Box<dyn Seat> {
    let protocol = config.protocol;
    let listens = !config.campaigns;
    let onlooker = listens
        .then(|| election::onlooker(protocol, Duration(u64::MAX), rng.clone(), recorder.clone()));
    onlooker
        .flatten()
        .unwrap_or_else(|| election::seat(protocol, me, rng, lives_before, recorder))
}

/// A member's own source of chance in one of its lives.
fn chance(life: Life, id: MemberId) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(life.0 ^ id.0)
}

// What happens to a member.
impl Group {
    /// A frame arrived that opens with this group's key. Returns whether it was let in.
    pub(crate) fn hear(
        &mut self,
        now: Instant,
        from: SocketAddr,
        way: Way,
        frame: &Frame<'_>,
        out: &mut Outbox,
    ) -> bool {
        let sender = &frame.sender;
        if sender.id == self.me.id {
            self.hear_namesake(now, from, frame, out);
            return false;
        }
        if !matches!(self.standing, Standing::Partaking) {
            return false;
        }
        let address = SocketAddr::new(from.ip(), sender.port);
        let is_new = self.replays.admit(sender.id, sender.life(), frame.number);
        // A copy that came by the other way tells of that way. One from elsewhere tells nothing: anybody
        // can repeat what a member said.
        let is_copy = !is_new && self.is_at(sender, address);
        if is_new || is_copy {
            self.note_way(now, from, way, frame, is_new, out);
        }
        if is_copy && frame.to_all {
            self.counters.copies += 1;
            return false;
        }
        if !is_new {
            self.counters.reject(Rejected::Replayed);
            self.answer_past(now, sender, address, out);
            return false;
        }
        self.counters.heard += 1;
        match frame.body {
            Body::Election { protocol, .. } if protocol != self.config.protocol.tag() => {
                self.hear_other_protocol(sender, address);
            }
            Body::Election { message, .. } => self.on_election(now, sender.id, message, out),
            Body::Tenure {
                to,
                voters,
                message,
            } if to == self.me.id => self.on_tenure(now, sender, voters, message, out),
            // For another one, who is looked for.
            Body::Tenure { voters, .. } => _ = self.shares_voters(sender, voters),
            Body::Granted { longest_ns } => self.on_granted(sender.id, Duration(longest_ns)),
            Body::Freed => self.on_freed(now, out),
            Body::HandsOver { to } => self.on_hands_over(now, to),
            Body::Holds {
                fence,
                lasts_ns,
                voters,
            } => {
                self.shares_voters(sender, voters);
                self.on_holds(now, sender.id, fence, Duration(lasts_ns));
                self.note_heir(now, sender.id, Fence(fence), out);
            }
            Body::Membership(bytes) => self.hear_membership(now, address, bytes, out),
            Body::Hello { alone } => {
                self.on_hello(now, sender, address, alone, out);
                self.tell_newcomer(address, out);
            }
            Body::Muster { within_ns } => {
                self.on_muster(now, sender.id, frame.number, Duration(within_ns));
            }
            Body::GiveWay => self.on_give_way(now, sender.id),
            Body::Follow { merit, call } => self.on_follow(sender.id, merit, call),
            Body::Obituary { .. } => {} // the loop sees to it
            Body::Knock => self.on_knock(address, frame.number, out),
            Body::Seek { whom } => self.on_seek(sender.id, whom, frame.number, out),
            Body::Here { knock } => self.on_here(sender.id, knock),
            Body::Up => self.tell_newcomer(address, out),
            Body::Outlived { life } => self.on_outlived(Life(life)),
            Body::Namesake { .. } => {} // not of our name
        }
        self.act(now, out);
        true
    }

    /// Somebody speaks in a life that is over: a replay, or a member whose calendar was set back before it came up
    /// again. It is told, now and then.
    fn answer_past(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        address: SocketAddr,
        out: &mut Outbox,
    ) {
        let is_time = |at: Instant| now - at >= ANSWER_PAST_EVERY;
        if let Some(later) = self.replays.outlived(sender.id, sender.life())
            && self.answered_past.is_none_or(is_time)
        {
            self.answered_past = Some(now);
            self.send(Route::To(address), &Body::Outlived { life: later.0 }, out);
        }
    }

    /// The others have heard this member in a later life than it is in: it begins one after that.
    fn on_outlived(&mut self, later: Life) {
        if later >= self.life {
            tracing::warn!(
                "group `{}`: others have heard this member in a later life: was the calendar set back? Going on after that one",
                self.config.name
            );
            self.begin_life_after(later);
        }
    }

    /// Members that run different protocols cannot elect anybody together.
    fn hear_other_protocol(&mut self, sender: &Sender<'_>, address: SocketAddr) {
        self.counters.other_protocol += 1;
        if self.counters.other_protocol.is_power_of_two() {
            tracing::warn!(
                "group `{}`: `{}` at {address} runs another protocol than {}: neither understands the other; give all members the same",
                self.config.name,
                sender.name,
                self.config.protocol.name()
            );
        }
    }

    /// Whether a member is known to be at `address` in this life.
    fn is_at(&self, sender: &Sender<'_>, address: SocketAddr) -> bool {
        let known = self.peers.get(sender.id);
        known.is_some_and(|peer| peer.address == address && peer.life == sender.life())
    }

    /// Time passed.
    pub(crate) fn pass(&mut self, now: Instant, out: &mut Outbox) {
        if !matches!(self.standing, Standing::Partaking) {
            return;
        }
        if self.abstains_until.is_some_and(|until| until <= now) {
            self.abstains_until = None;
            self.take_part_again(now);
        }
        self.pass_finding(now, out);
        if let Some(membership) = &mut self.membership {
            membership.pass(now);
        }
        self.pass_muster(now, out);
        self.pass_suspicion(now, out);
        self.pass_tenure(now, out);
        self.pass_handover(now, out);
        self.pass_sought(now, out);
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
                    self.finding.due(),
                    membership,
                    self.muster.as_ref().and_then(Muster::due),
                    self.suspicion.as_ref().map(Suspicion::due),
                    self.tenancy.due(),
                    self.handover.as_ref().and_then(Handover::due),
                    self.sought.iter().map(Sought::due).min(),
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
        self.begin_life();
        self.abstains_until = None;
        self.publish(now, None, out);
        self.sit_down(now);
        self.act(now, out);
    }

    /// How long a pause may last without anybody else having noticed; none if for ever.
    pub(crate) fn longest_pause(&self) -> Option<Duration> {
        self.config.protocol.longest_pause()
    }

    fn begin_life(&mut self) {
        self.begin_life_after(self.life);
    }

    fn begin_life_after(&mut self, other: Life) {
        self.life = Life::begin_after(other);
        self.number = 0;
        if let Some(membership) = &mut self.membership {
            let sender = Sender::new(&self.member, self.me.id, self.life, self.port);
            membership.renew(&sender, self.me.merit);
        }
    }

    /// Takes a new seat in the election, among those who are there.
    fn sit_down(&mut self, now: Instant) {
        let lives_before = self.life.incarnations_before();
        let (rng, recorder) = (chance(self.life, self.me.id), self.recorder.clone());
        self.seat = seat(&self.config, self.me, rng, lives_before, recorder);
        for candidate in self.membership.iter().flat_map(Membership::candidates) {
            self.seat.view_changed(now, ViewChange::Joined(candidate));
        }
        self.seat.start(now);
    }

    /// Gives up leadership and takes no part for `span`. Where it can, it follows whoever leads. What it holds goes to
    /// `heir`, if there is one.
    pub(crate) fn step_down(
        &mut self,
        now: Instant,
        span: Duration,
        heir: Option<Heir>,
        out: &mut Outbox,
    ) {
        if !matches!(self.standing, Standing::Partaking) {
            return;
        }
        if let (Some(heir), Some(fence)) = (heir, self.tenancy.fence()) {
            self.hand_over(now, span, heir, fence, out);
            return; // and leaves when the heir has it
        }
        self.resign_tenure(now, out);
        self.seat.leave(now);
        if self.config.protocol.needs_view()
            && let Some(membership) = &mut self.membership
        {
            membership.leave();
        }
        self.act(now, out);
        self.abstains_until = Some(now + span);
        let (rng, recorder) = (chance(self.life, self.me.id), self.recorder.clone());
        if let Some(seat) = election::onlooker(self.config.protocol, span, rng, recorder) {
            self.seat = seat;
            self.seat.start(now);
            self.act(now, out);
        }
    }

    /// Whom it has followed it goes on to name, unless it finds otherwise.
    fn take_part_again(&mut self, now: Instant) {
        self.begin_life();
        self.sit_down(now);
    }

    /// Leaves for good.
    pub(crate) fn leave(&mut self, now: Instant, out: &mut Outbox) {
        if matches!(self.standing, Standing::Partaking) {
            self.seat.leave(now);
            if let Some(membership) = &mut self.membership {
                membership.leave();
            }
            self.act(now, out);
            self.resign_tenure(now, out);
            self.standing = Standing::Gone;
        }
    }
}
