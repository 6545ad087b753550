//! The phase of a member in a round, the decisions that it has received, and the members that it
//! knows to be gone.

use super::relay::Relay;
use crate::{Candidate, Instant, MemberId};

/// The phase of a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing to do: no round is known, or the last one is over.
    #[default]
    Resting,
    /// Called the round, or received the call, and takes part once all members have received it.
    Called,
    /// Does not relay, or has relayed: waits for decisions.
    Listening,
    /// Relays. Few members do: their data is behind a pointer.
    Relaying(Box<Relay>),
    /// Missed the initiation, and has received a decision.
    Overhearing,
    /// Found that the round has failed, and calls the next one, unless another member does so
    /// first.
    Recalling { until: Instant },
    /// Has reason to call an election, and does so, unless another member calls first.
    Calling,
    /// The last round failed. `would_recall`: by the rule this member would have called another
    /// one.
    GivenUp { would_recall: bool },
}

impl Phase {
    /// True if the member takes part in no round.
    pub(super) fn is_idle(&self) -> bool {
        match self {
            Self::Resting | Self::Recalling { .. } | Self::Calling | Self::GivenUp { .. } => true,
            Self::Called | Self::Listening | Self::Relaying(_) | Self::Overhearing => false,
        }
    }
}

/// The decisions of a round that a member has received.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Decisions {
    #[default]
    Nothing,
    One(Candidate),
    Several,
}

impl Decisions {
    #[inline]
    pub(super) fn hear(&mut self, choice: Candidate) {
        *self = match *self {
            Self::Nothing => Self::One(choice),
            Self::One(other) if other.id == choice.id => Self::One(other),
            Self::One(_) | Self::Several => Self::Several,
        };
    }
}

/// The greatest number of members kept: more than die within one election, except in a catastrophe.
const MOST: usize = 16;

/// The members that left last. Behind a pointer: most members of a million know none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Departed(Option<Box<Gone>>);

/// The latest at the end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Gone(Vec<MemberId>);

impl Departed {
    #[inline]
    pub(super) fn has(&self, id: MemberId) -> bool {
        self.0.as_ref().is_some_and(|gone| gone.0.contains(&id))
    }

    pub(super) fn enter(&mut self, id: MemberId) {
        self.remove(id);
        let gone = &mut self.0.get_or_insert_default().0;
        if gone.len() == MOST {
            gone.remove(0);
        }
        gone.push(id);
    }

    pub(super) fn remove(&mut self, id: MemberId) {
        if let Some(gone) = &mut self.0 {
            gone.0.retain(|it| *it != id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Departed, MOST};
    use crate::MemberId;

    #[test]
    fn the_last_departed_are_kept_until_they_come_back() {
        let mut departed = Departed::default();
        for id in 0..MOST as u64 + 2 {
            departed.enter(MemberId(id));
        }
        assert!(!departed.has(MemberId(1)) && departed.has(MemberId(2)));
        departed.remove(MemberId(2));
        assert!(!departed.has(MemberId(2)));
        departed.enter(MemberId(2));
        departed.enter(MemberId(2));
        assert!(departed.has(MemberId(3)), "no member counts twice");
    }
}
