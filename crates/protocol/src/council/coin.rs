//! The coins of hosts: private ones, or public ones that anyone can recompute.
//!
//! A public coin is a hash of the class, the round, the draw and the host's identity. Its key
//! follows from the seed, which all participants know beforehand. So anyone with the centre's
//! record can compute which hosts had to reply ([`audit`](super::audit)), and a centre that favours
//! a host is found out. The centre can choose neither the seed nor a round's number, and a session
//! that it begins anew has the same coins: one seed is one draw. Before the seed is known the coins
//! of all identities are indistinguishable. Afterwards anyone can compute them, so identities must
//! be settled before.

use super::{Feedback, keyed};
use crate::MemberId;

/// The source of the hosts' draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coin {
    /// Each host's own randomness.
    Private,
    /// A hash that anyone can compute.
    Public {
        /// Known to all participants beforehand.
        seed: u128,
    },
}

/// The probability of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chance {
    /// Random 64-bit numbers below this are a yes. `None`: all are.
    bound: Option<u64>,
}

impl Chance {
    /// Every host replies.
    pub(super) const CERTAIN: Self = Self { bound: None };

    /// The probability `c / number`, at most 1.
    pub(super) fn new(c: f64, number: f64) -> Self {
        let share = c / number;
        Self {
            // The cast saturates; NaN becomes 0, so that no host replies.
            bound: (share.is_nan() || share < 1.0).then(|| (share * 2f64.powi(64)) as u64),
        }
    }

    /// True if the random 64-bit `number` is a yes.
    #[inline]
    pub(super) fn admits(self, number: u64) -> bool {
        self.bound.is_none_or(|bound| number < bound)
    }

    #[inline]
    pub(super) fn is_certain(self) -> bool {
        self.bound.is_none()
    }
}

/// The draws of one host in one round, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Draws(pub u8);

impl Draws {
    /// Draws `draws` times; `number` gives the random bits of each.
    #[inline]
    pub(super) fn new(draws: u8, chance: Chance, mut number: impl FnMut(u8) -> u64) -> Self {
        let drawn = (0..draws).filter(|draw| chance.is_certain() || chance.admits(number(*draw)));
        Self(drawn.fold(0, |bits, draw| bits | 1 << draw))
    }

    /// True if this draw was a yes.
    #[inline]
    pub fn has(self, draw: u8) -> bool {
        draw < 8 && self.0 >> draw & 1 == 1
    }

    /// True if any draw was a yes.
    #[inline]
    pub(super) fn any(self) -> bool {
        self.0 != 0
    }
}

/// The public coins of one round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Toss {
    seed: u128,
    round: u64,
}

impl Toss {
    pub(super) fn new(seed: u128, feedback: &Feedback) -> Self {
        let round = u64::from(feedback.class) << 32 | u64::from(feedback.round);
        Self { seed, round }
    }

    /// 64 bits for a host's draw.
    pub(super) fn number(self, host: MemberId, draw: u8) -> u64 {
        let Self { seed, round } = self;
        keyed::hash(seed, &[round << 8 | u64::from(draw), host.0])
    }
}

#[cfg(test)]
mod tests {
    use super::{Chance, Draws, Toss};
    use crate::MemberId;
    use crate::council::Feedback;

    /// The guide's example, which was computed by another program.
    #[test]
    fn a_public_coin_equals_the_example_in_the_guide() {
        let feedback =
            Feedback { session: 1, class: 0, round: 5, base: 0, seated: 0, word: 33, floor: None };
        let host = MemberId(3_213_406_652_245_522_983);
        let coin = |feedback: &Feedback, draw| {
            let toss = Toss::new(0x4426_1f11_2c05_0a14_1f9d_1ab5_59cd_8c87, feedback);
            toss.number(host, draw)
        };
        let first = coin(&feedback, 0);
        assert_eq!(first, 0x19ba_1be0_5bc2_d0f9);
        let c = 4.195_292_820_723_31;
        assert!(Chance::new(c, 16.0).admits(first) && !Chance::new(c, 52.0).admits(first));
        let of_class = Feedback { class: 3, ..feedback };
        assert_eq!(coin(&of_class, 1), 0x5797_49c5_9a33_03ad);
    }

    #[test]
    fn a_chance_is_a_share_of_all_numbers_and_at_most_one() {
        assert!(Chance::new(0.5, 1.0).admits((1 << 63) - 1));
        assert!(!Chance::new(0.5, 1.0).admits(1 << 63));
        assert!(Chance::new(8.0, 8.0).admits(u64::MAX) && Chance::new(9.0, 8.0).is_certain());
        assert!(Chance::new(1.0, 0.0).is_certain());
        for nothing in [f64::NAN, -1.0, 0.0] {
            assert!(!Chance::new(nothing, 5.0).admits(0), "{nothing}");
        }
    }

    #[test]
    fn two_draws_use_two_coins() {
        let chance = Chance::new(1.0, 2.0);
        let draws =
            |first, second| Draws::new(2, chance, |draw| [first, second][usize::from(draw)]);
        assert_eq!(draws(0, u64::MAX), Draws(1));
        assert_eq!(draws(u64::MAX, 0), Draws(2));
        assert_eq!(draws(0, 0), Draws(3));
        assert!(!draws(u64::MAX, u64::MAX).any());
    }
}
