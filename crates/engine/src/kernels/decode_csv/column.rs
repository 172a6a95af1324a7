//! One column: what a field is in every record.

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::excerpt::excerpt;
use crate::number::FromText;
use crate::retain::retain;
use crate::shape::Shape;
use crate::tensor::Tensor;
use bytes::Bytes;
use std::borrow::Cow;

/// The values of one column.
pub enum Column {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float32(Vec<f32>),
    Float64(Vec<f64>),
    String(Vec<Bytes>),
}

/// Which field of which record.
#[derive(Clone, Copy)]
pub struct Place {
    pub field: usize,
    pub record: usize,
}

impl Column {
    pub fn new(dtype: DType, capacity: usize) -> Result<Self> {
        match dtype {
            DType::Int32 => Ok(Self::Int32(Vec::with_capacity(capacity))),
            DType::Int64 => Ok(Self::Int64(Vec::with_capacity(capacity))),
            DType::Float32 => Ok(Self::Float32(Vec::with_capacity(capacity))),
            DType::Float64 => Ok(Self::Float64(Vec::with_capacity(capacity))),
            DType::String => Ok(Self::String(Vec::with_capacity(capacity))),
            _ => Err(unsupported(dtype)),
        }
    }

    /// Adds the value that `text`, a field of `record`, stands for.
    pub fn push(&mut self, text: Cow<[u8]>, record: &Bytes, place: Place) -> Result<()> {
        match self {
            Self::Int32(values) => values.push(number(&text, place)?),
            Self::Int64(values) => values.push(number(&text, place)?),
            Self::Float32(values) => values.push(number(&text, place)?),
            Self::Float64(values) => values.push(number(&text, place)?),
            Self::String(values) => values.push(string(text, record)),
        }
        Ok(())
    }

    /// Adds the element of `default`, if it has one.
    pub fn push_default(&mut self, default: &Tensor, place: Place) -> Result<()> {
        match self {
            Self::Int32(values) => values.push(*the_default(default.values()?, place)?),
            Self::Int64(values) => values.push(*the_default(default.values()?, place)?),
            Self::Float32(values) => values.push(*the_default(default.values()?, place)?),
            Self::Float64(values) => values.push(*the_default(default.values()?, place)?),
            Self::String(values) => values.push(the_default(default.string_values(), place)?.clone()),
        }
        Ok(())
    }

    pub fn into_tensor(self, shape: Shape) -> Result<Tensor> {
        match self {
            Self::Int32(values) => Tensor::from_values(shape, values),
            Self::Int64(values) => Tensor::from_values(shape, values),
            Self::Float32(values) => Tensor::from_values(shape, values),
            Self::Float64(values) => Tensor::from_values(shape, values),
            Self::String(values) => Tensor::strings(shape, values),
        }
    }
}

/// The value that `text`, a field of `record`, stands for.
pub fn scalar(dtype: DType, text: Cow<[u8]>, record: &Bytes, place: Place) -> Result<Tensor> {
    match dtype {
        DType::Int32 => number::<i32>(&text, place).map(Tensor::scalar),
        DType::Int64 => number::<i64>(&text, place).map(Tensor::scalar),
        DType::Float32 => number::<f32>(&text, place).map(Tensor::scalar),
        DType::Float64 => number::<f64>(&text, place).map(Tensor::scalar),
        DType::String => Ok(Tensor::string(string(text, record))),
        _ => Err(unsupported(dtype)),
    }
}

/// The element of `default`, if it has one.
pub fn scalar_default(default: &Tensor, place: Place) -> Result<Tensor> {
    match default.num_elements() {
        0 => Err(required(place)),
        _ => default.clone().reshaped(Shape::scalar()),
    }
}

fn unsupported(dtype: DType) -> Error {
    Error::invalid_argument(format!("csv: data type {dtype} not supported"))
}

fn string(text: Cow<[u8]>, record: &Bytes) -> Bytes {
    match text {
        Cow::Borrowed(text) => retain(text, record),
        Cow::Owned(text) => text.into(),
    }
}

fn number<T: FromText>(text: &[u8], Place { field, record }: Place) -> Result<T> {
    T::from_text(text).ok_or_else(|| {
        let (dtype, text) = (T::DTYPE, excerpt(text));
        Error::invalid_argument(format!(
            "Field {field} in record {record} is not a valid {dtype}: {text}. Correct the record, or read the column \
             as another type"
        ))
    })
}

fn the_default<T>(elements: &[T], place: Place) -> Result<&T> {
    elements.first().ok_or_else(|| required(place))
}

fn required(Place { field, record }: Place) -> Error {
    Error::invalid_argument(format!(
        "Field {field} is required but missing in record {record}! Give the field a default in record_defaults"
    ))
}
