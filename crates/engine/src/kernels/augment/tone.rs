//! Brightness, contrast, saturation, hue and greyscale.
//!
//! Sums are computed in single precision and truncated to integers, as in torchvision.

use super::picture::Picture;
use super::tables::map_bytes;

/// Multiplies each byte by a factor.
pub fn brightness(picture: &mut Picture, factor: f64) {
    let factor = factor as f32;
    map_bytes(&mut picture.pixels, |byte| (f32::from(byte) * factor).clamp(0.0, 255.0) as u8);
}

/// Moves each byte away from the mean grey value, or towards it if the factor is below 1.
pub fn contrast(picture: &mut Picture, factor: f64) {
    let mean = mean_of_greys(picture);
    let (own, other) = (factor as f32, mean * (1.0 - factor) as f32);
    map_bytes(&mut picture.pixels, |byte| (f32::from(byte) * own + other).clamp(0.0, 255.0) as u8);
}

/// Moves each pixel away from its grey value, or towards it if the factor is below 1. A grey
/// picture does not change.
pub fn saturation(picture: &mut Picture, factor: f64) {
    if picture.channels != 3 {
        return;
    }
    let (own, other) = (factor as f32, (1.0 - factor) as f32);
    for pixel in picture.pixels.as_chunks_mut::<3>().0 {
        let grey = grey(pixel).floor() * other;
        *pixel = pixel.map(|byte| (f32::from(byte) * own + grey).clamp(0.0, 255.0) as u8);
    }
}

/// Turns the hue of each pixel by a fraction of the circle. A grey picture does not change.
pub fn hue(picture: &mut Picture, turn: f64) {
    if picture.channels != 3 {
        return;
    }
    for pixel in picture.pixels.as_chunks_mut::<3>().0 {
        *pixel = turned(*pixel, turn as f32);
    }
}

/// Converts each pixel to grey and keeps the number of channels.
pub fn greys(picture: &mut Picture) {
    if picture.channels != 3 {
        return;
    }
    for pixel in picture.pixels.as_chunks_mut::<3>().0 {
        *pixel = [grey(pixel) as u8; 3];
    }
}

fn grey(pixel: &[u8; 3]) -> f32 {
    let [r, g, b] = pixel.map(f32::from);
    r * 0.2989 + g * 0.587 + b * 0.114
}

fn mean_of_greys(picture: &Picture) -> f32 {
    let sum: u64 = match picture.channels {
        3 => picture.pixels.as_chunks::<3>().0.iter().map(|pixel| grey(pixel) as u64).sum(),
        _ => picture.pixels.iter().map(|byte| u64::from(*byte)).sum(),
    };
    (sum as f64 / (picture.height * picture.width) as f64) as f32
}

/// Returns the pixel with its hue turned, by way of hue, saturation and value.
fn turned(pixel: [u8; 3], turn: f32) -> [u8; 3] {
    let [r, g, b] = pixel.map(|byte| f32::from(byte) * (1.0 / 255.0));
    let (value, least) = (r.max(g).max(b), r.min(g).min(b));
    let (range, saturation) = match value == least {
        true => (1.0, 0.0),
        false => (value - least, (value - least) / value),
    };
    let [from_r, from_g, from_b] = [r, g, b].map(|channel| (value - channel) / range);
    let sixth = if value == r {
        from_b - from_g
    } else if value == g {
        from_r + 2.0 - from_b
    } else {
        from_g + 4.0 - from_r
    };
    let hue = ((sixth * (1.0 / 6.0) + 1.0) % 1.0 + turn).rem_euclid(1.0) * 6.0;
    let sector = hue.floor();
    let part = saturation * (hue - sector);
    let q = ((1.0 - part) * value).clamp(0.0, 1.0);
    let t = ((part + (1.0 - saturation)) * value).clamp(0.0, 1.0);
    let p = ((1.0 - saturation) * value).clamp(0.0, 1.0);
    let rgb = match sector as i32 {
        1 => [q, value, p],
        2 => [p, value, t],
        3 => [p, q, value],
        4 => [t, p, value],
        5 => [value, p, q],
        _ => [value, t, p],
    };
    rgb.map(|channel| (channel * 255.999) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(pixels: &[u8], channels: usize, change: impl Fn(&mut Picture)) -> Vec<u8> {
        let width = pixels.len() / channels;
        let mut picture = Picture { height: 1, width, channels, pixels: pixels.to_vec() };
        change(&mut picture);
        picture.pixels
    }

    #[test]
    fn adjusted_values_are_truncated_and_stay_in_range() {
        assert_eq!(changed(&[3, 100, 200], 3, |picture| brightness(picture, 1.5)), [4, 150, 255]);
        assert_eq!(changed(&[10, 20], 1, |picture| contrast(picture, 0.0)), [15, 15]);
        assert_eq!(changed(&[10, 20], 1, |picture| contrast(picture, 3.0)), [0, 30]);
        assert_eq!(changed(&[255, 0, 0], 3, |picture| saturation(picture, 0.0)), [76, 76, 76]);
        assert_eq!(changed(&[255, 0, 0, 0, 0, 255], 3, greys), [76, 76, 76, 29, 29, 29]);
        assert_eq!(changed(&[9, 8], 1, |picture| saturation(picture, 0.0)), [9, 8]);
    }

    #[test]
    fn hue_shift_by_a_third_rotates_the_channels() {
        let pixels = [255, 0, 0, 200, 200, 200, 10, 200, 90];
        let turned = changed(&pixels, 3, |picture| hue(picture, 1.0 / 3.0));
        assert_eq!(turned, [0, 255, 0, 200, 200, 200, 90, 10, 200]);
        assert_eq!(changed(&pixels, 3, |picture| hue(picture, 0.0)), pixels);
    }
}
