//! Duplicates of multicasts: the same content sent again, perhaps by another member.
//!
//! If dozens of members decide the same, or call the same round, a million members hear it dozens
//! of times. Nearly all of those copies change nothing. A protocol may declare this
//! ([`hustings_protocol::Simulated::is_duplicate_of`]). This module then keeps which members have
//! seen which content, one bit per member.

use std::collections::VecDeque;

/// Number of different messages to remember: the most recent ones.
const MOST: usize = 8;

/// The recent multicasts, each with the members that have seen it.
#[derive(Debug)]
pub(crate) struct Seen<M> {
    words: VecDeque<(M, MemberSet)>,
}

/// A set of members: one bit for each.
#[derive(Debug)]
pub(crate) struct MemberSet(Vec<u64>);

impl<M> Seen<M> {
    pub(crate) fn new() -> Self {
        Self { words: VecDeque::new() }
    }

    /// Forgets everything, because members may have been replaced or may not hear each other.
    pub(crate) fn forget(&mut self) {
        self.words.clear();
    }

    /// Forgets one member.
    pub(crate) fn forget_one(&mut self, member: u32) {
        for (_, heard) in &mut self.words {
            heard.remove(member);
        }
    }

    /// Takes out the set of members that have seen a message of which this one is a duplicate.
    /// Returns the empty set if there is no such message.
    pub(crate) fn take(&mut self, members: usize, is_duplicate: impl Fn(&M) -> bool) -> MemberSet {
        let place = self.words.iter().position(|(word, _)| is_duplicate(word));
        match place.and_then(|place| self.words.remove(place)) {
            Some((_, heard)) => heard,
            None => MemberSet::empty(members),
        }
    }

    /// Remembers the members that have now seen `message`.
    pub(crate) fn keep(&mut self, message: M, heard: MemberSet) {
        if self.words.len() == MOST {
            self.words.pop_front();
        }
        self.words.push_back((message, heard));
    }
}

impl MemberSet {
    /// The empty set in a group of `members`.
    pub(crate) fn empty(members: usize) -> Self {
        Self(vec![0; members.div_ceil(64)])
    }

    #[inline]
    pub(crate) fn has(&self, member: u32) -> bool {
        let bits = self.0.get(member as usize / 64);
        bits.is_some_and(|bits| bits >> (member % 64) & 1 == 1)
    }

    /// The members among the 64 from `first` on that are not in the set, as bits. `first` is a
    /// multiple of 64; bits from `count` on are zero.
    #[inline]
    pub(crate) fn lacks(&self, first: u32, count: u32) -> u64 {
        let heard = self.0.get(first as usize / 64).copied();
        let some = match count - first {
            rest if rest < 64 => (1 << rest) - 1,
            _ => u64::MAX,
        };
        some & !heard.unwrap_or(u64::MAX)
    }

    #[inline]
    pub(crate) fn enter(&mut self, member: u32) {
        if let Some(bits) = self.0.get_mut(member as usize / 64) {
            *bits |= 1 << (member % 64);
        }
    }

    fn remove(&mut self, member: u32) {
        if let Some(bits) = self.0.get_mut(member as usize / 64) {
            *bits &= !(1 << (member % 64));
        }
    }
}
