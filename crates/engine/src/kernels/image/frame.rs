//! The sizes of an input with pixels: a single image, or a batch of images of the same size.

use super::bracketed;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// The sizes of a 3-D image, or of a 4-D batch of images.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// `None` for a single image.
    pub batch: Option<usize>,
    pub height: usize,
    pub width: usize,
    pub channels: usize,
}

impl Frame {
    /// Returns the sizes of `tensor`. Fails unless it has pixels.
    pub fn of(tensor: &Tensor) -> Result<Self> {
        if tensor.dtype() == DType::String {
            return Err(Error::invalid_argument("expected pixels, got strings. Decode them first, with decode_image"));
        }
        let frame = match tensor.shape()[..] {
            [height, width, channels] => Self { batch: None, height, width, channels },
            [batch, height, width, channels] => Self { batch: Some(batch), height, width, channels },
            _ => {
                let shape = bracketed(tensor.shape());
                return Err(Error::invalid_argument(format!(
                    "'image' (shape {shape}) must have either 3 or 4 dimensions."
                )));
            }
        };
        if frame.height == 0 || frame.width == 0 || frame.channels == 0 {
            let shape = bracketed(tensor.shape());
            return Err(Error::invalid_argument(format!(
                "assertion failed: [inner 3 dims of 'image.shape' must be > 0.] [{shape}]"
            )));
        }
        Ok(frame)
    }

    pub fn num_images(&self) -> usize {
        self.batch.unwrap_or(1)
    }

    /// Returns the same number of images with a different size. Fails if they have too many values
    /// for a tensor.
    pub fn resized(&self, height: usize, width: usize) -> Result<Self> {
        let resized = Self { height, width, ..*self };
        resized.shape().checked_num_elements().map(|_| resized)
    }

    pub fn shape(&self) -> Shape {
        self.batch.into_iter().chain([self.height, self.width, self.channels]).collect()
    }

    /// The start of the window at `y`, `x` in each dimension.
    pub fn begin(&self, y: usize, x: usize) -> Vec<usize> {
        self.batch.map(|_| 0).into_iter().chain([y, x, 0]).collect()
    }
}
