//! The messages between the components of a node.
//!
//! Purpose     the closed list of what components tell each other, and their common interface
//! Inputs      none
//! Outputs     [`Event`], [`Component`]
//! Owns        nothing
//! Invariants  the list is closed: a new interaction between components is a new variant here

use std::net::{IpAddr, SocketAddr};

use hustings_protocol::tenure::Request;
use hustings_protocol::{Candidate, Duration, Instant, MemberId};

use super::context::TenureFacts;
use super::emit::Io;
use crate::authority::LeaseEvent;
use crate::control::Resignation;
use crate::driver::Effect;
use crate::frame::Frame;
use crate::identity::Incarnation;
use crate::leadership::Peer;
use crate::peer_table::Channel;

/// A part of a node with state of its own. No other part reads or writes that state.
pub(crate) trait Component {
    /// Handles an event. It acts through `io` alone.
    fn on(&mut self, event: &Event<'_>, io: &mut Io<'_>);

    /// Returns the time of the next [`Event::Timeout`] that it needs.
    fn next_timeout(&self) -> Option<Instant>;
}

/// A frame that counts, and the address at which its sender receives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Admitted<'a> {
    pub(crate) frame: &'a Frame<'a>,
    pub(crate) address: SocketAddr,
    pub(crate) channel: Channel,
}

/// The reason for which a member leaves the election for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepDownCause {
    /// The member was asked to give up leadership.
    Asked,
    /// The member gave up leadership at its user's request, with a known reason.
    Resigned,
    /// The member gave up leadership for a reason of its own.
    CannotHold,
}

/// One occurrence. The node handles the events of a component before the next component sees the
/// event that caused them.
#[derive(Debug)]
pub(crate) enum Event<'a> {
    // Inputs of the node.
    /// The member starts: it looks for others.
    Start,
    /// The member takes part, at once or when it has found others.
    TakePart,
    /// A time that a component asked for has come.
    Timeout,
    /// A frame of another member counts.
    Heard(Admitted<'a>),
    /// New addresses at which other members may be found.
    Seeds,
    /// The result of writing the voter's file.
    Saved(&'a Result<(), String>),
    /// An event of an authority outside the loop.
    Lease(&'a LeaseEvent),
    /// If the member is leaving and no work is in flight, its tenure is to be released. What was
    /// raised before, such as the end of its leadership, is published by now.
    ReleaseIfIdle,
    /// The election's own timers are due. Messages that a merge held back came first.
    ElectionTimeout,
    /// The user asks something of the authority.
    Ask(Request),
    /// The leader's host refuses connections, after this round trip.
    LeaderRefuses { id: MemberId, round_trip: Duration },
    /// The process did not run for this time. Others may not have noticed.
    Paused(Duration),
    /// The process did not run for longer than others wait: the member comes up anew.
    Reawakened(Duration),
    /// The member leaves the group for good.
    Leaving,
    /// All consequences of an input are handled.
    Settled,

    // Members.
    /// This member needs a membership, if it has none.
    MembershipNeeded,
    /// The membership has begun.
    MembershipBegun,
    /// A member is up that was not up before.
    MemberUp(Candidate),
    /// A member is down.
    MemberDown(MemberId),
    /// A member entered the partial view.
    MemberMet(Candidate),
    /// A member left the partial view. It may well be up.
    MemberForgotten(MemberId),
    /// The protocol received a message of this member: a partial view may add it.
    Meet(Candidate),
    /// Others take this member for dead, in an earlier incarnation.
    TakenForDead,
    /// A frame to all arrived by gossip.
    Rumour { origin: MemberId, host: IpAddr, content: Vec<u8> },
    /// A frame to all must be spread by gossip.
    Relay(Vec<u8>),
    /// A member is dead in this incarnation.
    MarkDead { id: MemberId, incarnation: Incarnation },
    /// A report of a death was not refuted by the member itself since this time.
    ReportExpired { of: MemberId, incarnation: Incarnation, since: Instant },
    /// Some members of the partial view have to probe this member.
    ProbeThroughOthers(MemberId),
    /// This member is asked whether it is alive.
    PeerAsked(MemberId),
    /// This member asks no other any longer.
    PeersAskedNoMore,
    /// A member has not answered for long.
    PeerLost(MemberId),
    /// A member is at another address than before.
    PeerMoved,

    // Identity.
    /// A process has answered a challenge at this place.
    Proven { id: MemberId, incarnation: Incarnation, process: Incarnation, place: SocketAddr },
    /// A frame whose sender has answered a challenge since.
    Released { content: Vec<u8>, place: SocketAddr, channel: Channel },
    /// A member of unknown address has to be found.
    Seek(MemberId),
    /// A later incarnation has to begin, after this one if there is one.
    BeginIncarnation(Option<Incarnation>),
    /// A later incarnation has begun.
    IncarnationBegun,
    /// Others know this member in a later incarnation: a council needs a later session.
    CouncilOutlived,
    /// Another process with this member's name has to learn this one's age.
    Claim { process: Incarnation, place: SocketAddr },
    /// A member that knew a later incarnation of this one has to learn the present one.
    Correct { teller: MemberId, place: SocketAddr, later: Incarnation },
    /// All members have to learn this member's incarnation and address.
    SayUp,
    /// All members have to learn that this member is alive.
    AnnounceAlive,
    /// Another process with this member's name came up earlier, at this address.
    NameTaken(SocketAddr),
    /// This process was copied while it ran, and the copy is active at this address.
    Copied(SocketAddr),

    // The leader.
    /// The leader's process is dead.
    LeaderDead(MemberId),
    /// The protocol asks for this effect.
    Protocol(Effect),
    /// The protocol names this member, or none.
    Elected(Option<Candidate>),
    /// The election names this member, or none, and it has proven itself if it must.
    Nominated(Option<Candidate>),
    /// The nominee has changed.
    NomineeChanged { before: Option<MemberId>, was_named: bool },
    /// The nominee's name and address are known now.
    LeaderMet(Peer),
    /// A message of a rival was held back, and counts now.
    HeldBack { from: MemberId, message: Vec<u8> },

    // The election.
    /// The times of the protocol have changed.
    ProtocolSlowed,
    /// The member takes part in the election anew.
    EnterElection,
    /// The election has begun anew: the protocol waits until the member is ready.
    ElectionEntered,
    /// The member is ready: the protocol starts.
    StartElection,
    /// The council starts.
    StartCouncil,
    /// The member leaves the election.
    LeaveElection,
    /// The member leaves the views of the others.
    LeaveMembership,

    // Tenure.
    /// The tenure that this member knows of has changed.
    TenureChanged(TenureFacts),
    /// The member gives its tenure up, when the work has stopped.
    GiveUpTenure,
    /// The tenure is not this process's own: it is dropped and not released.
    DisownTenure,
    /// All transfers end.
    ForgetTransfers,
    /// The member steps down for this span. If it `has_resigned`, its tenure is given up already.
    StepDown { span: Duration, cause: StepDownCause, why: Option<Resignation>, has_resigned: bool },
    /// The member is about to step down.
    SteppingDown(StepDownCause),
    /// The member has stepped down.
    SteppedDown,
    /// The time of stepping down is over.
    StepDownOver,
    /// The member stays out until then.
    StayDown(Instant),
    /// The member takes part in elections again.
    Return,
    /// The council has ended for this member.
    QuitCouncil,
    /// A host was given a seat, or has lost it.
    Seated(bool),
    /// A sender that has not proven itself claims tenure.
    UnprovenHolder { member: String, fence: u64, address: SocketAddr },
}
