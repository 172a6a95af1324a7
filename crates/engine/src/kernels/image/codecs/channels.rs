//! From grey to RGB, and with or without alpha.

use crate::tensor::allocate::{self, Refusal};

/// Converts pixels of `from` channels to pixels of `to` channels: 1 grey, 3 RGB, 4 RGB with alpha.
/// What has colours must not become grey.
pub fn convert<T: Copy>(samples: Vec<T>, from: usize, to: usize, opaque: T) -> std::result::Result<Vec<T>, Refusal> {
    if from == to {
        return Ok(samples);
    }
    let mut converted = allocate::room(samples.len() / from * to)?;
    for pixel in samples.chunks_exact(from) {
        match from {
            1 => converted.extend([pixel[0]; 3]),
            _ => converted.extend_from_slice(&pixel[..3]),
        }
        if to == 4 {
            converted.push(if from == 4 { pixel[3] } else { opaque });
        }
    }
    Ok(converted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greys_are_repeated_and_alpha_is_opaque_or_dropped() {
        assert_eq!(convert(vec![1, 2], 1, 3, 9).unwrap(), [1, 1, 1, 2, 2, 2]);
        assert_eq!(convert(vec![1], 1, 4, 9).unwrap(), [1, 1, 1, 9]);
        assert_eq!(convert(vec![1, 2, 3], 3, 4, 9).unwrap(), [1, 2, 3, 9]);
        assert_eq!(convert(vec![1, 2, 3, 4], 4, 3, 9).unwrap(), [1, 2, 3]);
    }
}
