//! A short list inside a message: no allocation for each of a million.

use std::fmt;

use serde::{Deserialize, Serialize};

/// At most `N` items. On the wire it is a plain sequence.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Vec<T>", try_from = "Vec<T>")]
#[serde(bound(
    serialize = "T: Copy + Serialize",
    deserialize = "T: Copy + Deserialize<'de>"
))]
pub struct Few<T: Copy, const N: usize> {
    /// Those that there are come first.
    items: [Option<T>; N],
}

impl<T: Copy, const N: usize> Few<T, N> {
    /// None yet.
    pub const NONE: Self = Self { items: [None; N] };

    /// Adds one if there is room. Returns whether there was.
    pub fn push(&mut self, item: T) -> bool {
        match self.items.iter_mut().find(|place| place.is_none()) {
            Some(place) => {
                *place = Some(item);
                true
            }
            None => false,
        }
    }

    /// Exchanges the places of two.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn swap(&mut self, one: usize, other: usize) {
        let len = self.len();
        self.items[..len].swap(one, other);
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        self.items.iter().map_while(|item| *item)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T: Copy, const N: usize> FromIterator<T> for Few<T, N> {
    /// The first of them, as many as there is room for.
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut few = Self::NONE;
        for item in items.into_iter().take(N) {
            few.push(item);
        }
        few
    }
}

impl<T: Copy, const N: usize> From<Few<T, N>> for Vec<T> {
    fn from(few: Few<T, N>) -> Self {
        few.iter().collect()
    }
}

/// More items came than a message may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany {
    /// How many.
    pub items: usize,
    /// How many there may be.
    pub most: usize,
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { items, most } = self;
        write!(f, "{items} items where at most {most} fit")
    }
}

impl std::error::Error for TooMany {}

impl<T: Copy, const N: usize> TryFrom<Vec<T>> for Few<T, N> {
    type Error = TooMany;

    fn try_from(items: Vec<T>) -> Result<Self, TooMany> {
        match items.len() {
            len if len > N => Err(TooMany {
                items: len,
                most: N,
            }),
            _ => Ok(items.into_iter().collect()),
        }
    }
}

impl<T: Copy + fmt::Debug, const N: usize> fmt::Debug for Few<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{Few, TooMany};

    #[test]
    fn it_holds_what_fits_in_order() {
        let mut few: Few<u8, 3> = [4, 5].into_iter().collect();
        assert!(few.push(6) && !few.push(7));
        assert_eq!(Vec::from(few), [4, 5, 6]);
        assert_eq!(Few::try_from(vec![4, 5, 6]), Ok(few));
        let refused = Few::<u8, 3>::try_from(vec![1, 2, 3, 4]);
        assert_eq!(refused, Err(TooMany { items: 4, most: 3 }));
        assert!(Few::<u8, 3>::NONE.is_empty());
    }
}
