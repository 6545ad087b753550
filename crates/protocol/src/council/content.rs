//! What the paper's feedback message has, in as few bits as its Table I says (claim C12).
//!
//! | algorithm | bits |
//! |---|---|
//! | naive, basic | the count |
//! | Skip-Reset, history | the count, the reset |
//! | choice | the count, the reset, the draw that was taken |
//! | Bolot | the centre's key (16), how many bits of it count (5) |
//!
//! The count comes last, so that the whole is as short as the count allows. Which of these it is both sides know. What
//! goes with it in a [`Feedback`](super::Feedback), numbers against what is old, and top-ups, the paper does not have.
//!
//! Counts are whole, and so are an agent's estimates. Those of [`Search::Printed`](super::Search::Printed) are powers or parts of
//! others; the paper takes them as they come, and what they are beyond a whole number goes before the count, in 24 bits more: rounded,
//! they would have small groups take another number of rounds than they do on paper.

use super::Algorithm;

/// The feedback of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Content {
    /// `N_c`: so many have replied, or take part.
    pub count: u32,
    /// What an estimate is beyond that, in parts of 2^24.
    pub fraction: u32,
    /// `r`: those draw again who were active before.
    pub reset: bool,
    /// Which draw was taken.
    pub taken: u8,
}

/// In how many bits a fraction is told: to 6 in 10^8 of a host.
const FRACTION: u32 = 24;

/// How many bits a reset takes, and the number of a draw.
fn widths(algorithm: Algorithm) -> (u32, u32) {
    match algorithm {
        Algorithm::Naive | Algorithm::Basic | Algorithm::Merit | Algorithm::Bolot => (0, 0),
        Algorithm::SkipReset | Algorithm::History { .. } => (1, 0),
        Algorithm::Choice(_, _) => (1, 1),
    }
}

impl Content {
    /// All draw, by this number.
    pub(super) fn to_all(number: f64) -> Self {
        // Casts saturate, and cut off.
        let count = number as u32;
        let fraction = ((number - f64::from(count)) * f64::from(1 << FRACTION)) as u32;
        Self {
            count,
            fraction: fraction.min((1 << FRACTION) - 1),
            reset: true,
            taken: 0,
        }
    }

    /// The number with its fraction.
    #[inline]
    pub(super) fn number(self) -> f64 {
        f64::from(self.count) + f64::from(self.fraction) / f64::from(1 << FRACTION)
    }

    /// In as few bits as there can be.
    pub fn encode(self, algorithm: Algorithm) -> u64 {
        let (reset, draw) = widths(algorithm);
        let flags = match (reset, draw) {
            (0, _) => 0,
            (_, 0) => u64::from(self.reset),
            _ => u64::from(self.reset) << 1 | u64::from(self.taken & 1),
        };
        let number = u64::from(self.fraction) << u32::BITS | u64::from(self.count);
        number << (reset + draw) | flags
    }

    /// None: nobody says so. `continues` is whether the message's number goes on where the last ended: where there is no bit
    /// for a reset that tells it.
    pub fn decode(word: u64, algorithm: Algorithm, continues: bool) -> Option<Self> {
        let (reset, draw) = widths(algorithm);
        let number = word >> (reset + draw);
        let (fraction, count) = ((number >> u32::BITS) as u32, number as u32);
        if fraction >> FRACTION != 0 {
            return None;
        }
        let reset = match reset {
            0 => !continues,
            _ => word >> draw & 1 == 1,
        };
        // A reset goes back beyond the last round, anything else goes on from it.
        (reset != continues).then_some(Self {
            count,
            fraction,
            reset,
            taken: if draw == 1 { (word & 1) as u8 } else { 0 },
        })
    }
}

/// A mask of Bolot's: so many leading bits of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mask {
    pub(super) key: u16,
    pub(super) bits: u8,
}

impl Mask {
    /// The bits of a key.
    pub(super) const WHOLE: u8 = u16::BITS as u8;

    pub(super) fn count(self) -> u32 {
        u32::from(self.bits) << u16::BITS | u32::from(self.key)
    }

    /// None: no key has so many bits.
    pub(super) fn from_count(count: u32) -> Option<Self> {
        let bits = u8::try_from(count >> u16::BITS).ok()?;
        (bits <= Self::WHOLE).then_some(Self {
            key: count as u16,
            bits,
        })
    }

    pub(super) fn admits(self, key: u16) -> bool {
        let differing = u32::from(self.key ^ key);
        differing >> (Self::WHOLE - self.bits) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Content, Mask};
    use crate::council::Algorithm;

    fn bits(word: u64) -> u32 {
        u64::BITS - word.leading_zeros()
    }

    #[test]
    fn c12_feedback_takes_the_bits_of_table_i() {
        // The table's `log n` is what the number n takes.
        for (n, log_n) in [(500, 9), (10_000, 14), (100_000, 17), (u32::MAX, 32)] {
            let longest = Content {
                count: n,
                fraction: 0,
                reset: true,
                taken: 1,
            };
            let takes = |algorithm| bits(longest.encode(algorithm));
            assert_eq!(takes(Algorithm::Basic), log_n);
            assert_eq!(takes(Algorithm::SkipReset), 1 + log_n);
            assert_eq!(takes(Algorithm::CHOICE), 2 + log_n);
            assert_eq!(takes(Algorithm::HISTORY), 1 + log_n);
        }
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        for algorithm in [
            Algorithm::Naive,
            Algorithm::Basic,
            Algorithm::SkipReset,
            Algorithm::CHOICE,
            Algorithm::HISTORY,
            Algorithm::Merit,
        ] {
            for (count, fraction) in [(0, 0), (1, 5), (77, 0xff_ffff), (u32::MAX, 1)] {
                for reset in [false, true] {
                    for taken in 0..algorithm.draws() {
                        let content = Content {
                            count,
                            fraction,
                            reset,
                            taken,
                        };
                        let word = content.encode(algorithm);
                        let decoded = Content::decode(word, algorithm, !reset);
                        assert_eq!(decoded, Some(content), "{algorithm:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn estimates_are_told_as_they_are() {
        for number in [16.25, 281.838_293_126, 1e5, 3_162.277_660_168, 0.0] {
            let told = Content::to_all(number).number();
            assert!((told - number).abs() < 1e-7, "{number}: {told}");
        }
        assert_eq!(Content::to_all(1e5).fraction, 0);
        assert_eq!(Content::to_all(1e300).count, u32::MAX);
        assert_eq!(Content::to_all(f64::NAN).number(), 0.0);
    }

    #[test]
    fn nonsense_is_refused() {
        assert_eq!(Content::decode(u64::MAX, Algorithm::Basic, true), None);
        // A reset whose number goes on, and a continuation whose number goes back.
        assert_eq!(Content::decode(1, Algorithm::SkipReset, true), None);
        assert_eq!(Content::decode(2, Algorithm::SkipReset, false), None);
        assert_eq!(Mask::from_count(17 << 16), None);
        assert_eq!(Mask::from_count(u32::MAX), None);
    }

    #[test]
    fn masks_are_nested() {
        let mask = |bits| Mask {
            key: 0b1010_0000_0000_0001,
            bits,
        };
        assert!(mask(16).admits(0b1010_0000_0000_0001));
        assert!(!mask(16).admits(0b1010_0000_0000_0000));
        assert!(mask(15).admits(0b1010_0000_0000_0000));
        assert!(mask(3).admits(0b1011_1111_1111_1111));
        assert!(!mask(4).admits(0b1011_1111_1111_1111));
        assert!(mask(0).admits(0));
        assert_eq!(Mask::from_count(mask(5).count()), Some(mask(5)));
    }
}
