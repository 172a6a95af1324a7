//! One component of a batch under construction.

use bytes::Bytes;
use headrace_engine::error::Result;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;

pub(super) enum Column {
    Floats(Vec<f32>),
    /// Numbers of any other dtype.
    Numbers(Vec<u8>),
    Strings(Strings),
}

/// Strings. Some of them share a buffer.
pub(super) struct Strings {
    /// The strings. Strings in the buffer are represented by an empty one.
    values: Vec<Bytes>,
    buffer: Vec<u8>,
    /// For each string in the buffer, its index in `values` and its end in the buffer.
    buffered: Vec<(usize, usize)>,
}

impl Column {
    /// Reserves memory for the elements of a batch with this shape.
    pub(super) fn new(dtype: DType, shape: &Shape) -> Result<Self> {
        let elements = allocate::elements(dtype, shape);
        Ok(match dtype {
            DType::Float32 => Self::Floats(elements.room()?),
            DType::String => {
                Self::Strings(Strings { values: elements.room()?, buffer: Vec::new(), buffered: elements.room()? })
            }
            _ => Self::Numbers(elements.room()?),
        })
    }

    /// Adds the bytes of numbers, or a single string.
    pub(super) fn push_bytes(&mut self, bytes: &[u8]) {
        match self {
            Self::Floats(floats) => floats.extend(bytes.as_chunks().0.iter().map(|bytes| f32::from_ne_bytes(*bytes))),
            Self::Numbers(numbers) => numbers.extend_from_slice(bytes),
            Self::Strings(strings) => strings.push_copy(bytes),
        }
    }

    /// Lets `compute` append floats.
    pub(super) fn push_floats(&mut self, compute: impl FnOnce(&mut Vec<f32>)) {
        if let Self::Floats(floats) = self {
            compute(floats);
        }
    }

    /// Adds the elements of a tensor. Strings are moved out of it.
    pub(super) fn push(&mut self, component: &mut Tensor) -> Result<()> {
        match self {
            Self::Floats(floats) => component.extend_floats(floats)?,
            Self::Numbers(numbers) => numbers.extend_from_slice(component.stored()?),
            Self::Strings(strings) => component.take_strings(&mut strings.values),
        }
        Ok(())
    }

    pub(super) fn into_tensor(self, dtype: DType, shape: Shape) -> Result<Tensor> {
        match self {
            Self::Floats(floats) => Tensor::from_values(shape, floats),
            Self::Numbers(numbers) => Tensor::from_bytes(dtype, shape, numbers.into()),
            Self::Strings(strings) => Tensor::strings(shape, strings.into_values()),
        }
    }
}

impl Strings {
    fn push_copy(&mut self, string: &[u8]) {
        self.buffer.extend_from_slice(string);
        self.buffered.push((self.values.len(), self.buffer.len()));
        self.values.push(Bytes::new());
    }

    fn into_values(self) -> Vec<Bytes> {
        let Self { mut values, buffer, buffered } = self;
        let (buffer, mut start) = (Bytes::from(buffer), 0);
        for (index, end) in buffered {
            values[index] = buffer.slice(start..end);
            start = end;
        }
        values
    }
}
