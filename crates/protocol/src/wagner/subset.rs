//! Subset (S): all members agree on a part of those that are active, with a probability that is its part of them.
//!
//! Step 4 compares a random number `t`, bit by bit, with `r = heads / active`. After `j` bits, which make the number `b`,
//! all that matters is `rest = heads 2^j - active b`: `t` lies above `r` if `rest` is below 0, and below `r`, whatever bits
//! follow, if it is above `active`. Until then it lies between the two, so it never overflows.

use super::flips::{Flip, Places};

/// When step 4 takes a comparison for decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// As printed: `0.b1..bj > r`, or `0.b1..bj111... < r`.
    Strict,
    /// `0.b1..bj >= r`, or `0.b1..bj111... <= r`. What follows decides nothing, as it has probability 0: a half takes one
    /// flip, and not three.
    NonStrict,
}

/// Which of two parts of the active members stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// Subset, as in this file: either with the probability that is its part of them.
    Proportional,
    /// The informal protocol of the paper's introduction: heads if the heads of all members are odd, else tails. A cheater that
    /// sees its neighbours' flips first is elected more often than its due: for the laboratory.
    Parity,
}

/// What step 2 makes of the first Basic round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum First {
    /// All active members flipped alike: all of them stay.
    Equal,
    /// They did not: which of the two parts stays is open.
    Split(Choice),
}

/// Steps 3 to 5 under way: heads or tails?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    heads: Places,
    active: i64,
    rest: i64,
}

/// Which of the two parts stays active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Those that flipped heads: `t < r`.
    Heads(Places),
    /// Those that flipped tails: `t > r`.
    Tails(Places),
}

/// Steps 1 to 3: what the flips of all members, of whom `heads` flipped heads, mean for those that are `active`.
pub fn begin(active: &Places, heads: &Places) -> First {
    let (all, number) = (active.count(), heads.count_in(active));
    if number == 0 || number == all {
        return First::Equal;
    }
    First::Split(Choice {
        heads: heads.clone(),
        active: all.into(),
        rest: number.into(),
    })
}

impl Choice {
    /// The part of those that flipped as `side` does.
    pub(super) fn part(self, side: Flip) -> Part {
        match side {
            Flip::Heads => Part::Heads(self.heads),
            Flip::Tails => Part::Tails(self.heads),
        }
    }

    /// Step 4: one more bit of `t`. The part that stays, if that is clear now.
    pub fn take(&mut self, bit: Flip, compare: Compare) -> Option<Part> {
        self.rest *= 2;
        match bit {
            Flip::Heads => self.rest -= self.active,
            Flip::Tails => {}
        }
        let (is_above, is_below) = match compare {
            Compare::Strict => (self.rest < 0, self.rest > self.active),
            Compare::NonStrict => (self.rest <= 0, self.rest >= self.active),
        };
        if is_above {
            Some(Part::Tails(std::mem::take(&mut self.heads)))
        } else if is_below {
            Some(Part::Heads(std::mem::take(&mut self.heads)))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Compare, First, Flip, Part, Places, begin};

    fn choice(heads: u32, active: u32) -> Choice {
        let mut flipped = Places::none(active);
        (0..heads).for_each(|place| flipped.put(place, true));
        match begin(&Places::all(active), &flipped) {
            First::Split(choice) => choice,
            First::Equal => panic!("{heads} of {active} is a split"),
        }
    }

    /// What the bits of `t` lead to, and how many it took; heads are ones.
    fn decide(heads: u32, active: u32, compare: Compare, bits: &str) -> Option<(bool, usize)> {
        let mut choice = choice(heads, active);
        for (at, bit) in bits.chars().enumerate() {
            match choice.take(Flip::heads_if(bit == '1'), compare) {
                Some(Part::Heads(_)) => return Some((true, at + 1)),
                Some(Part::Tails(_)) => return Some((false, at + 1)),
                None => {}
            }
        }
        None
    }

    #[test]
    fn a_half_takes_one_bit_unless_the_comparison_is_strict() {
        assert_eq!(decide(1, 2, Compare::NonStrict, "0"), Some((true, 1)));
        assert_eq!(decide(1, 2, Compare::NonStrict, "1"), Some((false, 1)));
        assert_eq!(decide(1, 2, Compare::Strict, "1001"), Some((false, 4)));
        assert_eq!(decide(1, 2, Compare::Strict, "0110"), Some((true, 4)));
        assert_eq!(decide(1, 2, Compare::Strict, "1000"), None);
    }

    #[test]
    fn a_third_is_left_where_the_bits_of_t_leave_its_own() {
        // 1/3 is 0.010101...
        for compare in [Compare::Strict, Compare::NonStrict] {
            assert_eq!(decide(1, 3, compare, "1"), Some((false, 1)));
            assert_eq!(decide(1, 3, compare, "00"), Some((true, 2)));
            assert_eq!(decide(1, 3, compare, "0101010"), None);
            assert_eq!(decide(1, 3, compare, "01010100"), Some((true, 8)));
        }
    }

    #[test]
    fn flips_of_members_that_are_not_active_do_not_matter() {
        let mut active = Places::none(5);
        let mut heads = Places::none(5);
        active.put(1, true);
        active.put(3, true);
        heads.put(0, true);
        assert_eq!(begin(&active, &heads), First::Equal);
        heads.put(1, true);
        heads.put(3, true);
        assert_eq!(begin(&active, &heads), First::Equal);
        heads.put(3, false);
        assert!(matches!(begin(&active, &heads), First::Split(_)));
    }
}
