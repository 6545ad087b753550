//! What a member found wrong, and what may be said of whose doing it was.

use serde::{Deserialize, Serialize};

use super::Message;
use super::basic::Basic;
use super::flips::Flip;

/// The two neighbours of a member, and what lies between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Counterclockwise: the predecessor.
    Left,
    /// Clockwise: the successor.
    Right,
}

impl Side {
    /// Both.
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

/// Evidence of a fault: who noticed, when, and what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The place on the ring of the member that says so, from 0 on, in the order of identities.
    pub place: u32,
    /// In which Basic round, from 1 on.
    pub round: u32,
    /// What it noticed.
    pub cause: Cause,
}

/// What a member noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// (B), step 6: one flip is not the same from both sides.
    Disagreement {
        /// The place of the member whose flip it is.
        of: u32,
        /// What came from the left.
        from_left: Flip,
        /// What came from the right.
        from_right: Flip,
    },
    /// (B), step 6: this member's own flip came home changed.
    OwnFlip {
        /// From where.
        side: Side,
        /// As it went.
        sent: Flip,
        /// As it came.
        received: Flip,
    },
    /// A message that can have no place where it came: a flip where none is shown, or none where one is.
    Nonsense {
        /// From where.
        side: Side,
        /// What it was.
        received: Message,
    },
    /// A message that nobody can send who waits for both neighbours, as all must.
    OutOfTurn {
        /// From where.
        side: Side,
    },
    /// No message came for longer than members may take to answer.
    Silence {
        /// From where; none: from neither side.
        side: Option<Side>,
    },
    /// So many stages in a row all active members flipped alike. It may be chance, and blames nobody.
    Stalled {
        /// How many.
        stages: u32,
    },
    /// Somebody else says that there is a fault.
    Told {
        /// From where the message came.
        side: Side,
    },
    /// This member was stopped, or something failed that it cannot do without, before the draw was over.
    Withdrawn,
}

/// What a member can say afterwards of one Basic round: what it heard; and, as it must have passed that on, what it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Testimony {
    /// Its place.
    pub place: u32,
    /// Which round.
    pub round: u32,
    /// What it noticed, if anything.
    pub fault: Option<Fault>,
    pub(super) basic: Basic,
}

/// A link on which the word of one member stands against that of its neighbour: one of the two lies, or the link does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contradiction {
    /// The place of the one that says that it sent.
    pub sender: u32,
    /// The place of the one that says what it received.
    pub receiver: u32,
    /// What they contradict each other about.
    pub about: About,
}

/// What two neighbours contradict each other about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// A message of the round.
    Message {
        /// Which one, from 1 on.
        number: u32,
        /// What was sent, by the sender's word.
        sent: Message,
        /// What was received, by the receiver's.
        received: Message,
    },
    /// A message that was sent, by the sender's word, and for which the receiver waited in vain. It may have been on its way, where
    /// the sender was itself kept waiting by somebody who was late: of time nobody testifies.
    Silence {
        /// Which one, from 1 on.
        number: u32,
    },
    /// A message that the receiver has, and that by the sender's word was not sent, or not yet.
    Unsent {
        /// Which one, from 1 on; those for the next round are counted on.
        number: u32,
    },
    /// A fault message, which the receiver has and the sender denies.
    FaultMessage,
}

/// Post-analysis: the links of a ring of `members` on which testimonies of one round contradict each other.
///
/// A cheater can say of itself what it likes, but only what an honest member may have done; so what it really did shows on a
/// link to an honest neighbour, or between two cheaters who did not agree on what to say. Where a cheater does not testify, or
/// where all that happened is a fault message that nobody owns up to, nothing may be left to find.
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
                found.push(Contradiction {
                    sender: sender.place,
                    receiver: receiver.place,
                    about,
                });
            }
        }
    }
    found
}

/// What `sender` says that it sent to `side`, against what `receiver` there says that it got.
fn contradiction(sender: &Testimony, side: Side, receiver: &Testimony) -> Option<About> {
    let from = side.opposite();
    let (sent, heard) = (sender.basic.sent_to(side), receiver.basic.heard_from(from));
    let differing = (1..=sent.min(heard)).find_map(|number| {
        let sent = sender.basic.said(side, number);
        let received = receiver.basic.heard(from, number);
        (sent != received).then_some(About::Message {
            number,
            sent,
            received,
        })
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
        Cause::Silence { side } => (side.is_none_or(|it| it == from) && sent > heard)
            .then_some(About::Silence { number: heard + 1 }),
        Cause::Told { side } => {
            (side == from && !sender.has_sent_fault(from.opposite())).then_some(About::FaultMessage)
        }
        Cause::Nonsense { side, received } if side == from && is_now => {
            Some(sender.denial(from.opposite(), heard + 1, received))
        }
        // The first for the next round is kept, the second is too many.
        Cause::OutOfTurn { side } if side == from && is_now => {
            Some(About::Unsent { number: heard + 2 })
        }
        Cause::Nonsense { .. }
        | Cause::OutOfTurn { .. }
        | Cause::Disagreement { .. }
        | Cause::OwnFlip { .. }
        | Cause::Stalled { .. }
        | Cause::Withdrawn => None,
    }
}

impl Testimony {
    pub(super) fn new(place: u32, round: u32, fault: Option<Fault>, basic: Basic) -> Self {
        Self {
            place,
            round,
            fault,
            basic,
        }
    }

    /// Whether it owns up to a fault message to `side`: it noticed something by itself, or was told from the other side.
    fn has_sent_fault(&self, side: Side) -> bool {
        self.fault
            .is_some_and(|fault| fault.cause != Cause::Told { side })
    }

    /// What stands against the word of a receiver at `side` whose message `number` was `received`.
    fn denial(&self, side: Side, number: u32, received: Message) -> About {
        if self.basic.sent_to(side) < number {
            return About::Unsent { number };
        }
        About::Message {
            number,
            sent: self.basic.said(side, number),
            received,
        }
    }
}
