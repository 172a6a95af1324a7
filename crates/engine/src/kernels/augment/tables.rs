//! Changes that map each byte through a table: posterising, solarising, stretching the contrast,
//! equalising.

use super::picture::Picture;

/// Maps each byte with a function, which is called once for each of the 256 values.
pub fn map_bytes(bytes: &mut [u8], map: impl Fn(u8) -> u8) {
    let table: [u8; 256] = std::array::from_fn(|byte| map(byte as u8));
    bytes.iter_mut().for_each(|byte| *byte = table[usize::from(*byte)]);
}

/// Keeps the highest bits of each byte.
pub fn posterize(picture: &mut Picture, bits: u32) {
    let mask = if bits >= 8 { u8::MAX } else { !(u8::MAX >> bits) };
    picture.pixels.iter_mut().for_each(|byte| *byte &= mask);
}

/// Inverts the bytes that are at least the threshold.
pub fn solarize(picture: &mut Picture, threshold: f32) {
    map_bytes(&mut picture.pixels, |byte| if f32::from(byte) >= threshold { !byte } else { byte });
}

/// Stretches each channel so that its smallest and largest values become 0 and 255.
pub fn autocontrast(picture: &mut Picture) {
    map_channels(picture, |counts| {
        let least = counts.iter().position(|count| *count > 0).unwrap_or(0);
        let most = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
        let (first, scale) = match least == most {
            true => (0.0, 1.0),
            false => (least as f32, (most - least) as f32 * (1.0 / 255.0)),
        };
        std::array::from_fn(|byte| ((byte as f32 - first) / scale).clamp(0.0, 255.0) as u8)
    });
}

/// Equalizes each channel's histogram, as Pillow does.
pub fn equalize(picture: &mut Picture) {
    map_channels(picture, |counts| {
        let most = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
        let step = (counts.iter().sum::<u64>() - counts[most]) / 255;
        let mut below = 0;
        std::array::from_fn(|byte| {
            let level = match step {
                0 => byte as u8,
                // The first value becomes 0, since half a step is less than one step.
                _ => ((below + step / 2) / step).min(255) as u8,
            };
            below += counts[byte];
            level
        })
    });
}

/// Maps each channel through a table computed from its histogram.
fn map_channels(picture: &mut Picture, table: impl Fn(&[u64; 256]) -> [u8; 256]) {
    let channels = picture.channels;
    for channel in 0..channels {
        let mut counts = [0_u64; 256];
        let bytes = || picture.pixels.iter().skip(channel).step_by(channels);
        bytes().for_each(|byte| counts[usize::from(*byte)] += 1);
        let table = table(&counts);
        let bytes = picture.pixels.iter_mut().skip(channel).step_by(channels);
        bytes.for_each(|byte| *byte = table[usize::from(*byte)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(pixels: &[u8], change: impl Fn(&mut Picture)) -> Vec<u8> {
        let mut picture = Picture { height: 1, width: pixels.len(), channels: 1, pixels: pixels.to_vec() };
        change(&mut picture);
        picture.pixels
    }

    #[test]
    fn bytes_are_mapped_by_lookup_tables() {
        let pixels = [0, 100, 127, 128, 255];
        assert_eq!(changed(&pixels, |picture| posterize(picture, 1)), [0, 0, 0, 128, 128]);
        assert_eq!(changed(&pixels, |picture| posterize(picture, 8)), pixels);
        assert_eq!(changed(&pixels, |picture| posterize(picture, 0)), [0; 5]);
        assert_eq!(changed(&pixels, |picture| solarize(picture, 127.5)), [0, 100, 127, 127, 0]);
        // In single precision the largest value may become 254, as in torchvision.
        assert_eq!(changed(&[10, 20, 30], autocontrast), [0, 127, 254]);
        assert_eq!(changed(&[0, 100, 255], autocontrast), [0, 100, 255]);
        assert_eq!(changed(&[10, 10], autocontrast), [10, 10]);
    }

    #[test]
    fn equalize_spreads_frequent_values() {
        let pixels: Vec<u8> = (0..1024).map(|position| (position / 256) as u8 * 10).collect();
        let equal = changed(&pixels, equalize);
        // 768 of the pixels don't have the largest value, so a step is 3, and half of it is 1.
        assert_eq!([0, 256, 512, 768].map(|position| equal[position]), [0, 85, 171, 255]);
        assert_eq!(changed(&[1, 2, 3], equalize), [1, 2, 3]);
    }
}
