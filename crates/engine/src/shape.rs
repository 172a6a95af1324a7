//! Shapes: known ones of tensors, and partial ones of queue components and placeholders.

use smallvec::SmallVec;
use std::fmt;
use std::ops::Deref;

/// The size of a tensor in each dimension; empty for a scalar.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub struct Shape(SmallVec<[usize; 4]>);

impl Clone for Shape {
    /// Plain copying: the derived one goes element by element.
    fn clone(&self) -> Self {
        Self(SmallVec::from_slice(&self.0))
    }
}

impl Shape {
    pub fn scalar() -> Self {
        Self::default()
    }

    pub fn new(dims: &[usize]) -> Self {
        Self(SmallVec::from_slice(dims))
    }

    pub fn num_elements(&self) -> usize {
        self.0.iter().product()
    }

    /// This shape below a new first dimension of `length`.
    pub fn batched(&self, length: usize) -> Self {
        let mut dims = SmallVec::with_capacity(self.len() + 1);
        dims.push(length);
        dims.extend_from_slice(self);
        Self(dims)
    }

    /// This shape above a new last dimension of `length`.
    pub fn of_rows(&self, length: usize) -> Self {
        let mut dims = self.clone();
        dims.0.push(length);
        dims
    }

    /// This shape with another size of dimension `axis`.
    pub fn with_size(&self, axis: usize, length: usize) -> Self {
        let mut dims = self.clone();
        dims.0[axis] = length;
        dims
    }

    /// This shape without its first dimension; of a scalar, a scalar.
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

/// A shape of known rank whose dimensions may be unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PartialShape(Vec<Option<usize>>);

impl PartialShape {
    pub fn new(dims: Vec<Option<usize>>) -> Self {
        Self(dims)
    }

    pub fn dims(&self) -> &[Option<usize>] {
        &self.0
    }

    /// The shape, if every dimension is known.
    pub fn to_shape(&self) -> Option<Shape> {
        self.0.iter().copied().collect()
    }

    pub fn is_compatible_with(&self, shape: &[usize]) -> bool {
        self.0.len() == shape.len() && self.0.iter().zip(shape).all(|(want, got)| want.is_none_or(|want| want == *got))
    }

    /// This shape below a new first dimension of `length`.
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
