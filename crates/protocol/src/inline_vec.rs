//! A short list stored inside a message, without an allocation for each of a million messages.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A list of at most `N` items. On the wire it is a plain sequence.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<T>", try_from = "Vec<T>")]
#[serde(bound(serialize = "T: Copy + Serialize", deserialize = "T: Copy + Deserialize<'de>"))]
pub struct InlineVec<T: Copy, const N: usize> {
    /// All `Some` items come before the first `None`.
    items: [Option<T>; N],
}

impl<T: Copy, const N: usize> InlineVec<T, N> {
    /// The empty list.
    pub const NONE: Self = Self { items: [None; N] };

    /// Adds `item` if there is room. Returns true if it was added.
    pub fn push(&mut self, item: T) -> bool {
        match self.items.iter_mut().find(|place| place.is_none()) {
            Some(place) => {
                *place = Some(item);
                true
            }
            None => false,
        }
    }

    /// Exchanges two items by their positions.
    ///
    /// # Panics
    /// If a position is not below the length.
    pub fn swap(&mut self, one: usize, other: usize) {
        let len = self.len();
        self.items[..len].swap(one, other);
    }

    /// All items, in order.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        self.items.iter().map_while(|item| *item)
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// True if there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Copy, const N: usize> FromIterator<T> for InlineVec<T, N> {
    /// Takes the first `N` items and drops the rest.
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::NONE;
        for item in items.into_iter().take(N) {
            list.push(item);
        }
        list
    }
}

impl<T: Copy, const N: usize> From<InlineVec<T, N>> for Vec<T> {
    fn from(list: InlineVec<T, N>) -> Self {
        list.iter().collect()
    }
}

/// The error for a sequence with more items than the list can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany {
    /// The number of items in the sequence.
    pub items: usize,
    /// The greatest number that is allowed.
    pub most: usize,
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { items, most } = self;
        write!(f, "{items} items where at most {most} fit")
    }
}

impl std::error::Error for TooMany {}

impl<T: Copy, const N: usize> TryFrom<Vec<T>> for InlineVec<T, N> {
    type Error = TooMany;

    fn try_from(items: Vec<T>) -> Result<Self, TooMany> {
        match items.len() {
            len if len > N => Err(TooMany { items: len, most: N }),
            _ => Ok(items.into_iter().collect()),
        }
    }
}

impl<T: Copy + fmt::Debug, const N: usize> fmt::Debug for InlineVec<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{InlineVec, TooMany};

    #[test]
    fn the_list_keeps_the_order_and_refuses_items_above_its_capacity() {
        let mut list: InlineVec<u8, 3> = [4, 5].into_iter().collect();
        assert!(list.push(6) && !list.push(7));
        assert_eq!(Vec::from(list), [4, 5, 6]);
        assert_eq!(InlineVec::try_from(vec![4, 5, 6]), Ok(list));
        let refused = InlineVec::<u8, 3>::try_from(vec![1, 2, 3, 4]);
        assert_eq!(refused, Err(TooMany { items: 4, most: 3 }));
        assert!(InlineVec::<u8, 3>::NONE.is_empty());
    }
}
