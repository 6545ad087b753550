//! SipHash-2-4 (Aumasson and Bernstein): a 64-bit hash under a 128-bit key. Without the key its
//! values are indistinguishable from random ones, whatever was hashed, and however many other
//! values are known.

/// The hash of `words`.
pub fn hash(key: u128, words: &[u64]) -> u64 {
    let (k0, k1) = (key as u64, (key >> 64) as u64);
    let mut state = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    // The last block contains no remaining bytes, only their number.
    let length = (words.len() as u64 * 8) << 56;
    for word in words.iter().chain([&length]) {
        state[3] ^= word;
        round(&mut state);
        round(&mut state);
        state[0] ^= word;
    }
    state[2] ^= 0xff;
    for _ in 0..4 {
        round(&mut state);
    }
    state.iter().fold(0, |hash, it| hash ^ it)
}

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

#[cfg(test)]
mod tests {
    use super::hash;

    /// The authors' test vectors: key and message are the bytes 0, 1, 2 and so on.
    #[test]
    fn the_hash_matches_the_test_vectors_of_its_authors() {
        let bytes = |from: u8| u64::from_le_bytes(std::array::from_fn(|it| from + it as u8));
        let key = u128::from(bytes(8)) << 64 | u128::from(bytes(0));
        let words: Vec<u64> = (0..7).map(|it| bytes(it * 8)).collect();
        assert_eq!(hash(key, &[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(hash(key, &words[..1]), 0x93f5_f579_9a93_2462);
        assert_eq!(hash(key, &words[..2]), 0x3f2a_cc7f_57c2_9bdb);
    }
}
