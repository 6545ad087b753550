//! The inputs of a node, and the questions that its driver may ask.
//!
//! Purpose     the interface of a node to the agent, and to tests
//! Inputs      the time, and what has happened outside
//! Outputs     events for the components; answers from what they publish
//! Owns        nothing; it extends [`Node`]
//! Invariants  each input is handled to completion before the method returns

use std::net::SocketAddr;

use hustings_protocol::tenure::Request;
use hustings_protocol::{Duration, Instant, MemberId};
use tokio::sync::{mpsc, oneshot, watch};

use super::emit::Io;
use super::event::{Event, StepDownCause};
use super::{Node, ORDER, Outbox, Participation, Transferee};
use crate::authority::in_flight::InFlight;
use crate::authority::{LastWill, LeaseEvent, LeaseWatch};
use crate::config::ProtocolConfig;
use crate::control::{Resignation, Told, TransferError};
use crate::council::{CentreStatus, CouncilRole, HostStatus};
use crate::counters::Counters;
use crate::leadership::Leadership;
use crate::seal::Keyring;

// Other inputs.
impl Node {
    /// Starts the member.
    pub fn start(&mut self, now: Instant, out: &mut Outbox) {
        self.input(now, out, |node| {
            node.allow_for_rumours();
            node.raise(&Event::Start);
            node.raise(&Event::TakePart);
            node.settle();
        });
    }

    /// Adapts the protocol's times to gossip, if multicast may miss some members.
    fn allow_for_rumours(&mut self) {
        let context = &mut self.context;
        if let ProtocolConfig::Probabilistic(protocol) = context.config.protocol
            && context.probes_leader()
            && context.reach.may_miss_some()
        {
            context.config.protocol = ProtocolConfig::Probabilistic(protocol.by_rumour());
            self.raise(&Event::ProtocolSlowed);
        }
    }

    /// Runs everything that is due at `now`.
    pub fn pass(&mut self, now: Instant, out: &mut Outbox) {
        if !self.context.is_active() {
            return;
        }
        self.input(now, out, |node| {
            if node.context.stepped_down_until.is_some_and(|until| until <= now) {
                node.raise(&Event::StepDownOver);
            }
            node.raise(&Event::Timeout);
            node.settle();
        });
    }

    /// Returns the time at which something is due next.
    pub fn due(&self) -> Option<Instant> {
        if !self.context.is_active() {
            return None;
        }
        let times = ORDER.iter().filter_map(|part| self.next_timeout(*part));
        times.chain(self.context.stepped_down_until).min()
    }

    /// Looks for other members at `seeds`.
    pub fn join(&mut self, now: Instant, seeds: &[SocketAddr], out: &mut Outbox) {
        self.context.reach.seeds = seeds.to_vec();
        self.input(now, out, |node| node.raise(&Event::Seeds));
    }

    /// Notes that this host cannot carry multicasts.
    pub fn give_up_multicast(&mut self) {
        self.context.reach.give_up_multicast();
    }

    /// Handles the end of a voter's write to disk.
    pub fn on_saved(&mut self, now: Instant, done: &Result<(), String>, out: &mut Outbox) {
        self.input(now, out, |node| node.raise(&Event::Saved(done)));
    }

    /// Handles an event of an authority outside the loop.
    pub fn on_lease_event(&mut self, now: Instant, lease: &LeaseEvent, out: &mut Outbox) {
        self.input(now, out, |node| node.raise(&Event::Lease(lease)));
    }

    /// Releases tenure, if the member is leaving and its work has stopped.
    pub fn leave_tenure(&mut self, now: Instant, out: &mut Outbox) {
        self.input(now, out, |node| node.raise(&Event::ReleaseIfIdle));
    }

    /// Passes a request to the authority.
    pub fn ask_authority(&mut self, now: Instant, request: Request, out: &mut Outbox) {
        self.input(now, out, |node| node.raise(&Event::Ask(request)));
    }

    /// Handles a refused connection: the host of `id` says, after `round_trip`, that no process
    /// listens.
    pub fn suspect(&mut self, now: Instant, id: MemberId, round_trip: Duration, out: &mut Outbox) {
        self.input(now, out, |node| node.raise(&Event::LeaderRefuses { id, round_trip }));
    }

    /// Takes the member that another member reports dead, if it has not been checked yet.
    pub fn take_down_report(&mut self) -> Option<MemberId> {
        self.liveness.take_down_report()
    }

    /// Notes that this process did not run for `span`.
    pub fn note_pause(&mut self, now: Instant, span: Duration) {
        self.context.now = now;
        self.raise(&Event::Paused(span));
    }

    /// Handles a pause of this process that was longer than the others wait for it. First gives up
    /// whatever the member may have lost meanwhile.
    pub fn wake_from_pause(&mut self, now: Instant, paused: Duration, out: &mut Outbox) {
        self.input(now, out, |node| {
            node.emit.counters.pauses += 1;
            tracing::warn!(
                "group `{}`: this process did not run for {:.1} s: joining again",
                node.name(),
                paused.as_secs_f64()
            );
            node.context.stepped_down_until = None;
            node.raise(&Event::Reawakened(paused));
            node.begin_incarnation(None);
            node.nominate(None);
            node.raise(&Event::EnterElection);
            node.settle();
        });
    }

    /// Gives up leadership and takes no part for `span`. Tenure goes to `transferee`, if there is
    /// one, and then the member steps down when the transferee holds tenure.
    pub fn step_down(
        &mut self,
        now: Instant,
        span: Duration,
        transferee: Option<Transferee>,
        out: &mut Outbox,
    ) {
        if !self.context.is_active() {
            return;
        }
        self.input(now, out, |node| {
            let io = &mut Io::new(&node.context, &mut node.emit);
            if !node.tenure.begin_to_hand_over(span, transferee, io) {
                node.step_down_for(span, (StepDownCause::Asked, None), false);
            }
        });
    }

    /// Gives up leadership and takes no part for `span`, at the user's request.
    pub fn resign(&mut self, now: Instant, span: Duration, why: Resignation, out: &mut Outbox) {
        self.input(now, out, |node| {
            node.step_down_for(span, (StepDownCause::Resigned, Some(why)), false);
        });
    }

    /// Leaves the group for good.
    pub fn leave(&mut self, now: Instant, out: &mut Outbox) {
        if !self.context.is_active() {
            return;
        }
        self.input(now, out, |node| {
            node.raise(&Event::Leaving);
            node.raise(&Event::LeaveElection);
            node.raise(&Event::LeaveMembership);
            node.settle();
            node.raise(&Event::GiveUpTenure);
            node.context.participation = Participation::Left;
        });
    }

    /// Asks all other voters what they have promised, and sends their answers to `answers`.
    pub fn voter_query(
        &mut self,
        now: Instant,
        answers: mpsc::UnboundedSender<Told>,
        out: &mut Outbox,
    ) {
        self.input(now, out, |node| {
            node.tenure.voter_query(answers, &mut Io::new(&node.context, &mut node.emit));
        });
    }

    /// Reports whether tenure can be transferred to the member called `name`: at once, or after a
    /// lookup.
    pub fn find_transferee(
        &mut self,
        now: Instant,
        name: String,
        found: oneshot::Sender<Result<MemberId, TransferError>>,
        out: &mut Outbox,
    ) {
        self.input(now, out, |node| {
            node.tenure.find_transferee(name, found, &mut Io::new(&node.context, &mut node.emit));
        });
    }

    /// Waits until the store knows of a release by this member, if there is a store.
    pub async fn finish(self) {
        self.tenure.finish().await;
    }
}

// Questions.
impl Node {
    /// Returns the group's name.
    pub fn name(&self) -> &str {
        &self.context.config.name
    }

    /// Returns the number in the header of the group's frames.
    pub fn id(&self) -> u64 {
        self.context.id
    }

    /// Returns the counts of frames and events.
    pub fn counters(&self) -> &Counters {
        &self.emit.counters
    }

    /// Returns the keys with which this member opens and seals the group's frames.
    pub fn keyring(&self) -> &Keyring {
        &self.emit.keyring
    }

    /// Returns a receiver that watches the group's leadership.
    pub fn watch(&self) -> watch::Receiver<Leadership> {
        self.publisher.watch()
    }

    /// Returns the address of an earlier process with this member's name, if there is one.
    pub fn duplicate_name(&self) -> Option<SocketAddr> {
        match self.context.participation {
            Participation::DuplicateName(address) | Participation::Copied(address) => Some(address),
            Participation::Active | Participation::Left => None,
        }
    }

    /// Returns the id and the link address of the nominee, if the nominee is another member.
    pub fn leader_elsewhere(&self) -> Option<(MemberId, SocketAddr)> {
        self.context.leader_elsewhere()
    }

    /// Returns the leader, if this member holds a lifeline to it. With partial views only a few do.
    pub fn lifeline_to(&self) -> Option<(MemberId, SocketAddr)> {
        let leader = self.context.leader_elsewhere()?;
        self.context.is_among_few(leader.0).then_some(leader)
    }

    /// Returns the longest pause that the other members do not notice; `None` if they notice no
    /// pause at all. In a group with partial views the others notice only the leader's absence.
    pub fn longest_pause(&self) -> Option<Duration> {
        let is_missed = self.context.partial_view().is_none() || self.context.is_nominee();
        let longest = self.context.config.protocol.longest_pause();
        longest.filter(|_| is_missed)
    }

    /// True if a multicast of another group has arrived.
    pub fn hears_other_groups(&self) -> bool {
        self.discovery.hears_other_groups()
    }

    /// Returns the watch on this member's lease, if the group has an authority.
    pub fn lease_watch(&self) -> Option<LeaseWatch> {
        self.tenure.lease_watch()
    }

    /// Returns the count of work in progress under tenure.
    pub fn in_flight(&self) -> InFlight {
        self.tenure.in_flight()
    }

    /// Returns the channel that carries the last will.
    pub fn last_will(&self) -> watch::Sender<LastWill> {
        self.tenure.last_will()
    }

    /// Returns a receiver that watches this member's seat.
    pub fn watch_seat(&self) -> Option<watch::Receiver<HostStatus>> {
        self.council.as_ref().and_then(CouncilRole::watch_seat)
    }

    /// Returns a receiver that watches all seats, if this member is the centre.
    pub fn watch_council(&self) -> Option<watch::Receiver<CentreStatus>> {
        self.council.as_ref().and_then(CouncilRole::watch_council)
    }
}
