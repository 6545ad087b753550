//! Who is there, as one member sees it: everybody, by a failure detector, or a few of many, where nobody can know all.
//!
//! As pure as the driver: told the time and what arrived, it leaves [`MembershipEffect`]s.

mod circle;
mod loss;
mod place;
mod swim;

use std::net::{IpAddr, SocketAddr};

use hustings_protocol::{Candidate, Instant, MemberId, Merit};

use crate::frame::{MOST_CONTENT_BYTES, Sender};
use crate::leadership::Peer;
use crate::peers::Way;
use crate::seal::Rejected;
pub(crate) use circle::Circle;
pub use circle::CircleStatus;
use swim::Swim;

/// The longest message: what a frame holds beside its sender (name, numbers, port) and its group.
const MOST_BYTES: usize = MOST_CONTENT_BYTES - 128;

/// Who is there, as one member sees it.
pub(crate) enum Membership {
    /// Everybody.
    Whole(Box<Swim>),
    /// A few of many.
    Partial(Box<Circle>),
}

/// What is to be done, or was found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MembershipEffect {
    /// Send to this member, at this address.
    Send {
        /// To whom.
        receiver: MemberId,
        /// Where.
        to: SocketAddr,
        /// The message.
        bytes: Vec<u8>,
    },
    /// A member is there, that was not before.
    Up(Candidate),
    /// A member is gone, or it came up anew, or with another merit: then it is up again at once.
    Down(MemberId),
    /// A member is known, or its merit, that was not: of a few of many. It may have been there for long.
    Met(Candidate),
    /// A member is known no longer. It may well be there.
    Forgotten(MemberId),
    /// Others take this very member for dead, in an earlier life.
    WasDead,
    /// Somebody said something to all, and others have passed it on.
    Heard {
        /// Who.
        origin: MemberId,
        /// On which host.
        host: IpAddr,
        /// A frame's content.
        content: Vec<u8>,
    },
}

impl Membership {
    /// That of the member `sender`, which knows nobody and is to know everybody.
    pub(crate) fn whole(sender: &Sender<'_>, merit: Merit) -> Self {
        Self::Whole(Box::new(Swim::new(sender, merit)))
    }

    /// The same of one that is nobody's candidate.
    pub(crate) fn of_bystander(sender: &Sender<'_>) -> Self {
        Self::Whole(Box::new(Swim::of_bystander(sender)))
    }

    /// That of a member that is to know a few others, of many.
    pub(crate) fn partial(circle: Circle) -> Self {
        Self::Partial(Box::new(circle))
    }

    /// Whom it knows of many, if it does not know all.
    pub(crate) fn circle(&self) -> Option<&Circle> {
        match self {
            Self::Whole(_) => None,
            Self::Partial(circle) => Some(circle),
        }
    }

    /// The same.
    pub(crate) fn circle_mut(&mut self) -> Option<&mut Circle> {
        match self {
            Self::Whole(_) => None,
            Self::Partial(circle) => Some(circle),
        }
    }

    /// How many others it knows.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Whole(swim) => swim.candidates().count(),
            Self::Partial(circle) => circle.candidates().len(),
        }
    }

    /// What part of the messages between two members is lost; none before enough have been counted.
    pub(crate) fn loss(&self) -> Option<f64> {
        match self {
            Self::Whole(swim) => swim.loss(),
            Self::Partial(circle) => circle.loss(),
        }
    }

    /// Whether nobody has talked to this member in its present life, or nobody is left.
    pub(crate) fn is_alone(&self) -> bool {
        match self {
            Self::Whole(swim) => swim.is_alone(),
            Self::Partial(circle) => circle.is_alone(),
        }
    }

    /// Whether the sender is known to be up, in its present life.
    pub(crate) fn knows(&self, sender: &Sender<'_>) -> bool {
        match self {
            Self::Whole(swim) => swim.knows(sender),
            Self::Partial(circle) => circle.knows(sender),
        }
    }

    /// Somebody said hello, which came this way, and can be answered at `address`.
    pub(crate) fn greet(&mut self, sender: &Sender<'_>, address: SocketAddr, way: Way) {
        match self {
            Self::Whole(swim) => swim.greet(sender, address),
            Self::Partial(circle) => circle.greet(sender, address, way),
        }
    }

    /// A message arrived from the member `sender`, which receives at `from`.
    ///
    /// # Errors
    /// If it is not what a member would say.
    pub(crate) fn hear(
        &mut self,
        now: Instant,
        sender: &Sender<'_>,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Result<(), Rejected> {
        match self {
            Self::Whole(swim) => swim.hear(now, sender.id, from, bytes),
            Self::Partial(circle) => circle.hear(now, sender, from, bytes),
        }
    }

    /// Time passed: what is due is done.
    pub(crate) fn pass(&mut self, now: Instant) {
        match self {
            Self::Whole(swim) => swim.pass(now),
            Self::Partial(circle) => circle.pass(now),
        }
    }

    /// When something is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        match self {
            Self::Whole(swim) => swim.due(),
            Self::Partial(circle) => circle.due(),
        }
    }

    /// Takes what is to be done.
    pub(crate) fn take_effects(&mut self, now: Instant) -> Vec<MembershipEffect> {
        match self {
            Self::Whole(swim) => swim.take_effects(now),
            Self::Partial(circle) => circle.take_effects(),
        }
    }

    /// Comes up anew: in another life, or with another merit.
    pub(crate) fn renew(&mut self, sender: &Sender<'_>, merit: Merit) {
        match self {
            Self::Whole(swim) => swim.renew(sender, merit),
            Self::Partial(circle) => circle.renew(),
        }
    }

    /// Leaves, and says so to whom it should.
    pub(crate) fn leave(&mut self, now: Instant) {
        match self {
            Self::Whole(swim) => swim.leave(),
            Self::Partial(circle) => circle.leave(now),
        }
    }

    /// Where a member that is known can be reached.
    pub(crate) fn address_of(&self, id: MemberId) -> Option<SocketAddr> {
        match self {
            Self::Whole(swim) => swim.address_of(id),
            Self::Partial(circle) => circle.address_of(id),
        }
    }

    /// Where those who are known can be reached, ourselves not included.
    pub(crate) fn addresses(&self) -> Vec<SocketAddr> {
        match self {
            Self::Whole(swim) => swim.addresses().collect(),
            Self::Partial(circle) => circle.addresses().collect(),
        }
    }

    /// Those who are known, ourselves not included.
    pub(crate) fn candidates(&self) -> Vec<Candidate> {
        match self {
            Self::Whole(swim) => swim.candidates().collect(),
            Self::Partial(circle) => circle.candidates().to_vec(),
        }
    }

    /// A member that is known, as users see it.
    pub(crate) fn describe(&self, id: MemberId) -> Option<Peer> {
        match self {
            Self::Whole(swim) => swim.describe(id),
            Self::Partial(circle) => circle.describe(id),
        }
    }
}
