//! One member of one group: everything between the sockets and the protocol.
//!
//! Purpose     connects the components of a member: it passes them events in a fixed order, and
//!             applies the events that change what all of them know
//! Inputs      the time, frames that open with the group's key, lease events, requests of the user
//! Outputs     sealed frames in an [`Outbox`], the leadership in a watch channel, status, log lines
//! Owns        the components and the context. No other file holds more than one of them
//! Invariants  no clock, no socket and no thread: the caller passes the time and the frames in. A
//!             member that is not active sends nothing when time passes

mod context;
mod emit;
mod event;
pub mod health;
mod inputs;
mod publisher;
mod status;
#[cfg(test)]
mod tests;

use std::net::{IpAddr, SocketAddr};

use hustings_protocol::{Candidate, Duration, Instant, MemberId};

use crate::admission::{Admission, Verdict};
use crate::authority::Authority;
use crate::authority::in_flight::InFlight;
use crate::config::GroupConfig;
use crate::control::Resignation;
use crate::council::CouncilRole;
use crate::discovery::Discovery;
use crate::election::Election;
pub use crate::election::Measured;
use crate::entropy::Entropy;
use crate::frame::{Body, Frame};
use crate::identity::{Incarnation, group_id, member_id};
use crate::liveness::Liveness;
use crate::membership::Members;
pub use crate::membership::PartialViewStatus;
use crate::multicast_probe::MulticastProbe;
use crate::peer_table::{Channel, PeerTable};
use crate::record::Recorder;
use crate::seal::{Key, Keyring, Rejected};
use crate::tenure::Tenure;
pub use crate::tenure::{REACHED_WITHIN, Refusal, TenureStatus, Transferee, VoterStatus};
pub(crate) use context::{Context, GOLDEN, Participation, TenureFacts, chance};
use emit::Emit;
pub(crate) use emit::Io;
pub(crate) use event::{Admitted, Component, Event, StepDownCause};
pub use health::{Health, HealthState, Level};
use publisher::Publisher;
pub use status::{Aside, GroupStatus, PeerStatus};

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

/// A component, for the order in which components see an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Publisher,
    Admission,
    Discovery,
    Membership,
    Liveness,
    Tenure,
    Council,
    Election,
}

/// The order in which components see an event. The pairs that depend on it:
///
/// - Publisher before all others: the event is the reason for each change that follows from it.
/// - Admission before Tenure and Election: a former leader is missed before its frames can count
///   for the next one, and a proof counts before the message that came with it.
/// - Discovery and Membership before Tenure, on the start and on a greeting: members find each other
///   before they learn of a fence.
/// - Membership before Liveness, on a timeout: a death that the failure detector reports needs no
///   ping.
/// - Tenure before Election, on a timeout: a tenure that has run out is over before this member can
///   be named again.
const ORDER: [Part; 8] = [
    Part::Publisher,
    Part::Admission,
    Part::Discovery,
    Part::Membership,
    Part::Liveness,
    Part::Tenure,
    Part::Council,
    Part::Election,
];

/// One member of one group.
pub struct Node {
    context: Context,
    emit: Emit,
    publisher: Publisher,
    admission: Admission,
    discovery: Discovery,
    liveness: Liveness,
    tenure: Tenure,
    /// `None` if this member has no role in a council.
    council: Option<CouncilRole>,
    election: Election,
    /// The time of the last frame of this group under another key.
    other_key_at: Option<Instant>,
}

impl Node {
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
        let public = [Key::public(&config.name)];
        let keys = if config.keys.is_empty() { &public[..] } else { &config.keys };
        let keyring = Keyring::new(&config.name, me.id, &keys[0], &keys[1..]);
        let tenure = Tenure::new(authority, in_flight);
        let context = Context {
            now,
            id: group_id(&config.name),
            member: member.to_owned(),
            me,
            port,
            incarnation,
            process_incarnation: incarnation,
            came_at: now,
            participation: Participation::Active,
            nominee: None,
            nominee_at: None,
            stepped_down_until: None,
            aside_because: None,
            peers: PeerTable::default(),
            reach: MulticastProbe::new(config.multicast, !config.join.is_empty()),
            members: Members::new(&config.protocol),
            mode: tenure.mode(),
            voters: tenure.voters().collect(),
            tenure: TenureFacts::default(),
            is_seated: false,
            config,
        };
        Self {
            publisher: Publisher::new(&context),
            admission: Admission::default(),
            discovery: Discovery::default(),
            liveness: Liveness::new(&context),
            tenure,
            council: CouncilRole::new(&context),
            election: Election::new(&context, recorder),
            emit: Emit::new(keyring, entropy),
            other_key_at: None,
            context,
        }
    }
}

// The routing of events.
impl Node {
    /// Handles an input at `now`. The frames that follow from it are appended to `out`.
    fn input<T>(&mut self, now: Instant, out: &mut Outbox, act: impl FnOnce(&mut Self) -> T) -> T {
        std::mem::swap(out, &mut self.emit.outbox);
        self.context.now = now;
        self.emit.note_time(now);
        let done = act(self);
        self.handle_raised(0);
        std::mem::swap(out, &mut self.emit.outbox);
        done
    }

    /// Applies an event, or passes it to each component in turn.
    fn raise(&mut self, event: &Event<'_>) {
        if self.apply(event) {
            return;
        }
        for part in ORDER {
            let mark = self.emit.events.len();
            self.deliver(part, event);
            self.handle_raised(mark);
        }
    }

    /// Handles the events that were raised since the queue had the length `mark`.
    fn handle_raised(&mut self, mark: usize) {
        let mut next = mark;
        while let Some(raised) = self.emit.events.get_mut(next) {
            next += 1;
            if let Some(event) = raised.take() {
                self.raise(&event);
            }
        }
        self.emit.events.truncate(mark);
    }

    fn deliver(&mut self, part: Part, event: &Event<'_>) {
        let io = &mut Io::new(&self.context, &mut self.emit);
        match part {
            Part::Publisher => self.publisher.on(event, io),
            Part::Admission => self.admission.on(event, io),
            Part::Discovery => self.discovery.on(event, io),
            Part::Membership => {
                let mut members = std::mem::take(&mut self.context.members);
                members.on(event, &mut Io::new(&self.context, &mut self.emit));
                self.context.members = members;
            }
            Part::Liveness => self.liveness.on(event, io),
            Part::Tenure => self.tenure.on(event, io),
            Part::Council => {
                if let Some(council) = &mut self.council {
                    council.on(event, io);
                }
            }
            Part::Election => self.election.on(event, io),
        }
    }

    /// Handles what follows from all consequences of an input together.
    fn settle(&mut self) {
        self.meet_leader();
        self.raise(&Event::Settled);
    }

    /// Notes the nominee's address, once it is known.
    fn meet_leader(&mut self) {
        let context = &mut self.context;
        let unmet = context.nominee.filter(|_| context.nominee_at.is_none());
        let Some(leader) = unmet.filter(|id| *id != context.me.id) else {
            return;
        };
        let peer = context.describe(leader);
        if peer.address.is_some() {
            context.nominee_at = peer.address;
            self.raise(&Event::LeaderMet(peer));
        }
    }

    fn next_timeout(&self, part: Part) -> Option<Instant> {
        match part {
            Part::Publisher => self.publisher.next_timeout(),
            Part::Admission => self.admission.next_timeout(),
            Part::Discovery => self.discovery.next_timeout(),
            Part::Membership => self.context.members.next_timeout(),
            Part::Liveness => self.liveness.next_timeout(),
            Part::Tenure => self.tenure.next_timeout(),
            Part::Council => self.council.as_ref().and_then(Component::next_timeout),
            Part::Election => self.election.next_timeout(),
        }
    }
}

// Events that change what all components know.
impl Node {
    /// Applies an event to the context. Returns true if no component needs it.
    fn apply(&mut self, event: &Event<'_>) -> bool {
        let context = &mut self.context;
        match event {
            Event::PeerAsked(id) => context.peers.ask(*id, context.now),
            Event::PeersAskedNoMore => context.peers.ask_no_more(),
            Event::PeerLost(id) => context.peers.forget(*id),
            Event::Seated(is_seated) => context.is_seated = *is_seated,
            Event::StayDown(until) => context.stepped_down_until = Some(*until),
            Event::Rumour { origin, host, content } => {
                self.on_relayed_frame(*origin, *host, content);
            }
            Event::Released { content, place, channel } => match Frame::decode(content) {
                Ok(frame) => _ = self.take_in((*place, *channel), &frame),
                Err(why) => self.emit.counters.reject(why),
            },
            Event::BeginIncarnation(after) => self.begin_incarnation(*after),
            Event::NameTaken(_) => self.stop_beside_another(event),
            Event::Copied(_) => self.stop_beside_another(event),
            Event::StepDown { span, cause, why, has_resigned } => {
                self.step_down_for(*span, (*cause, why.clone()), *has_resigned);
            }
            Event::Return => {
                context.stepped_down_until = None;
                self.begin_incarnation(None);
                self.raise(&Event::EnterElection);
            }
            Event::LeaderDead(id) | Event::MemberDown(id) => {
                context.peers.note_death(*id, true);
                return false;
            }
            Event::MemberUp(candidate) => {
                context.peers.note_death(candidate.id, false);
                return false;
            }
            Event::Nominated(nominee) => {
                self.nominate(nominee.map(|it| it.id));
                return false;
            }
            Event::TenureChanged(facts) => {
                context.tenure = *facts;
                return false;
            }
            _ => return false,
        }
        true
    }

    fn nominate(&mut self, nominee: Option<MemberId>) {
        let context = &mut self.context;
        if nominee == context.nominee {
            return;
        }
        let (was_named, before) = (context.is_nominee(), context.nominee);
        context.nominee = nominee;
        context.nominee_at = nominee.and_then(|id| context.describe(id).address);
        self.raise(&Event::NomineeChanged { before, was_named });
    }

    fn begin_incarnation(&mut self, after: Option<Incarnation>) {
        let after = after.unwrap_or(self.context.incarnation);
        self.context.incarnation = self.emit.entropy.begin_incarnation().after(after);
        self.emit.number_anew();
        self.raise(&Event::IncarnationBegun);
    }

    /// Ends this process's part, because another process has its name. A copy of this process may
    /// be working under its tenure, which is therefore not released.
    fn stop_beside_another(&mut self, event: &Event<'_>) {
        self.publisher.on(event, &mut Io::new(&self.context, &mut self.emit));
        match *event {
            Event::NameTaken(from) => {
                self.raise(&Event::ForgetTransfers);
                self.raise(&Event::GiveUpTenure);
                self.context.participation = Participation::DuplicateName(from);
            }
            Event::Copied(from) => {
                self.context.participation = Participation::Copied(from);
                self.raise(&Event::ForgetTransfers);
                self.raise(&Event::DisownTenure);
            }
            _ => {}
        }
        self.raise(&Event::QuitCouncil);
        self.council = None;
        self.nominate(None);
    }

    /// Gives up leadership and takes no part for `span`. Meanwhile the member follows the leader,
    /// if the protocol has observers.
    fn step_down_for(
        &mut self,
        span: Duration,
        (cause, why): (StepDownCause, Option<Resignation>),
        has_resigned: bool,
    ) {
        if !self.context.is_active() {
            return;
        }
        let until = Some(self.context.now + span);
        if cause == StepDownCause::Asked && self.context.is_only_aside() {
            self.context.stepped_down_until = until; // keep the reason and the followed leader
            return;
        }
        self.context.aside_because = why;
        if !has_resigned {
            self.raise(&Event::SteppingDown(cause));
            self.raise(&Event::GiveUpTenure);
        }
        if !self.context.is_absent() {
            self.raise(&Event::LeaveElection);
            if self.context.config.protocol.needs_view() {
                self.raise(&Event::LeaveMembership);
            }
            self.settle();
        }
        self.context.stepped_down_until = until;
        self.raise(&Event::SteppedDown);
        self.settle();
    }
}

// Frames.
impl Node {
    /// Handles a frame that opens with this group's key. Returns true if the frame was accepted.
    pub fn hear(
        &mut self,
        now: Instant,
        from: SocketAddr,
        channel: Channel,
        frame: &Frame<'_>,
        out: &mut Outbox,
    ) -> bool {
        self.input(now, out, |node| {
            let io = &mut Io::new(&node.context, &mut node.emit);
            let address = node.admission.examine((from, channel), frame, io);
            node.handle_raised(0);
            address.is_some_and(|address| node.take_in((address, channel), frame))
        })
    }

    /// Handles a frame whose sender has proven itself or need not. Returns true if the frame was
    /// accepted.
    fn take_in(&mut self, (address, channel): (SocketAddr, Channel), frame: &Frame<'_>) -> bool {
        let mark = self.emit.events.len();
        let io = &mut Io::new(&self.context, &mut self.emit);
        let verdict = self.admission.judge((address, channel), frame, io);
        self.handle_raised(mark);
        let is_in = self.handle_verdict(verdict, channel, frame);
        if is_in {
            self.settle();
        }
        is_in || verdict == Verdict::Lifeline
    }

    /// Handles a frame to all that other members relayed.
    fn on_relayed_frame(&mut self, origin: MemberId, host: IpAddr, content: &[u8]) {
        let frame = match Frame::decode(content) {
            Ok(frame) if frame.group == self.context.id && frame.sender.id == origin => frame,
            Ok(_) | Err(_) => return self.emit.counters.reject(Rejected::Malformed),
        };
        let mark = self.emit.events.len();
        let io = &mut Io::new(&self.context, &mut self.emit);
        let place = SocketAddr::new(host, frame.sender.port);
        let verdict = self.admission.judge_rumour(place, &frame, io);
        self.handle_raised(mark);
        self.handle_verdict(verdict, Channel::Unicast, &frame);
    }

    /// Notes the sender of a frame, and passes the frame to the components if it counts. Returns
    /// true if it does.
    fn handle_verdict(&mut self, verdict: Verdict, channel: Channel, frame: &Frame<'_>) -> bool {
        match verdict {
            Verdict::Refused | Verdict::Lifeline => return false,
            Verdict::Copy { place } => self.note_sender(frame, (place, channel), false),
            Verdict::New { place, .. } => self.note_sender(frame, (place, channel), true),
        }
        let Verdict::New { answers_at, .. } = verdict else {
            return false;
        };
        // A host of a fleet begins no membership for a multicast: a member that needs it sends a
        // unicast.
        let needs_membership = match frame.body {
            Body::Membership(_) => true,
            Body::Hello { .. } => {
                !self.context.config.protocol.is_none() || channel != Channel::Multicast
            }
            _ => false,
        };
        if needs_membership {
            self.raise(&Event::MembershipNeeded);
        }
        self.raise(&Event::Heard(Admitted { frame, address: answers_at, channel }));
        true
    }

    fn note_sender(&mut self, frame: &Frame<'_>, from: (SocketAddr, Channel), is_new: bool) {
        let (has_moved, misses_some) = self.context.note_frame(frame, from, is_new);
        if has_moved {
            self.raise(&Event::PeerMoved); // it may be a voter, which the last will must reach
        }
        if misses_some {
            self.raise(&Event::MembershipNeeded);
        }
    }

    /// Counts a frame that was rejected.
    pub fn refuse(&mut self, now: Instant, why: Rejected) {
        self.emit.counters.reject(why);
        if why == Rejected::Key {
            self.other_key_at = Some(now);
        }
    }

    /// Notes that a multicast of another group has arrived.
    pub fn note_other_group(&mut self) {
        self.discovery.note_other_group();
    }

    /// Counts a frame that the network refused to send.
    pub fn note_unsent(&mut self) {
        self.emit.counters.unsent += 1;
    }

    /// Returns the sealed frame that opens a lifeline to `leader`.
    pub fn lifeline_hello(&mut self, leader: MemberId) -> Option<Vec<u8>> {
        Io::new(&self.context, &mut self.emit).sealed(leader, &Body::Lifeline)
    }

    /// Treats a process as proven, as if it had answered a challenge at `place`.
    #[cfg(any(test, feature = "test-util"))]
    pub fn trust(&mut self, sender: &crate::frame::Sender<'_>, place: SocketAddr) {
        self.admission.trust(self.context.came_at, sender, place);
    }
}
