//! Limits on the growth of ballot counters.
//!
//! The upper bits of a counter are its era, the lower [`COUNT_BITS`] count ballots. Only a person
//! begins an era. A counter in a message is one that its sender chose: if a voter followed any
//! counter, one message could use up all counters, and no tenure would ever be granted again. So a
//! voter raises its promise by [`REACH`] at most in one step, and never out of its era.

/// The number of bits that count ballots within an era. At 100 ballots a second they last for
/// 89,000 years.
pub const COUNT_BITS: u32 = 48;

/// The last era. Its fences still fit into a signed 64-bit number.
pub const LAST_ERA: u64 = (1 << (63 - COUNT_BITS)) - 1;

/// The greatest step by which a voter raises its promise: a 4,096th of an era. Counters usually
/// rise by 1, and by 2^32 when a voter is initialised after its disk was lost. A voter may be away
/// while that happens 16 times.
pub const REACH: u64 = 1 << 36;

/// Returns the era of a counter.
pub const fn era_of(counter: u64) -> u64 {
    counter >> COUNT_BITS
}

/// Returns the last counter of the era of `counter`.
pub const fn last_of_era(counter: u64) -> u64 {
    counter | ((1 << COUNT_BITS) - 1)
}

/// Returns the highest counter that a voter may promise after `promised`.
pub const fn reach_of(promised: u64) -> u64 {
    let (last, most) = (last_of_era(promised), promised.saturating_add(REACH));
    if most < last { most } else { last }
}

/// Returns true if a voter can have promised `counter`: its era is at most the last one.
pub const fn is_lawful(counter: u64) -> bool {
    era_of(counter) <= LAST_ERA
}

#[cfg(test)]
mod tests {
    use super::{COUNT_BITS, LAST_ERA, REACH, is_lawful, last_of_era, reach_of};

    #[test]
    fn a_step_stays_in_the_era_and_an_era_lasts_for_centuries() {
        let second_era = 1 << COUNT_BITS;
        assert_eq!(reach_of(0), REACH);
        assert_eq!(reach_of(second_era), second_era + REACH);
        for promised in [second_era - 1, second_era - 2, second_era - REACH] {
            assert_eq!(reach_of(promised), second_era - 1, "{promised}");
        }
        assert_eq!(reach_of(u64::MAX), u64::MAX);
        let century_at_a_hundred_a_second: u64 = 100 * 365 * 24 * 3600 * 100;
        assert!(second_era - REACH > 800 * century_at_a_hundred_a_second);
    }

    #[test]
    fn lawful_counters_fit_into_a_signed_64_bit_number() {
        let last = last_of_era(LAST_ERA << COUNT_BITS);
        assert_eq!(i64::try_from(last), Ok(i64::MAX));
        assert!(is_lawful(last) && !is_lawful(last + 1) && !is_lawful(u64::MAX));
    }
}
