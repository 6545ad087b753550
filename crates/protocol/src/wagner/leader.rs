//! Leader Election (L): subsets of subsets, until one member is active.
//!
//! All honest members that saw the same flips have the same state: it is the state that they agree
//! on.

use std::num::NonZeroU32;

use super::flips::{Places, coin};
use super::subset::{self, Choice, Compare, First, Part, Selection};

/// The state of an election.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leader {
    members: u32,
    selection: Selection,
    active: Places,
    /// The purpose of the present Basic round.
    purpose: Purpose,
    /// The number of stages in a row in which all active members flipped alike.
    equal: u32,
    stages: u32,
    flips: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Purpose {
    /// The first step of Subset: the flips of the active members split them.
    Split,
    /// A bit of `t`, to choose between the two parts.
    Choose(Choice),
}

/// The result of a Basic round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Another round follows.
    Round,
    /// The member at this place is elected.
    Elected(u32),
    /// The limit on equal stages in a row is reached.
    Stalled,
}

impl Leader {
    /// Step 1: all of `members` are active.
    pub fn new(members: u32) -> Self {
        Self::selecting(members, Selection::Proportional)
    }

    /// Step 1 with another choice of the part that stays.
    pub fn selecting(members: u32, selection: Selection) -> Self {
        Self {
            members,
            selection,
            active: Places::all(members),
            purpose: Purpose::Split,
            equal: 0,
            stages: 0,
            flips: 0,
        }
    }

    /// Step 2: handles a Basic round in which the members at `heads` flipped heads.
    pub fn take(&mut self, heads: &Places, compare: Compare, limit: Option<NonZeroU32>) -> Next {
        match &mut self.purpose {
            Purpose::Split => self.split(heads, limit),
            Purpose::Choose(choice) => {
                self.flips += 1;
                match choice.take(coin(heads), compare) {
                    None => Next::Round,
                    Some(part) => self.narrow(&part),
                }
            }
        }
    }

    fn split(&mut self, heads: &Places, limit: Option<NonZeroU32>) -> Next {
        self.stages += 1;
        match subset::begin(&self.active, heads) {
            First::Split(choice) => {
                self.equal = 0;
                match self.selection {
                    Selection::Proportional => {
                        self.purpose = Purpose::Choose(choice);
                        Next::Round
                    }
                    Selection::Parity => self.narrow(&choice.part(coin(heads))),
                }
            }
            First::Equal => {
                self.equal += 1;
                match limit {
                    Some(limit) if self.equal >= limit.get() => Next::Stalled,
                    Some(_) | None => Next::Round,
                }
            }
        }
    }

    fn narrow(&mut self, part: &Part) -> Next {
        match part {
            Part::Heads(heads) => self.active.retain_in(heads),
            Part::Tails(heads) => self.active.retain_out(heads),
        }
        self.purpose = Purpose::Split;
        let mut left = self.active.iter();
        match (left.next(), left.next()) {
            (Some(elected), None) => Next::Elected(elected),
            _ => Next::Round,
        }
    }

    /// Step 3: the place of the first of two active neighbours, if only they are active and the
    /// present round splits them; the other one is next to it clockwise. They do not show each
    /// other their flips directly. The informal protocol has no such step.
    pub fn neighbours(&self) -> Option<u32> {
        match (&self.purpose, self.selection) {
            (Purpose::Split, Selection::Proportional) => {}
            (Purpose::Choose(_), _) | (_, Selection::Parity) => return None,
        }
        let mut active = self.active.iter();
        let (one, other) = (active.next()?, active.next()?);
        if active.next().is_some() {
            return None;
        }
        if other == one + 1 {
            Some(one)
        } else if one == 0 && other == self.members - 1 {
            Some(other)
        } else {
            None
        }
    }

    /// The number of members.
    #[inline]
    pub fn members(&self) -> u32 {
        self.members
    }

    /// The active members.
    pub fn active(&self) -> &Places {
        &self.active
    }

    /// True if the present round splits the active members. Otherwise it chooses between two parts.
    pub fn splits(&self) -> bool {
        self.purpose == Purpose::Split
    }

    /// The number of calls of Subset.
    pub fn stages(&self) -> u32 {
        self.stages
    }

    /// The number of calls of Coin Flip.
    pub fn flips(&self) -> u32 {
        self.flips
    }

    /// The number of stages in a row in which all active members flipped alike.
    pub fn equal_stages(&self) -> u32 {
        self.equal
    }
}
