//! Samples of fewer than eight bits, stored from the highest bit of each byte.

/// Unpacks a row of 1-bit, 2-bit or 4-bit samples, including the unused ones in its last byte.
pub fn unpacked(row: &[u8], bits: usize) -> impl Iterator<Item = u8> {
    row.iter().flat_map(move |byte| (0..8 / bits).map(move |at| byte << (at * bits) >> (8 - bits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_sample_is_in_the_highest_bits() {
        assert_eq!(unpacked(&[0b1010_0001], 1).collect::<Vec<_>>(), [1, 0, 1, 0, 0, 0, 0, 1]);
        assert_eq!(unpacked(&[0b0001_1011], 2).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(unpacked(&[0x1f, 0x23], 4).collect::<Vec<_>>(), [1, 15, 2, 3]);
    }
}
