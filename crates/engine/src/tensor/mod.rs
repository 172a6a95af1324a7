//! Tensors, which consist of a dtype, a shape and shared bytes. Cloning a tensor does not copy
//! its elements.

pub mod aliasing;
pub mod allocate;
pub mod deferred;
pub mod dtype;
pub mod memory;
pub mod memory_limit;
mod rows;
pub mod shape;
mod unshare;
pub(crate) mod view;

use crate::error::{Error, Result};
use crate::tensor::deferred::Deferred;
use crate::tensor::dtype::{DType, Numeric};
use crate::tensor::memory::Memory;
use crate::tensor::shape::Shape;
use bytes::Bytes;
use smallvec::SmallVec;
use std::fmt;
use std::sync::Arc;

/// Numeric values up to this size are stored in the tensor itself. They are labels, ids and
/// counters.
const INLINE_BYTES: usize = 16;

/// An immutable array with elements of a single dtype.
///
/// Numeric elements are stored in row-major order in the machine's byte order, aligned for their
/// type; booleans as bytes 0 and 1; strings as reference-counted slices of bytes.
///
/// ```
/// use headrace_engine::tensor::Tensor;
/// use headrace_engine::tensor::dtype::DType;
/// use headrace_engine::tensor::shape::Shape;
///
/// let matrix = Tensor::from_values(Shape::new(&[2, 3]), vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!(matrix.dtype(), DType::Float32);
/// assert_eq!(matrix.row(1)?.values::<f32>()?, [4.0, 5.0, 6.0]);
/// assert_eq!(Tensor::string("a line").string_values(), ["a line"]);
/// # headrace_engine::error::Result::Ok(())
/// ```
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
    Strings(Arc<Vec<Bytes>>),
}

impl Tensor {
    /// Creates a tensor from `values` in row-major order. Fails if the shape has a different number
    /// of elements.
    pub fn from_values<T: Numeric>(shape: Shape, values: Vec<T>) -> Result<Self> {
        check_length(&shape, values.len())?;
        let data = inline(bytemuck::cast_slice(&values)).unwrap_or_else(|| Data::Buffer(Memory::numbers(values)));
        Ok(Self { dtype: T::DTYPE, shape, data })
    }

    /// Creates a tensor with a single number.
    pub fn scalar<T: Numeric>(value: T) -> Self {
        let data = inline(bytemuck::bytes_of(&value)).unwrap_or(Data::Inline([0; 2]));
        Self { dtype: T::DTYPE, shape: Shape::scalar(), data }
    }

    /// Creates a tensor with a single bool.
    pub fn bool(value: bool) -> Self {
        Self { dtype: DType::Bool, ..Self::scalar(u8::from(value)) }
    }

    /// Creates a numeric, boolean or complex tensor over `bytes`, which are only copied if they are
    /// not aligned.
    pub fn from_bytes(dtype: DType, shape: Shape, bytes: Bytes) -> Result<Self> {
        Self::over(dtype, shape, bytes, Memory::Bytes)
    }

    /// Like [`Tensor::from_bytes`], for the bytes of a string.
    pub fn from_string(dtype: DType, shape: Shape, bytes: Bytes) -> Result<Self> {
        Self::over(dtype, shape, bytes, Memory::of_string)
    }

    fn over(dtype: DType, shape: Shape, bytes: Bytes, memory: impl FnOnce(Bytes) -> Memory) -> Result<Self> {
        if dtype == DType::String {
            return Err(Error::internal("a string tensor cannot be built from one run of bytes"));
        }
        if Some(bytes.len()) != shape.checked_num_elements()?.checked_mul(dtype.size()) {
            return Err(Error::internal(format!("got {} bytes for a {dtype} tensor of shape {shape}", bytes.len())));
        }
        let data = match inline(&bytes) {
            Some(data) => data,
            None if bytes.as_ptr().align_offset(dtype.alignment()) == 0 => Data::Buffer(memory(bytes)),
            None => Data::Buffer(Memory::aligned_copy(&bytes).map_err(|refusal| refusal.of_tensor(dtype, &shape))?),
        };
        Ok(Self { dtype, shape, data })
    }

    /// Creates a numeric, boolean or complex tensor from a copy of `bytes`.
    pub fn copied(dtype: DType, shape: Shape, bytes: &[u8]) -> Result<Self> {
        match inline(bytes) {
            Some(data)
                if dtype != DType::String
                    && Some(bytes.len()) == shape.checked_num_elements()?.checked_mul(dtype.size()) =>
            {
                Ok(Self { dtype, shape, data })
            }
            _ => {
                let copy = allocate::copied(bytes).map_err(|refusal| refusal.of_tensor(dtype, &shape))?;
                Self::from_bytes(dtype, shape, copy)
            }
        }
    }

    /// A scalar string.
    pub fn string(value: impl Into<Bytes>) -> Self {
        Self { dtype: DType::String, shape: Shape::scalar(), data: Data::String(value.into()) }
    }

    /// Creates a tensor from strings in row-major order. Fails if the shape has a different number
    /// of elements.
    pub fn strings(shape: Shape, values: Vec<Bytes>) -> Result<Self> {
        check_length(&shape, values.len())?;
        let data = match <[Bytes; 1]>::try_from(values) {
            Ok([value]) => Data::String(value),
            Err(values) => Data::Strings(Arc::new(values)),
        };
        Ok(Self { dtype: DType::String, shape, data })
    }

    /// Like [`Tensor::from_values`], without an allocation for a single value.
    pub fn from_small_vec<T: Numeric, A: smallvec::Array<Item = T>>(shape: Shape, values: SmallVec<A>) -> Result<Self> {
        match values[..] {
            [value] => Self::scalar(value).reshaped(shape),
            _ => Self::from_values(shape, values.into_vec()),
        }
    }

    /// Like [`Tensor::strings`], without an allocation for a single value.
    pub fn strings_from_small_vec(shape: Shape, values: SmallVec<[Bytes; 1]>) -> Result<Self> {
        match values.into_inner() {
            Ok([value]) => Self::string(value).reshaped(shape),
            Err(values) => Self::strings(shape, values.into_vec()),
        }
    }

    /// Creates a tensor without elements. Its shape must contain a 0.
    pub fn empty(dtype: DType, shape: Shape) -> Result<Self> {
        check_length(&shape, 0)?;
        let data = if dtype == DType::String { Data::Strings(Arc::default()) } else { Data::Inline([0; 2]) };
        Ok(Self { dtype, shape, data })
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The size of each dimension.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The product of the sizes of all dimensions.
    pub fn num_elements(&self) -> usize {
        self.shape.num_elements()
    }

    /// The elements of a numeric tensor. Fails if their type is not `T`.
    pub fn values<T: Numeric>(&self) -> Result<&[T]> {
        if self.dtype != T::DTYPE {
            return Err(Error::internal(format!("a {} tensor was read as {}", self.dtype, T::DTYPE)));
        }
        Ok(bytemuck::cast_slice(self.stored()?))
    }

    /// The bytes of the elements, or empty for strings. Deferred elements are computed now. Fails
    /// if there is no memory for them.
    pub fn stored(&self) -> Result<&[u8]> {
        self.materialise()?;
        Ok(self.bytes())
    }

    /// The size of the elements in memory. For deferred floats, the size of the bytes that they are
    /// computed from.
    pub fn num_bytes(&self) -> usize {
        match &self.data {
            Data::Deferred(deferred) => deferred.source().1.as_ref().len(),
            Data::String(_) | Data::Strings(_) => self.string_values().iter().map(Bytes::len).sum(),
            _ => self.num_elements() * self.dtype.size(),
        }
    }

    /// Like [`Tensor::stored`], for elements that are not deferred or have already been computed.
    /// Otherwise they are computed here, and the process is aborted if there is not enough memory.
    pub fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Inline(words) => &bytemuck::bytes_of(words)[..self.num_elements() * self.dtype.size()],
            Data::Buffer(memory) => memory.as_ref(),
            Data::Deferred(deferred) => (**deferred).as_ref(),
            Data::String(_) | Data::Strings(_) => &[],
        }
    }

    /// The elements of a string tensor. Empty for other dtypes.
    pub fn string_values(&self) -> &[Bytes] {
        match &self.data {
            Data::String(value) => std::slice::from_ref(value),
            Data::Strings(values) => values,
            Data::Inline(_) | Data::Buffer(_) | Data::Deferred(_) => &[],
        }
    }

    /// The only element of a string tensor, mutably.
    pub fn only_string_mut(&mut self) -> Option<&mut Bytes> {
        match &mut self.data {
            Data::String(value) => Some(value),
            _ => None,
        }
    }

    /// The only element of a string tensor. The error calls the argument `what`.
    pub fn string_scalar(&self, what: &str) -> Result<&Bytes> {
        match self.string_values() {
            [value] => Ok(value),
            _ => Err(Error::invalid_argument(format!(
                "{what} must be a scalar string, got {} {}",
                self.dtype, self.shape
            ))),
        }
    }

    /// The only element of an int32 or int64 tensor. The error calls the argument `what`.
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
            DType::Int32 => allocate::collected_small(self.values::<i32>()?.iter().map(|value| i64::from(*value))),
            _ => allocate::collected_small(self.values::<i64>()?.iter().copied()),
        }
        .map_err(|refusal| refusal.of_tensor(DType::Int64, &self.shape))
    }

    /// The only element of a boolean tensor. The error calls the argument `what`.
    pub fn bool_scalar(&self, what: &str) -> Result<bool> {
        match (self.dtype, self.bytes()) {
            (DType::Bool, [value]) => Ok(*value != 0),
            _ => {
                Err(Error::invalid_argument(format!("{what} must be a scalar bool, got {} {}", self.dtype, self.shape)))
            }
        }
    }

    /// Copies the elements of a float tensor to a new vector.
    pub fn to_floats(&self) -> Result<Vec<f32>> {
        let mut floats = allocate::elements(DType::Float32, &self.shape).room()?;
        self.extend_floats(&mut floats)?;
        Ok(floats)
    }

    /// Appends the elements of a float tensor to `floats`.
    pub fn extend_floats(&self, floats: &mut Vec<f32>) -> Result<()> {
        match &self.data {
            Data::Deferred(deferred) => deferred.extend(floats),
            _ => floats.extend_from_slice(self.values()?),
        }
        Ok(())
    }

    /// Appends the elements of a string tensor to `strings`. They are moved if this tensor is not
    /// shared.
    pub fn take_strings(&mut self, strings: &mut Vec<Bytes>) {
        match &mut self.data {
            Data::String(value) => strings.push(std::mem::take(value)),
            Data::Strings(values) => match Arc::get_mut(values) {
                Some(values) => strings.extend(values.iter_mut().map(std::mem::take)),
                None => strings.extend_from_slice(values),
            },
            _ => {}
        }
    }

    /// Returns the same elements in a different shape with the same number of elements.
    pub fn reshaped(mut self, shape: Shape) -> Result<Self> {
        self.set_shape(shape)?;
        Ok(self)
    }

    /// Changes the shape to another one with the same number of elements.
    pub fn set_shape(&mut self, shape: Shape) -> Result<()> {
        check_length(&shape, self.num_elements())?;
        self.shape = shape;
        Ok(())
    }

    /// Reinterprets the same bytes as elements of a different dtype of equal size.
    pub fn with_dtype(self, dtype: DType) -> Result<Self> {
        if dtype.size() != self.dtype.size() || (dtype == DType::String) != (self.dtype == DType::String) {
            return Err(Error::internal(format!("{} bytes cannot be viewed as {dtype}", self.dtype)));
        }
        Ok(Self { dtype, ..self })
    }

    /// Returns the memory of a numeric tensor's elements. It is empty for strings.
    pub fn into_memory(self) -> Result<Memory> {
        self.materialise()?;
        Ok(match self.data {
            Data::Buffer(memory) => memory,
            Data::Deferred(deferred) => match Arc::try_unwrap(deferred) {
                Ok(deferred) => Memory::numbers(deferred.into_values()),
                Err(shared) => Memory::Numbers(shared),
            },
            _ => Memory::aligned_copy(self.bytes()).map_err(|refusal| refusal.of_tensor(self.dtype, &self.shape))?,
        })
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({}, {})", self.dtype, self.shape)
    }
}

impl PartialEq for Tensor {
    /// Returns true if the dtype, the shape and every byte are equal, so a NaN equals itself.
    fn eq(&self, other: &Self) -> bool {
        self.dtype == other.dtype
            && self.shape == other.shape
            && self.bytes() == other.bytes()
            && self.string_values() == other.string_values()
    }
}

fn check_length(shape: &Shape, length: usize) -> Result<()> {
    match shape.checked_num_elements()? == length {
        true => Ok(()),
        false => Err(Error::internal(format!("got {length} elements for shape {shape}"))),
    }
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
    fn unaligned_numbers_are_moved_to_an_aligned_address() {
        let bytes = Bytes::from(vec![1_u8; 65]).slice(1..);
        let tensor = Tensor::from_bytes(DType::Float64, Shape::new(&[8]), bytes).unwrap();
        assert_eq!(tensor.values::<f64>().unwrap().len(), 8);
    }
}
