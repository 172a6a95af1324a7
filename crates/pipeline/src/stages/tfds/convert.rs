//! Converts stored values to the dtype of a feature.

use headrace_engine::error::{Error, Result};
use headrace_engine::kernels::math::cast::cast;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;

/// A value that the dtype of its feature cannot represent.
pub struct OutOfRange {
    /// The index of the value.
    pub index: usize,
    /// The value.
    pub value: i64,
}

/// Converts stored values to `dtype`. int64 values must fit, except that uint64 values are stored
/// with the same bits.
pub fn converted(values: &Tensor, dtype: DType) -> Result<std::result::Result<Tensor, OutOfRange>> {
    if values.dtype() == DType::Int64
        && let Some((least, most)) = range(dtype)
        && let Some(index) = values.values::<i64>()?.iter().position(|value| !(least..=most).contains(value))
    {
        return Ok(Err(OutOfRange { index, value: values.values::<i64>()?[index] }));
    }
    cast(values, dtype).map(Ok)
}

/// The integers that a dtype can represent, unless all int64 values are allowed.
fn range(dtype: DType) -> Option<(i64, i64)> {
    Some(match dtype {
        DType::Bool => (0, 1),
        DType::UInt8 => (0, i64::from(u8::MAX)),
        DType::UInt16 => (0, i64::from(u16::MAX)),
        DType::UInt32 => (0, i64::from(u32::MAX)),
        DType::Int8 => (i64::from(i8::MIN), i64::from(i8::MAX)),
        DType::Int16 => (i64::from(i16::MIN), i64::from(i16::MAX)),
        DType::Int32 => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => return None,
    })
}

/// The error for a value that is out of range.
pub fn out_of_range(name: &str, dtype: DType, value: i64) -> Error {
    Error::data_loss(format!("the feature '{name}' has the value {value}, expected {dtype}. {REMEDY}"))
}

/// How to fix a record that does not match `features.json`.
pub const REMEDY: &str = "The record does not match features.json. Prepare the data set again.";
