//! The columns of CSV records, which collect the values of many records or of a single one.

use super::split::Fields;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::aliasing::alias_or_copy;
use crate::tensor::allocate::{self, Refusal};
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use crate::text::excerpt::excerpt;
use crate::text::number::FromText;
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

/// The value of each column of a single record, as scalars.
pub struct Scalars<'a> {
    pub dtypes: &'a [DType],
    pub slots: &'a mut [Option<Tensor>],
}

/// Where the values of a record go, column by column.
pub trait Columns {
    /// Appends the next field to a column of numbers if it has the usual form and is not
    /// `na_value`. Returns whether it did. Otherwise `fields` does not change.
    fn push_usual(&mut self, column: usize, fields: &mut Fields, na_value: &[u8]) -> bool;

    /// Appends a value, which must have the type of the column.
    fn push(&mut self, column: usize, value: Value) -> Result<()>;
}

/// The value of a field.
pub enum Value {
    Int32(i32),
    Int64(i64),
    Float32(f32),
    Float64(f64),
    String(Bytes),
}

/// The position of a field: its record and its number.
#[derive(Clone, Copy)]
pub struct FieldPosition {
    pub field: usize,
    pub record: usize,
}

impl Column {
    pub fn new(dtype: DType, capacity: usize) -> Result<Self> {
        let column = || {
            Ok(Some(match dtype {
                DType::Int32 => Self::Int32(allocate::room(capacity)?),
                DType::Int64 => Self::Int64(allocate::room(capacity)?),
                DType::Float32 => Self::Float32(allocate::room(capacity)?),
                DType::Float64 => Self::Float64(allocate::room(capacity)?),
                DType::String => Self::String(allocate::room(capacity)?),
                _ => return Ok(None),
            }))
        };
        let column = column().map_err(|refusal: Refusal| refusal.at("a CSV column"))?;
        column.ok_or_else(|| unsupported(dtype))
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

impl Columns for [Column] {
    #[inline]
    fn push_usual(&mut self, column: usize, fields: &mut Fields, na_value: &[u8]) -> bool {
        match &mut self[column] {
            Column::Int32(values) => fields.number(na_value).map(|value| values.push(value)),
            Column::Int64(values) => fields.number(na_value).map(|value| values.push(value)),
            Column::Float32(values) => fields.number(na_value).map(|value| values.push(value)),
            Column::Float64(values) => fields.number(na_value).map(|value| values.push(value)),
            Column::String(_) => None,
        }
        .is_some()
    }

    fn push(&mut self, column: usize, value: Value) -> Result<()> {
        match (&mut self[column], value) {
            (Column::Int32(values), Value::Int32(value)) => values.push(value),
            (Column::Int64(values), Value::Int64(value)) => values.push(value),
            (Column::Float32(values), Value::Float32(value)) => values.push(value),
            (Column::Float64(values), Value::Float64(value)) => values.push(value),
            (Column::String(values), Value::String(value)) => values.push(value),
            _ => return Err(Error::internal("a value does not have the type of its column")),
        }
        Ok(())
    }
}

impl Columns for Scalars<'_> {
    #[inline]
    fn push_usual(&mut self, column: usize, fields: &mut Fields, na_value: &[u8]) -> bool {
        self.slots[column] = match self.dtypes[column] {
            DType::Int32 => fields.number::<i32>(na_value).map(Tensor::scalar),
            DType::Int64 => fields.number::<i64>(na_value).map(Tensor::scalar),
            DType::Float32 => fields.number::<f32>(na_value).map(Tensor::scalar),
            DType::Float64 => fields.number::<f64>(na_value).map(Tensor::scalar),
            _ => None,
        };
        self.slots[column].is_some()
    }

    fn push(&mut self, column: usize, value: Value) -> Result<()> {
        self.slots[column] = Some(match value {
            Value::Int32(value) => Tensor::scalar(value),
            Value::Int64(value) => Tensor::scalar(value),
            Value::Float32(value) => Tensor::scalar(value),
            Value::Float64(value) => Tensor::scalar(value),
            Value::String(value) => Tensor::string(value),
        });
        Ok(())
    }
}

impl Value {
    /// Parses `text`, a field of `record`.
    pub fn of(dtype: DType, text: Cow<[u8]>, record: &Bytes, position: FieldPosition) -> Result<Self> {
        match dtype {
            DType::Int32 => number(&text, position).map(Self::Int32),
            DType::Int64 => number(&text, position).map(Self::Int64),
            DType::Float32 => number(&text, position).map(Self::Float32),
            DType::Float64 => number(&text, position).map(Self::Float64),
            DType::String => Ok(Self::String(match text {
                Cow::Borrowed(text) => alias_or_copy(text, record),
                Cow::Owned(text) => text.into(),
            })),
            _ => Err(unsupported(dtype)),
        }
    }

    /// Returns the value of `default`, if it has one.
    pub fn default(default: &Tensor, position: FieldPosition) -> Result<Self> {
        match default.dtype() {
            DType::Int32 => first(default.values()?, position).map(Self::Int32),
            DType::Int64 => first(default.values()?, position).map(Self::Int64),
            DType::Float32 => first(default.values()?, position).map(Self::Float32),
            DType::Float64 => first(default.values()?, position).map(Self::Float64),
            DType::String => first(default.string_values(), position).map(Self::String),
            dtype => Err(unsupported(dtype)),
        }
    }
}

fn unsupported(dtype: DType) -> Error {
    Error::invalid_argument(format!("csv: data type {dtype} not supported"))
}

fn number<T: FromText>(text: &[u8], FieldPosition { field, record }: FieldPosition) -> Result<T> {
    T::from_text(text).ok_or_else(|| {
        let (dtype, text) = (T::DTYPE, excerpt(text));
        Error::invalid_argument(format!(
            "Field {field} in record {record} is not a valid {dtype}: {text}. Correct the record, or read the column \
             as another type"
        ))
    })
}

fn first<T: Clone>(elements: &[T], FieldPosition { field, record }: FieldPosition) -> Result<T> {
    elements.first().cloned().ok_or_else(|| {
        Error::invalid_argument(format!(
            "Field {field} is required but missing in record {record}! Give the field a default in record_defaults"
        ))
    })
}
