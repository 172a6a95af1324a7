//! Resizes images, with one file per method.
//!
//! Source: `tf.image.resize_images` in TensorFlow 1.15, and `tf.image.resize` of TensorFlow 2 for
//! the antialiased methods.

mod bilinear;
mod columns;
mod filter;
pub mod fit;
pub mod fixed_point;
mod nearest;
mod taps;
mod weights;
mod windows;

use super::bracketed;
use super::frame::Frame;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::math::cast::cast;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate::{self, Refusal};
use crate::tensor::dtype::{DType, Numeric};
use filter::Filter;
use taps::Taps;

/// Resizes each image to the size in the second input, which is (height, width) as int32.
pub struct Resize {
    method: Method,
    /// True if the size is a maximum, and the image keeps its proportions.
    preserve_aspect_ratio: bool,
}

enum Method {
    Nearest(Grid),
    Bilinear(Grid),
    Bicubic(Grid),
    Area { align_corners: bool },
    Filter { filter: Filter, antialias: bool },
}

/// How positions in the result are mapped to positions in the image.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Grid {
    /// Both images share their upper left pixel. This is TensorFlow 1's default.
    Legacy,
    /// Both images share all four corner pixels.
    AlignCorners,
    /// Both images share their edges.
    HalfPixelCenters,
}

impl Grid {
    fn from_attrs(attrs: &Attrs) -> Result<Self> {
        match (attrs.bool("align_corners")?, attrs.bool("half_pixel_centers")?) {
            (false, false) => Ok(Self::Legacy),
            (true, false) => Ok(Self::AlignCorners),
            (false, true) => Ok(Self::HalfPixelCenters),
            (true, true) => Err(Error::invalid_argument("If half_pixel_centers is True, align_corners must be False.")),
        }
    }

    /// The number of image pixels that a pixel of the result covers along one axis.
    fn scale(self, size: usize, new_size: usize) -> f32 {
        match self {
            Self::AlignCorners if new_size > 1 => (size - 1) as f32 / (new_size - 1) as f32,
            _ => size as f32 / new_size as f32,
        }
    }

    /// The position in the image of pixel `index` of the result along one axis.
    fn position(self, index: usize, scale: f32) -> f32 {
        match self {
            Self::HalfPixelCenters => (index as f32 + 0.5) * scale - 0.5,
            _ => index as f32 * scale,
        }
    }
}

impl Resize {
    pub fn from_attrs(op_type: &str, attrs: &Attrs) -> Result<Self> {
        let method = match op_type {
            "ResizeNearestNeighbor" => Method::Nearest(Grid::from_attrs(attrs)?),
            "ResizeBilinear" => Method::Bilinear(Grid::from_attrs(attrs)?),
            "ResizeBicubic" => Method::Bicubic(Grid::from_attrs(attrs)?),
            "ResizeArea" => Method::Area { align_corners: attrs.bool("align_corners")? },
            _ => Method::Filter {
                filter: Filter::from_name(attrs.string("kernel_type")?)?,
                antialias: attrs.bool("antialias")?,
            },
        };
        Ok(Self { method, preserve_aspect_ratio: attrs.bool("preserve_aspect_ratio")? })
    }
}

impl Kernel for Resize {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [images, size] = expect_inputs(&inputs)?;
        let frame = source_frame(images)?;
        let target = self.target_frame(&frame, size)?;
        let dtype = if matches!(self.method, Method::Nearest(_)) { images.dtype() } else { DType::Float32 };
        // Checked first, because the positions of pixels need memory and time too.
        allocate::elements(dtype, &target.shape()).check()?;
        if let Method::Nearest(grid) = self.method {
            return nearest::resize(images, &frame, &target, grid).map(Step::one);
        }
        let values = match images.dtype() {
            DType::UInt8 => self.resize(images.values::<u8>()?, &frame, &target)?,
            DType::UInt16 => self.resize(images.values::<u16>()?, &frame, &target)?,
            _ => self.resize(cast(images, DType::Float32)?.values::<f32>()?, &frame, &target)?,
        };
        Tensor::from_values(target.shape(), values).map(Step::one)
    }
}

impl Resize {
    fn resize<T: Pixel>(&self, values: &[T], frame: &Frame, target: &Frame) -> Result<Vec<f32>> {
        if let Method::Bilinear(grid) = self.method {
            return bilinear::resize(values, frame, target, grid);
        }
        let taps = |size, new_size| match self.method {
            Method::Bicubic(grid) => Taps::bicubic(size, new_size, grid),
            Method::Area { align_corners } => Taps::area(size, new_size, align_corners),
            Method::Filter { filter, antialias } => Taps::filter(size, new_size, filter, antialias),
            Method::Nearest(_) | Method::Bilinear(_) => unreachable!("these methods have no weights"),
        };
        let (rows, columns) = (taps(frame.height, target.height)?, taps(frame.width, target.width)?);
        let mut result = allocate::elements(DType::Float32, &target.shape()).room()?;
        taps::resize(values, frame, target, [&rows, &columns], |row| result.extend_from_slice(row))?;
        Ok(result)
    }

    fn target_frame(&self, frame: &Frame, size: &Tensor) -> Result<Frame> {
        let [height, width] = match (size.values::<i32>()?, size.shape().len()) {
            ([height, width], 1) => [*height, *width],
            (_, 1) => {
                let text = format!("shape_t must have two elements{}", bracketed(size.shape()));
                return Err(Error::invalid_argument(text));
            }
            _ => {
                let text = format!("shape_t must be 1-dimensional{}", bracketed(size.shape()));
                return Err(Error::invalid_argument(text));
            }
        };
        let [height, width] = match self.preserve_aspect_ratio {
            true => proportional([height, width], [frame.height, frame.width]),
            false => [height, width],
        };
        if height <= 0 || width <= 0 {
            let text = format!("output dimensions must be positive, got {height} and {width}");
            return Err(Error::invalid_argument(text));
        }
        frame.resized(height as usize, width as usize)
    }
}

/// The error if there is no memory for the tables that a new size needs.
fn refused(refusal: Refusal) -> Error {
    refusal.at("resizing images")
}

/// Resizes a range of columns of an image, over its full height. The filter is bilinear and
/// antialiased, and integers are rounded.
///
/// The pair is the first column and the number of columns.
pub fn antialiased(image: &Tensor, columns: (usize, usize), target: &Frame) -> Result<Tensor> {
    match image.dtype() {
        DType::UInt8 => filtered::<u8>(image, columns, target),
        DType::UInt16 => filtered::<u16>(image, columns, target),
        _ => filtered::<f32>(image, columns, target),
    }
}

fn filtered<T: Pixel>(image: &Tensor, (first, width): (usize, usize), target: &Frame) -> Result<Tensor> {
    let frame = Frame::of(image)?;
    let mut result = allocate::elements(image.dtype(), &target.shape()).room()?;
    let rows = Taps::filter(frame.height, target.height, Filter::Triangle, true)?;
    let columns = Taps::filter(width, target.width, Filter::Triangle, true)?.in_image(first);
    taps::resize(image.values::<T>()?, &frame, target, [&rows, &columns], |row| {
        result.extend(row.iter().map(|value| T::rounded(*value)));
    })?;
    Tensor::from_values(target.shape(), result)
}

/// Truncates a number between 0 and 65,535, or between 0 and 255 for the lowest byte. It is faster
/// than `as u16`, which also has to handle other numbers.
#[inline(always)]
fn whole_part(value: f32) -> u32 {
    // At this magnitude, every float is an integer.
    const LARGE: f32 = 8_388_608.0;
    let nearest = value + LARGE;
    let is_above = nearest - LARGE > value;
    nearest.to_bits() - u32::from(is_above)
}

fn collected<T>(count: usize, values: impl Iterator<Item = T>) -> Result<Vec<T>> {
    allocate::collected(count, values).map_err(refused)
}

fn zero_row(length: usize) -> Result<Vec<f32>> {
    allocate::zeros(length).map_err(refused)
}

fn source_frame(images: &Tensor) -> Result<Frame> {
    let shape = images.shape();
    if !matches!(shape.len(), 3 | 4) {
        return Err(Error::invalid_argument(format!("input must be 4-dimensional{}", bracketed(shape))));
    }
    let [height, width, channels] = [3, 2, 1].map(|from_end| shape[shape.len() - from_end]);
    if height == 0 || width == 0 {
        return Err(Error::invalid_argument("input image must be of non-zero size"));
    }
    if channels == 0 {
        return Err(Error::invalid_argument("image must have at least one channel"));
    }
    Frame::of(images)
}

/// The largest size inside `target` with the proportions of `size`, computed in single precision
/// like TensorFlow does.
fn proportional(target: [i32; 2], size: [usize; 2]) -> [i32; 2] {
    let size = size.map(|size| size as f32);
    let scale = (target[0] as f32 / size[0]).min(target[1] as f32 / size[1]);
    size.map(|size| (scale * size).round_ties_even() as i32)
}

/// The type of a channel that can be resized.
trait Pixel: Numeric + Copy {
    /// True if the type has no infinity or NaN.
    const IS_FINITE: bool;

    fn value(self) -> f32;

    /// Rounds a weighted mean of pixels to the type, with halves rounded up.
    fn rounded(value: f32) -> Self;
}

impl Pixel for u8 {
    const IS_FINITE: bool = true;

    #[inline(always)]
    fn value(self) -> f32 {
        f32::from(self)
    }

    #[inline(always)]
    fn rounded(value: f32) -> Self {
        whole_part(value + 0.5) as Self
    }
}

impl Pixel for u16 {
    const IS_FINITE: bool = true;

    #[inline(always)]
    fn value(self) -> f32 {
        f32::from(self)
    }

    #[inline(always)]
    fn rounded(value: f32) -> Self {
        whole_part(value + 0.5) as Self
    }
}

impl Pixel for f32 {
    const IS_FINITE: bool = false;

    #[inline(always)]
    fn value(self) -> f32 {
        self
    }

    #[inline(always)]
    fn rounded(value: f32) -> Self {
        value
    }
}

#[cfg(test)]
mod tests;
