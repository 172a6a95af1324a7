//! Converts single Arrow values and elements of lists to tensors. Numbers and the bytes of
//! strings are not copied unless they have to be converted.

use crate::blocks::column::{Span, Text};
use crate::formats::arrow::int96::int96_nanoseconds;
use crate::formats::arrow::types::unit_of;
use crate::formats::component::elements::Element;
use crate::formats::component::times::{NOT_A_TIME, TimeUnit};
use crate::formats::component::{Component, Form};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DecimalType, DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{ArrowNativeType, Buffer};
use arrow_schema::{DataType, TimeUnit as ArrowUnit};
use bytes::Bytes;
use half::f16;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use headrace_engine::text::excerpt::excerpt;
use std::fmt::Display;

/// Why an array could not be converted to a column.
pub enum Fault {
    /// A value that the component cannot represent: its number, and the reason.
    Value(usize, String),
    /// Another error.
    Other(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// The result of converting an array.
pub type Converted<T> = std::result::Result<T, Fault>;

/// The error for an array of an unexpected type.
pub fn unexpected(kind: &DataType) -> Fault {
    Fault::Other(Error::internal(format!("a column was read as {kind}")))
}

/// Converts values to a tensor of this shape. No value may be null.
pub fn tensor(component: &Component, shape: Shape, array: &ArrayRef) -> Converted<Tensor> {
    if array.is_empty() {
        // The array may be of type null.
        return Ok(Tensor::empty(component.dtype, shape)?);
    }
    match component.form {
        Form::Instant(unit) | Form::Span(unit) => {
            let times = times(unit, array)?;
            Ok(Tensor::from_values(shape, times)?)
        }
        _ if component.dtype == DType::String => {
            let text = text(component, array)?;
            let strings = allocate::elements(DType::String, &shape);
            Ok(Tensor::strings(shape.clone(), strings.collect((0..text.len()).map(|row| text.shared_row(row)))?)?)
        }
        _ => numbers(component.dtype, shape, array),
    }
}

fn numbers(dtype: DType, shape: Shape, array: &ArrayRef) -> Converted<Tensor> {
    if array.data_type().is_decimal() {
        return decimals(dtype, shape, array);
    }
    match (dtype, array.data_type()) {
        (DType::Bool, DataType::Boolean) => {
            let bits = array.as_boolean().values();
            let bytes = allocate::elements(dtype, &shape).collect(bits.iter().map(u8::from))?;
            Ok(Tensor::from_bytes(dtype, shape, bytes.into())?)
        }
        (DType::Int8, DataType::Int8) => primitive::<Int8Type>(dtype, shape, array),
        (DType::Int16, DataType::Int16) => primitive::<Int16Type>(dtype, shape, array),
        (DType::Int32, DataType::Int32) => primitive::<Int32Type>(dtype, shape, array),
        (DType::Int64, DataType::Int64) => primitive::<Int64Type>(dtype, shape, array),
        (DType::UInt8, DataType::UInt8) => primitive::<UInt8Type>(dtype, shape, array),
        (DType::UInt16, DataType::UInt16) => primitive::<UInt16Type>(dtype, shape, array),
        (DType::UInt32, DataType::UInt32) => primitive::<UInt32Type>(dtype, shape, array),
        (DType::UInt64, DataType::UInt64) => primitive::<UInt64Type>(dtype, shape, array),
        (DType::Float16, DataType::Float16) => primitive::<Float16Type>(dtype, shape, array),
        (DType::Float32, DataType::Float32) => primitive::<Float32Type>(dtype, shape, array),
        (DType::Float64, DataType::Float64) => primitive::<Float64Type>(dtype, shape, array),
        (DType::Int8, _) => converted::<i8>(shape, array),
        (DType::Int16, _) => converted::<i16>(shape, array),
        (DType::Int32, _) => converted::<i32>(shape, array),
        (DType::Int64, _) => converted::<i64>(shape, array),
        (DType::UInt8, _) => converted::<u8>(shape, array),
        (DType::UInt16, _) => converted::<u16>(shape, array),
        (DType::UInt32, _) => converted::<u32>(shape, array),
        (DType::UInt64, _) => converted::<u64>(shape, array),
        (DType::Float16, _) => converted::<f16>(shape, array),
        (DType::Float32, _) => converted::<f32>(shape, array),
        (DType::Float64, _) => converted::<f64>(shape, array),
        (_, kind) => Err(unexpected(kind)),
    }
}

fn primitive<T: ArrowPrimitiveType>(dtype: DType, shape: Shape, array: &ArrayRef) -> Converted<Tensor> {
    let values = array.as_primitive::<T>().values();
    Ok(Tensor::from_bytes(dtype, shape, shared(values.inner()))?)
}

/// Converts numbers to another type.
fn converted<T: Element>(shape: Shape, array: &ArrayRef) -> Converted<Tensor> {
    match array.data_type() {
        DataType::Int8 => integers::<T, Int8Type>(shape, array),
        DataType::Int16 => integers::<T, Int16Type>(shape, array),
        DataType::Int32 => integers::<T, Int32Type>(shape, array),
        DataType::Int64 => integers::<T, Int64Type>(shape, array),
        DataType::UInt8 => integers::<T, UInt8Type>(shape, array),
        DataType::UInt16 => integers::<T, UInt16Type>(shape, array),
        DataType::UInt32 => integers::<T, UInt32Type>(shape, array),
        DataType::UInt64 => integers::<T, UInt64Type>(shape, array),
        DataType::Float16 => floats::<T, Float16Type>(shape, array),
        DataType::Float32 => floats::<T, Float32Type>(shape, array),
        DataType::Float64 => floats::<T, Float64Type>(shape, array),
        kind => Err(unexpected(kind)),
    }
}

fn integers<T: Element, S: ArrowPrimitiveType<Native: Into<i128> + Display>>(
    shape: Shape,
    array: &ArrayRef,
) -> Converted<Tensor> {
    let array = array.as_primitive::<S>();
    let elements = array.values().iter().map(|value| T::of_int((*value).into()).ok_or_else(|| format!("is {value}")));
    each(shape, array.len(), elements)
}

fn floats<T: Element, S: ArrowPrimitiveType<Native: Into<f64> + Display>>(
    shape: Shape,
    array: &ArrayRef,
) -> Converted<Tensor> {
    let array = array.as_primitive::<S>();
    let elements = array.values().iter().map(|value| {
        let value: f64 = (*value).into();
        T::of_float(value).ok_or_else(|| format!("is {value}"))
    });
    each(shape, array.len(), elements)
}

fn each<T: Element>(
    shape: Shape,
    count: usize,
    results: impl Iterator<Item = std::result::Result<T, String>>,
) -> Converted<Tensor> {
    let mut elements = allocate::room(count).map_err(|refusal| refusal.at("the values of a column"))?;
    for (index, element) in results.enumerate() {
        elements.push(element.map_err(|text| Fault::Value(index, text))?);
    }
    Ok(T::tensor(shape, elements)?)
}

fn decimals(dtype: DType, shape: Shape, array: &ArrayRef) -> Converted<Tensor> {
    let texts = decimal_texts(array)?;
    let (count, texts) = (texts.len(), texts.into_iter());
    match dtype {
        DType::Float16 => each(shape, count, texts.map(parsed::<f16>)),
        DType::Float32 => each(shape, count, texts.map(parsed::<f32>)),
        DType::Float64 => each(shape, count, texts.map(parsed::<f64>)),
        _ => Err(unexpected(array.data_type())),
    }
}

/// Parses a decimal and rounds it once, to the nearest number. Integers must be exact.
fn parsed<T: Element + std::str::FromStr + Into<f64>>(text: String) -> std::result::Result<T, String> {
    let whole = text.split_once('.').filter(|(_, fraction)| fraction.bytes().all(|digit| digit == b'0'));
    let whole = whole.map_or(&text[..], |(whole, _)| whole).parse::<i128>();
    let is_held = |number: f64| match &whole {
        Ok(whole) => T::of_int(*whole).is_some(),
        Err(_) => number.is_finite() && T::of_float(number).is_some(),
    };
    text.parse::<T>().ok().filter(|number| is_held((*number).clone().into())).ok_or_else(|| format!("is {text}"))
}

fn decimal_texts(array: &ArrayRef) -> Converted<Vec<String>> {
    match array.data_type() {
        DataType::Decimal32(..) => Ok(texts_of::<Decimal32Type>(array)),
        DataType::Decimal64(..) => Ok(texts_of::<Decimal64Type>(array)),
        DataType::Decimal128(..) => Ok(texts_of::<Decimal128Type>(array)),
        DataType::Decimal256(..) => Ok(texts_of::<Decimal256Type>(array)),
        kind => Err(unexpected(kind)),
    }
}

fn texts_of<T: DecimalType + ArrowPrimitiveType>(array: &ArrayRef) -> Vec<String> {
    let decimals = array.as_primitive::<T>();
    (0..array.len()).map(|row| decimals.value_as_string(row)).collect()
}

/// Converts times to numbers of a unit.
fn times(unit: TimeUnit, array: &ArrayRef) -> Converted<Vec<i64>> {
    match array.data_type() {
        DataType::Date32 => counts::<Date32Type>(array, TimeUnit::Day, unit),
        DataType::Date64 => counts::<Date64Type>(array, TimeUnit::Millisecond, unit),
        DataType::Timestamp(of, _) => match of {
            ArrowUnit::Second => counts::<TimestampSecondType>(array, unit_of(*of), unit),
            ArrowUnit::Millisecond => counts::<TimestampMillisecondType>(array, unit_of(*of), unit),
            ArrowUnit::Microsecond => counts::<TimestampMicrosecondType>(array, unit_of(*of), unit),
            ArrowUnit::Nanosecond => counts::<TimestampNanosecondType>(array, unit_of(*of), unit),
        },
        DataType::Duration(of) => match of {
            ArrowUnit::Second => counts::<DurationSecondType>(array, unit_of(*of), unit),
            ArrowUnit::Millisecond => counts::<DurationMillisecondType>(array, unit_of(*of), unit),
            ArrowUnit::Microsecond => counts::<DurationMicrosecondType>(array, unit_of(*of), unit),
            ArrowUnit::Nanosecond => counts::<DurationNanosecondType>(array, unit_of(*of), unit),
        },
        DataType::Time32(ArrowUnit::Second) => counts::<Time32SecondType>(array, TimeUnit::Second, unit),
        DataType::Time32(_) => counts::<Time32MillisecondType>(array, TimeUnit::Millisecond, unit),
        DataType::Time64(ArrowUnit::Microsecond) => counts::<Time64MicrosecondType>(array, TimeUnit::Microsecond, unit),
        DataType::Time64(_) => counts::<Time64NanosecondType>(array, TimeUnit::Nanosecond, unit),
        DataType::FixedSizeBinary(_) => {
            let values = array.as_fixed_size_binary();
            let time = |index: usize| {
                let count = int96_nanoseconds(values.value(index));
                let time = count.and_then(|count| unit.of_nanoseconds(count));
                let text = || {
                    let count = count.unwrap_or_default();
                    Fault::Value(index, format!("is {count} ns since 1970, which is out of range"))
                };
                time.ok_or_else(text)
            };
            (0..array.len()).map(time).collect()
        }
        DataType::LargeUtf8 => {
            let strings = array.as_string::<i64>();
            let time = |(index, text): (usize, &str)| {
                unit.of_text(text).ok_or_else(|| Fault::Value(index, format!("is {}", excerpt(text.as_bytes()))))
            };
            (0..array.len()).map(|index| (index, strings.value(index))).map(time).collect()
        }
        kind => Err(unexpected(kind)),
    }
}

fn counts<T: ArrowPrimitiveType<Native: Into<i64>>>(
    array: &ArrayRef,
    from: TimeUnit,
    to: TimeUnit,
) -> Converted<Vec<i64>> {
    let values = array.as_primitive::<T>().values();
    let mut counts = allocate::room(values.len()).map_err(|refusal| refusal.at("the times of a column"))?;
    for (index, value) in values.iter().enumerate() {
        let value: i64 = (*value).into();
        let count = if from == to { Some(value).filter(|value| *value != NOT_A_TIME) } else { from.exactly(value, to) };
        let text = || format!("is {value} {}, which cannot be converted exactly", from.name());
        counts.push(count.ok_or_else(|| Fault::Value(index, text()))?);
    }
    Ok(counts)
}

/// Returns the strings of an array. Text is checked to be valid UTF-8.
pub fn text(component: &Component, array: &ArrayRef) -> Converted<Text> {
    if array.is_empty() {
        // The array may be of type null.
        return Ok(Text::joined_of(Bytes::new(), &[]));
    }
    let refused = |refusal: allocate::Refusal| refusal.at("the strings of a column");
    let of = |data: &Buffer, offsets: &[i64]| -> Result<Text> {
        let mut spans = allocate::room(array.len()).map_err(refused)?;
        spans.extend(offsets.windows(2).map(|pair| {
            let (start, end) = (pair[0].as_usize(), pair[1].as_usize());
            Span { start, length: end - start }
        }));
        Ok(Text::new(shared(data), spans))
    };
    let strings = match array.data_type() {
        DataType::LargeUtf8 => {
            let strings = array.as_string::<i64>();
            return Ok(of(strings.values(), strings.value_offsets())?);
        }
        DataType::LargeBinary => {
            let strings = array.as_binary::<i64>();
            of(strings.values(), strings.value_offsets())?
        }
        DataType::FixedSizeBinary(_) => {
            let strings = array.as_fixed_size_binary();
            let length = usize::try_from(strings.value_length()).unwrap_or(0);
            let mut spans = allocate::room(array.len()).map_err(refused)?;
            spans.extend((0..array.len()).map(|row| Span { start: row * length, length }));
            Text::new(shared(strings.values()), spans)
        }
        kind if kind.is_decimal() => {
            let texts = decimal_texts(array)?;
            let ends = texts.iter().scan(0, |end, text| {
                *end += text.len();
                Some(*end)
            });
            return Ok(Text::joined_of(texts.concat().into(), &ends.collect::<Vec<_>>()));
        }
        kind => return Err(unexpected(kind)),
    };
    let is_wrong = |row: &[u8]| component.form == Form::Text && std::str::from_utf8(row).is_err();
    let wrong = strings.rows().position(is_wrong);
    match wrong {
        Some(index) => Err(Fault::Value(index, format!("is {}, which is not UTF-8", excerpt(strings.row(index))))),
        None => Ok(strings),
    }
}

struct Shared(Buffer);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// Returns the bytes of a buffer and keeps the buffer alive.
fn shared(buffer: &Buffer) -> Bytes {
    Bytes::from_owner(Shared(buffer.clone()))
}
