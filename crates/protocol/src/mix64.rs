//! Deterministic pseudo-random numbers, the same on every machine, for hashes and seeds.

/// A bijection that mixes its input over all 64 bits (the finaliser of splitmix64).
#[inline]
pub fn mix64(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Maps a uniform 64-bit `number` to an index below `bound`, each with the same probability.
#[inline]
pub fn fit(number: u64, bound: u64) -> u64 {
    ((u128::from(number) * u128::from(bound)) >> 64) as u64
}

/// Maps a random number evenly into the range from 0 to 1, without 1.
#[inline]
pub fn unit(number: u64) -> f64 {
    (number >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}
