//! Converts Arrow arrays to columns of the engine.

use crate::blocks::column::{Column, Lists, Ragged, Span, Text};
use crate::blocks::gather::gather;
use crate::formats::arrow::json_text::writer;
pub use crate::formats::arrow::leaves::{Converted, Fault};
use crate::formats::arrow::leaves::{tensor, text, unexpected};
use crate::formats::component::{Component, Form, NULL, mask};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, OffsetSizeTrait};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::DataType;
use arrow_select::filter::filter;
use headrace_engine::error::Error;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;

/// Converts an array to the columns of a component, with one row per element: its values, and its
/// mask if it has one. A fault contains the number of the first faulty row. `kind` is the column's
/// type in the file.
pub fn columns(component: &Component, array: &ArrayRef, kind: &DataType) -> Converted<Vec<Column>> {
    // Only arrays of type null contain nulls without a validity buffer.
    let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    // A row with a fixed shape may need a lot of memory, so the filler is only created for a null.
    let filler = || component.filler_row();
    let filler = nulls.as_ref().filter(|_| component.has_filler()).map(|_| filler()).transpose()?.flatten();
    let values = match (&nulls, filler) {
        (None, _) => values(component, array, kind)?,
        (Some(nulls), Some(filler)) => filled(component, array, kind, nulls, &filler)?,
        (Some(_), None) if component.form == Form::Json => values(component, array, kind)?,
        (Some(nulls), None) => {
            let first = nulls.iter().position(|is_there| !is_there).unwrap_or(0);
            return Err(null(component, first, "has a null"));
        }
    };
    let is_there = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
    let mask = component.has_mask.then(|| mask((0..array.len()).map(is_there))).transpose()?;
    Ok([values].into_iter().chain(mask).collect())
}

fn null(component: &Component, row: usize, words: &str) -> Fault {
    Fault::Value(row, format!("{words}, expected a value. {}", component.fillers()))
}

/// Replaces nulls in the values with `filler`.
fn filled(
    component: &Component,
    array: &ArrayRef,
    kind: &DataType,
    nulls: &NullBuffer,
    filler: &Column,
) -> Converted<Column> {
    if nulls.null_count() == nulls.len() {
        return Ok(gather(&[filler], std::iter::repeat_n((0, 0), nulls.len()))?);
    }
    let is_there = BooleanArray::new(nulls.inner().clone(), None);
    let internal = |error| Error::internal(format!("rows of a column cannot be selected: {error}"));
    let there = filter(array, &is_there).map_err(internal)?;
    let position = |index: usize| nulls.valid_indices().nth(index).unwrap_or(0);
    let there = values(component, &there, kind).map_err(|fault| match fault {
        Fault::Value(index, text) => Fault::Value(position(index), text),
        other => other,
    })?;
    let mut next = 0..;
    let row = |is_there: bool| if is_there { (0, next.next().unwrap_or(0)) } else { (1, 0) };
    let rows: Vec<_> = nulls.iter().map(row).collect();
    Ok(gather(&[&there, filler], rows.into_iter())?)
}

/// Converts the values of an array. Nulls become JSON's null.
fn values(component: &Component, array: &ArrayRef, kind: &DataType) -> Converted<Column> {
    let wrong = |fault: Fault| expected(component, fault);
    if component.form == Form::Json {
        return json(array, kind).map_err(wrong);
    }
    match (component.num_lists, component.shape.is_empty()) {
        (0, true) if component.dtype == DType::String => text(component, array).map(Column::Text).map_err(wrong),
        (0, true) => tensor(component, Shape::new(&[array.len()]), array).map(Column::Dense).map_err(wrong),
        (0, false) => shaped(component, array),
        (depth, _) => lists(component, array, depth),
    }
}

/// Adds the expected type to the fault of a value.
fn expected(component: &Component, fault: Fault) -> Fault {
    match fault {
        Fault::Value(index, text) if text.ends_with('.') => Fault::Value(index, text),
        Fault::Value(index, text) => {
            let remedy = "Correct the file, or read the column as another type.";
            Fault::Value(index, format!("{text}, expected {}{}. {remedy}", component.type_name(), component.limit()))
        }
        other => other,
    }
}

/// Splits an array of lists into the end of each list and the values of all lists.
fn parts(array: &ArrayRef) -> Converted<(Vec<usize>, ArrayRef)> {
    match array.data_type() {
        DataType::LargeList(_) => {
            let lists = array.as_list::<i64>();
            let (first, values) = values_of(lists.value_offsets(), lists.values());
            let mut ends = allocate::room(lists.len()).map_err(|refusal| refusal.at("the ends of lists"))?;
            ends.extend(lists.value_offsets()[1..].iter().map(|end| (end - first).as_usize()));
            Ok((ends, values))
        }
        DataType::FixedSizeList(_, length) => {
            let lists = array.as_fixed_size_list();
            let length = usize::try_from(*length).unwrap_or(0);
            Ok(((1..=lists.len()).map(|row| row * length).collect(), lists.values().clone()))
        }
        DataType::Null if array.is_empty() => Ok((Vec::new(), array.clone())),
        kind => Err(unexpected(kind)),
    }
}

/// Returns the values of lists with these offsets, and the offset of the first value.
fn values_of<O: OffsetSizeTrait>(offsets: &[O], values: &ArrayRef) -> (O, ArrayRef) {
    let [first, .., end] = *offsets else { return (O::default(), values.slice(0, 0)) };
    (first, values.slice(first.as_usize(), (end - first).as_usize()))
}

fn lists(component: &Component, array: &ArrayRef, depth: usize) -> Converted<Column> {
    let (ends, inner) = parts(array)?;
    let in_row = |fault: Fault| match fault {
        Fault::Value(index, text) => Fault::Value(ends.partition_point(|end| *end <= index), text),
        other => other,
    };
    check_elements(component, &inner).map_err(in_row)?;
    if depth > 1 {
        let inner = lists(component, &inner, depth - 1).map_err(in_row)?;
        return Ok(Column::Lists(Lists::new(inner, ends)));
    }
    let values = tensor(component, Shape::new(&[inner.len()]), &inner);
    let values = values.map_err(|fault| in_row(expected(component, in_list(fault))))?;
    Ok(Column::Ragged(Ragged::new(values, ends)))
}

fn in_list(fault: Fault) -> Fault {
    match fault {
        Fault::Value(index, text) => Fault::Value(index, format!("has a list that contains a value that {text}")),
        other => other,
    }
}

/// Fails if an element of a list is null.
fn check_elements(component: &Component, elements: &ArrayRef) -> Converted<()> {
    let first = elements.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    match first.and_then(|nulls| nulls.iter().position(|is_there| !is_there)) {
        Some(index) => {
            let remedy =
                format!("Correct the file, or read the column as JSON with dtypes={{'{}': hr.Json}}.", component.name);
            Err(Fault::Value(index, format!("has a list that contains a null, expected values. {remedy}")))
        }
        None => Ok(()),
    }
}

/// Converts lists to rows of a fixed shape.
fn shaped(component: &Component, array: &ArrayRef) -> Converted<Column> {
    let (mut elements, mut in_row) = (array.clone(), 1);
    for size in component.shape.iter() {
        let (ends, inner) = parts(&elements)?;
        let mut start = 0;
        let is_other = |end: &usize| *end - std::mem::replace(&mut start, *end) != *size;
        if let Some(position) = ends.iter().position(is_other) {
            let length = ends[position] - position.checked_sub(1).map_or(0, |before| ends[before]);
            let fault = Fault::Value(position / in_row, format!("has a list of length {length}"));
            return Err(expected(component, fault));
        }
        in_row *= size;
        let row = |index: usize| index / in_row.max(1);
        check_elements(component, &inner).map_err(|fault| match fault {
            Fault::Value(index, text) => Fault::Value(row(index), text),
            other => other,
        })?;
        elements = inner;
    }
    let tensor_column = tensor(component, component.shape.batched(array.len()), &elements);
    tensor_column.map(Column::Dense).map_err(|fault| match expected(component, in_list(fault)) {
        Fault::Value(index, text) => Fault::Value(index / in_row.max(1), text),
        other => other,
    })
}

/// Converts values to JSON. Nulls become JSON's null.
fn json(array: &ArrayRef, kind: &DataType) -> Converted<Column> {
    let refused = |refusal: allocate::Refusal| refusal.at("the values of a column");
    if array.data_type() == &DataType::Null {
        let span = Span { start: 0, length: NULL.len() };
        let spans = allocate::copies(array.len(), span).map_err(refused)?;
        return Ok(Column::Text(Text::new(NULL.into(), spans)));
    }
    let mut text = String::new();
    let mut spans = allocate::room(array.len()).map_err(refused)?;
    let write = writer(array, kind);
    for row in 0..array.len() {
        let start = text.len();
        write(row, &mut text)
            .map_err(|fault| Fault::Value(row, format!("has a value that JSON cannot represent: {fault}")))?;
        spans.push(Span { start, length: text.len() - start });
    }
    Ok(Column::Text(Text::new(text.into(), spans)))
}
