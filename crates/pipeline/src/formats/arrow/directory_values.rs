//! Compares a column of a file with the value that the name of a directory gives it.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;

/// True if columns that are read as this type can be compared: integers and strings. The names of
/// directories have several ways to write other values.
pub fn is_comparable(kind: &DataType) -> bool {
    kind.is_integer() || matches!(kind, DataType::LargeUtf8)
}

/// A value as text, if it is an integer or a string.
pub fn text(value: &Tensor) -> Option<String> {
    match value.dtype() {
        DType::String => Some(String::from_utf8_lossy(value.string_values().first()?).into_owned()),
        DType::Int64 => Some(i64::from_ne_bytes(value.bytes().try_into().ok()?).to_string()),
        DType::Int32 => Some(i32::from_ne_bytes(value.bytes().try_into().ok()?).to_string()),
        _ => None,
    }
}

/// Returns the first row that differs from a value. Integers may have leading zeros.
pub fn first_difference(array: &ArrayRef, value: Option<&str>) -> Option<usize> {
    let number = value.and_then(|value| value.parse::<i128>().ok());
    (0..array.len()).find(|row| {
        let Some(value) = value.filter(|_| !array.is_null(*row)) else {
            return value.is_some() || !array.is_null(*row);
        };
        match array.data_type() {
            DataType::LargeUtf8 => {
                let own = array.as_string::<i64>().value(*row);
                own != value && !own.parse().is_ok_and(|own: i128| Some(own) == number)
            }
            _ => integer(array, *row) != number,
        }
    })
}

fn integer(array: &ArrayRef, row: usize) -> Option<i128> {
    fn of<T: ArrowPrimitiveType<Native: Into<i128>>>(array: &ArrayRef, row: usize) -> Option<i128> {
        Some(array.as_primitive::<T>().value(row).into())
    }
    match array.data_type() {
        DataType::Int8 => of::<Int8Type>(array, row),
        DataType::Int16 => of::<Int16Type>(array, row),
        DataType::Int32 => of::<Int32Type>(array, row),
        DataType::Int64 => of::<Int64Type>(array, row),
        DataType::UInt8 => of::<UInt8Type>(array, row),
        DataType::UInt16 => of::<UInt16Type>(array, row),
        DataType::UInt32 => of::<UInt32Type>(array, row),
        DataType::UInt64 => of::<UInt64Type>(array, row),
        _ => None,
    }
}
