//! Shapes: fully known for tensors, and possibly partial for queue components and placeholders.

use crate::error::{Error, Result};
use smallvec::SmallVec;
use std::fmt;
use std::ops::Deref;

/// The maximum number of elements in a shape, as in TensorFlow.
const MAX_ELEMENTS: usize = i64::MAX as usize;

/// The size of the largest element in bytes. The size of a row must be representable even if there
/// are no rows.
pub(crate) const LARGEST_ELEMENT_BYTES: usize = 16;

/// The size of a tensor in each dimension. Empty for a scalar.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape(SmallVec<[usize; 4]>);

impl Clone for Shape {
    /// Copies the memory at once. The derived `clone` would go element by element.
    fn clone(&self) -> Self {
        Self(SmallVec::from_slice(&self.0))
    }
}

impl Shape {
    /// The shape of a scalar.
    pub fn scalar() -> Self {
        Self::default()
    }

    /// Creates a shape from its dimensions.
    pub fn new(dims: &[usize]) -> Self {
        Self(SmallVec::from_slice(dims))
    }

    /// The number of elements. The shape must have been checked with
    /// [`Shape::checked_num_elements`].
    pub fn num_elements(&self) -> usize {
        self.0.iter().product()
    }

    /// The number of elements. Fails if there are more than a tensor can have, even if axes of size
    /// 0 are ignored, because a part of the shape may be the shape of another tensor.
    #[inline]
    pub fn checked_num_elements(&self) -> Result<usize> {
        let (mut num_elements, mut overflows) = (1_usize, false);
        for size in &self.0 {
            let (product, does_overflow) = num_elements.overflowing_mul(*size);
            (num_elements, overflows) = (product, overflows | does_overflow);
        }
        match num_elements {
            1..=MAX_ELEMENTS if !overflows => Ok(num_elements),
            _ => self.without_elements(),
        }
    }

    /// Like [`Shape::checked_num_elements`], for a shape that contains a 0 or whose product
    /// overflows.
    #[cold]
    fn without_elements(&self) -> Result<usize> {
        let mut sizes = self.0.iter().filter(|size| **size > 0);
        match sizes.try_fold(LARGEST_ELEMENT_BYTES, |product, size| product.checked_mul(*size)) {
            Some(..=MAX_ELEMENTS) if self.0.contains(&0) => Ok(0),
            _ => Err(Error::invalid_argument(format!("Shape {self} would have more than 2**63 - 1 elements"))),
        }
    }

    /// This shape with a new first dimension of `length`.
    pub fn batched(&self, length: usize) -> Self {
        #[expect(clippy::disallowed_methods, reason = "one for each axis")]
        let mut dims = SmallVec::with_capacity(self.len() + 1);
        dims.push(length);
        dims.extend_from_slice(self);
        Self(dims)
    }

    /// Adds a last dimension of `length`.
    pub fn of_rows(&self, length: usize) -> Self {
        let mut dims = self.clone();
        dims.0.push(length);
        dims
    }

    /// Changes the size of dimension `axis`.
    pub fn with_size(&self, axis: usize, length: usize) -> Self {
        let mut dims = self.clone();
        dims.0[axis] = length;
        dims
    }

    /// Removes the first dimension. A scalar stays a scalar.
    pub fn row(&self) -> Self {
        Self::new(self.get(1..).unwrap_or_default())
    }
}

impl Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(dims: I) -> Self {
        Self(dims.into_iter().collect())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dims(f, self.iter().map(|dim| dim.to_string()))
    }
}

/// A shape of known rank in which dimensions may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PartialShape(Vec<Option<usize>>);

impl PartialShape {
    /// Creates a shape from its dimensions, which are `None` if unknown.
    pub fn new(dims: Vec<Option<usize>>) -> Self {
        Self(dims)
    }

    /// The dimensions, which are `None` if unknown.
    pub fn dims(&self) -> &[Option<usize>] {
        &self.0
    }

    /// The shape, if every dimension is known.
    pub fn to_shape(&self) -> Option<Shape> {
        self.0.iter().copied().collect()
    }

    /// Returns true if `shape` has this rank and these dimensions, as far as they are known.
    pub fn is_compatible_with(&self, shape: &[usize]) -> bool {
        self.0.len() == shape.len() && self.0.iter().zip(shape).all(|(want, got)| want.is_none_or(|want| want == *got))
    }

    /// This shape with a new first dimension of `length`.
    pub fn batched(&self, length: usize) -> Self {
        Self(std::iter::once(Some(length)).chain(self.0.iter().copied()).collect())
    }
}

impl From<&Shape> for PartialShape {
    fn from(shape: &Shape) -> Self {
        Self(shape.iter().copied().map(Some).collect())
    }
}

impl fmt::Display for PartialShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_dims(f, self.0.iter().map(|dim| dim.map_or("?".to_owned(), |dim| dim.to_string())))
    }
}

fn write_dims(f: &mut fmt::Formatter<'_>, dims: impl Iterator<Item = String>) -> fmt::Result {
    write!(f, "[{}]", dims.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_with_too_many_elements_are_rejected_even_with_an_axis_of_size_0() {
        let count = |sizes: &[usize]| Shape::new(sizes).checked_num_elements();
        assert_eq!(count(&[]).unwrap(), 1);
        assert_eq!(count(&[3, 0, 2]).unwrap(), 0);
        assert_eq!(count(&[1 << 31, 1 << 31]).unwrap(), 1 << 62);
        let zero = [&[0, 1 << 40, 1 << 40][..], &[1 << 40, 0, 1 << 40], &[0, 1 << 60]];
        for sizes in [&[1 << 32, 1 << 31][..], &[1 << 32, 1 << 32]].into_iter().chain(zero) {
            let text = format!("Shape {} would have more than 2**63 - 1 elements", Shape::new(sizes));
            assert_eq!(count(sizes).unwrap_err().message(), text);
        }
    }
}
