//! A member's part in one group: everything between the sockets and the protocol.
//!
//! Like the driver it is told the time and what arrived; what is to be sent it leaves in an outbox.

mod acting;
mod advice;
mod cause;
mod challenge;
mod contact;
mod council;
mod finding;
mod handover;
pub mod health;
mod hearing;
mod listening;
mod lookout;
mod mortality;
mod muster;
mod namesake;
mod patience;
mod promptness;
mod status;
mod survey;
mod suspicion;
mod tenancy;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;

use hustings_protocol::{Candidate, Duration, Instant, MemberId, ViewChange};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::watch;

use crate::agent::Resignation;
use crate::authority::occupancy::Occupancy;
use crate::authority::{Authority, Cell};
use crate::config::{AuthorityConfig, GroupConfig, ProtocolConfig};
use crate::counters::Counters;
use crate::driver::Seat;
use crate::election;
use crate::entropy::Entropy;
use crate::frame::Sender;
use crate::identity::{Life, group_id, member_id};
use crate::leadership::Leadership;
pub use crate::membership::CircleStatus;
use crate::membership::Membership;
use crate::peers::Peers;
use crate::reach::Reach;
use crate::record::Recorder;
use crate::replay::Replays;
use crate::seal::{Key, Keyring, Rejected};
use advice::Advised;
pub use advice::Measured;
use cause::Trigger;
use challenge::Challenges;
use contact::Contact;
use council::Part;
use finding::Finding;
pub(crate) use handover::Heir;
use handover::{Handover, Sought};
pub use health::{Health, HealthState, Level};
use listening::ListenCheck;
use lookout::Lookout;
use mortality::Mortality;
use muster::Muster;
use namesake::Outlived;
pub use status::{Aside, GroupStatus, PeerStatus};
use survey::Survey;
use suspicion::Suspicion;
use tenancy::Tenancy;
pub use tenancy::{REACHED_WITHIN, Refusal, TenureStatus, VoterStatus};

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
    challenges: Challenges,
    /// The member that another one says is dead, until the loop has looked after it.
    doubted: Option<MemberId>,
    seat: Box<dyn Seat>,
    recorder: Option<Recorder>,
    membership: Option<Membership>,
    /// None where a failure detector looks after all.
    lookout: Option<Lookout>,
    advised: Advised,
    mortality: Mortality,
    listen_check: ListenCheck,
    finding: Finding,
    peers: Peers,
    reach: Reach,
    leadership: watch::Sender<Leadership>,
    /// Whom the election names.
    nominee: Option<MemberId>,
    /// Where that one was when it was named. Somebody who only goes by its name must not be taken for it.
    nominee_at: Option<SocketAddr>,
    tenancy: Tenancy,
    council: Part,
    survey: Option<Survey>,
    handover: Option<Handover>,
    /// Those who are to be heirs, and were never heard.
    sought: Vec<Sought>,
    /// None where leaders are not told apart by who follows them.
    muster: Option<Muster>,
    /// Of the leader.
    suspicion: Option<Suspicion>,
    /// Whether anybody is left, of those who are silent.
    contact: Contact,
    /// What happened last: the reason of whatever changes by it.
    trigger: Trigger,
    /// The leader whose process has died, until the next leader is named.
    died: Option<MemberId>,
    /// The time since which no member leads, as far as this one knows; in fenced mode, since which none holds tenure.
    vacant_since: Option<Instant>,
    /// The time at which a frame of this group under another key arrived last.
    other_key_at: Option<Instant>,
    /// When it last told somebody that its life is over.
    answered_past: Option<Instant>,
    /// When it last told somebody who goes by its name how long it has been here.
    claimed_at: Option<(Life, Instant)>,
    outlived: Outlived,
    /// Has stepped down until then.
    abstains_until: Option<Instant>,
    /// Why it stands aside; none if it was asked to step down.
    aside_because: Option<Resignation>,
    standing: Standing,
    pub(crate) counters: Counters,
    /// Unpredictable numbers, from the driver.
    entropy: Entropy,
    content: Vec<u8>,
}

/// Whether a member takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Partaking,
    /// Somebody who came up before goes by its name, at this address.
    Refused(SocketAddr),
    /// This process was copied while it ran, and its copy has gone on, at this address.
    Copied(SocketAddr),
    Gone,
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
        mut entropy: Entropy,
    ) -> Self {
        let me = Candidate {
            merit: config.merit,
            id: member_id(member),
        };
        let life = entropy.begin_life();
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
        let council = Part::new(&config.council, (&config.name, member), (me, life), now);
        let unknown = Leadership {
            elects: !config.protocol.is_none(),
            ..Leadership::unknown(&config.name, member, tenancy.mode(), now)
        };
        let lookout = match config.protocol {
            ProtocolConfig::Probabilistic(protocol) if config.view.is_some() => {
                let rng = chance(Life(!life.0), me.id);
                Some(Lookout::new(&protocol, rng))
            }
            _ => None,
        };
        Self {
            id: group_id(&config.name),
            member: member.to_owned(),
            me,
            port,
            life,
            born: life,
            came_at: now,
            number: 0,
            keyring: Keyring::new(&config.name, me.id, &keys[0], &keys[1..]),
            replays: Replays::default(),
            challenges: Challenges::default(),
            doubted: None,
            seat,
            recorder,
            membership: None,
            lookout,
            advised: Advised::default(),
            mortality: Mortality::default(),
            listen_check: ListenCheck::default(),
            finding: Finding::default(),
            peers: Peers::default(),
            reach,
            leadership: watch::Sender::new(unknown),
            nominee: None,
            nominee_at: None,
            tenancy,
            council,
            survey: None,
            handover: None,
            sought: Vec::new(),
            muster: config.protocol.contested_every().map(Muster::new),
            suspicion: None,
            contact: Contact::default(),
            trigger: Trigger::default(),
            died: None,
            vacant_since: Some(now),
            other_key_at: None,
            answered_past: None,
            claimed_at: None,
            outlived: Outlived::default(),
            abstains_until: None,
            aside_because: None,
            standing: Standing::Partaking,
            counters: Counters::default(),
            entropy,
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

    /// Counts a frame that is not let in.
    pub(crate) fn refuse(&mut self, now: Instant, why: Rejected) {
        self.counters.reject(why);
        if why == Rejected::Key {
            self.other_key_at = Some(now);
        }
    }

    pub(crate) fn keyring(&self) -> &Keyring {
        &self.keyring
    }

    /// To watch who leads.
    pub(crate) fn watch(&self) -> watch::Receiver<Leadership> {
        self.leadership.subscribe()
    }

    /// Where another member is that goes by its name and came up before, if there is one.
    pub(crate) fn namesake(&self) -> Option<SocketAddr> {
        match self.standing {
            Standing::Refused(address) | Standing::Copied(address) => Some(address),
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

    /// The member that another one says is dead, if that has not been looked after.
    pub(crate) fn take_doubted(&mut self) -> Option<MemberId> {
        self.doubted.take()
    }

    /// Takes a process for proven, as if it had answered a challenge at `place`.
    #[cfg(test)]
    pub(crate) fn trust(&mut self, sender: &Sender<'_>, place: SocketAddr) {
        self.replays.prove(self.came_at, sender, 0, place);
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
    let onlooker = listens.then(|| election::onlooker(protocol, rng.clone(), recorder.clone()));
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
    /// Time passed.
    pub(crate) fn pass(&mut self, now: Instant, out: &mut Outbox) {
        if !matches!(self.standing, Standing::Partaking) {
            return;
        }
        self.trigger = Trigger::Time;
        self.note_time(now);
        if self.abstains_until.is_some_and(|until| until <= now) {
            self.come_back(now, out);
        }
        self.pass_challenges(now, out);
        self.pass_finding(now, out);
        if let Some(membership) = &mut self.membership {
            membership.pass(now);
        }
        self.pass_muster(now, out);
        self.pass_suspicion(now, out);
        self.pass_contact(now, out);
        self.pass_lookout(now, out);
        self.pass_tenure(now, out);
        self.pass_handover(now, out);
        self.pass_sought(now, out);
        self.pass_council(now, out);
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
                    self.challenges.due(),
                    self.finding.due(),
                    membership,
                    self.muster.as_ref().and_then(Muster::due),
                    self.suspicion.as_ref().map(Suspicion::due),
                    self.contact.due(),
                    self.lookout.as_ref().and_then(Lookout::due),
                    self.tenancy.due(),
                    self.handover.as_ref().and_then(Handover::due),
                    self.sought.iter().map(Sought::due).min(),
                    self.council.due(),
                ];
                times.into_iter().flatten().min()
            }
            Standing::Refused(_) | Standing::Copied(_) | Standing::Gone => None,
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
        self.abstains_until = None;
        self.trigger = Trigger::Pause(paused);
        self.begin_life();
        self.publish(now, None, out);
        self.sit_down(now);
        self.act(now, out);
    }

    /// How long a pause may last without anybody else having noticed; none if for ever: in a group that nobody knows
    /// whole only the leader is missed.
    pub(crate) fn longest_pause(&self) -> Option<Duration> {
        let is_missed = self.circle().is_none() || self.is_nominee();
        let longest = self.config.protocol.longest_pause();
        longest.filter(|_| is_missed)
    }

    fn begin_life(&mut self) {
        self.begin_life_after(self.life);
    }

    fn begin_life_after(&mut self, other: Life) {
        self.life = self.entropy.begin_life().after(other);
        self.number = 0;
        self.challenges.number_anew();
        if self.is_absent() {
            return; // it is back among the members when it takes part again
        }
        if let Some(membership) = &mut self.membership {
            let sender = Sender::new(&self.member, self.me.id, self.life, self.port);
            membership.renew(&sender, self.me.merit);
        }
    }

    /// Takes a new seat in the election, among those who are there.
    fn sit_down(&mut self, now: Instant) {
        self.take_seat();
        for candidate in self.membership.iter().flat_map(Membership::candidates) {
            self.seat.view_changed(now, ViewChange::Joined(candidate));
        }
        self.advise_anew(now);
        self.start_when_ready(now);
    }

    fn take_seat(&mut self) {
        let lives_before = self.life.incarnations_before();
        let (rng, recorder) = (chance(self.life, self.me.id), self.recorder.clone());
        self.seat = seat(&self.config, self.me, rng, lives_before, recorder);
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
        if let (Some(heir), Some(fence)) = (heir, self.tenancy.fence())
            && let AuthorityConfig::Quorum(quorum) = &self.config.authority
        {
            let within = quorum.taken_within();
            self.hand_over(now, (span, within), heir, fence, out);
            return; // and leaves when the heir has it
        }
        self.leave_office(now, span, (Trigger::StepDown, None), out);
    }

    /// Gives up leadership and takes no part for `span`, as its user wishes for this reason.
    pub(crate) fn resign(
        &mut self,
        now: Instant,
        span: Duration,
        why: Resignation,
        out: &mut Outbox,
    ) {
        self.leave_office(now, span, (Trigger::Resign, Some(why)), out);
    }

    /// Gives up leadership and takes no part for `span`, as this member cannot hold tenure.
    fn step_aside(&mut self, now: Instant, span: Duration, why: String, out: &mut Outbox) {
        let is_failure = true;
        let why = Resignation { why, is_failure };
        self.leave_office(now, span, (Trigger::StandAside, Some(why)), out);
    }

    fn leave_office(
        &mut self,
        now: Instant,
        span: Duration,
        (trigger, why): (Trigger, Option<Resignation>),
        out: &mut Outbox,
    ) {
        if !matches!(self.standing, Standing::Partaking) {
            return;
        }
        if trigger == Trigger::StepDown && self.is_only_aside() {
            self.abstains_until = Some(now + span); // it keeps its reason, and the leader that it follows
            return;
        }
        self.trigger = trigger;
        self.aside_because = why;
        self.resign_tenure(now, out);
        if !self.is_absent() {
            self.rise(now, out);
        }
        self.abstains_until = Some(now + span);
        let (rng, recorder) = (chance(self.life, self.me.id), self.recorder.clone());
        match election::onlooker(self.config.protocol, rng, recorder) {
            Some(seat) => {
                self.seat = seat;
                self.seat.start(now);
            }
            None => {
                self.take_seat(); // which it keeps empty
                self.publish(now, None, out); // until it is back it hears of no election
            }
        }
        self.act(now, out);
    }

    /// Leaves its seat, and those who would count on it.
    fn rise(&mut self, now: Instant, out: &mut Outbox) {
        self.seat.leave(now);
        self.say_goodbye(now, out);
        if self.config.protocol.needs_view()
            && let Some(membership) = &mut self.membership
        {
            membership.leave(now);
        }
        self.act(now, out);
    }

    /// Whether it has left for a while, and cannot follow the election meanwhile.
    fn is_absent(&self) -> bool {
        self.abstains_until.is_some() && self.config.protocol.needs_view()
    }

    /// Whether it takes no part at present, and has nothing that it could give up.
    fn is_only_aside(&self) -> bool {
        let has_tenure = self.tenancy.fence().is_some() || self.tenancy.inherits_until.is_some();
        self.abstains_until.is_some() && !has_tenure && !self.is_nominee()
    }

    /// Whom it has followed it goes on to name, unless it finds otherwise.
    fn take_part_again(&mut self, now: Instant) {
        self.begin_life();
        self.sit_down(now);
    }

    /// Leaves for good.
    pub(crate) fn leave(&mut self, now: Instant, out: &mut Outbox) {
        if matches!(self.standing, Standing::Partaking) {
            self.trigger = Trigger::Leave;
            self.leave_council(now, out);
            self.seat.leave(now);
            self.say_goodbye(now, out);
            if let Some(membership) = &mut self.membership {
                membership.leave(now);
            }
            self.act(now, out);
            self.resign_tenure(now, out);
            self.standing = Standing::Gone;
        }
    }
}
