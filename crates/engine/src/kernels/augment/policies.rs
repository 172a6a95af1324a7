//! Applies changes drawn from a list: RandAugment and TrivialAugment.
//!
//! Source: "RandAugment: Practical automated data augmentation with a reduced search space"
//! (arXiv:1909.13719) and "TrivialAugment: Tuning-free Yet State-of-the-Art Data Augmentation"
//! (arXiv:2103.10158), with the lists of torchvision's `RandAugment` and `TrivialAugmentWide`.

use super::affine::{Affine, Sampling};
use super::picture::{GREY_OR_RGB, Picture};
use super::{floats, tables, tone};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;

/// The changes, in the order in which a random number picks them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Identity,
    ShearX,
    ShearY,
    TranslateX,
    TranslateY,
    Rotate,
    Brightness,
    Color,
    Contrast,
    Sharpness,
    Posterize,
    Solarize,
    AutoContrast,
    Equalize,
}

const CHANGES: [Change; 14] = [
    Change::Identity,
    Change::ShearX,
    Change::ShearY,
    Change::TranslateX,
    Change::TranslateY,
    Change::Rotate,
    Change::Brightness,
    Change::Color,
    Change::Contrast,
    Change::Sharpness,
    Change::Posterize,
    Change::Solarize,
    Change::AutoContrast,
    Change::Equalize,
];

impl Change {
    /// The strength of one of `num_bins` magnitudes, in RandAugment's ranges or in TrivialAugment's
    /// wide ranges.
    fn strength(self, picture: &Picture, bin: usize, num_bins: usize, is_wide: bool) -> f32 {
        let to = |narrow: f64, wide: f64| spaced(0.0, (if is_wide { wide } else { narrow }) as f32, num_bins, bin);
        match self {
            Self::ShearX | Self::ShearY => to(0.3, 0.99),
            Self::TranslateX => to(150.0 / 331.0 * picture.width as f64, 32.0),
            Self::TranslateY => to(150.0 / 331.0 * picture.height as f64, 32.0),
            Self::Rotate => to(30.0, 135.0),
            Self::Brightness | Self::Color | Self::Contrast | Self::Sharpness => to(0.9, 0.99),
            Self::Posterize => {
                let lost = if is_wide { 6.0 } else { 4.0 };
                (8.0 - bin as f32 / ((num_bins - 1) as f32 / lost)).round_ties_even()
            }
            Self::Solarize => spaced(1.0, 0.0, num_bins, bin),
            Self::Identity | Self::AutoContrast | Self::Equalize => 0.0,
        }
    }

    fn is_signed(self) -> bool {
        !matches!(self, Self::Identity | Self::Posterize | Self::Solarize | Self::AutoContrast | Self::Equalize)
    }

    fn apply(self, mut picture: Picture, strength: f32, sampling: &Sampling) -> Result<Picture> {
        let strength_64 = f64::from(strength);
        let factor = 1.0 + strength_64;
        let affine = match self {
            Self::ShearX => Affine::shear(strength_64, 0.0, &picture),
            Self::ShearY => Affine::shear(0.0, strength_64, &picture),
            Self::TranslateX => Affine::shift(strength_64.trunc(), 0.0),
            Self::TranslateY => Affine::shift(0.0, strength_64.trunc()),
            Self::Rotate => Affine::rotation(strength_64),
            _ => {
                match self {
                    Self::Brightness => tone::brightness(&mut picture, factor),
                    Self::Color => tone::saturation(&mut picture, factor),
                    Self::Contrast => tone::contrast(&mut picture, factor),
                    Self::Sharpness => return sharpened(picture, factor),
                    Self::Posterize => tables::posterize(&mut picture, strength as u32),
                    Self::Solarize => tables::solarize(&mut picture, (255.0 * strength_64) as f32),
                    Self::AutoContrast => tables::autocontrast(&mut picture),
                    Self::Equalize => tables::equalize(&mut picture),
                    _ => {}
                }
                return Ok(picture);
            }
        };
        affine.apply(&picture, sampling)
    }
}

/// One of `count` evenly spaced numbers, computed in single precision from the nearer end.
fn spaced(start: f32, end: f32, count: usize, index: usize) -> f32 {
    let step = (end - start) / (count - 1) as f32;
    match index < count / 2 {
        true => start + step * index as f32,
        false => end - step * (count - 1 - index) as f32,
    }
}

/// Moves each pixel away from the weighted mean of its 3×3 neighbourhood, or towards it if the
/// factor is below 1. Pixels at the edge do not change.
fn sharpened(picture: Picture, factor: f64) -> Result<Picture> {
    if picture.height <= 2 || picture.width <= 2 {
        return Ok(picture);
    }
    let mut result = picture.empty_like()?;
    result.pixels.copy_from_slice(&picture.pixels);
    let (length, channels, other) = (picture.row_length(), picture.channels, (1.0 - factor) as f32);
    for y in 1..picture.height - 1 {
        let rows = [y - 1, y, y + 1].map(|y| &picture.pixels[y * length..][..length]);
        let target = &mut result.pixels[y * length..][..length];
        for x in channels..length - channels {
            let around = |row: &[u8]| [x - channels, x, x + channels].map(|x| u32::from(row[x])).iter().sum::<u32>();
            let own = f32::from(rows[1][x]);
            let sum = rows.iter().map(|row| around(row)).sum::<u32>() + 4 * u32::from(rows[1][x]);
            let mean = (sum as f32 / 13.0).round_ties_even();
            target[x] = (own + (mean - own) * other).clamp(0.0, 255.0) as u8;
        }
    }
    Ok(result)
}

fn sampling(attrs: &Attrs) -> Result<Sampling> {
    Ok(Sampling {
        is_bilinear: attrs.string("interpolation")? == "bilinear",
        fill: floats(attrs, "fill")?.into_iter().map(|value| value as f32).collect(),
    })
}

/// Picks one of `count` items with a random number in [0, 1).
fn pick(draw: f32, count: usize) -> usize {
    ((f64::from(draw) * count as f64) as usize).min(count - 1)
}

fn picture(what: &str, image: &Tensor, sampling: &Sampling) -> Result<Picture> {
    let picture = Picture::copied(what, image, GREY_OR_RGB)?;
    let num_values = sampling.fill.len();
    if num_values > 1 && num_values != picture.channels {
        return Err(Error::invalid_argument(format!(
            "{what}: fill has {num_values} values and the image has {} channels, expected one value, or one per \
             channel",
            picture.channels
        )));
    }
    Ok(picture)
}

/// Maps `(image, draws)` to an image after several changes of the same magnitude. Each uses two
/// random numbers, for the change and its sign.
pub struct RandAugment {
    magnitude: usize,
    num_bins: usize,
    sampling: Sampling,
}

impl RandAugment {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let [magnitude, num_bins] = [attrs.int("magnitude")?, attrs.int("num_magnitude_bins")?];
        if num_bins < 2 || !(0..num_bins).contains(&magnitude) {
            return Err(Error::invalid_argument(format!(
                "rand_augment: magnitude is {magnitude} with {num_bins} bins, expected 0 to {}",
                num_bins - 1
            )));
        }
        Ok(Self { magnitude: magnitude as usize, num_bins: num_bins as usize, sampling: sampling(attrs)? })
    }
}

impl Kernel for RandAugment {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image, draws] = expect_inputs(&inputs)?;
        let mut picture = picture("rand_augment", image, &self.sampling)?;
        for [which, sign] in draws.values::<f32>()?.as_chunks::<2>().0 {
            let change = CHANGES[pick(*which, CHANGES.len())];
            let strength = change.strength(&picture, self.magnitude, self.num_bins, false);
            let is_negative = change.is_signed() && *sign < 0.5;
            picture = change.apply(picture, if is_negative { -strength } else { strength }, &self.sampling)?;
        }
        picture.into_tensor().map(Step::one)
    }
}

/// Maps `(image, draws)` to an image after one change of random magnitude. It uses three random
/// numbers, for the change, its sign and its strength.
pub struct TrivialAugment {
    num_bins: usize,
    sampling: Sampling,
}

impl TrivialAugment {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let num_bins = attrs.int("num_magnitude_bins")?;
        if num_bins < 2 {
            return Err(Error::invalid_argument(format!("trivial_augment: got {num_bins} bins, expected at least 2")));
        }
        Ok(Self { num_bins: num_bins as usize, sampling: sampling(attrs)? })
    }
}

impl Kernel for TrivialAugment {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image, draws] = expect_inputs(&inputs)?;
        let picture = picture("trivial_augment", image, &self.sampling)?;
        let [which, sign, bin] = *draws.values::<f32>()? else {
            return Err(Error::internal("trivial_augment needs three random numbers"));
        };
        let change = CHANGES[pick(which, CHANGES.len())];
        let strength = change.strength(&picture, pick(bin, self.num_bins), self.num_bins, true);
        let is_negative = change.is_signed() && sign < 0.5;
        change
            .apply(picture, if is_negative { -strength } else { strength }, &self.sampling)?
            .into_tensor()
            .map(Step::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture() -> Picture {
        Picture { height: 3, width: 3, channels: 1, pixels: vec![0, 0, 0, 0, 130, 0, 0, 0, 0] }
    }

    #[test]
    fn magnitudes_span_the_whole_range() {
        let wide = Picture { width: 331, ..picture() };
        for (change, first, narrow, widest) in [
            (Change::ShearX, 0.0, 0.3, 0.99),
            (Change::TranslateX, 0.0, 150.0, 32.0),
            (Change::Rotate, 0.0, 30.0, 135.0),
            (Change::Contrast, 0.0, 0.9, 0.99),
            (Change::Posterize, 8.0, 4.0, 2.0),
            (Change::Solarize, 1.0, 0.0, 0.0),
            (Change::Equalize, 0.0, 0.0, 0.0),
        ] {
            let strength = |bin, is_wide| change.strength(&wide, bin, 31, is_wide);
            assert_eq!([strength(0, false), strength(30, false), strength(30, true)], [first, narrow, widest]);
        }
        assert_eq!(Change::Posterize.strength(&wide, 9, 31, false), 7.0);
    }

    #[test]
    fn sharpness_does_not_change_the_edge() {
        let middle = |factor| sharpened(picture(), factor).unwrap().pixels[4];
        assert_eq!([middle(0.0), middle(1.0), middle(2.0)], [50, 130, 210]);
        assert_eq!(sharpened(picture(), 0.0).unwrap().pixels[..4], [0; 4]);
    }

    #[test]
    fn draws_select_each_operation() {
        assert_eq!(
            [0.0, 0.5, 0.999_999_94].map(|draw| CHANGES[pick(draw, 14)]),
            [Change::Identity, Change::Color, Change::Equalize]
        );
    }
}
