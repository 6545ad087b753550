//! The content of the paper's feedback message, in as few bits as its Table I has (claim C12).
//!
//! | algorithm | bits |
//! |---|---|
//! | naive, basic | the count |
//! | Skip-Reset, history | the count, the reset |
//! | choice | the count, the reset, the draw that was taken |
//! | Bolot | the centre's key (16), the number of its significant bits (5) |
//!
//! The count comes last, so that the whole is as short as the count allows. Both sides know the
//! algorithm. The other fields of a [`Feedback`](super::Feedback), against old messages and for
//! top-ups, are not in the paper.
//!
//! Counts are whole, and so are an agent's estimates. Estimates of
//! [`Search::Printed`](super::Search::Printed) are powers or fractions of others. The paper uses
//! them unrounded, so their fraction precedes the count in 24 more bits: rounded estimates would
//! give small groups another number of rounds than in the paper.

use super::Algorithm;

/// The feedback of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireBits {
    /// `N_c`: the number of hosts that have replied, or take part.
    pub count: u32,
    /// The fraction of an estimate, in units of 2^-24.
    pub fraction: u32,
    /// `r`: the hosts that were active before draw again.
    pub reset: bool,
    /// The draw that was taken.
    pub taken: u8,
}

/// The number of bits of a fraction: a resolution of 6 in 10^8 of a host.
const FRACTION: u32 = 24;

/// The number of bits of a reset, and of the number of a draw.
fn widths(algorithm: Algorithm) -> (u32, u32) {
    match algorithm {
        Algorithm::Naive | Algorithm::Basic | Algorithm::Priority | Algorithm::Bolot => (0, 0),
        Algorithm::SkipReset | Algorithm::History { .. } => (1, 0),
        Algorithm::Choice(_, _) => (1, 1),
    }
}

impl WireBits {
    /// All hosts draw, by this number.
    pub(super) fn to_all(number: f64) -> Self {
        // Casts saturate and truncate.
        let count = number as u32;
        let fraction = ((number - f64::from(count)) * f64::from(1 << FRACTION)) as u32;
        Self { count, fraction: fraction.min((1 << FRACTION) - 1), reset: true, taken: 0 }
    }

    /// The number with its fraction.
    #[inline]
    pub(super) fn number(self) -> f64 {
        f64::from(self.count) + f64::from(self.fraction) / f64::from(1 << FRACTION)
    }

    /// Encodes the content in as few bits as possible.
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

    /// Returns `None` for a word that no centre sends. `continues`: the message's base is the round
    /// before it. Without a bit for the reset, this decides it.
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
        // A reset goes back beyond the last round, anything else continues from it.
        (reset != continues).then_some(Self {
            count,
            fraction,
            reset,
            taken: if draw == 1 { (word & 1) as u8 } else { 0 },
        })
    }
}

/// A mask of Bolot's: a number of leading bits of a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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

    /// Returns `None` if no key has that many bits.
    pub(super) fn from_count(count: u32) -> Option<Self> {
        let bits = u8::try_from(count >> u16::BITS).ok()?;
        (bits <= Self::WHOLE).then_some(Self { key: count as u16, bits })
    }

    pub(super) fn admits(self, key: u16) -> bool {
        let differing = u32::from(self.key ^ key);
        differing >> (Self::WHOLE - self.bits) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{Mask, WireBits};
    use crate::council::Algorithm;

    fn bits(word: u64) -> u32 {
        u64::BITS - word.leading_zeros()
    }

    #[test]
    fn c12_feedback_takes_the_bits_of_table_i() {
        // The table's `log n` is the number of bits of n.
        for (n, log_n) in [(500, 9), (10_000, 14), (100_000, 17), (u32::MAX, 32)] {
            let longest = WireBits { count: n, fraction: 0, reset: true, taken: 1 };
            let takes = |algorithm| bits(longest.encode(algorithm));
            assert_eq!(takes(Algorithm::Basic), log_n);
            assert_eq!(takes(Algorithm::SkipReset), 1 + log_n);
            assert_eq!(takes(Algorithm::CHOICE), 2 + log_n);
            assert_eq!(takes(Algorithm::HISTORY), 1 + log_n);
        }
    }

    #[test]
    fn content_survives_encoding_and_decoding() {
        for algorithm in [
            Algorithm::Naive,
            Algorithm::Basic,
            Algorithm::SkipReset,
            Algorithm::CHOICE,
            Algorithm::HISTORY,
            Algorithm::Priority,
        ] {
            for (count, fraction) in [(0, 0), (1, 5), (77, 0xff_ffff), (u32::MAX, 1)] {
                for reset in [false, true] {
                    for taken in 0..algorithm.draws() {
                        let wire_bits = WireBits { count, fraction, reset, taken };
                        let word = wire_bits.encode(algorithm);
                        let decoded = WireBits::decode(word, algorithm, !reset);
                        assert_eq!(decoded, Some(wire_bits), "{algorithm:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn estimates_are_encoded_to_a_ten_millionth_of_a_host() {
        for number in [16.25, 281.838_293_126, 1e5, 3_162.277_660_168, 0.0] {
            let told = WireBits::to_all(number).number();
            assert!((told - number).abs() < 1e-7, "{number}: {told}");
        }
        assert_eq!(WireBits::to_all(1e5).fraction, 0);
        assert_eq!(WireBits::to_all(1e300).count, u32::MAX);
        assert_eq!(WireBits::to_all(f64::NAN).number(), 0.0);
    }

    #[test]
    fn invalid_words_are_refused() {
        assert_eq!(WireBits::decode(u64::MAX, Algorithm::Basic, true), None);
        // A reset whose number continues, and a continuation whose number goes back.
        assert_eq!(WireBits::decode(1, Algorithm::SkipReset, true), None);
        assert_eq!(WireBits::decode(2, Algorithm::SkipReset, false), None);
        assert_eq!(Mask::from_count(17 << 16), None);
        assert_eq!(Mask::from_count(u32::MAX), None);
    }

    #[test]
    fn a_shorter_mask_admits_all_keys_of_a_longer_one() {
        let mask = |bits| Mask { key: 0b1010_0000_0000_0001, bits };
        assert!(mask(16).admits(0b1010_0000_0000_0001));
        assert!(!mask(16).admits(0b1010_0000_0000_0000));
        assert!(mask(15).admits(0b1010_0000_0000_0000));
        assert!(mask(3).admits(0b1011_1111_1111_1111));
        assert!(!mask(4).admits(0b1011_1111_1111_1111));
        assert!(mask(0).admits(0));
        assert_eq!(Mask::from_count(mask(5).count()), Some(mask(5)));
    }
}
