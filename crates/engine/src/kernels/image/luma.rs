//! Computes grey values as libpng does: Rec. 601 in fixed-point arithmetic, in linear light if
//! the file has a gamma.
//!
//! Source: `png_set_rgb_to_gray` and `png_build_gamma_table` of libpng 1.6.

const RED: u32 = 9797; // 0.299 * 2^15, cut off.
const GREEN: u32 = 19_234; // 0.587 * 2^15, cut off.
const BLUE: u32 = (1 << 15) - RED - GREEN;

/// Computes grey values from a file's colours.
pub struct Luma {
    tables: Option<Tables>,
}

struct Tables {
    /// How many upper bits of a sample are used as the index into the tables.
    depth: u32,
    to_light: Vec<u16>,
    from_light: Vec<u16>,
}

impl Luma {
    /// Creates tables for a gamma in units of 1/100,000, as in a gAMA chunk. `depth` is 8 for 8-bit
    /// samples.
    pub fn new(gamma: Option<u32>, depth: u32) -> Self {
        let is_significant = |gamma: &u32| *gamma > 0 && !(95_000..=105_000).contains(gamma);
        let tables = gamma.filter(is_significant).map(|gamma| Tables {
            depth,
            to_light: table(depth, reciprocal(gamma)),
            from_light: table(depth, reciprocal(reciprocal(gamma))),
        });
        Self { tables }
    }
}

fn reciprocal(gamma: u32) -> u32 {
    (1e10 / f64::from(gamma) + 0.5).floor() as u32
}

/// Returns a table with the power of each value of `depth` bits. Its values have 8 bits if the
/// depth is 8, and 16 bits otherwise.
fn table(depth: u32, exponent: u32) -> Vec<u16> {
    let largest = f64::from((1_u32 << depth) - 1);
    let scale = if depth == 8 { 255.0 } else { 65_535.0 };
    let power = |value: u32| (scale * (f64::from(value) / largest).powf(f64::from(exponent) * 1e-5) + 0.5).floor();
    (0..1 << depth).map(|value| power(value) as u16).collect()
}

fn weighted([red, green, blue]: [u32; 3]) -> u32 {
    RED * red + GREEN * green + BLUE * blue
}

const HALF: u32 = 1 << 14;

/// The sample of one channel.
pub trait Sample: Copy {
    fn luma(luma: &Luma, colour: [Self; 3]) -> Self;
}

impl Sample for u8 {
    fn luma(luma: &Luma, colour: [u8; 3]) -> u8 {
        match &luma.tables {
            Some(tables) if colour[0] != colour[1] || colour[0] != colour[2] => {
                let light = colour.map(|value| u32::from(tables.to_light[usize::from(value)]));
                tables.from_light[((weighted(light) + HALF) >> 15) as usize] as u8
            }
            _ => (weighted(colour.map(u32::from)) >> 15) as u8,
        }
    }
}

impl Sample for u16 {
    fn luma(luma: &Luma, colour: [u16; 3]) -> u16 {
        match &luma.tables {
            Some(tables) if colour[0] != colour[1] || colour[0] != colour[2] => {
                let upper = |value: u16| usize::from(value >> (16 - tables.depth));
                let light = colour.map(|value| u32::from(tables.to_light[upper(value)]));
                tables.from_light[upper(((weighted(light) + HALF) >> 15) as u16)]
            }
            _ => ((weighted(colour.map(u32::from)) + HALF) >> 15) as u16,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_channels_are_unchanged() {
        for gamma in [None, Some(45_455), Some(100_000)] {
            for value in [0_u8, 1, 100, 255] {
                assert_eq!(u8::luma(&Luma::new(gamma, 8), [value; 3]), value);
            }
            for value in [0_u16, 1, 40_000, 65_535] {
                assert_eq!(u16::luma(&Luma::new(gamma, 16), [value; 3]), value);
            }
        }
    }

    #[test]
    fn colours_are_added_in_linear_light_if_the_file_has_a_gamma() {
        let pure = [[255_u8, 0, 0], [0, 255, 0], [0, 0, 255]];
        let grey = |gamma| pure.map(|colour| u8::luma(&Luma::new(gamma, 8), colour));
        assert_eq!(grey(None), [76, 149, 29]);
        assert_eq!(grey(Some(100_000)), [76, 149, 29]);
        assert_eq!(grey(Some(45_455)), [147, 200, 95]);
    }
}
