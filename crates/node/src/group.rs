//! One member's participation in one group: everything between the sockets and the protocol.
//!
//! Purpose     connects the election protocol, the failure detector, tenure and the council of one
//!             group
//! Inputs      the time, frames that open with the group's key, lease events, requests of the user
//! Outputs     sealed frames in an [`Outbox`], the leadership in a watch channel, status, log lines
//! Owns        all state of the group except the lease that an authority outside the loop keeps
//! Invariants  no clock, no socket and no thread: the caller passes the time and the frames in. A
//!             member that is not `Active` sends nothing when time passes

mod adaptive_k;
mod cause;
mod challenge;
mod churn_estimate;
mod council;
mod discovery;
mod duplicate_name;
mod effects;
pub mod health;
mod inbound;
mod isolation;
mod leader_ping;
mod leader_probe;
mod listen_check;
mod partition_merge;
mod stand_aside;
mod status;
mod tenure;
#[cfg(test)]
mod tests;
mod transfer;
mod voter_latency;
mod voter_query;

use std::net::SocketAddr;

use hustings_protocol::{Candidate, Duration, Instant, MemberId, ViewChange};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use tokio::sync::watch;

use crate::authority::in_flight::InFlight;
use crate::authority::{Authority, LeaseWatch};
use crate::config::{AuthorityConfig, GroupConfig, ProtocolConfig};
use crate::control::Resignation;
use crate::counters::Counters;
use crate::driver::ElectionDriver;
use crate::election;
use crate::entropy::Entropy;
use crate::frame::Sender;
use crate::identity::{Incarnation, group_id, member_id};
use crate::leadership::Leadership;
use crate::membership::Membership;
pub use crate::membership::PartialViewStatus;
use crate::multicast_probe::MulticastProbe;
use crate::once_each::OnceEach;
use crate::peer_table::PeerTable;
use crate::record::Recorder;
use crate::replay_window::ReplayWindow;
use crate::seal::{Key, Keyring, Rejected};
use adaptive_k::AdaptiveK;
pub use adaptive_k::Measured;
use cause::Trigger;
use challenge::Challenges;
use churn_estimate::ChurnEstimate;
use council::CouncilRole;
use discovery::Discovery;
use duplicate_name::StaleIncarnation;
pub use health::{Health, HealthState, Level};
use isolation::Isolation;
use leader_ping::LeaderPing;
use leader_probe::LeaderProbe;
use listen_check::ListenCheck;
use partition_merge::PartitionMerge;
pub use status::{Aside, GroupStatus, PeerStatus};
use tenure::TenureState;
pub use tenure::{REACHED_WITHIN, Refusal, TenureStatus, VoterStatus};
pub use transfer::Transferee;
use transfer::{PendingLookup, Transfer};
use voter_query::VoterQueryRound;

/// The destination of a sealed frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// One address, by datagram.
    To(SocketAddr),
    /// All members, by datagram to this multicast address.
    Multicast(SocketAddr),
    /// One address, by the ordered link.
    Link(SocketAddr),
}

/// The frames to send: group id, destination, sealed frame.
pub type Outbox = Vec<(u64, Route, Vec<u8>)>;

/// One member's participation in one group.
pub struct Group {
    config: GroupConfig,
    id: u64,
    member: String,
    me: Candidate,
    port: u16,
    incarnation: Incarnation,
    /// The first incarnation of this process. It distinguishes processes that use the same name.
    process_incarnation: Incarnation,
    came_at: Instant,
    /// The number of frames sent in this incarnation.
    number: u64,
    keyring: Keyring,
    replay_window: ReplayWindow,
    challenges: Challenges,
    /// The member that another member reports dead. The event loop takes it and checks.
    doubted: Option<MemberId>,
    election: Box<dyn ElectionDriver>,
    recorder: Option<Recorder>,
    membership: Option<Membership>,
    /// `None` if a failure detector probes all members.
    leader_probe: Option<LeaderProbe>,
    adaptive_k: AdaptiveK,
    churn_estimate: ChurnEstimate,
    listen_check: ListenCheck,
    discovery: Discovery,
    peer_table: PeerTable,
    multicast_probe: MulticastProbe,
    leadership: watch::Sender<Leadership>,
    nominee: Option<MemberId>,
    /// The nominee's address at the time of its nomination. A process that only shares the
    /// nominee's name must not be mistaken for it.
    nominee_at: Option<SocketAddr>,
    tenure: TenureState,
    council: CouncilRole,
    voter_query: Option<VoterQueryRound>,
    transfer: Option<Transfer>,
    /// Requested transferees from which no frame has arrived yet.
    pending_lookups: Vec<PendingLookup>,
    /// `None` if the protocol does not compare leaders by their number of followers.
    partition_merge: Option<PartitionMerge>,
    /// The open ping to the leader.
    leader_ping: Option<LeaderPing>,
    isolation: Isolation,
    /// The last event. It is the reason for every change that follows from it.
    trigger: Trigger,
    /// The leader whose process has died, until the next leader is named.
    died: Option<MemberId>,
    /// The time since which this member knows of no leader; in fenced mode, of no tenure holder.
    vacant_since: Option<Instant>,
    /// The time of the last frame of this group under another key.
    other_key_at: Option<Instant>,
    /// The time of the last notice to a sender that its incarnation is over.
    answered_past: Option<Instant>,
    /// The last process that used this member's name and was sent this member's age, and when.
    claimed_at: Option<(Incarnation, Instant)>,
    stale_incarnation: StaleIncarnation,
    stepped_down_until: Option<Instant>,
    /// The reason for standing aside; `None` if the member was asked to step down.
    aside_because: Option<Resignation>,
    /// Members whose bodies of unknown kinds were logged.
    unknown_bodies_of: OnceEach<MemberId>,
    participation: Participation,
    /// Counts of frames and events.
    pub counters: Counters,
    /// Unpredictable numbers, from the driver.
    entropy: Entropy,
    content: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Participation {
    Active,
    /// Another process with the same name came up earlier, at this address.
    DuplicateName(SocketAddr),
    /// This process was copied while it ran, and the copy is active at this address.
    Copied(SocketAddr),
    Left,
}

impl Group {
    /// Creates the member called `member`, which receives at `port`.
    pub fn new(
        config: GroupConfig,
        member: &str,
        port: u16,
        now: Instant,
        recorder: Option<Recorder>,
        (authority, in_flight): (Authority, InFlight),
        mut entropy: Entropy,
    ) -> Self {
        let me = Candidate { priority: config.priority, id: member_id(member) };
        let incarnation = entropy.begin_incarnation();
        let rng = chance(incarnation, me.id);
        let public = [Key::public(&config.name)];
        let keys = match config.keys.is_empty() {
            true => &public[..],
            false => &config.keys,
        };
        let incarnations_before = incarnation.incarnations_before();
        let election = election(&config, me, rng, incarnations_before, recorder.clone());
        let multicast_probe = MulticastProbe::new(config.multicast, !config.join.is_empty());
        let tenure = TenureState::new(authority, in_flight);
        let council =
            CouncilRole::new(&config.council, (&config.name, member), (me, incarnation), now);
        let unknown = Leadership {
            elects: !config.protocol.is_none(),
            ..Leadership::unknown(&config.name, member, tenure.mode(), now)
        };
        let leader_probe = match config.protocol {
            ProtocolConfig::Probabilistic(protocol) if config.view.is_some() => {
                let rng = chance(Incarnation(!incarnation.0), me.id);
                Some(LeaderProbe::new(&protocol, rng))
            }
            _ => None,
        };
        Self {
            id: group_id(&config.name),
            member: member.to_owned(),
            me,
            port,
            incarnation,
            process_incarnation: incarnation,
            came_at: now,
            number: 0,
            keyring: Keyring::new(&config.name, me.id, &keys[0], &keys[1..]),
            replay_window: ReplayWindow::default(),
            challenges: Challenges::default(),
            doubted: None,
            election,
            recorder,
            membership: None,
            leader_probe,
            adaptive_k: AdaptiveK::default(),
            churn_estimate: ChurnEstimate::default(),
            listen_check: ListenCheck::default(),
            discovery: Discovery::default(),
            peer_table: PeerTable::default(),
            multicast_probe,
            leadership: watch::Sender::new(unknown),
            nominee: None,
            nominee_at: None,
            tenure,
            council,
            voter_query: None,
            transfer: None,
            pending_lookups: Vec::new(),
            partition_merge: config.protocol.contested_every().map(PartitionMerge::new),
            leader_ping: None,
            isolation: Isolation::default(),
            trigger: Trigger::default(),
            died: None,
            vacant_since: Some(now),
            other_key_at: None,
            answered_past: None,
            claimed_at: None,
            stale_incarnation: StaleIncarnation::default(),
            stepped_down_until: None,
            aside_because: None,
            unknown_bodies_of: OnceEach::default(),
            participation: Participation::Active,
            counters: Counters::default(),
            entropy,
            content: Vec::new(),
            config,
        }
    }

    /// Returns the group's name.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Returns the number in the header of the group's frames.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Counts a frame that was rejected.
    pub fn refuse(&mut self, now: Instant, why: Rejected) {
        self.counters.reject(why);
        if why == Rejected::Key {
            self.other_key_at = Some(now);
        }
    }

    /// Returns the keys with which this member opens and seals the group's frames.
    pub fn keyring(&self) -> &Keyring {
        &self.keyring
    }

    /// Returns a receiver that watches the group's leadership.
    pub fn watch(&self) -> watch::Receiver<Leadership> {
        self.leadership.subscribe()
    }

    /// Returns the address of an earlier process with this member's name, if there is one.
    pub fn duplicate_name(&self) -> Option<SocketAddr> {
        match self.participation {
            Participation::DuplicateName(address) | Participation::Copied(address) => Some(address),
            Participation::Active | Participation::Left => None,
        }
    }

    /// Returns the id and the link address of the nominee, if the nominee is another member.
    pub fn leader_elsewhere(&self) -> Option<(MemberId, SocketAddr)> {
        let nominee = self.nominee.filter(|_| !self.is_nominee())?;
        Some((nominee, self.nominee_at?))
    }

    /// True if the election names `id`, which is another member.
    fn follows(&self, id: MemberId) -> bool {
        self.leader_elsewhere().is_some_and(|(leader, _)| leader == id)
    }

    fn is_nominee(&self) -> bool {
        self.nominee == Some(self.me.id)
    }

    /// Takes the member that another member reports dead, if it has not been checked yet.
    pub fn take_doubted(&mut self) -> Option<MemberId> {
        self.doubted.take()
    }

    /// Treats a process as proven, as if it had answered a challenge at `place`.
    #[cfg(any(test, feature = "test-util"))]
    pub fn trust(&mut self, sender: &Sender<'_>, place: SocketAddr) {
        self.replay_window.prove(self.came_at, sender, 0, place);
    }

    /// Returns the watch on this member's lease, if the group has an authority.
    pub fn lease_watch(&self) -> Option<LeaseWatch> {
        self.tenure.authority.lease_watch()
    }
}

/// Creates the member's election driver; an observer if the member may not lead.
fn election(
    config: &GroupConfig,
    me: Candidate,
    rng: Xoshiro256PlusPlus,
    incarnations_before: u32,
    recorder: Option<Recorder>,
) -> Box<dyn ElectionDriver> {
    let protocol = config.protocol;
    let listens = !config.campaigns;
    let observer = listens.then(|| election::observer(protocol, rng.clone(), recorder.clone()));
    observer
        .flatten()
        .unwrap_or_else(|| election::election(protocol, me, rng, incarnations_before, recorder))
}

/// The random generator of one incarnation of a member.
fn chance(incarnation: Incarnation, id: MemberId) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(incarnation.0 ^ id.0)
}

// Events.
impl Group {
    /// Runs everything that is due at `now`.
    pub fn pass(&mut self, now: Instant, out: &mut Outbox) {
        if !matches!(self.participation, Participation::Active) {
            return;
        }
        self.trigger = Trigger::Time;
        self.note_time(now);
        if self.stepped_down_until.is_some_and(|until| until <= now) {
            self.come_back(now, out);
        }
        self.pass_challenges(now, out);
        self.pass_discovery(now, out);
        if let Some(membership) = &mut self.membership {
            membership.pass(now);
        }
        self.pass_partition_merge(now, out);
        self.pass_leader_ping(now, out);
        self.pass_isolation(now, out);
        self.pass_leader_probe(now, out);
        self.pass_tenure(now, out);
        self.pass_transfer(now, out);
        self.pass_pending_lookups(now, out);
        self.pass_council(now, out);
        self.election.pass(now);
        self.act(now, out);
    }

    /// Returns the time at which something is due next.
    pub fn due(&self) -> Option<Instant> {
        let membership = self.membership.as_ref().and_then(Membership::due);
        match self.participation {
            Participation::Active => {
                let times = [
                    self.election.due(),
                    self.stepped_down_until,
                    self.challenges.due(),
                    self.discovery.due(),
                    membership,
                    self.partition_merge.as_ref().and_then(PartitionMerge::due),
                    self.leader_ping.as_ref().map(LeaderPing::due),
                    self.isolation.due(),
                    self.leader_probe.as_ref().and_then(LeaderProbe::due),
                    self.tenure.due(),
                    self.transfer.as_ref().and_then(Transfer::due),
                    self.pending_lookups.iter().map(PendingLookup::due).min(),
                    self.council.due(),
                ];
                times.into_iter().flatten().min()
            }
            Participation::DuplicateName(_) | Participation::Copied(_) | Participation::Left => {
                None
            }
        }
    }

    /// Handles a pause of this process that was longer than the others wait for it. First gives up
    /// whatever the member may have lost meanwhile.
    pub fn wake_from_pause(&mut self, now: Instant, paused: Duration, out: &mut Outbox) {
        self.counters.pauses += 1;
        tracing::warn!(
            "group `{}`: did not run for {:.1} s: coming up anew",
            self.config.name,
            paused.as_secs_f64()
        );
        self.stepped_down_until = None;
        self.trigger = Trigger::Pause(paused);
        self.begin_incarnation();
        self.publish(now, None, out);
        self.enter_election(now);
        self.act(now, out);
    }

    /// Returns the longest pause that the other members do not notice; `None` if they notice no
    /// pause at all. In a group with partial views the others notice only the leader's absence.
    pub fn longest_pause(&self) -> Option<Duration> {
        let is_missed = self.partial_view().is_none() || self.is_nominee();
        let longest = self.config.protocol.longest_pause();
        longest.filter(|_| is_missed)
    }

    fn begin_incarnation(&mut self) {
        self.begin_incarnation_after(self.incarnation);
    }

    fn begin_incarnation_after(&mut self, other: Incarnation) {
        self.incarnation = self.entropy.begin_incarnation().after(other);
        self.number = 0;
        self.challenges.number_anew();
        if self.is_absent() {
            // the failure detector gets the new incarnation when the member takes part again
            return;
        }
        if let Some(membership) = &mut self.membership {
            let sender = Sender::new(&self.member, self.me.id, self.incarnation, self.port);
            membership.renew(&sender, self.me.priority);
        }
    }

    /// Creates a new election driver with the members in view as its candidates.
    fn enter_election(&mut self, now: Instant) {
        self.reset_election();
        for candidate in self.membership.iter().flat_map(Membership::candidates) {
            self.election.view_changed(now, ViewChange::Joined(candidate));
        }
        self.refresh_hints(now);
        self.start_when_ready(now);
    }

    fn reset_election(&mut self) {
        let incarnations_before = self.incarnation.incarnations_before();
        let (rng, recorder) = (chance(self.incarnation, self.me.id), self.recorder.clone());
        self.election = election(&self.config, self.me, rng, incarnations_before, recorder);
    }

    /// Gives up leadership and takes no part for `span`. Meanwhile the member follows the leader,
    /// if the protocol has observers. Tenure goes to `transferee`, if there is one.
    pub fn step_down(
        &mut self,
        now: Instant,
        span: Duration,
        transferee: Option<Transferee>,
        out: &mut Outbox,
    ) {
        if !matches!(self.participation, Participation::Active) {
            return;
        }
        if let (Some(transferee), Some(fence)) = (transferee, self.tenure.fence())
            && let AuthorityConfig::Quorum(quorum) = &self.config.authority
        {
            let within = quorum.taken_within();
            self.hand_over(now, (span, within), transferee, fence, out);
            return; // steps down when the transferee holds tenure
        }
        self.leave_office(now, span, (Trigger::StepDown, None), out);
    }

    /// Gives up leadership and takes no part for `span`, at the user's request.
    pub fn resign(&mut self, now: Instant, span: Duration, why: Resignation, out: &mut Outbox) {
        self.leave_office(now, span, (Trigger::Resign, Some(why)), out);
    }

    /// Gives up leadership and takes no part for `span`, because this member cannot hold tenure.
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
        if !matches!(self.participation, Participation::Active) {
            return;
        }
        if trigger == Trigger::StepDown && self.is_only_aside() {
            self.stepped_down_until = Some(now + span); // keep the reason and the followed leader
            return;
        }
        self.trigger = trigger;
        self.aside_because = why;
        self.resign_tenure(now, out);
        if !self.is_absent() {
            self.leave_election(now, out);
        }
        self.stepped_down_until = Some(now + span);
        let (rng, recorder) = (chance(self.incarnation, self.me.id), self.recorder.clone());
        match election::observer(self.config.protocol, rng, recorder) {
            Some(election) => {
                self.election = election;
                self.election.start(now);
            }
            None => {
                self.reset_election(); // it stays empty
                self.publish(now, None, out); // no election reaches it until it is back
            }
        }
        self.act(now, out);
    }

    /// Leaves the election and the views of the other members.
    fn leave_election(&mut self, now: Instant, out: &mut Outbox) {
        self.election.leave(now);
        self.say_goodbye(now, out);
        if self.config.protocol.needs_view()
            && let Some(membership) = &mut self.membership
        {
            membership.leave(now);
        }
        self.act(now, out);
    }

    /// True if the member has stepped down and cannot follow the election meanwhile.
    fn is_absent(&self) -> bool {
        self.stepped_down_until.is_some() && self.config.protocol.needs_view()
    }

    /// True if the member takes no part at present and has nothing to give up.
    fn is_only_aside(&self) -> bool {
        let has_tenure =
            self.tenure.fence().is_some() || self.tenure.receives_transfer_until.is_some();
        self.stepped_down_until.is_some() && !has_tenure && !self.is_nominee()
    }

    /// Starts a new incarnation in the election. The named leader stays until the election differs.
    fn take_part_again(&mut self, now: Instant) {
        self.begin_incarnation();
        self.enter_election(now);
    }

    /// Leaves the group for good.
    pub fn leave(&mut self, now: Instant, out: &mut Outbox) {
        if matches!(self.participation, Participation::Active) {
            self.trigger = Trigger::Leave;
            self.leave_council(now, out);
            self.election.leave(now);
            self.say_goodbye(now, out);
            if let Some(membership) = &mut self.membership {
                membership.leave(now);
            }
            self.act(now, out);
            self.resign_tenure(now, out);
            self.participation = Participation::Left;
        }
    }
}
