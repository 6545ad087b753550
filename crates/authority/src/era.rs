//! Eras: the high bits of a fence.
//!
//! An authority derives its count of tenures from its own state: ballots, a store's revisions, or a
//! counter in a row. That state can be lost for good, for example with the disks of a majority of
//! voters, or when a store is restored from an old copy. The count then restarts below fences that
//! resources have already seen. An operator must raise the era: every fence of the new era is above
//! all fences of the old one. A fence remains one number that a resource can compare, and it fits
//! into a signed 64-bit column.

use hustings_protocol::tenure::Fence;
use hustings_protocol::tenure::counter::{COUNT_BITS, LAST_ERA, era_of};

/// The last era.
pub const LAST: u16 = LAST_ERA as u16;

/// The first counter of an era.
pub const fn begin(era: u16) -> u64 {
    (era as u64) << COUNT_BITS
}

/// The era of a counter.
pub const fn of(counter: u64) -> u64 {
    era_of(counter)
}

/// Returns the first era that is above that of `counter`, or `None` if there is none left.
pub fn after(counter: u64) -> Option<u16> {
    let next = u16::try_from(of(counter)).ok()?.checked_add(1)?;
    (next <= LAST).then_some(next)
}

/// The last fence of an era. A resource that has seen it accepts no other fence of that era.
pub const fn last(era: u16) -> Fence {
    Fence(begin(era) + begin(1) - 1)
}

/// Returns the fence of an authority's `count` in `era`, or `None` if the count or the era is
/// beyond its last value.
pub fn fence(era: u16, count: u64) -> Option<Fence> {
    (era <= LAST && count < begin(1)).then(|| Fence(begin(era) + count))
}

#[cfg(test)]
mod tests {
    use super::{LAST, after, begin, fence, last, of};
    use hustings_protocol::tenure::Fence;

    #[test]
    fn every_fence_of_a_later_era_is_above_those_of_earlier_ones() {
        assert_eq!(fence(0, 7), Some(Fence(7)));
        assert!(fence(1, 0) > fence(0, begin(1) - 1));
        assert_eq!(fence(0, begin(1)), None);
        assert_eq!([of(begin(3)), of(begin(3) - 1), of(last(3).0)], [3, 2, 3]);
        assert_eq!(fence(3, begin(1) - 1), Some(last(3)));
        assert_eq!(fence(LAST + 1, 0), None);
        assert_eq!([after(7), after(begin(LAST) - 1)], [Some(1), Some(LAST)]);
        assert_eq!([after(begin(LAST)), after(u64::MAX)], [None, None]);
        assert!(fence(LAST, begin(1) - 1).is_some_and(|it| i64::try_from(it.0).is_ok()));
    }
}
