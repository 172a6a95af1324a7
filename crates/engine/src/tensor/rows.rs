//! Slices tensors into parts and rows, and stacks rows into batches.

use super::{Data, Tensor};
use crate::error::{Error, Result};
use crate::tensor::aliasing::unshare;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use crate::tensor::view::{Dim, View, steps_of};
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

impl Tensor {
    /// Returns the elements `run`, in row-major order, in the shape `shape`. They only alias this
    /// tensor's memory if they are most of it.
    pub fn part(&self, run: Range<usize>, shape: Shape) -> Result<Self> {
        if run.len() == self.num_elements() {
            return self.clone().reshaped(shape);
        }
        if self.dtype == DType::String {
            let strings = allocate::elements(self.dtype, &shape).collect(self.string_values()[run].iter().cloned())?;
            return Self::strings(shape, strings);
        }
        let size = self.dtype.size();
        let range = run.start * size..run.end * size;
        if let Data::Buffer(memory) = &self.data
            && let Some(part) = memory.shared_part(range.clone())
            && part.as_ref().as_ptr().align_offset(self.dtype.alignment()) == 0
        {
            return Ok(Self { dtype: self.dtype, shape, data: Data::Buffer(part) });
        }
        Self::copied(self.dtype, shape, &self.stored()?[range])
    }

    /// Copies row `index` of the first dimension, so that it does not keep the whole tensor alive.
    pub fn row(&self, index: usize) -> Result<Self> {
        let shape = self.shape.row();
        let length = shape.num_elements();
        let elements = index * length..(index + 1) * length;
        if self.shape.first().is_none_or(|rows| index >= *rows) {
            return Err(Error::internal(format!("row {index} is out of range for shape {}", self.shape)));
        }
        if self.dtype == DType::String {
            let mut row = match &self.string_values()[elements] {
                [value] => Self::string(value.clone()).reshaped(shape),
                values => {
                    let strings = allocate::elements(self.dtype, &shape).collect(values.iter().cloned())?;
                    Self::strings(shape, strings)
                }
            }?;
            row.unshare();
            return Ok(row);
        }
        if let Some(row) = self.deferred_part(&elements, &shape)? {
            return Ok(row);
        }
        let size = self.dtype.size();
        Self::copied(self.dtype, shape, &self.stored()?[elements.start * size..elements.end * size])
    }

    /// Like [`Tensor::row`], but moves a long string if this tensor is not shared.
    pub fn take_row(&mut self, index: usize) -> Result<Self> {
        if let Data::Strings(values) = &mut self.data
            && let [rows] = self.shape[..]
            && index < rows
            && let Some(values) = Arc::get_mut(values)
        {
            let mut value = std::mem::take(&mut values[index]);
            unshare(&mut value);
            return Ok(Self::string(value));
        }
        self.row(index)
    }

    /// Copies the rows `order` of the first dimension, which must exist. `leading` replaces the
    /// first dimension in the shape.
    pub fn take_rows(&self, order: &[usize], leading: &[usize]) -> Result<Self> {
        let row = self.shape.row();
        let length = row.num_elements();
        let shape = leading.iter().chain(row.iter()).copied().collect();
        if self.dtype == DType::String {
            let rows = order.iter().flat_map(|row| &self.string_values()[row * length..(row + 1) * length]);
            let rows = allocate::elements(self.dtype, &shape).collect(rows.cloned())?;
            return Self::strings(shape, rows);
        }
        let row_bytes = length * self.dtype.size();
        let source = self.stored()?;
        if let [row] = order {
            return Self::copied(self.dtype, shape, &source[row * row_bytes..(row + 1) * row_bytes]);
        }
        let mut bytes = allocate::elements(self.dtype, &shape).room()?;
        order.iter().for_each(|row| bytes.extend_from_slice(&source[row * row_bytes..(row + 1) * row_bytes]));
        Self::from_bytes(self.dtype, shape, bytes.into())
    }

    /// Copies the slices `order` along an axis, which must exist.
    pub fn take_along(&self, axis: usize, order: &[usize]) -> Result<Self> {
        let shape = self.shape.with_size(axis, order.len());
        let num_slices = self.shape[axis];
        let length: usize = self.shape[axis + 1..].iter().product();
        let outer = 0..self.shape[..axis].iter().product();
        let starts = outer.flat_map(|block| order.iter().map(move |slice| (block * num_slices + slice) * length));
        let elements = allocate::elements(self.dtype, &shape);
        if self.dtype == DType::String {
            let strings = starts.flat_map(|start| &self.string_values()[start..start + length]);
            return Self::strings(shape.clone(), elements.collect(strings.cloned())?);
        }
        let (size, source) = (self.dtype.size(), self.stored()?);
        let mut bytes: Vec<u8> = elements.room()?;
        starts.for_each(|start| bytes.extend_from_slice(&source[start * size..(start + length) * size]));
        Self::from_bytes(self.dtype, shape, bytes.into())
    }

    /// Places this tensor at `begin` in a larger one of shape `shape`. The other elements are
    /// `value`, a scalar of the same dtype. If it is `None`, they are 0, false or the empty string.
    pub fn padded(&self, begin: &[usize], shape: Shape, value: Option<&Tensor>) -> Result<Self> {
        let elements = allocate::elements(self.dtype, &shape);
        elements.check()?;
        let steps = steps_of(&shape);
        let start: usize = begin.iter().zip(&steps).map(|(begin, step)| begin * *step as usize).sum();
        let runs = runs(&self.shape, &shape).map(|(from, to, length)| (from, start + to, length));
        if self.dtype == DType::String {
            let mut strings = elements.copies(filling_string(value)?)?;
            runs.for_each(|(from, to, length)| {
                strings[to..to + length].clone_from_slice(&self.string_values()[from..from + length]);
            });
            return Self::strings(shape.clone(), strings);
        }
        let mut bytes = elements.filled(value.map_or(Ok(&[][..]), Self::stored)?)?;
        let (size, source) = (self.dtype.size(), self.stored()?);
        runs.for_each(|(from, to, length)| {
            bytes[to * size..(to + length) * size].copy_from_slice(&source[from * size..(from + length) * size]);
        });
        Self::from_bytes(self.dtype, shape, bytes.into())
    }

    /// Returns the window of shape `shape` at `begin`. Fails unless it is inside the tensor.
    pub fn window(&self, begin: &[usize], shape: Shape) -> Result<Self> {
        let fits = |((begin, size), whole): ((&usize, &usize), &usize)| {
            begin.checked_add(*size).is_some_and(|end| end <= *whole)
        };
        if begin.len() != self.shape.len()
            || shape.len() != self.shape.len()
            || !begin.iter().zip(shape.iter()).zip(self.shape.iter()).all(fits)
        {
            return Err(Error::internal(format!(
                "a window of {shape} at {begin:?} is outside a tensor of shape {}",
                self.shape
            )));
        }
        let steps = steps_of(&self.shape);
        let start = begin.iter().zip(&steps).map(|(begin, step)| *begin as isize * step).sum();
        let dims = shape.iter().zip(&steps).map(|(length, step)| Dim { length: *length, step: *step });
        View::new(start, dims).of(self, shape.clone())
    }

    /// Stacks tensors of the same dtype along a new first dimension. They must have the rank of
    /// `row` and must not be larger in any dimension. The other elements are `value`, a scalar of
    /// the same dtype. If it is `None`, they are 0, false or the empty string.
    pub fn stack_padded<'a>(
        dtype: DType,
        row: &Shape,
        rows: impl ExactSizeIterator<Item = &'a Tensor>,
        value: Option<&Tensor>,
    ) -> Result<Self> {
        let shape = row.batched(rows.len());
        let size = dtype.size();
        let elements = allocate::elements(dtype, &shape);
        let (mut strings, mut bytes) = match dtype {
            DType::String => (elements.copies(filling_string(value)?)?, Vec::new()),
            _ => (Vec::new(), elements.filled(value.map_or(Ok(&[][..]), Self::stored)?)?),
        };
        for (index, tensor) in rows.enumerate() {
            let start = index * row.num_elements();
            let source = tensor.stored()?;
            for (from, to, length) in runs(&tensor.shape, row) {
                let to = start + to;
                if dtype == DType::String {
                    strings[to..to + length].clone_from_slice(&tensor.string_values()[from..from + length]);
                } else {
                    let run = &source[from * size..(from + length) * size];
                    bytes[to * size..(to + length) * size].copy_from_slice(run);
                }
            }
        }
        if dtype == DType::String {
            Self::strings(shape, strings)
        } else {
            Self::from_bytes(dtype, shape, bytes.into())
        }
    }
}

fn filling_string(value: Option<&Tensor>) -> Result<Bytes> {
    value.map_or(Ok(Bytes::new()), |value| value.string_scalar("padding").cloned())
}

/// Maps the elements of a tensor of shape `small` into one of shape `large`. Yields (from, to,
/// length) for each contiguous run.
fn runs(small: &Shape, large: &Shape) -> impl Iterator<Item = (usize, usize, usize)> {
    // A run spans the inner axes that are equally long in both shapes, and one more.
    let num_equal = small.iter().rev().zip(large.iter().rev()).take_while(|(small, large)| small == large).count();
    let outer = small.len().saturating_sub(num_equal + 1);
    let length: usize = small[outer..].iter().product();
    let inner_size: usize = large[outer..].iter().product();
    let position = move |run: usize| {
        let (mut rest, mut stride, mut to) = (run, inner_size, 0);
        for axis in (0..outer).rev() {
            to += rest % small[axis] * stride;
            rest /= small[axis];
            stride *= large[axis];
        }
        to
    };
    (0..small[..outer].iter().product()).map(move |run| (run * length, position(run), length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_puts_each_row_at_its_position_in_the_larger_shape() {
        let small = Tensor::from_values(Shape::new(&[2, 1]), vec![1_i32, 2]).unwrap();
        let large = Tensor::from_values(Shape::new(&[1, 3]), vec![3_i32, 4, 5]).unwrap();
        let row = Shape::new(&[2, 3]);
        let stacked = |value| Tensor::stack_padded(DType::Int32, &row, [&small, &large].into_iter(), value).unwrap();
        assert_eq!(stacked(None).shape()[..], [2, 2, 3]);
        assert_eq!(stacked(None).values::<i32>().unwrap(), [1, 0, 0, 2, 0, 0, 3, 4, 5, 0, 0, 0]);
        let batch = stacked(Some(&Tensor::scalar(-1_i32)));
        assert_eq!(batch.values::<i32>().unwrap(), [1, -1, -1, 2, -1, -1, 3, 4, 5, -1, -1, -1]);
    }

    #[test]
    fn window_is_cut_from_every_dimension() {
        let whole = Tensor::from_values(Shape::new(&[2, 3, 4]), (0..24_i32).collect()).unwrap();
        let part = whole.window(&[1, 1, 2], Shape::new(&[1, 2, 2])).unwrap();
        assert_eq!(part.values::<i32>().unwrap(), [18, 19, 22, 23]);
        let words = Tensor::strings(Shape::new(&[3]), vec!["a".into(), "b".into(), "c".into()]).unwrap();
        assert_eq!(words.window(&[1], Shape::new(&[2])).unwrap().string_values(), ["b", "c"]);
        assert_eq!(Tensor::scalar(7).window(&[], Shape::scalar()).unwrap(), Tensor::scalar(7));
        assert!(whole.window(&[0, 0, 0], Shape::new(&[2, 0, 4])).unwrap().bytes().is_empty());
        let rows = whole.window(&[1, 0, 0], Shape::new(&[1, 3, 4])).unwrap();
        assert_eq!(rows.values::<i32>().unwrap(), (12..24).collect::<Vec<_>>());
        let error = whole.window(&[0, 2, 0], Shape::new(&[1, 2, 1])).unwrap_err();
        assert_eq!(error.message(), "a window of [1,2,1] at [0, 2, 0] is outside a tensor of shape [2,3,4]");
    }

    #[test]
    fn slices_are_taken_along_any_axis() {
        let whole = Tensor::from_values(Shape::new(&[2, 3]), (0..6_i32).collect()).unwrap();
        let columns = whole.take_along(1, &[2, 0, 0, 1]).unwrap();
        assert_eq!(columns, Tensor::from_values(Shape::new(&[2, 4]), vec![2_i32, 0, 0, 1, 5, 3, 3, 4]).unwrap());
        let words = Tensor::strings(Shape::new(&[2]), vec!["a".into(), "b".into()]).unwrap();
        assert_eq!(words.take_along(0, &[1]).unwrap().string_values(), ["b"]);
    }

    #[test]
    fn tensor_can_be_padded_on_any_side() {
        let whole = Tensor::from_values(Shape::new(&[1, 2]), vec![1_i32, 2]).unwrap();
        let padded = whole.padded(&[1, 1], Shape::new(&[2, 4]), Some(&Tensor::scalar(-1_i32))).unwrap();
        assert_eq!(padded.values::<i32>().unwrap(), [-1, -1, -1, -1, -1, 1, 2, -1]);
        let words = Tensor::strings(Shape::new(&[1]), vec!["a".into()]).unwrap();
        let padded = words.padded(&[0], Shape::new(&[2]), Some(&Tensor::string("-"))).unwrap();
        assert_eq!(padded.string_values(), ["a", "-"]);
    }

    #[test]
    fn strings_are_padded_with_a_string() {
        let words = Tensor::strings(Shape::new(&[1]), vec!["a".into()]).unwrap();
        let stacked = |value| Tensor::stack_padded(DType::String, &Shape::new(&[2]), [&words].into_iter(), value);
        assert_eq!(stacked(None).unwrap().string_values(), ["a", ""]);
        assert_eq!(stacked(Some(&Tensor::string("-"))).unwrap().string_values(), ["a", "-"]);
    }

    #[test]
    fn nested_slice_does_not_keep_the_original_alive() {
        let whole = Tensor::from_bytes(DType::UInt8, Shape::new(&[100]), vec![1; 100].into()).unwrap();
        let part = whole.part(10..90, Shape::new(&[80])).unwrap();
        assert_eq!(part.bytes().as_ptr(), whole.bytes()[10..].as_ptr());
        let inner = part.part(5..75, Shape::new(&[70])).unwrap();
        assert_eq!(inner.bytes(), [1; 70]);
        drop(part);
        assert!(whole.clone().part(0..79, Shape::new(&[79])).unwrap().into_memory().unwrap().is_unique());
        assert!(inner.into_memory().unwrap().is_unique() && whole.into_memory().unwrap().is_unique());
    }

    #[test]
    fn row_does_not_keep_its_batch_alive() {
        let batch = Tensor::from_values(Shape::new(&[2, 100]), vec![1_u8; 200]).unwrap();
        let row = batch.row(1).unwrap();
        assert!(batch.into_memory().unwrap().is_unique() && row.bytes() == [1; 100]);
    }
}
