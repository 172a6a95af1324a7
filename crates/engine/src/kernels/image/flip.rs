//! Flips, transposes and rotates images by right angles.
//!
//! Source: `tf.image.flip_left_right` and similar functions in TensorFlow 1.15.

use super::frame::Frame;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;

/// A permutation of pixels: pixel (y, x) of the result is pixel number `first + y * down + x *
/// right` of the input.
#[derive(Clone, Copy)]
struct Move {
    height: usize,
    width: usize,
    first: isize,
    down: isize,
    right: isize,
}

impl Move {
    fn left_right(frame: &Frame) -> Self {
        let (height, width) = (frame.height, frame.width);
        Self { height, width, first: width as isize - 1, down: width as isize, right: -1 }
    }

    fn up_down(frame: &Frame) -> Self {
        let (height, width) = (frame.height, frame.width);
        Self { height, width, first: ((height - 1) * width) as isize, down: -(width as isize), right: 1 }
    }

    fn transpose(frame: &Frame) -> Self {
        Self { height: frame.width, width: frame.height, first: 0, down: 1, right: frame.width as isize }
    }

    /// Returns a counter-clockwise rotation by 90, 180 or 270 degrees, or `None` for 0.
    fn turn(frame: &Frame, quarters: i64) -> Option<Self> {
        let (height, width) = (frame.height, frame.width);
        let row = width as isize;
        match quarters.rem_euclid(4) {
            0 => None,
            1 => Some(Self { height: width, width: height, first: row - 1, down: -1, right: row }),
            2 => Some(Self { height, width, first: (height * width) as isize - 1, down: -row, right: -1 }),
            _ => {
                let first = ((height - 1) * width) as isize;
                Some(Self { height: width, width: height, first, down: 1, right: -row })
            }
        }
    }

    /// Moves the pixels of the images for which `is_moved` is true. The other images of the batch
    /// don't change.
    fn apply(&self, image: &Tensor, frame: &Frame, is_moved: impl Fn(usize) -> bool) -> Result<Tensor> {
        image.rearranged(|image| self.apply_to(image, frame, is_moved))
    }

    fn apply_to(&self, image: &Tensor, frame: &Frame, is_moved: impl Fn(usize) -> bool) -> Result<Tensor> {
        let pixel_bytes = frame.channels * image.dtype().size();
        let image_bytes = frame.height * frame.width * pixel_bytes;
        let mut bytes = allocate::elements(image.dtype(), image.shape()).zeros::<u8>()?;
        let images = image.stored()?.chunks_exact(image_bytes).zip(bytes.chunks_exact_mut(image_bytes));
        for (number, (source, target)) in images.enumerate() {
            if !is_moved(number) {
                target.copy_from_slice(source);
            } else if self.right == 1 {
                self.copy_rows(source, self.width * pixel_bytes, pixel_bytes, target);
            } else {
                match pixel_bytes {
                    1 => self.copy::<1>(source, target),
                    2 => self.copy::<2>(source, target),
                    3 => self.copy::<3>(source, target),
                    4 => self.copy::<4>(source, target),
                    6 => self.copy::<6>(source, target),
                    8 => self.copy::<8>(source, target),
                    12 => self.copy::<12>(source, target),
                    16 => self.copy::<16>(source, target),
                    _ => self.copy_any(source, pixel_bytes, target),
                }
            }
        }
        let result = Frame { height: self.height, width: self.width, ..*frame };
        Tensor::from_bytes(image.dtype(), result.shape(), bytes.into())
    }

    /// Iterates over the number of each row's first pixel.
    fn firsts(&self) -> impl Iterator<Item = usize> + use<> {
        let (first, down) = (self.first, self.down);
        (0..self.height as isize).map(move |y| (first + y * down) as usize)
    }

    fn copy_rows(&self, source: &[u8], row_bytes: usize, pixel_bytes: usize, target: &mut [u8]) {
        for (first, row) in self.firsts().zip(target.chunks_exact_mut(row_bytes)) {
            row.copy_from_slice(&source[first * pixel_bytes..][..row_bytes]);
        }
    }

    fn copy<const BYTES: usize>(&self, source: &[u8], target: &mut [u8]) {
        let (source, target) = (source.as_chunks::<BYTES>().0, target.as_chunks_mut::<BYTES>().0);
        for (first, row) in self.firsts().zip(target.chunks_exact_mut(self.width)) {
            if self.right == -1 {
                mirror(&source[first + 1 - self.width..=first], row);
            } else {
                let pixel = |x: usize| source[(first as isize + x as isize * self.right) as usize];
                row.iter_mut().enumerate().for_each(|(x, target)| *target = pixel(x));
            }
        }
    }

    fn copy_any(&self, source: &[u8], pixel_bytes: usize, target: &mut [u8]) {
        for (first, row) in self.firsts().zip(target.chunks_exact_mut(self.width * pixel_bytes)) {
            for (x, pixel) in row.chunks_exact_mut(pixel_bytes).enumerate() {
                let number = (first as isize + x as isize * self.right) as usize;
                pixel.copy_from_slice(&source[number * pixel_bytes..][..pixel_bytes]);
            }
        }
    }
}

/// Copies pixels in reverse order, four at a time.
fn mirror<const BYTES: usize>(source: &[[u8; BYTES]], target: &mut [[u8; BYTES]]) {
    let ((first, fours), (target_fours, last)) = (source.as_rchunks(), target.as_chunks_mut());
    target_fours.iter_mut().zip(fours.iter().rev()).for_each(|(target, [a, b, c, d])| *target = [*d, *c, *b, *a]);
    last.iter_mut().zip(first.iter().rev()).for_each(|(target, source)| *target = *source);
}

/// Flips each image. If there is a second input with a random number per image, only flips some of
/// them.
pub struct FlipImage {
    is_left_right: bool,
}

impl FlipImage {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { is_left_right: attrs.int("axis")? == 1 })
    }
}

impl Kernel for FlipImage {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let image = inputs.first().ok_or_else(|| Error::internal("no image to flip"))?;
        let frame = Frame::of(image)?;
        let is_flipped: Vec<bool> = match (inputs.get(1), frame.batch) {
            (None, _) => allocate::copies(frame.num_images(), true),
            (Some(draws), None) => allocate::gathered(draws.values::<f32>()?.iter().map(|draw| *draw < 0.5)),
            // For a batch, TensorFlow rounds the random numbers, with ties to even.
            (Some(draws), Some(_)) => allocate::gathered(draws.values::<f32>()?.iter().map(|draw| *draw > 0.5)),
        }
        .map_err(|refusal| refusal.at("images to flip"))?;
        if is_flipped.len() != frame.num_images() {
            return Err(Error::invalid_argument(format!(
                "got {} random numbers for a batch of {} images of unknown rank. Set the rank with set_shape",
                is_flipped.len(),
                frame.num_images()
            )));
        }
        if !is_flipped.contains(&true) {
            return Ok(Step::one(image.clone()));
        }
        let flip = if self.is_left_right { Move::left_right(&frame) } else { Move::up_down(&frame) };
        flip.apply(image, &frame, |number| is_flipped[number]).map(Step::one)
    }
}

/// Rotates and flips an image according to an EXIF orientation, from 1 to 8.
pub fn oriented(image: Tensor, orientation: u8) -> Result<Tensor> {
    let frame = Frame::of(&image)?;
    let turned = |image: &Tensor, quarters| match Move::turn(&Frame::of(image)?, quarters) {
        Some(turn) => turn.apply(image, &Frame::of(image)?, |_| true),
        None => Ok(image.clone()),
    };
    match orientation {
        2 => Move::left_right(&frame).apply(&image, &frame, |_| true),
        3 => turned(&image, 2),
        4 => Move::up_down(&frame).apply(&image, &frame, |_| true),
        5 => Move::transpose(&frame).apply(&image, &frame, |_| true),
        6 => turned(&image, 3),
        7 => turned(&Move::transpose(&frame).apply(&image, &frame, |_| true)?, 2),
        8 => turned(&image, 1),
        _ => Ok(image),
    }
}

/// Swaps rows and columns.
pub struct TransposeImage;

impl Kernel for TransposeImage {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image] = expect_inputs(&inputs)?;
        let frame = Frame::of(image)?;
        Move::transpose(&frame).apply(image, &frame, |_| true).map(Step::one)
    }
}

/// Rotates images counter-clockwise. The second input is the number of right angles.
pub struct RotateImage;

impl Kernel for RotateImage {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [image, quarters] = expect_inputs(&inputs)?;
        let frame = Frame::of(image)?;
        match Move::turn(&frame, quarters.integer_scalar("k")?) {
            None => Ok(Step::one(image.clone())),
            Some(turn) => turn.apply(image, &frame, |_| true).map(Step::one),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, run_one};
    use crate::tensor::shape::Shape;

    fn image() -> Tensor {
        Tensor::from_values(Shape::new(&[2, 3, 1]), vec![0_u8, 1, 2, 3, 4, 5]).unwrap()
    }

    fn flip(axis: i64) -> FlipImage {
        FlipImage::from_attrs(&attrs([("axis", Attr::Int(axis))])).unwrap()
    }

    #[test]
    fn flips_move_pixels() {
        assert_eq!(run_one(&flip(1), &[image()]).unwrap().bytes(), [2, 1, 0, 5, 4, 3]);
        assert_eq!(run_one(&flip(0), &[image()]).unwrap().bytes(), [3, 4, 5, 0, 1, 2]);
        let transposed = run_one(&TransposeImage, &[image()]).unwrap();
        assert_eq!((&transposed.shape()[..], transposed.bytes()), (&[3, 2, 1][..], &[0, 3, 1, 4, 2, 5][..]));
        let turned = |k: i32| run_one(&RotateImage, &[image(), Tensor::scalar(k)]).unwrap();
        assert_eq!((&turned(1).shape()[..], turned(1).bytes()), (&[3, 2, 1][..], &[2, 5, 1, 4, 0, 3][..]));
        assert_eq!(turned(2).bytes(), [5, 4, 3, 2, 1, 0]);
        assert_eq!(turned(-1).bytes(), [3, 0, 4, 1, 5, 2]);
        assert_eq!(turned(4), image());
    }

    #[test]
    fn orientations_are_undone() {
        let upright = |orientation| {
            let turned = oriented(image(), orientation).unwrap();
            (turned.shape()[0], turned.bytes().to_vec())
        };
        assert_eq!(upright(1), (2, vec![0, 1, 2, 3, 4, 5]));
        assert_eq!(upright(2), (2, vec![2, 1, 0, 5, 4, 3]));
        assert_eq!(upright(3), (2, vec![5, 4, 3, 2, 1, 0]));
        assert_eq!(upright(4), (2, vec![3, 4, 5, 0, 1, 2]));
        assert_eq!(upright(5), (3, vec![0, 3, 1, 4, 2, 5]));
        assert_eq!(upright(6), (3, vec![3, 0, 4, 1, 5, 2]));
        assert_eq!(upright(7), (3, vec![5, 2, 4, 1, 3, 0]));
        assert_eq!(upright(8), (3, vec![2, 5, 1, 4, 0, 3]));
    }

    #[test]
    fn pixels_of_any_size_are_moved() {
        for (channels, width) in (1..=20).flat_map(|channels| [1, 2, 4, 11].map(|width| (channels, width))) {
            let values: Vec<u8> = (0..width * channels).collect();
            let shape = Shape::new(&[1, usize::from(width), usize::from(channels)]);
            let flipped = run_one(&flip(1), &[Tensor::from_values(shape, values.clone()).unwrap()]).unwrap();
            let pixels: Vec<_> = values.chunks(usize::from(channels)).rev().collect();
            assert_eq!(flipped.bytes(), pixels.concat());
        }
    }

    #[test]
    fn each_image_is_flipped_by_its_own_draw() {
        let draw = |image: Tensor, draws: Vec<f32>| {
            let shape = if draws.len() == 1 { Shape::scalar() } else { Shape::new(&[draws.len()]) };
            run_one(&flip(1), &[image, Tensor::from_values(shape, draws).unwrap()]).unwrap()
        };
        assert_eq!(draw(image(), vec![0.4]).bytes(), [2, 1, 0, 5, 4, 3]);
        assert_eq!(draw(image(), vec![0.5]), image());
        let batch = image().reshaped(Shape::new(&[2, 1, 3, 1])).unwrap();
        assert_eq!(draw(batch, vec![0.5, 0.6]).bytes(), [0, 1, 2, 5, 4, 3]);
    }
}
