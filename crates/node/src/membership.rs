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

use std::net::SocketAddr;

use hustings_protocol::{Candidate, Instant, MemberId, Priority};

use crate::frame::{MOST_CONTENT_BYTES, Sender};
use crate::leadership::Peer;
use crate::node::Event;
use crate::peer_table::Channel;
use crate::seal::Rejected;
pub(crate) use members::Members;
pub(crate) use partial_view::PartialView;
pub use partial_view::PartialViewStatus;
use swim::Swim;

/// The longest message: a frame's content without the sender (name, numbers, port) and the group.
const MOST_BYTES: usize = MOST_CONTENT_BYTES - 128;

/// The view of one member: all members, by [`Swim`], or a few of many, as a [`PartialView`].
pub(crate) trait Membership: Send {
    /// The partial view; none if this member knows all others.
    fn partial_view(&self) -> Option<&PartialView> {
        None
    }

    /// Like [`Self::partial_view`], to change it.
    fn partial_view_mut(&mut self) -> Option<&mut PartialView> {
        None
    }

    /// The fraction of messages between two members that is lost; none before enough were counted.
    fn loss(&self) -> Option<f64>;

    /// True if no member has contacted this one in its present incarnation, or no member is left.
    fn is_alone(&self) -> bool;

    /// True if the sender is known to be up in its present incarnation.
    fn knows(&self, sender: &Sender<'_>) -> bool;

    /// Handles a greeting that came over `channel`. The sender receives at `address`.
    fn greet(&mut self, sender: &Sender<'_>, address: SocketAddr, channel: Channel);

    /// Handles a message from the member `sender`, which receives at `from`.
    ///
    /// # Errors
    /// If the message is malformed.
    fn hear(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Result<(), Rejected>;

    /// Handles the timers that are due at `now`.
    fn pass(&mut self, now: Instant);

    /// The time of the next timer.
    fn due(&self) -> Option<Instant>;

    /// Takes the effects of the last inputs.
    fn take_effects(&mut self, now: Instant) -> Vec<MembershipEffect>;

    /// Starts anew, in another incarnation or with another priority, or after having left.
    fn renew(&mut self, sender: &Sender<'_>, priority: Priority);

    /// Leaves the group, and informs other members as the kind of view requires. Until it is
    /// renewed it neither sends nor receives.
    fn leave(&mut self, now: Instant);

    /// The address of a known member.
    fn address_of(&self, id: MemberId) -> Option<SocketAddr>;

    /// The addresses of the known members, without this one.
    fn addresses(&self) -> Vec<SocketAddr>;

    /// The known candidates, without this member.
    fn candidates(&self) -> Vec<Candidate>;

    /// A known member, as users see it.
    fn describe(&self, id: MemberId) -> Option<Peer>;
}

/// An action for the caller, or a finding.
#[derive(Debug)]
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
    /// What the other components have to know: members that are up or down, that entered or left
    /// the partial view, and relayed messages. If a member that is down has a new incarnation or a
    /// new priority, it is up again at once.
    Finding(Event<'static>),
}
