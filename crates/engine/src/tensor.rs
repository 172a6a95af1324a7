//! Tensors: an element type, a shape and shared bytes. Cloning one copies no element.

use crate::deferred::{self, Deferred};
use crate::dtype::{DType, Numeric};
use crate::error::{Error, Result};
use crate::shape::Shape;
use crate::view::{Dim, View, steps_of};
use bytes::Bytes;
use smallvec::SmallVec;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Numeric values of at most this many bytes live in the tensor itself: labels, ids, counters.
const INLINE_BYTES: usize = 16;

/// An immutable array of one element type.
///
/// Numeric elements are stored in row-major order in the machine's byte order, aligned for their type;
/// booleans as bytes 0 and 1; strings as reference-counted slices of bytes.
#[derive(Clone)]
pub struct Tensor {
    dtype: DType,
    shape: Shape,
    data: Data,
}

#[derive(Clone)]
enum Data {
    Inline([u64; INLINE_BYTES / 8]),
    Buffer(Memory),
    /// Floats that are computed when they are read.
    Deferred(Arc<Deferred>),
    String(Bytes),
    Strings(Arc<[Bytes]>),
}

/// Shared, immutable bytes: a slice of something larger, or a vector of numbers.
#[derive(Clone)]
pub enum Memory {
    Bytes(Bytes),
    Numbers(Arc<dyn AsRef<[u8]> + Send + Sync>),
}

impl Memory {
    /// Whether nobody else holds these bytes.
    pub fn is_unique(&self) -> bool {
        match self {
            Self::Bytes(bytes) => bytes.is_unique(),
            Self::Numbers(numbers) => Arc::strong_count(numbers) == 1,
        }
    }

    fn numbers<T: Numeric>(values: Vec<T>) -> Self {
        let length_bytes = size_of_val(&values[..]);
        Self::Numbers(Arc::new(Numbers { values, length_bytes }))
    }

    pub fn copied(bytes: &[u8]) -> Self {
        Self::Bytes(Bytes::copy_from_slice(bytes))
    }

    /// A copy that is aligned for every element type.
    fn aligned_copy(bytes: &[u8]) -> Self {
        let mut words = vec![0_u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self::Numbers(Arc::new(Numbers { values: words, length_bytes: bytes.len() }))
    }
}

impl AsRef<[u8]> for Memory {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Numbers(numbers) => (**numbers).as_ref(),
        }
    }
}

/// The first bytes of a vector of numbers.
struct Numbers<T> {
    values: Vec<T>,
    length_bytes: usize,
}

impl<T: Numeric> AsRef<[u8]> for Numbers<T> {
    fn as_ref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.values)[..self.length_bytes]
    }
}

impl Tensor {
    /// A tensor of `values` in row-major order. Fails if the shape holds another number of elements.
    pub fn from_values<T: Numeric>(shape: Shape, values: Vec<T>) -> Result<Self> {
        check_length(&shape, values.len())?;
        let data = inline(bytemuck::cast_slice(&values)).unwrap_or_else(|| Data::Buffer(Memory::numbers(values)));
        Ok(Self { dtype: T::DTYPE, shape, data })
    }

    pub fn scalar<T: Numeric>(value: T) -> Self {
        let data = inline(bytemuck::bytes_of(&value)).unwrap_or(Data::Inline([0; 2]));
        Self { dtype: T::DTYPE, shape: Shape::scalar(), data }
    }

    pub fn bool(value: bool) -> Self {
        Self { dtype: DType::Bool, ..Self::scalar(u8::from(value)) }
    }

    /// A numeric, boolean or complex tensor over `bytes`, which are copied only where they are not aligned.
    pub fn from_bytes(dtype: DType, shape: Shape, bytes: Bytes) -> Result<Self> {
        if dtype == DType::String {
            return Err(Error::internal("a string tensor is not made from one run of bytes"));
        }
        if bytes.len() != shape.num_elements() * dtype.size() {
            return Err(Error::internal(format!("{} bytes for {dtype} of shape {shape}", bytes.len())));
        }
        let data = match inline(&bytes) {
            Some(data) => data,
            None if bytes.as_ptr().align_offset(dtype.alignment()) == 0 => Data::Buffer(Memory::Bytes(bytes)),
            None => Data::Buffer(Memory::aligned_copy(&bytes)),
        };
        Ok(Self { dtype, shape, data })
    }

    /// A numeric, boolean or complex tensor of a copy of `bytes`.
    pub fn copied(dtype: DType, shape: Shape, bytes: &[u8]) -> Result<Self> {
        match inline(bytes) {
            Some(data) if dtype != DType::String && bytes.len() == shape.num_elements() * dtype.size() => {
                Ok(Self { dtype, shape, data })
            }
            _ => Self::from_bytes(dtype, shape, Bytes::copy_from_slice(bytes)),
        }
    }

    /// A scalar string.
    pub fn string(value: impl Into<Bytes>) -> Self {
        Self { dtype: DType::String, shape: Shape::scalar(), data: Data::String(value.into()) }
    }

    /// Strings in row-major order. Fails if the shape holds another number of elements.
    pub fn strings(shape: Shape, values: Vec<Bytes>) -> Result<Self> {
        check_length(&shape, values.len())?;
        let data = match <[Bytes; 1]>::try_from(values) {
            Ok([value]) => Data::String(value),
            Err(values) => Data::Strings(values.into()),
        };
        Ok(Self { dtype: DType::String, shape, data })
    }

    /// As [`Tensor::from_values`], without an allocation for one value.
    pub fn from_small_vec<T: Numeric, A: smallvec::Array<Item = T>>(shape: Shape, values: SmallVec<A>) -> Result<Self> {
        match values[..] {
            [value] => Self::scalar(value).reshaped(shape),
            _ => Self::from_values(shape, values.into_vec()),
        }
    }

    /// As [`Tensor::strings`], without an allocation for one value.
    pub fn strings_from_small_vec(shape: Shape, mut values: SmallVec<[Bytes; 1]>) -> Result<Self> {
        match (values.len(), values.pop()) {
            (1, Some(value)) => Self::string(value).reshaped(shape),
            (_, last) => Self::strings(shape, values.into_iter().chain(last).collect()),
        }
    }

    /// A tensor without elements, of the given type, whose shape has a 0 in it.
    pub fn empty(dtype: DType, shape: Shape) -> Result<Self> {
        check_length(&shape, 0)?;
        let data = if dtype == DType::String { Data::Strings(Arc::new([])) } else { Data::Inline([0; 2]) };
        Ok(Self { dtype, shape, data })
    }

    pub fn dtype(&self) -> DType {
        self.dtype
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    pub fn num_elements(&self) -> usize {
        self.shape.num_elements()
    }

    /// The elements of a numeric tensor. Fails if they are of another type than `T`.
    pub fn values<T: Numeric>(&self) -> Result<&[T]> {
        if self.dtype != T::DTYPE {
            return Err(Error::internal(format!("{} tensor read as {}", self.dtype, T::DTYPE)));
        }
        Ok(bytemuck::cast_slice(self.bytes()))
    }

    /// The bytes of the elements; empty for strings.
    pub fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Inline(words) => &bytemuck::bytes_of(words)[..self.num_elements() * self.dtype.size()],
            Data::Buffer(memory) => memory.as_ref(),
            Data::Deferred(deferred) => (**deferred).as_ref(),
            Data::String(_) | Data::Strings(_) => &[],
        }
    }

    /// The elements of a string tensor; empty for others.
    pub fn string_values(&self) -> &[Bytes] {
        match &self.data {
            Data::String(value) => std::slice::from_ref(value),
            Data::Strings(values) => values,
            Data::Inline(_) | Data::Buffer(_) | Data::Deferred(_) => &[],
        }
    }

    /// The only element of a string tensor; `what` names the argument in the error.
    pub fn string_scalar(&self, what: &str) -> Result<&Bytes> {
        match self.string_values() {
            [value] => Ok(value),
            _ => Err(Error::invalid_argument(format!(
                "{what} must be a scalar string, got {} {}",
                self.dtype, self.shape
            ))),
        }
    }

    /// The only element of an int32 or int64 tensor; `what` names the argument in the error.
    pub fn integer_scalar(&self, what: &str) -> Result<i64> {
        match (self.dtype, self.num_elements()) {
            (DType::Int32, 1) => Ok(i64::from(self.values::<i32>()?[0])),
            (DType::Int64, 1) => Ok(self.values::<i64>()?[0]),
            _ => Err(Error::invalid_argument(format!(
                "{what} must be a scalar integer, got {} {}",
                self.dtype, self.shape
            ))),
        }
    }

    /// The elements of an int32 or int64 tensor.
    pub fn integers(&self) -> Result<SmallVec<[i64; 4]>> {
        match self.dtype {
            DType::Int32 => {
                let mut integers = SmallVec::new();
                self.values::<i32>()?.iter().for_each(|value| integers.push(i64::from(*value)));
                Ok(integers)
            }
            _ => Ok(SmallVec::from_slice(self.values::<i64>()?)),
        }
    }

    /// The only element of a boolean tensor; `what` names the argument in the error.
    pub fn bool_scalar(&self, what: &str) -> Result<bool> {
        match (self.dtype, self.bytes()) {
            (DType::Bool, [value]) => Ok(*value != 0),
            _ => {
                Err(Error::invalid_argument(format!("{what} must be a scalar bool, got {} {}", self.dtype, self.shape)))
            }
        }
    }

    /// The elements as floats, to be computed when they are read; `None` where that is not worth it.
    pub fn deferred_floats(&self) -> Option<Self> {
        let Data::Buffer(memory) = &self.data else { return None };
        let is_large = self.num_elements() >= deferred::MIN_ELEMENTS;
        let deferred = Deferred::new(memory.clone(), self.dtype).filter(|_| is_large)?;
        Some(Self { dtype: DType::Float32, shape: self.shape.clone(), data: Data::Deferred(Arc::new(deferred)) })
    }

    /// What `work`, which moves elements and changes none, makes of these; of those put off, of what they are computed from.
    pub fn moved(&self, work: impl FnOnce(&Self) -> Result<Self>) -> Result<Self> {
        let Data::Deferred(deferred) = &self.data else { return work(self) };
        let (dtype, source) = deferred.source();
        let moved = work(&Self { dtype, shape: self.shape.clone(), data: Data::Buffer(source.clone()) })?;
        let shape = moved.shape.clone();
        let data = Data::Deferred(Arc::new(deferred.over(moved.into_memory())));
        Ok(Self { dtype: self.dtype, shape, data })
    }

    /// The elements of a float tensor, in a vector of its own.
    pub fn to_floats(&self) -> Result<Vec<f32>> {
        match &self.data {
            Data::Deferred(deferred) => {
                let mut floats = Vec::with_capacity(self.num_elements());
                deferred.extend(&mut floats);
                Ok(floats)
            }
            _ => self.values().map(<[f32]>::to_vec),
        }
    }

    /// Whether the elements are yet to be computed.
    pub fn is_deferred(&self) -> bool {
        matches!(&self.data, Data::Deferred(deferred) if deferred.is_open())
    }

    /// These floats after one step more. Fails if they were never put off.
    pub fn then(mut self, step: deferred::Step) -> Result<Self> {
        let Data::Deferred(deferred) = &mut self.data else {
            return Err(Error::internal("a step after floats that are there"));
        };
        Arc::make_mut(deferred).push(step);
        Ok(self)
    }

    /// Computes the elements now, if that was put off.
    pub fn settle(&self) {
        if let Data::Deferred(deferred) = &self.data {
            deferred.values();
        }
    }

    /// The same elements under another shape of as many elements.
    pub fn reshaped(self, shape: Shape) -> Result<Self> {
        check_length(&shape, self.num_elements())?;
        Ok(Self { shape, ..self })
    }

    /// The same bytes as elements of another type of equal size.
    pub fn with_dtype(self, dtype: DType) -> Result<Self> {
        if dtype.size() != self.dtype.size() || (dtype == DType::String) != (self.dtype == DType::String) {
            return Err(Error::internal(format!("{} bytes taken for {dtype}", self.dtype)));
        }
        Ok(Self { dtype, ..self })
    }

    /// The elements at places `run` in row-major order, under `shape`. At least half of this tensor's bytes may be shared
    /// with it, fewer are copied.
    pub fn part(&self, run: Range<usize>, shape: Shape) -> Result<Self> {
        if run.len() == self.num_elements() {
            return self.clone().reshaped(shape);
        }
        if self.dtype == DType::String {
            return Self::strings(shape, self.string_values()[run].to_vec());
        }
        let size = self.dtype.size();
        let place = run.start * size..run.end * size;
        match &self.data {
            Data::Buffer(Memory::Bytes(bytes)) if 2 * place.len() >= bytes.len() => {
                Self::from_bytes(self.dtype, shape, bytes.slice(place))
            }
            _ => Self::copied(self.dtype, shape, &self.bytes()[place]),
        }
    }

    /// Row `index` of the first dimension, copied, so that it keeps nothing else alive.
    pub fn row(&self, index: usize) -> Result<Self> {
        let shape = self.shape.row();
        let length = shape.num_elements();
        let elements = index * length..(index + 1) * length;
        if self.shape.first().is_none_or(|rows| index >= *rows) {
            return Err(Error::internal(format!("row {index} of shape {}", self.shape)));
        }
        if self.dtype == DType::String {
            return match &self.string_values()[elements] {
                [value] => Self::string(value.clone()).reshaped(shape),
                values => Self::strings(shape, values.to_vec()),
            };
        }
        if let Data::Deferred(deferred) = &self.data
            && deferred.is_open()
            && length >= deferred::MIN_ELEMENTS
        {
            return Ok(Self { dtype: self.dtype, shape, data: Data::Deferred(Arc::new(deferred.part(elements))) });
        }
        let size = self.dtype.size();
        Self::copied(self.dtype, shape, &self.bytes()[elements.start * size..elements.end * size])
    }

    /// As [`Tensor::row`]; a string leaves this tensor for it, if nobody else has the tensor.
    pub fn take_row(&mut self, index: usize) -> Result<Self> {
        if let Data::Strings(values) = &mut self.data
            && let [rows] = self.shape[..]
            && index < rows
            && let Some(values) = Arc::get_mut(values)
        {
            return Ok(Self::string(std::mem::take(&mut values[index])));
        }
        self.row(index)
    }

    /// The rows of the first dimension whose numbers are in `order`, which must exist, copied; `leading` takes the
    /// place of the first dimension.
    pub fn take_rows(&self, order: &[usize], leading: &[usize]) -> Result<Self> {
        let row = self.shape.row();
        let length = row.num_elements();
        let shape = leading.iter().chain(row.iter()).copied().collect();
        if self.dtype == DType::String {
            let rows = order.iter().flat_map(|row| &self.string_values()[row * length..(row + 1) * length]);
            return Self::strings(shape, rows.cloned().collect());
        }
        let row_bytes = length * self.dtype.size();
        if let [row] = order {
            return Self::copied(self.dtype, shape, &self.bytes()[row * row_bytes..(row + 1) * row_bytes]);
        }
        let mut bytes = Vec::with_capacity(order.len() * row_bytes);
        order.iter().for_each(|row| bytes.extend_from_slice(&self.bytes()[row * row_bytes..(row + 1) * row_bytes]));
        Self::from_bytes(self.dtype, shape, bytes.into())
    }

    /// The part of shape `shape` that begins at `begin`. Fails unless it lies inside.
    pub fn window(&self, begin: &[usize], shape: Shape) -> Result<Self> {
        let fits = |((begin, size), whole): ((&usize, &usize), &usize)| {
            begin.checked_add(*size).is_some_and(|end| end <= *whole)
        };
        if begin.len() != self.shape.len()
            || shape.len() != self.shape.len()
            || !begin.iter().zip(shape.iter()).zip(self.shape.iter()).all(fits)
        {
            return Err(Error::internal(format!("a window of {shape} at {begin:?} in {}", self.shape)));
        }
        let steps = steps_of(&self.shape);
        let start = begin.iter().zip(&steps).map(|(begin, step)| *begin as isize * step).sum();
        let dims = shape.iter().zip(&steps).map(|(length, step)| Dim { length: *length, step: *step });
        View::new(start, dims).of(self, shape.clone())
    }

    /// Stacks tensors of one numeric type and shape on a new first dimension; each element is copied once.
    pub fn stack<'a>(dtype: DType, row: &Shape, rows: impl ExactSizeIterator<Item = &'a Tensor>) -> Result<Self> {
        let shape = row.batched(rows.len());
        let rows = rows.enumerate().map(|(index, tensor)| tensor.check_row(index, dtype, row).map(|()| tensor));
        match dtype {
            DType::Float32 => {
                let mut floats = Vec::with_capacity(shape.num_elements());
                for tensor in rows {
                    let tensor = tensor?;
                    match &tensor.data {
                        Data::Deferred(deferred) => deferred.extend(&mut floats),
                        _ => floats.extend_from_slice(tensor.values()?),
                    }
                }
                Self::from_values(shape, floats)
            }
            _ => {
                let mut bytes = Vec::with_capacity(shape.num_elements() * dtype.size());
                for tensor in rows {
                    bytes.extend_from_slice(tensor?.bytes());
                }
                Self::from_bytes(dtype, shape, bytes.into())
            }
        }
    }

    /// As [`Tensor::stack`], of strings, which leave the tensors if nobody else has them.
    pub fn stack_strings<'a>(row: &Shape, rows: impl ExactSizeIterator<Item = &'a mut Tensor>) -> Result<Self> {
        let shape = row.batched(rows.len());
        let mut strings = Vec::with_capacity(shape.num_elements());
        for (index, tensor) in rows.enumerate() {
            tensor.check_row(index, DType::String, row)?;
            match &mut tensor.data {
                Data::String(value) => strings.push(std::mem::take(value)),
                Data::Strings(values) => match Arc::get_mut(values) {
                    Some(values) => strings.extend(values.iter_mut().map(std::mem::take)),
                    None => strings.extend_from_slice(values),
                },
                _ => {}
            }
        }
        Self::strings(shape, strings)
    }

    /// Fails if this is not of the type and shape of the other elements of a batch.
    fn check_row(&self, index: usize, dtype: DType, row: &Shape) -> Result<()> {
        if self.dtype == dtype && self.shape == *row {
            return Ok(());
        }
        let Self { dtype: got, shape, .. } = self;
        let text = format!("element {index} is {got} {shape}, expected {dtype} {row} as the elements before it");
        Err(Error::invalid_argument(text))
    }

    /// As [`Tensor::stack`], of tensors of the rank of `row` that are at most as large in each dimension; what they do
    /// not fill is 0, false or the empty string.
    pub fn stack_padded<'a>(
        dtype: DType,
        row: &Shape,
        rows: impl ExactSizeIterator<Item = &'a Tensor>,
    ) -> Result<Self> {
        let shape = row.batched(rows.len());
        let size = dtype.size();
        let mut strings = vec![Bytes::new(); if dtype == DType::String { shape.num_elements() } else { 0 }];
        let mut bytes = vec![0; shape.num_elements() * size];
        for (index, tensor) in rows.enumerate() {
            let start = index * row.num_elements();
            let source = tensor.bytes();
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

    /// The memory of a numeric tensor's elements; none for strings.
    pub fn into_memory(self) -> Memory {
        match self.data {
            Data::Buffer(memory) => memory,
            Data::Deferred(deferred) => match Arc::try_unwrap(deferred) {
                Ok(deferred) => Memory::numbers(deferred.into_values()),
                Err(shared) => Memory::Numbers(shared),
            },
            _ => Memory::aligned_copy(self.bytes()),
        }
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({}, {})", self.dtype, self.shape)
    }
}

impl PartialEq for Tensor {
    /// Whether type, shape and every byte agree (so a NaN equals itself).
    fn eq(&self, other: &Self) -> bool {
        self.dtype == other.dtype
            && self.shape == other.shape
            && self.bytes() == other.bytes()
            && self.string_values() == other.string_values()
    }
}

fn check_length(shape: &Shape, length: usize) -> Result<()> {
    match shape.num_elements() == length {
        true => Ok(()),
        false => Err(Error::internal(format!("{length} elements for shape {shape}"))),
    }
}

/// Where the elements of a tensor of shape `small` lie in one of shape `large`: (from, to, length) of each run.
fn runs(small: &Shape, large: &Shape) -> impl Iterator<Item = (usize, usize, usize)> {
    // A run goes on over the axes that are as long in both, and over one more.
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

fn inline(bytes: &[u8]) -> Option<Data> {
    let mut words = [0_u64; INLINE_BYTES / 8];
    bytemuck::bytes_of_mut(&mut words).get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(Data::Inline(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_puts_each_row_where_it_lies_in_the_larger_shape() {
        let small = Tensor::from_values(Shape::new(&[2, 1]), vec![1_i32, 2]).unwrap();
        let large = Tensor::from_values(Shape::new(&[1, 3]), vec![3_i32, 4, 5]).unwrap();
        let row = Shape::new(&[2, 3]);
        let batch = Tensor::stack_padded(DType::Int32, &row, [&small, &large].into_iter()).unwrap();
        assert_eq!(batch.shape()[..], [2, 2, 3]);
        assert_eq!(batch.values::<i32>().unwrap(), [1, 0, 0, 2, 0, 0, 3, 4, 5, 0, 0, 0]);
    }

    #[test]
    fn a_window_is_cut_out_of_every_dimension() {
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
        assert_eq!(error.message(), "a window of [1,2,1] at [0, 2, 0] in [2,3,4]");
    }

    #[test]
    fn padded_strings_are_empty() {
        let words = Tensor::strings(Shape::new(&[1]), vec!["a".into()]).unwrap();
        let batch = Tensor::stack_padded(DType::String, &Shape::new(&[2]), [&words].into_iter()).unwrap();
        assert_eq!(batch.string_values(), ["a", ""]);
    }

    #[test]
    fn a_row_keeps_nothing_of_its_batch_alive() {
        let batch = Tensor::from_values(Shape::new(&[2, 100]), vec![1_u8; 200]).unwrap();
        let row = batch.row(1).unwrap();
        assert!(batch.into_memory().is_unique() && row.bytes() == [1; 100]);
    }

    #[test]
    fn numbers_at_an_odd_address_are_moved_to_an_aligned_one() {
        let bytes = Bytes::from(vec![1_u8; 65]).slice(1..);
        let tensor = Tensor::from_bytes(DType::Float64, Shape::new(&[8]), bytes).unwrap();
        assert_eq!(tensor.values::<f64>().unwrap().len(), 8);
    }
}
