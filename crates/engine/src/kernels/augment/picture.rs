//! A picture of bytes that a kernel modifies.

use crate::error::{Error, Result};
use crate::kernels::image::bracketed;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// The allowed numbers of channels if colours are changed: grey and RGB.
pub const GREY_OR_RGB: &[usize] = &[1, 3];

/// Pixels of bytes, row by row, with the channels of a pixel next to each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub height: usize,
    pub width: usize,
    pub channels: usize,
    pub pixels: Vec<u8>,
}

impl Picture {
    /// Copies a picture. If the axes or the number of channels are wrong, the error begins with
    /// `what`. An empty list allows any number of channels.
    pub fn copied(what: &str, image: &Tensor, allowed: &[usize]) -> Result<Self> {
        let [height, width, channels] = sizes(what, image, allowed)?;
        let pixels = image.values::<u8>()?;
        let pixels = allocate::elements(DType::UInt8, image.shape()).collect(pixels.iter().copied())?;
        Ok(Self { height, width, channels, pixels })
    }

    /// Creates a picture with as many pixels as this one, all of them 0.
    pub fn empty_like(&self) -> Result<Self> {
        let pixels = allocate::elements(DType::UInt8, &self.shape()).zeros()?;
        Ok(Self { pixels, ..*self })
    }

    pub fn row_length(&self) -> usize {
        self.width * self.channels
    }

    fn shape(&self) -> Shape {
        Shape::new(&[self.height, self.width, self.channels])
    }

    pub fn into_tensor(self) -> Result<Tensor> {
        Tensor::from_values(self.shape(), self.pixels)
    }
}

/// Returns the height, width and number of channels of a picture.
pub fn sizes(what: &str, image: &Tensor, allowed: &[usize]) -> Result<[usize; 3]> {
    let shape = image.shape();
    let got = || format!("{what}: the image has shape {}", bracketed(shape));
    let [height, width, channels] = shape[..] else {
        return Err(Error::invalid_argument(format!(
            "{}, expected one image (height, width, channels). Call it for each image, before batch; decode an \
             animation with expand_animations=False",
            got()
        )));
    };
    if height == 0 || width == 0 || channels == 0 {
        return Err(Error::invalid_argument(format!("{}, expected at least one pixel", got())));
    }
    if !allowed.is_empty() && !allowed.contains(&channels) {
        return Err(Error::invalid_argument(format!(
            "{}, expected {} channels. Decode with channels=3, or reorder the axes to (height, width, channels)",
            got(),
            allowed.iter().map(usize::to_string).collect::<Vec<_>>().join(" or ")
        )));
    }
    Ok([height, width, channels])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(shape: &[usize], allowed: &[usize]) -> String {
        let image = Tensor::from_values(Shape::new(shape), vec![0_u8; shape.iter().product()]).unwrap();
        Picture::copied("x", &image, allowed).unwrap_err().to_string()
    }

    #[test]
    fn non_image_shapes_are_rejected_with_a_remedy() {
        assert!(refusal(&[2, 3, 3, 3], &[]).contains("x: the image has shape [2,3,3,3], expected one image"));
        assert!(refusal(&[3, 0, 3], &[]).contains("expected at least one pixel"));
        assert!(refusal(&[3, 4, 5], GREY_OR_RGB).contains("expected 1 or 3 channels. Decode with channels=3"));
    }
}
