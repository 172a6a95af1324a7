//! Rectangles with a random area and shape.
//!
//! Source: `RandomResizedCrop` and `RandomErasing` of `torchvision.transforms.v2`.

use crate::error::{Error, Result};

/// The number of sizes to try.
pub const NUM_TRIES: usize = 10;
/// The number of random numbers needed for one rectangle.
pub const NUM_DRAWS: usize = 2 * NUM_TRIES + 2;

/// A rectangle of pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    pub y: usize,
    pub x: usize,
    pub height: usize,
    pub width: usize,
}

/// The range of areas, relative to the area of the image, and the range of aspect ratios, as
/// logarithms.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    area: [f64; 2],
    log_ratio: [f64; 2],
}

impl Shares {
    /// Creates the ranges from their minimum and maximum.
    pub fn new(area: &[f64], ratio: &[f64]) -> Self {
        Self { area: [area[0], area[1]], log_ratio: [ratio[0].ln(), ratio[1].ln()] }
    }

    /// The range of aspect ratios.
    pub fn ratio(&self) -> [f64; 2] {
        self.log_ratio.map(f64::exp)
    }
}

/// Returns the first of ten random rectangles that fits, at a random position, or `None` if none
/// fits.
///
/// The aspect ratio is height divided by width. `draws` must have `NUM_DRAWS` numbers in [0, 1).
pub fn draw(
    [height, width]: [usize; 2],
    shares: &Shares,
    draws: &[f32],
    fits: impl Fn(&Region) -> bool,
) -> Result<Option<Region>> {
    if draws.len() != NUM_DRAWS {
        return Err(Error::internal(format!("{} random numbers, expected {NUM_DRAWS}", draws.len())));
    }
    let (tries, positions) = draws.split_at(2 * NUM_TRIES);
    let within = |[low, high]: [f64; 2], draw: f32| low + f64::from(draw) * (high - low);
    for [area, ratio] in tries.as_chunks::<2>().0 {
        let area = (height * width) as f64 * within(shares.area, *area);
        let ratio = within(shares.log_ratio, *ratio).exp();
        let side = |square: f64| square.sqrt().round_ties_even() as usize;
        let region = Region { y: 0, x: 0, height: side(area * ratio), width: side(area / ratio) };
        if region.height <= height && region.width <= width && fits(&region) {
            let position = |draw: f32, room: usize| ((f64::from(draw) * (room + 1) as f64) as usize).min(room);
            let (y, x) = (position(positions[0], height - region.height), position(positions[1], width - region.width));
            return Ok(Some(Region { y, x, ..region }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_fitting_rectangle_is_used() {
        let mut draws = [0.0_f32; NUM_DRAWS];
        // The first has an area of 1 and is twice as high, which doesn't fit. The second has a
        // quarter of the area.
        draws[..4].copy_from_slice(&[1.0, 1.0, 0.0, 0.5]);
        draws[20..].copy_from_slice(&[0.5, 0.999]);
        let shares = Shares::new(&[0.25, 1.0], &[0.5, 2.0]);
        let region = draw([10, 10], &shares, &draws, |_| true).unwrap();
        assert_eq!(region, Some(Region { y: 3, x: 5, height: 5, width: 5 }));
        assert_eq!(draw([10, 10], &shares, &draws, |_| false).unwrap(), None);
        assert!(draw([1, 1], &shares, &[], |_| true).is_err());
    }
}
