//! Subset (S): all members agree on a part of the active ones, with a probability equal to its
//! share.
//!
//! Step 4 compares a random number `t`, bit by bit, with `r = heads / active`. After `j` bits,
//! which make the number `b`, only `rest = heads 2^j - active b` matters. `t` lies above `r` if
//! `rest` is below 0, and below `r`, whatever bits follow, if it is above `active`. Until then
//! `rest` lies between the two, so it never overflows.

use serde::Deserialize;

use super::flips::{Flip, Places};

/// The condition under which step 4 is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compare {
    /// As printed: `0.b1..bj > r`, or `0.b1..bj111... < r`.
    Strict,
    /// `0.b1..bj >= r`, or `0.b1..bj111... <= r`. The difference has probability 0: a half takes
    /// one flip instead of three.
    NonStrict,
}

/// The choice between two parts of the active members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection {
    /// Subset, as in this file: each part with a probability equal to its share.
    Proportional,
    /// The informal protocol of the paper's introduction: heads if the number of heads of all
    /// members is odd, else tails. A cheater that sees its neighbours' flips first is elected more
    /// often than is fair: for experiments.
    Parity,
}

/// The result of step 2 after the first Basic round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum First {
    /// All active members flipped alike: all of them stay.
    Equal,
    /// They flipped differently: the choice between the two parts is open.
    Split(Choice),
}

/// Steps 3 to 5: the open choice between heads and tails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    heads: Places,
    active: i64,
    rest: i64,
}

/// The part that stays active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// The members that flipped heads: `t < r`.
    Heads(Places),
    /// The members that flipped tails: `t > r`.
    Tails(Places),
}

/// Steps 1 to 3: splits the `active` members by the flips of all members, of which `heads` flipped
/// heads.
pub fn begin(active: &Places, heads: &Places) -> First {
    let (all, number) = (active.count(), heads.count_in(active));
    if number == 0 || number == all {
        return First::Equal;
    }
    First::Split(Choice { heads: heads.clone(), active: all.into(), rest: number.into() })
}

impl Choice {
    /// The part of the members that flipped `side`.
    pub(super) fn part(self, side: Flip) -> Part {
        match side {
            Flip::Heads => Part::Heads(self.heads),
            Flip::Tails => Part::Tails(self.heads),
        }
    }

    /// Step 4: adds one more bit of `t`. Returns the part that stays, if it is decided now.
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

    /// The decision for the bits of `t`, and the number of bits used; heads are ones.
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
    fn a_third_is_decided_at_the_first_bit_of_t_that_differs() {
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
