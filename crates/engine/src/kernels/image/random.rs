//! `RandomCrop`: crops a window at a random position.
//!
//! Source: `tf.random_crop` in TensorFlow 1.15.

use super::bracketed;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::shape::Shape;

/// Crops a window of any rank. Random integers determine its position.
pub struct RandomCrop;

impl Kernel for RandomCrop {
    /// The inputs are the value, one random integer per dimension, and the size.
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [value, draws, size] = expect_inputs(&inputs)?;
        let (whole, size, draws) = (value.shape(), integers(size)?, integers(draws)?);
        if size.len() != whole.len() || draws.len() != whole.len() {
            return Err(Error::invalid_argument(format!(
                "random_crop: size has {} elements and the value has shape {}, expected one element per dimension",
                size.len(),
                bracketed(whole)
            )));
        }
        if !whole.iter().zip(&size).all(|(whole, size)| (0..=*whole as i64).contains(size)) {
            return Err(Error::invalid_argument(format!(
                "assertion failed: [Need value.shape >= size, got ] [{}] [{}]",
                spaced(whole.iter()),
                spaced(size.iter())
            )));
        }
        let limits = whole.iter().zip(&size).map(|(whole, size)| *whole as i64 - size + 1);
        let begin: Vec<usize> = draws.iter().zip(limits).map(|(draw, limit)| draw.rem_euclid(limit) as usize).collect();
        let shape: Shape = size.iter().map(|size| *size as usize).collect();
        value.window(&begin, shape).map(Step::one)
    }
}

fn integers(tensor: &Tensor) -> Result<Vec<i64>> {
    Ok(tensor.values::<i32>()?.iter().map(|value| i64::from(*value)).collect())
}

fn spaced<T: ToString>(values: impl Iterator<Item = T>) -> String {
    values.map(|value| value.to_string()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};

    /// An image with one channel and the pixels 0, 1, 2, ….
    fn image(height: usize, width: usize) -> Tensor {
        let values = (0..(height * width) as i32).collect();
        Tensor::from_values(Shape::new(&[height, width, 1]), values).unwrap()
    }

    #[test]
    fn random_numbers_determine_the_position_of_the_window() {
        let numbers = |values: &[i32]| Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap();
        let inputs = [image(3, 4), numbers(&[7, 5, 9]), numbers(&[2, 2, 1])];
        // 7 % 2 = 1, 5 % 3 = 2, 9 % 1 = 0
        assert_eq!(run_one(&RandomCrop, &inputs).unwrap().values::<i32>().unwrap(), [6, 7, 10, 11]);
        let error = error_text(&RandomCrop, &[image(3, 4), numbers(&[0; 3]), numbers(&[4, 2, 1])]);
        assert_eq!(error, "InvalidArgument: assertion failed: [Need value.shape >= size, got ] [3 4 1] [4 2 1]");
        let error = error_text(&RandomCrop, &[image(3, 4), numbers(&[0; 2]), numbers(&[4, 2])]);
        assert!(error.contains("size has 2 elements and the value has shape [3,4,1]"), "{error}");
    }
}
