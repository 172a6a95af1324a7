//! Converts grey, palette or ink pixels to RGB, and adds or removes alpha.

use crate::tensor::allocate::{self, Refusal};

/// Converts pixels from `from` to `to` channels: 1 is grey, 2 grey with alpha, 3 RGB, 4 RGB with
/// alpha. Images with colours must not become grey.
pub fn convert<T: Copy>(samples: Vec<T>, from: usize, to: usize, opaque: T) -> std::result::Result<Vec<T>, Refusal> {
    if from == to {
        return Ok(samples);
    }
    let mut converted = allocate::room(samples.len() / from * to)?;
    for pixel in samples.chunks_exact(from) {
        match (from, to) {
            (_, 1 | 2) => converted.push(pixel[0]),
            (1 | 2, _) => converted.extend([pixel[0]; 3]),
            _ => converted.extend_from_slice(&pixel[..3]),
        }
        if matches!(to, 2 | 4) {
            converted.push(if matches!(from, 2 | 4) { pixel[from - 1] } else { opaque });
        }
    }
    Ok(converted)
}

/// Converts palette indices to RGB. None of them may be beyond the end of the palette.
pub fn from_palette<T>(
    indices: &[u8],
    palette: &[[u16; 3]],
    narrow: impl Fn(u16) -> T,
) -> std::result::Result<Vec<T>, Refusal> {
    let mut colours = allocate::room(indices.len() * 3)?;
    for index in indices {
        colours.extend(palette[usize::from(*index)].map(&narrow));
    }
    Ok(colours)
}

/// Converts cyan, magenta, yellow and black pixels, where 255 is full ink, to RGB without colour
/// profiles. The result is the light that black lets through, multiplied by the effect of the ink.
///
/// Source: `convert("RGB")` of Pillow.
pub fn from_inks(inks: &[u8]) -> std::result::Result<Vec<u8>, Refusal> {
    let mut colours = allocate::room(inks.len() / 4 * 3)?;
    for [cyan, magenta, yellow, black] in inks.as_chunks::<4>().0 {
        let light = u32::from(255 - black);
        colours.extend([cyan, magenta, yellow].map(|ink| {
            let product = u32::from(*ink) * light + 128;
            (light - (((product >> 8) + product) >> 8).min(light)) as u8
        }));
    }
    Ok(colours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grey_is_repeated_and_alpha_is_opaque_or_dropped() {
        assert_eq!(convert(vec![1, 2], 1, 3, 9).unwrap(), [1, 1, 1, 2, 2, 2]);
        assert_eq!(convert(vec![1], 1, 4, 9).unwrap(), [1, 1, 1, 9]);
        assert_eq!(convert(vec![1, 2], 2, 4, 9).unwrap(), [1, 1, 1, 2]);
        assert_eq!(convert(vec![1, 2], 2, 3, 9).unwrap(), [1, 1, 1]);
        assert_eq!(convert(vec![1, 2], 2, 1, 9).unwrap(), [1]);
        assert_eq!(convert(vec![1, 2, 3], 3, 4, 9).unwrap(), [1, 2, 3, 9]);
        assert_eq!(convert(vec![1, 2, 3, 4], 4, 3, 9).unwrap(), [1, 2, 3]);
    }
}
