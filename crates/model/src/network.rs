//! The network of the model: all messages ever sent.

use hustings_protocol::tenure::{Message, Refused};
use hustings_protocol::{Duration, MemberId};

use crate::interner::Interner;

const WORDS: usize = 4;

/// A question to a voter, an answer of a voter, or a handover.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Addressed {
    /// The member that asks, that is answered, or that takes over.
    pub(crate) other: MemberId,
    pub(crate) message: Message,
}

/// A set of messages. Each of them may arrive any number of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct MessageSet([u64; WORDS]);

/// The messages that a voter ever received and sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct VoterTraffic {
    pub(crate) heard: MessageSet,
    pub(crate) said: MessageSet,
}

impl MessageSet {
    pub(crate) fn add(&mut self, number: u32) {
        self.0[number as usize / 64] |= 1 << (number % 64);
    }

    pub(crate) fn contains(self, number: u32) -> bool {
        self.0[number as usize / 64] & 1 << (number % 64) != 0
    }

    /// The message numbers, ascending.
    pub(crate) fn numbers(self) -> impl Iterator<Item = u32> {
        let words = (0..).step_by(64).zip(self.0);
        words.flat_map(|(first, mut word)| {
            std::iter::from_fn(move || {
                let next = (word != 0).then(|| first + word.trailing_zeros());
                word &= word.wrapping_sub(1);
                next
            })
        })
    }
}

impl Addressed {
    pub(crate) fn is_refusal(&self) -> bool {
        matches!(self.message, Message::Refusal { .. })
    }
}

impl Interner<Addressed> {
    pub(crate) fn number_of(&self, number: Addressed) -> u32 {
        let number = self.number(timeless(number));
        let fits = (number as usize) < WORDS * 64;
        assert!(fits, "too many different messages: enlarge the set");
        number
    }
}

/// Removes the retry time from a refusal. Timers expire at any time, so it makes no difference here
/// except for the number of different messages.
fn timeless(mut number: Addressed) -> Addressed {
    if let Message::Refusal { refused, .. } = &mut number.message
        && let Refused::Held { lasts, .. } | Refused::Quarantined { lasts } = refused
    {
        *lasts = Duration::ZERO;
    }
    number
}
