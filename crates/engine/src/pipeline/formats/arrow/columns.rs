//! Makes the engine's columns of Arrow's arrays. Numbers and the bytes of strings are not copied.

use crate::error::{Error, Result};
use crate::pipeline::blocks::column::{Column, Ragged, Span, Text};
use crate::pipeline::formats::arrow::types::{Lists, TableColumn};
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_buffer::{ArrowNativeType, Buffer, NullBuffer};
use arrow_schema::DataType;
use bytemuck::Pod;
use bytes::Bytes;

/// The first row of an array that has no value for the component: a null that is not NaN.
pub fn first_null(column: &TableColumn, array: &dyn Array) -> Option<usize> {
    let of_values = |values: &dyn Array| if is_float(column) { None } else { first_of(values.nulls()) };
    if column.lists == Lists::None {
        return of_values(array);
    }
    let of_lists = first_of(array.nulls());
    let of_elements = match array.data_type() {
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            let (first, values) = values_of(lists.value_offsets(), lists.values());
            of_values(&values).map(|place| {
                let end = first + place as i64;
                lists.value_offsets()[1..].partition_point(|offset| *offset <= end)
            })
        }
        DataType::FixedSizeList(_, length) => {
            let lists = array.as_fixed_size_list();
            of_values(&lists.values()).map(|place| place / usize::try_from(*length).unwrap_or(1).max(1))
        }
        _ => None,
    };
    of_lists.into_iter().chain(of_elements).min()
}

fn is_float(column: &TableColumn) -> bool {
    matches!(column.element.dtype, DType::Float16 | DType::Float32 | DType::Float64)
}

fn first_of(nulls: Option<&NullBuffer>) -> Option<usize> {
    nulls.filter(|nulls| nulls.null_count() > 0)?.iter().position(|is_valid| !is_valid)
}

/// The values of lists with these offsets, and the offset of the first of them.
fn values_of<O: OffsetSizeTrait>(offsets: &[O], values: &ArrayRef) -> (O, ArrayRef) {
    let [first, .., end] = *offsets else { return (O::default(), values.slice(0, 0)) };
    (first, values.slice(first.as_usize(), (end - first).as_usize()))
}

/// The column of an array without rows that [`first_null`] finds.
pub fn column(column: &TableColumn, array: &ArrayRef) -> Result<Column> {
    match (column.lists, array.data_type()) {
        (Lists::None, _) if column.element.dtype == DType::String => text(array).map(Column::Text),
        (Lists::None, _) => tensor(column.element.dtype, Shape::new(&[array.len()]), array).map(Column::Dense),
        (Lists::Ragged, DataType::LargeList(_)) => {
            let lists = array.as_list::<i64>();
            let (first, values) = values_of(lists.value_offsets(), lists.values());
            let mut ends = allocate::room(lists.len()).map_err(|refusal| refusal.at("the ends of lists"))?;
            ends.extend(lists.value_offsets()[1..].iter().map(|end| (end - first).as_usize()));
            let values = tensor(column.element.dtype, Shape::new(&[values.len()]), &values)?;
            Ok(Column::Ragged(Ragged::new(values, ends)))
        }
        (Lists::Fixed(length), DataType::FixedSizeList(..)) => {
            let lists = array.as_fixed_size_list();
            tensor(column.element.dtype, Shape::new(&[lists.len(), length]), lists.values()).map(Column::Dense)
        }
        (_, kind) => Err(unexpected(kind)),
    }
}

fn unexpected(kind: &DataType) -> Error {
    Error::internal(format!("a column was read as {kind}"))
}

/// Values as a tensor; a null is NaN.
fn tensor(dtype: DType, shape: Shape, array: &ArrayRef) -> Result<Tensor> {
    match array.data_type() {
        DataType::Boolean => {
            let bits = array.as_boolean().values();
            let bytes = allocate::elements(dtype, &shape).collect(bits.iter().map(u8::from))?;
            Tensor::from_bytes(dtype, shape, bytes.into())
        }
        DataType::Int8 => primitive::<Int8Type>(dtype, shape, array),
        DataType::Int16 => primitive::<Int16Type>(dtype, shape, array),
        DataType::Int32 => primitive::<Int32Type>(dtype, shape, array),
        DataType::Int64 => primitive::<Int64Type>(dtype, shape, array),
        DataType::UInt8 => primitive::<UInt8Type>(dtype, shape, array),
        DataType::UInt16 => primitive::<UInt16Type>(dtype, shape, array),
        DataType::UInt32 => primitive::<UInt32Type>(dtype, shape, array),
        DataType::UInt64 => primitive::<UInt64Type>(dtype, shape, array),
        DataType::Float16 => float::<Float16Type>(dtype, shape, array, half::f16::NAN),
        DataType::Float32 => float::<Float32Type>(dtype, shape, array, f32::NAN),
        DataType::Float64 => float::<Float64Type>(dtype, shape, array, f64::NAN),
        _ => {
            let text = text(array)?;
            let strings = allocate::elements(DType::String, &shape);
            Tensor::strings(shape.clone(), strings.collect((0..text.len()).map(|row| text.shared_row(row)))?)
        }
    }
}

fn primitive<T: ArrowPrimitiveType>(dtype: DType, shape: Shape, array: &ArrayRef) -> Result<Tensor> {
    let values = array.as_primitive::<T>().values();
    Tensor::from_bytes(dtype, shape, shared(values.inner()))
}

fn float<T>(dtype: DType, shape: Shape, array: &ArrayRef, missing: T::Native) -> Result<Tensor>
where
    T: ArrowPrimitiveType,
    T::Native: Pod,
{
    let array = array.as_primitive::<T>();
    if array.null_count() == 0 {
        return Tensor::from_bytes(dtype, shape, shared(array.values().inner()));
    }
    let values: Vec<T::Native> =
        allocate::elements(dtype, &shape).collect(array.iter().map(|value| value.unwrap_or(missing)))?;
    Tensor::copied(dtype, shape, bytemuck::cast_slice(&values))
}

/// The strings of an array.
fn text(array: &ArrayRef) -> Result<Text> {
    let of = |data: &Buffer, offsets: &[i64]| -> Result<Text> {
        let mut spans = allocate::room(array.len()).map_err(|refusal| refusal.at("the strings of a column"))?;
        spans.extend(offsets.windows(2).map(|pair| {
            let (start, end) = (pair[0].as_usize(), pair[1].as_usize());
            Span { start, length: end - start }
        }));
        Ok(Text::new(shared(data), spans))
    };
    match array.data_type() {
        DataType::LargeUtf8 => {
            let strings = array.as_string::<i64>();
            of(strings.values(), strings.value_offsets())
        }
        DataType::LargeBinary => {
            let strings = array.as_binary::<i64>();
            of(strings.values(), strings.value_offsets())
        }
        DataType::FixedSizeBinary(_) => {
            let strings = array.as_fixed_size_binary();
            let length = usize::try_from(strings.value_length()).unwrap_or(0);
            let mut spans = allocate::room(array.len()).map_err(|refusal| refusal.at("the strings of a column"))?;
            spans.extend((0..array.len()).map(|row| Span { start: row * length, length }));
            Ok(Text::new(shared(strings.values()), spans))
        }
        kind => Err(unexpected(kind)),
    }
}

struct Shared(Buffer);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

/// The bytes of a buffer, which stays alive.
fn shared(buffer: &Buffer) -> Bytes {
    Bytes::from_owner(Shared(buffer.clone()))
}
