//! The facts about this member and its group that every component may read.
//!
//! Purpose     one place for what more than one component has to know
//! Inputs      events; `node.rs` applies them
//! Outputs     facts, and answers that follow from several of them
//! Owns        the member's identity, the nominee, the participation, the table of peers, the
//!             choice between multicast and unicast, and the published part of membership and tenure
//! Invariants  components get it by shared reference, so `node.rs` and `node/inputs.rs` are the only
//!             writers. They write:
//!
//! | Fact | On |
//! |---|---|
//! | `now` | each input |
//! | `incarnation` | `BeginIncarnation` |
//! | `participation` | `NameTaken`, `Copied`, the end of `Leaving` |
//! | `nominee`, `nominee_at` | `Nominated`; the address also when the nominee is met |
//! | `stepped_down_until`, `aside_because` | `StepDown`, `StayDown`, `Return`, a long pause |
//! | `peers` | each admitted frame; `PeerAsked`, `PeersAskedNoMore`, `PeerLost` |
//! | death of a peer | `LeaderDead`, `MemberDown`, `MemberUp`, each admitted frame of it |
//! | `reach` | each admitted frame; seeds |
//! | `members` | the membership component, which holds it while it handles an event |
//! | `tenure` | `TenureChanged` |
//! | `is_seated` | `Seated` |

use std::net::SocketAddr;

use hustings_protocol::mix64::{fit, mix64};
use hustings_protocol::tenure::Fence;
use hustings_protocol::{Candidate, Duration, Instant, MemberId};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::config::{GroupConfig, ProtocolConfig};
use crate::control::Resignation;
use crate::council::CouncilPart;
use crate::frame::{Frame, Sender};
use crate::identity::Incarnation;
use crate::leadership::{Mode, Peer};
use crate::membership::{Members, PartialView};
use crate::multicast_probe::MulticastProbe;
use crate::peer_table::{Channel, PeerInfo, PeerTable};

/// The average number of followers with a lifeline. With four, one group in 50 would have none.
const LIFELINES: u64 = 8;

/// The age below which a member of a group with `view` names a leader only when that has answered.
const YOUNG_FOR: Duration = Duration::from_secs(60);

/// A multiplier that spreads close numbers.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Whether this member takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Participation {
    Active,
    /// Another process with the same name came up earlier, at this address.
    DuplicateName(SocketAddr),
    /// This process was copied while it ran, and the copy is active at this address.
    Copied(SocketAddr),
    Left,
}

/// The tenure that this member knows of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TenureFacts {
    /// The fence under which this member may act.
    pub(crate) fence: Option<Fence>,
    /// The other member that holds tenure, and its fence.
    pub(crate) holder: Option<(MemberId, Fence)>,
    /// True while this member may take tenure that was transferred to it.
    pub(crate) receives_transfer: bool,
}

/// The facts that every component may read.
pub(crate) struct Context {
    pub(crate) now: Instant,
    pub(crate) config: GroupConfig,
    /// The number in the header of the group's frames.
    pub(crate) id: u64,
    /// This member's name.
    pub(crate) member: String,
    pub(crate) me: Candidate,
    pub(crate) port: u16,
    pub(crate) incarnation: Incarnation,
    /// The first incarnation of this process. It distinguishes processes that use the same name.
    pub(crate) process_incarnation: Incarnation,
    pub(crate) came_at: Instant,
    pub(crate) participation: Participation,
    pub(crate) nominee: Option<MemberId>,
    /// The nominee's address at the time of its nomination. A process that only shares the
    /// nominee's name must not be mistaken for it.
    pub(crate) nominee_at: Option<SocketAddr>,
    pub(crate) stepped_down_until: Option<Instant>,
    /// The reason for standing aside; `None` if the member was asked to step down.
    pub(crate) aside_because: Option<Resignation>,
    pub(crate) peers: PeerTable,
    pub(crate) reach: MulticastProbe,
    pub(crate) members: Members,
    pub(crate) mode: Mode,
    /// The voters that grant tenure; none if a store does.
    pub(crate) voters: Vec<MemberId>,
    pub(crate) tenure: TenureFacts,
    /// True if this member holds a seat of a council.
    pub(crate) is_seated: bool,
}

impl Context {
    pub(crate) fn is_active(&self) -> bool {
        self.participation == Participation::Active
    }

    pub(crate) fn sender(&self) -> Sender<'_> {
        Sender::new(&self.member, self.me.id, self.incarnation, self.port)
            .with_process_incarnation(self.process_incarnation)
    }

    /// Returns the random generator of the present incarnation.
    pub(crate) fn rng(&self) -> Xoshiro256PlusPlus {
        chance(self.incarnation, self.me.id)
    }

    pub(crate) fn is_nominee(&self) -> bool {
        self.nominee == Some(self.me.id)
    }

    /// Returns the id and the link address of the nominee, if the nominee is another member.
    pub(crate) fn leader_elsewhere(&self) -> Option<(MemberId, SocketAddr)> {
        let nominee = self.nominee.filter(|_| !self.is_nominee())?;
        Some((nominee, self.nominee_at?))
    }

    /// True if the election names `id`, which is another member.
    pub(crate) fn follows(&self, id: MemberId) -> bool {
        self.leader_elsewhere().is_some_and(|(leader, _)| leader == id)
    }

    pub(crate) fn address_of(&self, id: MemberId) -> Option<SocketAddr> {
        let heard = self.peers.get(id).map(|peer| peer.address);
        heard.or_else(|| self.members.get()?.address_of(id))
    }

    pub(crate) fn describe(&self, id: MemberId) -> Peer {
        let known = self.peers.describe(id);
        match self.members.get() {
            Some(membership) if known.address.is_none() => membership.describe(id).unwrap_or(known),
            Some(_) | None => known,
        }
    }

    /// Returns the partial view, if members do not know the whole group.
    pub(crate) fn partial_view(&self) -> Option<&PartialView> {
        self.members.get().and_then(|it| it.partial_view())
    }

    pub(crate) fn is_in_view(&self, id: MemberId) -> bool {
        self.partial_view().is_some_and(|it| it.has(id))
    }

    /// True if the member has stepped down and cannot follow the election meanwhile.
    pub(crate) fn is_absent(&self) -> bool {
        self.stepped_down_until.is_some() && self.config.protocol.needs_view()
    }

    /// True if the member is not absent and knows the size of the group, so it can elect or follow.
    pub(crate) fn may_elect(&self) -> bool {
        !self.is_absent() && self.partial_view().is_none_or(PartialView::is_ready)
    }

    /// True if the member takes no part at present and has nothing to give up.
    pub(crate) fn is_only_aside(&self) -> bool {
        let has_tenure = self.tenure.fence.is_some() || self.tenure.receives_transfer;
        self.stepped_down_until.is_some() && !has_tenure && !self.is_nominee()
    }

    /// True if a frame counts only from a proven process: in every group with an election, except
    /// those with partial views.
    pub(crate) fn is_strict(&self) -> bool {
        self.config.view.is_none() && !self.config.protocol.is_none()
    }

    /// True if no failure detector probes the leader, so the followers do.
    pub(crate) fn probes_leader(&self) -> bool {
        self.config.view.is_some()
            && matches!(self.config.protocol, ProtocolConfig::Probabilistic(_))
    }

    pub(crate) fn is_young(&self) -> bool {
        self.now - self.came_at < YOUNG_FOR
    }

    pub(crate) fn votes(&self) -> bool {
        self.voters.contains(&self.me.id)
    }

    pub(crate) fn is_host(&self) -> bool {
        matches!(self.config.council, CouncilPart::Host { .. })
    }

    /// True if the member stays silent: a host of a fleet, until a centre calls.
    pub(crate) fn is_silent(&self) -> bool {
        self.config.protocol.is_none() && self.is_host()
    }

    /// True if this member is one of the few that watch `leader` closely.
    pub(crate) fn is_among_few(&self, leader: MemberId) -> bool {
        let is_drawn = |partial_view: &PartialView| {
            let lot = mix64(self.me.id.0 ^ mix64(leader.0));
            fit(lot, partial_view.size_or_view()) < LIFELINES
        };
        self.partial_view().is_none_or(is_drawn)
    }

    /// Draws about `few` of all known members, including this one. Returns true if this member is
    /// drawn. Each `occasion` draws other members.
    pub(crate) fn is_drawn(&self, few: u64, occasion: u64) -> bool {
        let members = self.members.get().map_or(0, |it| it.addresses().len());
        let lot = (self.me.id.0 ^ occasion).wrapping_mul(GOLDEN) >> 32;
        lot % (members as u64 + 1) < few
    }

    /// Returns what is known of the process that sent a frame.
    pub(crate) fn process_of(&self, sender: &Sender<'_>) -> Option<&PeerInfo> {
        let is_it = |it: &&PeerInfo| it.process_incarnation == sender.process_incarnation;
        self.peers.get(sender.id).filter(is_it)
    }

    /// Notes the channel by which a frame came, and the address at which its sender receives.
    /// Returns true if that is another address than before, and true if multicasts of some members
    /// turn out not to arrive.
    pub(super) fn note_frame(
        &mut self,
        frame: &Frame<'_>,
        (address, channel): (SocketAddr, Channel),
        is_new: bool,
    ) -> (bool, bool) {
        match (frame.to_all, is_new) {
            (true, true) if self.reach.note_first(channel) => {
                tracing::warn!(
                    "group `{}`: frames for all members now arrive by unicast only, although multicasts used to arrive: trying both again",
                    self.config.name
                );
                self.peers.forget_ways();
            }
            (true, false) => self.reach.note_copy(channel),
            (true, true) | (false, _) => {}
        }
        let before = self.peers.get(frame.sender.id).map(|it| it.address);
        self.peers.note(frame, address, channel, self.now);
        let misses_some = self.reach.judge(self.now, &self.peers);
        if misses_some {
            let (group, name, reach) = (&self.config.name, frame.sender.name, &self.reach);
            tracing::warn!(
                "group `{group}`: multicasts of `{name}` do not arrive here, although its unicasts do: sending by {reach} from now on"
            );
        }
        (before != Some(address), misses_some)
    }
}

/// The random generator of one incarnation of a member.
pub(crate) fn chance(incarnation: Incarnation, id: MemberId) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(incarnation.0 ^ id.0)
}
