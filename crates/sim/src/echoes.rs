//! What was said to all, and is said again, perhaps by others.
//!
//! Where dozens decide the same, or call the same round, a million members hear it dozens of times, and nearly all of these
//! copies change nothing. A protocol may say so ([`hustings_protocol::Protocol::echoes`]); here it is kept who has heard what,
//! a bit a member.

use std::collections::VecDeque;

/// So many different words are kept, those that were said last.
const MOST: usize = 8;

/// Who has heard what.
#[derive(Debug)]
pub(crate) struct Echoes<M> {
    words: VecDeque<(M, Hearers)>,
}

/// Who has heard a word.
#[derive(Debug)]
pub(crate) struct Hearers(Vec<u64>);

impl<M> Echoes<M> {
    pub(crate) fn new() -> Self {
        Self {
            words: VecDeque::new(),
        }
    }

    /// Members may not be who they were, or not hear each other.
    pub(crate) fn forget(&mut self) {
        self.words.clear();
    }

    /// The same of one member.
    pub(crate) fn forget_one(&mut self, member: u32) {
        for (_, heard) in &mut self.words {
            heard.remove(member);
        }
    }

    /// Takes out who has heard a word of which this message is an echo; nobody, if it was not said before.
    pub(crate) fn take(&mut self, members: usize, is_echo: impl Fn(&M) -> bool) -> Hearers {
        let place = self.words.iter().position(|(word, _)| is_echo(word));
        match place.and_then(|place| self.words.remove(place)) {
            Some((_, heard)) => heard,
            None => Hearers(vec![0; members.div_ceil(64)]),
        }
    }

    /// Keeps who has heard this now.
    pub(crate) fn keep(&mut self, message: M, heard: Hearers) {
        if self.words.len() == MOST {
            self.words.pop_front();
        }
        self.words.push_back((message, heard));
    }
}

impl Hearers {
    /// Who of the next 64 from `first` on, a multiple of that, has not heard it, as bits; nobody from `count` on.
    #[inline]
    pub(crate) fn unaware(&self, first: u32, count: u32) -> u64 {
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
