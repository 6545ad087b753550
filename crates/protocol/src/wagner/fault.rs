//! The faults that members notice, and the analysis of who caused them.

use serde::{Deserialize, Serialize};

use super::Message;
use super::basic::Basic;
use super::flips::Flip;

/// A direction on the ring, as seen from a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Counterclockwise: the predecessor.
    Left,
    /// Clockwise: the successor.
    Right,
}

impl Side {
    /// Both sides.
    pub const BOTH: [Self; 2] = [Self::Left, Self::Right];

    /// The other side.
    #[must_use]
    #[inline]
    pub fn opposite(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

/// Evidence of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The place on the ring of the member that noticed it, from 0, in the order of identities.
    pub place: u32,
    /// The Basic round, from 1.
    pub round: u32,
    /// The observation.
    pub cause: FaultCause,
}

/// The observation of a member that noticed a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultCause {
    /// (B), step 6: one flip differs between the two sides.
    Disagreement {
        /// The place of the member whose flip it is.
        of: u32,
        /// The flip that came from the left.
        from_left: Flip,
        /// The flip that came from the right.
        from_right: Flip,
    },
    /// (B), step 6: this member's own flip returned changed.
    OwnFlip {
        /// The side from which it came.
        side: Side,
        /// The flip as it was sent.
        sent: Flip,
        /// The flip as it returned.
        received: Flip,
    },
    /// A message of the wrong kind: a flip where it is withheld, or a placeholder where a flip is
    /// due.
    Nonsense {
        /// The side from which it came.
        side: Side,
        /// The message.
        received: Message,
    },
    /// A message that no member can send that waits for both neighbours, as all must.
    OutOfTurn {
        /// The side from which it came.
        side: Side,
    },
    /// No message arrived within the time that members have to answer.
    Silence {
        /// The silent side; `None`: neither side answered.
        side: Option<Side>,
    },
    /// All active members flipped alike for too many stages in a row. It may be chance, and accuses
    /// no member.
    Stalled {
        /// The number of stages.
        stages: u32,
    },
    /// Another member reported a fault.
    Told {
        /// The side from which the message came.
        side: Side,
    },
    /// This member was stopped, or lost something that it needs, before the end of the draw.
    Withdrawn,
}

/// A member's statement about one Basic round: the messages that it received and, because it must
/// have forwarded them, those that it sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Testimony {
    /// The place of the member.
    pub place: u32,
    /// The number of the round.
    pub round: u32,
    /// The fault that it noticed, if any.
    pub fault: Option<Fault>,
    pub(super) basic: Basic,
}

/// A link on which the statements of two neighbours contradict each other: one of the two lies, or
/// the link is faulty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction {
    /// The place of the member that states what it sent.
    pub sender: u32,
    /// The place of the member that states what it received.
    pub receiver: u32,
    /// The subject of the contradiction.
    pub about: About,
}

/// The subject of a contradiction between two neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// A message of the round.
    Message {
        /// The number of the message, from 1.
        number: u32,
        /// The message as the sender states it.
        sent: Message,
        /// The message as the receiver states it.
        received: Message,
    },
    /// A message that was sent, as the sender states, and that the receiver did not get in time. It
    /// may have been on its way, if a late member had kept the sender waiting: testimonies contain
    /// no times.
    Silence {
        /// The number of the message, from 1.
        number: u32,
    },
    /// A message that the receiver has, and that was not sent, or not yet, as the sender states.
    Unsent {
        /// The number of the message, from 1; messages for the next round continue the numbering.
        number: u32,
    },
    /// A fault message that the receiver has and the sender denies.
    FaultMessage,
}

/// Post-analysis: the links of a ring of `members` on which testimonies of one round contradict
/// each other.
///
/// A cheater can only claim behaviour that an honest member may have shown. So its real behaviour
/// shows on a link to an honest neighbour, or between two cheaters with different statements. If a
/// cheater does not testify, or if the only event is a fault message that no member admits, there
/// may be nothing to find.
pub fn contradictions(members: u32, testimonies: &[Testimony]) -> Vec<Contradiction> {
    let mut found = Vec::new();
    for sender in testimonies {
        for side in Side::BOTH {
            let next = match side {
                Side::Left => (sender.place + members - 1) % members,
                Side::Right => (sender.place + 1) % members,
            };
            let is_receiver = |it: &&Testimony| it.place == next && it.round == sender.round;
            if let Some(receiver) = testimonies.iter().find(is_receiver)
                && let Some(about) = contradiction(sender, side, receiver)
            {
                found.push(Contradiction { sender: sender.place, receiver: receiver.place, about });
            }
        }
    }
    found
}

/// Compares the messages that `sender` states to have sent to `side` with those that `receiver`
/// states to have received.
fn contradiction(sender: &Testimony, side: Side, receiver: &Testimony) -> Option<About> {
    let from = side.opposite();
    let (sent, heard) = (sender.basic.sent_to(side), receiver.basic.heard_from(from));
    let differing = (1..=sent.min(heard)).find_map(|number| {
        let sent = sender.basic.said(side, number);
        let received = receiver.basic.heard(from, number);
        (sent != received).then_some(About::Message { number, sent, received })
    });
    if differing.is_some() {
        return differing;
    }
    if heard > sent {
        return Some(About::Unsent { number: sent + 1 });
    }
    let fault = receiver.fault?;
    let is_now = fault.round == receiver.round;
    match fault.cause {
        FaultCause::Silence { side } => (side.is_none_or(|it| it == from) && sent > heard)
            .then_some(About::Silence { number: heard + 1 }),
        FaultCause::Told { side } => {
            (side == from && !sender.has_sent_fault(from.opposite())).then_some(About::FaultMessage)
        }
        FaultCause::Nonsense { side, received } if side == from && is_now => {
            Some(sender.denial(from.opposite(), heard + 1, received))
        }
        // The first message for the next round is kept, the second is one too many.
        FaultCause::OutOfTurn { side } if side == from && is_now => {
            Some(About::Unsent { number: heard + 2 })
        }
        FaultCause::Nonsense { .. }
        | FaultCause::OutOfTurn { .. }
        | FaultCause::Disagreement { .. }
        | FaultCause::OwnFlip { .. }
        | FaultCause::Stalled { .. }
        | FaultCause::Withdrawn => None,
    }
}

impl Testimony {
    pub(super) fn new(place: u32, round: u32, fault: Option<Fault>, basic: Basic) -> Self {
        Self { place, round, fault, basic }
    }

    /// True if the member admits a fault message to `side`: it noticed a fault itself, or received
    /// the message from the other side.
    fn has_sent_fault(&self, side: Side) -> bool {
        self.fault.is_some_and(|fault| fault.cause != FaultCause::Told { side })
    }

    /// The contradiction with a receiver at `side` whose message `number` was `received`.
    fn denial(&self, side: Side, number: u32, received: Message) -> About {
        if self.basic.sent_to(side) < number {
            return About::Unsent { number };
        }
        About::Message { number, sent: self.basic.said(side, number), received }
    }
}
