//! Basic (B): each member flips a coin, and all agree on each other's results.
//!
//! The slots of a link are numbered. The `k`-th message that a member receives from its left is the
//! flip of the member `k` places to its left. It forwards this flip to its right as its own `k +
//! 1`-th message. The last message, the `n`-th, is its own flip after a whole lap.

use super::fault::{FaultCause, Side};
use super::flips::{Flip, Places};
use super::{Message, Ring};

/// One member's part in one Basic round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Basic {
    members: u32,
    place: u32,
    ring: Ring,
    flip: Flip,
    /// The first of two neighbours that do not show each other their flips: see [`Basic::begin`].
    hidden_pair: Option<u32>,
    left: LinkState,
    right: LinkState,
}

/// The messages between a member and its neighbour on one side.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LinkState {
    /// The received flips, by the places of the members that flipped.
    flips: Places,
    heard: u32,
    sent: u32,
    /// The place of the member whose flip comes next.
    next: u32,
    /// The last received message, to be forwarded.
    last: Message,
}

impl Basic {
    /// A member that has yet to begin its first round.
    pub fn new(place: u32, members: u32, ring: Ring) -> Self {
        let way = LinkState {
            flips: Places::none(members),
            heard: 0,
            sent: 0,
            next: place,
            last: Message::Withheld,
        };
        Self {
            members,
            place,
            ring,
            flip: Flip::Tails,
            hidden_pair: None,
            left: way.clone(),
            right: way,
        }
    }

    /// Steps 1 and 2: begins a round with `flip`.
    ///
    /// (L), step 3: if only the member at `hidden_pair` and the next one clockwise are active, they
    /// show each other their flips only the long way round the ring. A placeholder message takes
    /// the direct way. It is forwarded like a flip, so that all members wait for each other as
    /// usual.
    pub fn begin(&mut self, flip: Flip, hidden_pair: Option<u32>) {
        self.flip = flip;
        self.hidden_pair = hidden_pair;
        self.left.begin(self.left_of(self.place));
        self.right.begin(self.right_of(self.place));
    }

    /// Handles the next message from one side. It must be a flip, unless that is withheld.
    ///
    /// # Errors
    /// If the message is of the wrong kind.
    #[inline]
    pub fn hear(&mut self, side: Side, message: Message) -> Result<(), FaultCause> {
        let of = self.way(side).next;
        let next = match side {
            Side::Left => self.left_of(of),
            Side::Right => self.right_of(of),
        };
        let is_withheld = self.hidden_pair.is_some() && self.is_withheld(side, of);
        let way = self.way_mut(side);
        match message {
            Message::Flip(flip) if !is_withheld => way.flips.put(of, flip == Flip::Heads),
            Message::Withheld if is_withheld => {}
            Message::Flip(_) | Message::Withheld | Message::Fault => {
                return Err(FaultCause::Nonsense { side, received: message });
            }
        }
        way.heard += 1;
        way.next = next;
        way.last = message;
        Ok(())
    }

    /// Step 3: the message to send to one side now, if any. Messages to the right came from the
    /// left.
    #[inline]
    pub fn say(&mut self, side: Side) -> Option<Message> {
        let (left, right) = (self.left.heard, self.right.heard);
        let due = match (self.ring, side) {
            (Ring::BothWays, Side::Left | Side::Right) | (Ring::Clockwise, Side::Right) => {
                left.min(right) + 1
            }
            (Ring::Clockwise, Side::Left) => left.min(right + 1),
        };
        let sent = self.way(side).sent;
        if sent >= due.min(self.members) {
            return None;
        }
        self.way_mut(side).sent = sent + 1;
        Some(self.slot(side, sent))
    }

    /// The message to one side that has `before` messages before it.
    fn slot(&self, side: Side, before: u32) -> Message {
        if before == 0 {
            return if self.hidden_pair.is_some() && self.is_withheld(side.opposite(), self.place) {
                Message::Withheld
            } else {
                Message::Flip(self.flip)
            };
        }
        let from = self.way(side.opposite());
        if before == from.heard {
            return from.last; // the usual case
        }
        self.heard(side.opposite(), before)
    }

    /// Message number `number`, from 1, of those received from one side.
    pub(super) fn heard(&self, side: Side, number: u32) -> Message {
        let of = match side {
            Side::Left => (self.place + self.members - number) % self.members,
            Side::Right => (self.place + number) % self.members,
        };
        if self.hidden_pair.is_some() && self.is_withheld(side, of) {
            Message::Withheld
        } else {
            Message::Flip(Flip::heads_if(self.way(side).flips.contains(of)))
        }
    }

    /// Message number `number`, from 1, of those sent to one side.
    pub(super) fn said(&self, side: Side, number: u32) -> Message {
        self.slot(side, number - 1)
    }

    /// The number of messages received from one side.
    #[inline]
    pub fn heard_from(&self, side: Side) -> u32 {
        self.way(side).heard
    }

    /// The number of messages sent to one side.
    pub fn sent_to(&self, side: Side) -> u32 {
        self.way(side).sent
    }

    /// Step 4: true if each flip has gone completely round in both directions.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.left.heard == self.members && self.right.heard == self.members
    }

    /// Steps 5 to 7: the members that flipped heads, if both directions agree and this member's own
    /// flip returned unchanged.
    ///
    /// # Errors
    /// Names the discrepancy.
    pub fn agree(&mut self) -> Result<&Places, FaultCause> {
        if let Some(first) = self.hidden_pair {
            // The flips of the two neighbours arrived from one side only.
            let second = self.right_of(first);
            let (left, right) = (&mut self.left.flips, &mut self.right.flips);
            left.put(first, right.contains(first));
            right.put(second, left.contains(second));
        }
        for side in [Side::Left, Side::Right] {
            let received = Flip::heads_if(self.way(side).flips.contains(self.place));
            if received != self.flip {
                return Err(FaultCause::OwnFlip { side, sent: self.flip, received });
            }
        }
        if self.left.flips == self.right.flips {
            return Ok(&self.left.flips);
        }
        let differs = |of: &u32| self.left.flips.contains(*of) != self.right.flips.contains(*of);
        let of = (0..self.members).find(differs).unwrap_or_default();
        Err(FaultCause::Disagreement {
            of,
            from_left: Flip::heads_if(self.left.flips.contains(of)),
            from_right: Flip::heads_if(self.right.flips.contains(of)),
        })
    }

    /// True if the flip of the member at `of` does not come from `side`.
    fn is_withheld(&self, side: Side, of: u32) -> bool {
        self.hidden_pair.is_some_and(|first| match side {
            Side::Left => of == first,
            Side::Right => of == self.right_of(first),
        })
    }

    #[inline]
    fn left_of(&self, place: u32) -> u32 {
        place.checked_sub(1).unwrap_or(self.members - 1)
    }

    #[inline]
    fn right_of(&self, place: u32) -> u32 {
        if place + 1 == self.members { 0 } else { place + 1 }
    }

    #[inline]
    fn way(&self, side: Side) -> &LinkState {
        match side {
            Side::Left => &self.left,
            Side::Right => &self.right,
        }
    }

    #[inline]
    fn way_mut(&mut self, side: Side) -> &mut LinkState {
        match side {
            Side::Left => &mut self.left,
            Side::Right => &mut self.right,
        }
    }
}

impl LinkState {
    fn begin(&mut self, next: u32) {
        self.heard = 0;
        self.sent = 0;
        self.next = next;
    }
}
