//! The three tensors that a kernel gets for a sparse tensor.

use super::numbers;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// The parts of a sparse tensor. Their sizes match, but indices may be out of range, unordered or
/// repeated.
#[derive(Clone, Copy)]
pub struct Parts<'t> {
    /// One row per element, with an index for each dimension.
    pub indices: &'t [i64],
    /// The elements.
    pub values: &'t Tensor,
    /// The size of each dimension, which may be negative.
    pub sizes: &'t [i64],
}

impl<'t> Parts<'t> {
    /// Fails if the sizes of the parts don't match.
    pub fn new(indices: &'t Tensor, values: &'t Tensor, shape: &'t Tensor) -> Result<Self> {
        let parts = Self { indices: numbers(indices, 2, "indices")?, values, sizes: numbers(shape, 1, "shape")? };
        if values.shape().len() != 1 {
            let text = format!("Input values should be a vector but received shape {}", values.shape());
            return Err(Error::invalid_argument(text));
        }
        if indices.shape()[..] != [parts.num_values(), parts.rank()] {
            return Err(Error::invalid_argument(format!(
                "Input indices have shape {}, expected a row for each of {} values with an index for each of {} \
                 dimensions",
                indices.shape(),
                parts.num_values(),
                parts.rank()
            )));
        }
        Ok(parts)
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// Number of elements.
    pub fn num_values(&self) -> usize {
        self.values.num_elements()
    }

    /// The indices of one element.
    pub fn row(&self, element: usize) -> &'t [i64] {
        &self.indices[element * self.rank()..(element + 1) * self.rank()]
    }

    /// The indices of each element.
    pub fn rows(&self) -> impl Iterator<Item = &'t [i64]> + use<'t> {
        let parts = *self;
        (0..self.num_values()).map(move |element| parts.row(element))
    }
}

/// Creates a vector.
pub fn vector(numbers: &[i64]) -> Result<Tensor> {
    Tensor::copied(DType::Int64, Shape::new(&[numbers.len()]), bytemuck::cast_slice(numbers))
}
