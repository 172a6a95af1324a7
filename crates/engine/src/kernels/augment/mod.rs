//! Image augmentations with torchvision's rules.
//!
//! A kernel receives random numbers as an input, so the same numbers produce the same image.
//! Source: the documented behaviour of `torchvision.transforms.v2` 0.29 for uint8 tensors.

mod affine;
mod beta;
mod center_crop;
mod color_jitter;
mod gaussian_blur;
mod homography;
mod iou_crop;
mod mixing;
mod normalize;
mod picture;
mod policies;
mod random_erasing;
mod random_grayscale;
mod tables;
mod targets;
mod tone;
mod warp;

use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernels::attrs::{Attr, Attrs};
use std::sync::Arc;

/// Creates the kernel for operations of type `op_type`. Returns `None` if this module has none.
pub fn build(op_type: &str, attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    Ok(Some(match op_type {
        "AffineHomographies" => Arc::new(warp::AffineHomographies),
        "BlendImages" => Arc::new(mixing::BlendImages),
        "CenterCrop" => Arc::new(center_crop::CenterCrop::from_attrs(attrs)?),
        "ColorJitter" => Arc::new(color_jitter::ColorJitter),
        "CutMix" => Arc::new(mixing::CutMix::from_attrs(attrs)?),
        "GaussianBlur" => Arc::new(gaussian_blur::GaussianBlur::from_attrs(attrs)?),
        "ImageSize" => Arc::new(targets::ImageSize),
        "IouCropRegion" => Arc::new(iou_crop::IouCropRegion::from_attrs(attrs)?),
        "MasksAsImages" => Arc::new(targets::MasksAsImages::from_attrs(attrs)?),
        "MixUp" => Arc::new(mixing::MixUp::from_attrs(attrs)?),
        "MoveBoxes" => Arc::new(targets::MoveBoxes::from_attrs(attrs)?),
        "MoveKeypoints" => Arc::new(targets::MoveKeypoints::from_attrs(attrs)?),
        "NormalizeImage" => Arc::new(normalize::NormalizeImage::from_attrs(attrs)?),
        "PerspectiveHomographies" => Arc::new(warp::PerspectiveHomographies),
        "RandAugment" => Arc::new(policies::RandAugment::from_attrs(attrs)?),
        "RandomErasing" => Arc::new(random_erasing::RandomErasing::from_attrs(attrs)?),
        "RandomGrayscale" => Arc::new(random_grayscale::RandomGrayscale::from_attrs(attrs)?),
        "SymmetricBeta" => Arc::new(mixing::SymmetricBeta::from_attrs(attrs)?),
        "TrivialAugment" => Arc::new(policies::TrivialAugment::from_attrs(attrs)?),
        "WarpImage" => Arc::new(warp::WarpImage::from_attrs(attrs)?),
        _ => return Ok(None),
    }))
}

/// A list of floats.
fn floats(attrs: &Attrs, name: &str) -> Result<Vec<f64>> {
    attrs.list(name, |item| match item {
        Attr::Float(value) => Some(*value),
        Attr::Int(value) => Some(*value as f64),
        _ => None,
    })
}

/// A list of sizes.
fn sizes(attrs: &Attrs, name: &str) -> Result<Vec<usize>> {
    attrs.list(name, |item| match item {
        Attr::Int(value) => usize::try_from(*value).ok(),
        _ => None,
    })
}
