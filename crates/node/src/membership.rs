//! The members of the group, as one member sees them.
//!
//! Purpose     one interface to two kinds of membership: SWIM, where every member knows all others,
//!             and a partial view, where a member of a large group knows a few others
//! Inputs      the time, admitted messages of other members, greetings
//! Outputs     [`MembershipEffect`]s
//! Owns        the view and its messages; no clock and no socket
//! Invariants  the kind of view never changes while a member runs

mod loss_estimate;
mod member_table;
mod members;
mod partial_view;
mod swim;

use std::net::{IpAddr, SocketAddr};

use hustings_protocol::{Candidate, Instant, MemberId, Priority};

use crate::frame::{MOST_CONTENT_BYTES, Sender};
use crate::leadership::Peer;
use crate::peer_table::Channel;
use crate::seal::Rejected;
pub(crate) use members::Members;
pub(crate) use partial_view::PartialView;
pub use partial_view::PartialViewStatus;
use swim::Swim;

/// The longest message: a frame's content without the sender (name, numbers, port) and the group.
const MOST_BYTES: usize = MOST_CONTENT_BYTES - 128;

/// The view of one member.
pub(crate) enum Membership {
    /// All members, by SWIM.
    Whole(Box<Swim>),
    /// A few members of many.
    Partial(Box<PartialView>),
}

/// An action for the caller, or a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MembershipEffect {
    /// Sends a message to a member.
    Send {
        /// The receiver.
        receiver: MemberId,
        /// The receiver's address.
        to: SocketAddr,
        /// The message.
        bytes: Vec<u8>,
    },
    /// A member is up that was not up before.
    Up(Candidate),
    /// A member is down. If it has a new incarnation or a new priority, an [`Self::Up`] follows at
    /// once.
    Down(MemberId),
    /// A member entered the partial view, or its priority became known. It may have been up for
    /// long.
    Met(Candidate),
    /// A member left the partial view. It may well be up.
    Forgotten(MemberId),
    /// Other members take this member for dead, in an earlier incarnation.
    WasDead,
    /// A member's message to all arrived, relayed by other members.
    Heard {
        /// The member that sent it.
        origin: MemberId,
        /// The address of its host.
        host: IpAddr,
        /// The content of a frame.
        content: Vec<u8>,
    },
}

impl Membership {
    /// The full view of the member `sender`, with no other member in it yet.
    pub(crate) fn whole(sender: &Sender<'_>, priority: Priority) -> Self {
        Self::Whole(Box::new(Swim::new(sender, priority)))
    }

    /// The full view of a member that is not a candidate.
    pub(crate) fn of_bystander(sender: &Sender<'_>) -> Self {
        Self::Whole(Box::new(Swim::of_bystander(sender)))
    }

    /// The partial view of a member of a large group.
    pub(crate) fn partial(partial_view: PartialView) -> Self {
        Self::Partial(Box::new(partial_view))
    }

    /// The partial view; none if this member knows all others.
    pub(crate) fn partial_view(&self) -> Option<&PartialView> {
        match self {
            Self::Whole(_) => None,
            Self::Partial(partial_view) => Some(partial_view),
        }
    }

    /// The number of other members that are known.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Whole(swim) => swim.candidates().count(),
            Self::Partial(partial_view) => partial_view.candidates().len(),
        }
    }

    /// The fraction of messages between two members that is lost; none before enough were counted.
    pub(crate) fn loss(&self) -> Option<f64> {
        match self {
            Self::Whole(swim) => swim.loss(),
            Self::Partial(partial_view) => partial_view.loss(),
        }
    }

    /// True if no member has contacted this one in its present incarnation, or no member is left.
    pub(crate) fn is_alone(&self) -> bool {
        match self {
            Self::Whole(swim) => swim.is_alone(),
            Self::Partial(partial_view) => partial_view.is_alone(),
        }
    }

    /// True if the sender is known to be up in its present incarnation.
    pub(crate) fn knows(&self, sender: &Sender<'_>) -> bool {
        match self {
            Self::Whole(swim) => swim.knows(sender),
            Self::Partial(partial_view) => partial_view.knows(sender),
        }
    }

    /// Handles a greeting that came over `channel`. The sender receives at `address`.
    pub(crate) fn greet(&mut self, sender: &Sender<'_>, address: SocketAddr, channel: Channel) {
        match self {
            Self::Whole(swim) => swim.greet(sender, address),
            Self::Partial(partial_view) => partial_view.greet(sender, address, channel),
        }
    }

    /// Handles a message from the member `sender`, which receives at `from`.
    ///
    /// # Errors
    /// If the message is malformed.
    pub(super) fn hear(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        match self {
            Self::Whole(swim) => swim.hear(now, sender.id, from, bytes),
            Self::Partial(partial_view) => partial_view.hear(now, sender, from, bytes),
        }
    }

    /// Handles the timers that are due at `now`.
    pub(crate) fn pass(&mut self, now: Instant) {
        match self {
            Self::Whole(swim) => swim.pass(now),
            Self::Partial(partial_view) => partial_view.pass(now),
        }
    }

    /// The time of the next timer.
    pub(crate) fn due(&self) -> Option<Instant> {
        match self {
            Self::Whole(swim) => swim.due(),
            Self::Partial(partial_view) => partial_view.due(),
        }
    }

    /// Takes the effects of the last inputs.
    pub(crate) fn take_effects(&mut self, now: Instant) -> Vec<MembershipEffect> {
        match self {
            Self::Whole(swim) => swim.take_effects(now),
            Self::Partial(partial_view) => partial_view.take_effects(),
        }
    }

    /// Starts anew, in another incarnation or with another priority.
    pub(crate) fn renew(&mut self, sender: &Sender<'_>, priority: Priority) {
        match self {
            Self::Whole(swim) => swim.renew(sender, priority),
            Self::Partial(partial_view) => partial_view.renew(),
        }
    }

    /// Leaves the group, and informs other members as the kind of view requires.
    pub(crate) fn leave(&mut self, now: Instant) {
        match self {
            Self::Whole(swim) => swim.leave(),
            Self::Partial(partial_view) => partial_view.leave(now),
        }
    }

    /// The address of a known member.
    pub(crate) fn address_of(&self, id: MemberId) -> Option<SocketAddr> {
        match self {
            Self::Whole(swim) => swim.address_of(id),
            Self::Partial(partial_view) => partial_view.address_of(id),
        }
    }

    /// The addresses of the known members, without this one.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        match self {
            Self::Whole(swim) => swim.addresses().collect(),
            Self::Partial(partial_view) => partial_view.addresses().collect(),
        }
    }

    /// The known candidates, without this member.
    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        match self {
            Self::Whole(swim) => swim.candidates().collect(),
            Self::Partial(partial_view) => partial_view.candidates().to_vec(),
        }
    }

    /// A known member, as users see it.
    pub(crate) fn describe(&self, id: MemberId) -> Option<Peer> {
        match self {
            Self::Whole(swim) => swim.describe(id),
            Self::Partial(partial_view) => partial_view.describe(id),
        }
    }
}
