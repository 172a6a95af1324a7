//! SipHash-2-4: a keyed hash of strings. Nobody can find collisions without the key.
//!
//! Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012).

/// The hash of some bytes with a key.
pub fn hash(key: [u64; 2], bytes: &[u8]) -> u64 {
    let mut state = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    let (words, rest) = bytes.as_chunks::<8>();
    // The last word holds the remaining bytes, and the length in its highest byte.
    let rest = rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let last = rest | (bytes.len() as u64) << 56;
    for word in words.iter().map(|word| u64::from_le_bytes(*word)).chain([last]) {
        state[3] ^= word;
        (0..2).for_each(|_| round(&mut state));
        state[0] ^= word;
    }
    state[2] ^= 0xff;
    (0..4).for_each(|_| round(&mut state));
    state.into_iter().fold(0, |hash, word| hash ^ word)
}

fn round(state: &mut [u64; 4]) {
    let [mut a, mut b, mut c, mut d] = *state;
    a = a.wrapping_add(b);
    b = b.rotate_left(13) ^ a;
    a = a.rotate_left(32);
    c = c.wrapping_add(d);
    d = d.rotate_left(16) ^ c;
    a = a.wrapping_add(d);
    d = d.rotate_left(21) ^ a;
    c = c.wrapping_add(b);
    b = b.rotate_left(17) ^ c;
    c = c.rotate_left(32);
    *state = [a, b, c, d];
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the paper's appendix, and the first vectors of the authors' program.
    #[test]
    fn hashes_match_the_paper() {
        let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let bytes: Vec<u8> = (0..15).collect();
        assert_eq!(hash(key, &bytes), 0xa129_ca61_49be_45e5);
        assert_eq!(hash(key, &[]), 0x726f_db47_dd0e_0e31);
        assert_eq!(hash(key, &bytes[..8]), 0x93f5_f579_9a93_2462);
    }
}
