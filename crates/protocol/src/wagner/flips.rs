//! Flips, and sets of members by their places on the ring, as bit sets.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The result of a coin flip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Flip {
    /// Counted.
    Heads,
    /// Uncounted.
    Tails,
}

impl Flip {
    /// Heads if `is_heads`.
    #[inline]
    pub fn heads_if(is_heads: bool) -> Self {
        if is_heads { Self::Heads } else { Self::Tails }
    }

    /// The opposite flip.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::Heads => Self::Tails,
            Self::Tails => Self::Heads,
        }
    }
}

const WORD: u32 = u64::BITS;

/// One bit for each place on the ring, for example the members that flipped heads, or the active
/// ones.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Places {
    words: Box<[u64]>,
}

impl Places {
    /// The empty set, for `members` places.
    pub fn none(members: u32) -> Self {
        Self { words: vec![0; members.div_ceil(WORD) as usize].into() }
    }

    /// All of `members` places.
    pub fn all(members: u32) -> Self {
        let mut places = Self::none(members);
        (0..members).for_each(|place| places.put(place, true));
        places
    }

    /// True if the set contains `place`.
    #[inline]
    pub fn contains(&self, place: u32) -> bool {
        self.words[(place / WORD) as usize] >> (place % WORD) & 1 == 1
    }

    /// Adds `place` to the set, or removes it.
    #[inline]
    pub fn put(&mut self, place: u32, is_in: bool) {
        let word = &mut self.words[(place / WORD) as usize];
        let bit = place % WORD;
        *word = *word & !(1 << bit) | u64::from(is_in) << bit;
    }

    /// The number of places in the set.
    pub fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// The number of places that are in `others` too.
    pub fn count_in(&self, others: &Self) -> u32 {
        let pairs = self.words.iter().zip(&others.words);
        pairs.map(|(a, b)| (a & b).count_ones()).sum()
    }

    /// Keeps the places that are in `others` too.
    pub fn retain_in(&mut self, others: &Self) {
        let pairs = self.words.iter_mut().zip(&others.words);
        pairs.for_each(|(word, other)| *word &= other);
    }

    /// Keeps the places that are not in `others`.
    pub fn retain_out(&mut self, others: &Self) {
        let pairs = self.words.iter_mut().zip(&others.words);
        pairs.for_each(|(word, other)| *word &= !other);
    }

    /// The places, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        let bits = |(at, word): (u32, u64)| {
            let rests = std::iter::successors(Some(word), |rest| Some(rest & rest.wrapping_sub(1)));
            let left = rests.take_while(|rest| *rest != 0);
            left.map(move |rest| at * WORD + rest.trailing_zeros())
        };
        (0..).zip(self.words.iter().copied()).flat_map(bits)
    }
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// Coin Flip (F), by which all members agree on a single flip. Step 2: heads if an odd number of
/// all members flipped heads. The result is fair if at least one flip is unknown to the members
/// that choose the others.
pub fn coin(heads: &Places) -> Flip {
    Flip::heads_if(heads.count() % 2 == 1)
}

#[cfg(test)]
mod tests {
    use super::Places;

    #[test]
    fn a_set_of_places_works_across_words() {
        let mut places = Places::none(130);
        for place in [0, 63, 64, 129] {
            places.put(place, true);
        }
        places.put(63, false);
        assert_eq!(places.iter().collect::<Vec<_>>(), [0, 64, 129]);
        assert_eq!((places.count(), Places::all(130).count()), (3, 130));
        let mut others = Places::all(130);
        others.retain_out(&places);
        assert_eq!(others.count(), 127);
        assert_eq!(places.count_in(&others), 0);
        others.put(64, true);
        places.retain_in(&others);
        assert_eq!(places.iter().collect::<Vec<_>>(), [64]);
        assert!(places.contains(64) && !places.contains(0));
    }
}
