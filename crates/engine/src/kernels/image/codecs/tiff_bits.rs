//! Samples of TIFF of fewer bits than a byte has.
//!
//! Source: TIFF 6.0, sections 3 to 5.

use crate::tensor::allocate::{self, Refusal};

/// Unpacks samples of 1, 2 or 4 bits, of which the first is the highest in a byte, times a number. Each
/// row begins with a byte.
pub fn unpacked(packed: &[u8], width: usize, bits: u8, times: u8) -> Result<Vec<u8>, Refusal> {
    let in_byte = usize::from(8 / bits);
    let row_bytes = width.div_ceil(in_byte);
    let mut samples = allocate::room(packed.len() / row_bytes * width)?;
    for row in packed.chunks_exact(row_bytes) {
        let all = row.iter().flat_map(|byte| (0..8 / bits).map(move |at| byte << (at * bits) >> (8 - bits)));
        samples.extend(all.take(width).map(|sample| sample * times));
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_begins_with_a_byte() {
        let unpacked = |packed: &[u8], width, bits, times| unpacked(packed, width, bits, times).unwrap();
        assert_eq!(unpacked(&[0b1010_0000, 0b1111_0000], 3, 1, 255), [255, 0, 255, 255, 255, 255]);
        assert_eq!(unpacked(&[0b0001_1011, 0b1100_0000], 5, 2, 85), [0, 85, 170, 255, 255]);
        assert_eq!(unpacked(&[0x1f], 2, 4, 17), [17, 255]);
    }
}
