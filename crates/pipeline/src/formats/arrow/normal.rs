//! Converts arrays to a smaller set of types, without dictionaries or views and with 64-bit
//! offsets for strings and lists.

use crate::formats::arrow::types::read_as;
use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryViewType, ByteViewType, StringViewType};
use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, GenericListViewArray, LargeBinaryArray, LargeListArray, LargeStringArray,
    MapArray, OffsetSizeTrait, StructArray, UInt64Array,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, FieldRef};
use arrow_select::take::{TakeOptions, take};
use std::sync::Arc;

type ArrayResult = std::result::Result<ArrayRef, ArrowError>;

/// Converts an array to the type that [`read_as`] returns.
pub fn normal(array: &ArrayRef) -> ArrayResult {
    let target = read_as(array.data_type());
    if array.data_type() == &target {
        return Ok(Arc::clone(array));
    }
    let nulls = array.nulls().cloned();
    Ok(match (array.data_type(), &target) {
        (DataType::Dictionary(..), _) => {
            let dictionary = array.as_any_dictionary();
            let values = normal(dictionary.values())?;
            take(&values, dictionary.keys(), Some(TakeOptions { check_bounds: true }))?
        }
        (DataType::Utf8, _) => {
            let strings = array.as_string::<i32>();
            Arc::new(LargeStringArray::try_new(wide(strings.offsets()), strings.values().clone(), nulls)?)
        }
        (DataType::Binary, _) => {
            let strings = array.as_binary::<i32>();
            Arc::new(LargeBinaryArray::try_new(wide(strings.offsets()), strings.values().clone(), nulls)?)
        }
        (DataType::Utf8View, _) => {
            let (offsets, bytes) = joined::<StringViewType>(array);
            Arc::new(LargeStringArray::try_new(offsets, bytes.into(), nulls)?)
        }
        (DataType::BinaryView, _) => {
            let (offsets, bytes) = joined::<BinaryViewType>(array);
            Arc::new(LargeBinaryArray::try_new(offsets, bytes.into(), nulls)?)
        }
        (DataType::List(_), DataType::LargeList(field)) => {
            let lists = array.as_list::<i32>();
            let values = normal(lists.values())?;
            Arc::new(LargeListArray::try_new(Arc::clone(field), wide(lists.offsets()), values, nulls)?)
        }
        (DataType::LargeList(_), DataType::LargeList(field)) => {
            let lists = array.as_list::<i64>();
            let values = normal(lists.values())?;
            Arc::new(LargeListArray::try_new(Arc::clone(field), lists.offsets().clone(), values, nulls)?)
        }
        (DataType::ListView(_), DataType::LargeList(field)) => of_views(array.as_list_view::<i32>(), field)?,
        (DataType::LargeListView(_), DataType::LargeList(field)) => of_views(array.as_list_view::<i64>(), field)?,
        (DataType::FixedSizeList(..), DataType::FixedSizeList(field, length)) => {
            let values = normal(array.as_fixed_size_list().values())?;
            Arc::new(FixedSizeListArray::try_new_with_length(Arc::clone(field), *length, values, nulls, array.len())?)
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let columns = array.as_struct().columns().iter().map(normal).collect::<Result<Vec<_>, _>>()?;
            Arc::new(StructArray::try_new_with_length(fields.clone(), columns, nulls, array.len())?)
        }
        (DataType::Map(..), DataType::Map(field, is_sorted)) => {
            let map = array.as_map();
            let entries: ArrayRef = Arc::new(map.entries().clone());
            let entries = normal(&entries)?.as_struct().clone();
            Arc::new(MapArray::try_new(Arc::clone(field), map.offsets().clone(), entries, nulls, *is_sorted)?)
        }
        (other, _) => return Err(ArrowError::NotYetImplemented(format!("{other}"))),
    })
}

fn wide(offsets: &OffsetBuffer<i32>) -> OffsetBuffer<i64> {
    OffsetBuffer::new(offsets.iter().map(|offset| i64::from(*offset)).collect())
}

/// Copies the strings of views end to end. Nulls become empty.
fn joined<T: ByteViewType>(array: &ArrayRef) -> (OffsetBuffer<i64>, Vec<u8>) {
    let strings = array.as_byte_view::<T>();
    let mut bytes = Vec::new();
    let lengths = strings.iter().map(|string| {
        let string: &[u8] = string.map_or(&[], AsRef::as_ref);
        bytes.extend_from_slice(string);
        string.len()
    });
    (OffsetBuffer::from_lengths(lengths.collect::<Vec<_>>()), bytes)
}

fn of_views<O: OffsetSizeTrait>(lists: &GenericListViewArray<O>, field: &FieldRef) -> ArrayResult {
    let positions = || lists.value_offsets().iter().zip(lists.value_sizes()).enumerate();
    let range = |(row, (start, length)): (usize, (&O, &O))| match lists.is_valid(row) {
        true => start.as_usize()..start.as_usize() + length.as_usize(),
        false => 0..0,
    };
    let lengths: Vec<_> = positions().map(|position| range(position).len()).collect();
    let indices: ScalarBuffer<u64> = positions().flat_map(range).map(|index| index as u64).collect();
    let values = take(lists.values(), &UInt64Array::new(indices, None), Some(TakeOptions { check_bounds: true }))?;
    let nulls = lists.nulls().cloned();
    Ok(Arc::new(LargeListArray::try_new(
        Arc::clone(field),
        OffsetBuffer::from_lengths(lengths),
        normal(&values)?,
        nulls,
    )?))
}
