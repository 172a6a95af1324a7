//! Copies rows of several columns into one column.

use crate::error::{Error, Result};
use crate::pipeline::blocks::column::{Column, Ragged, Span, Text, look_ahead};
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use std::ops::Range;
use std::sync::Arc;

/// The number of a column, and of a row in it.
type BlockRow = (usize, usize);

/// Tensors of one type and shape under a new first dimension.
pub(super) fn stack(tensors: &[Tensor]) -> Result<Tensor> {
    let Some(first) = tensors.first() else { return Err(Error::internal("no rows to stack")) };
    check_alike(tensors.iter().map(|tensor| (tensor.dtype(), tensor.shape().clone())))?;
    let shape = first.shape().batched(tensors.len());
    let room = allocate::elements(first.dtype(), &shape);
    if first.dtype() == DType::String {
        let strings = tensors.iter().flat_map(Tensor::string_values).cloned();
        return Tensor::strings(shape.clone(), room.collect(strings)?);
    }
    let mut bytes = room.room()?;
    tensors.iter().for_each(|tensor| bytes.extend_from_slice(tensor.bytes()));
    Tensor::from_bytes(first.dtype(), shape.clone(), bytes.into())
}

/// Fails unless all rows have one type and one shape.
fn check_alike(mut rows: impl Iterator<Item = (DType, Shape)>) -> Result<()> {
    let Some((dtype, shape)) = rows.next() else { return Ok(()) };
    match rows.find(|other| other.0 != dtype || other.1 != shape) {
        None => Ok(()),
        Some((other_dtype, other)) => Err(Error::invalid_argument(format!(
            "one example has {dtype} of shape {shape}, another {other_dtype} of shape {other}, expected the same in all \
             examples of a batch. Resize or pad them, or use padded_batch"
        ))),
    }
}

fn unlike() -> Error {
    Error::internal("the columns of one component are of different kinds")
}

pub(super) fn gather_dense(
    columns: &[&Column],
    rows: impl ExactSizeIterator<Item = BlockRow> + Clone,
) -> Result<Tensor> {
    let tensors = columns.iter().map(|column| match column {
        Column::Dense(tensor) => Ok(tensor),
        _ => Err(unlike()),
    });
    let tensors = tensors.collect::<Result<Vec<&Tensor>>>()?;
    let Some(first) = tensors.first() else { return Err(unlike()) };
    let row = first.shape().row();
    check_alike(tensors.iter().map(|tensor| (tensor.dtype(), tensor.shape().row())))?;
    let shape = row.batched(rows.len());
    let room = allocate::elements(first.dtype(), &shape);
    let length = row.num_elements();
    if first.dtype() == DType::String {
        let strings = rows.flat_map(|(column, row)| &tensors[column].string_values()[row * length..][..length]);
        let strings = room.collect(strings.cloned())?;
        return Tensor::strings(shape, strings);
    }
    let row_bytes = length * first.dtype().size();
    let mut bytes = room.room()?;
    let sources: Vec<_> = tensors.iter().map(|tensor| tensor.bytes()).collect();
    rows.for_each(|(column, row)| bytes.extend_from_slice(&sources[column][row * row_bytes..][..row_bytes]));
    Tensor::from_bytes(first.dtype(), shape, bytes.into())
}

pub(super) fn gather_text(columns: &[&Column], rows: impl ExactSizeIterator<Item = BlockRow> + Clone) -> Result<Text> {
    let texts = columns.iter().map(|column| match column {
        Column::Text(text) => Ok(text),
        _ => Err(unlike()),
    });
    let texts = texts.collect::<Result<Vec<_>>>()?;
    /// Number of strings prefetched before the first is copied.
    const LOOKED_AHEAD: usize = 64;
    let refused = |refusal: allocate::Refusal| refusal.at("the strings of a batch");
    let mut strings: Vec<&[u8]> = allocate::room(rows.len()).map_err(refused)?;
    strings.extend(rows.map(|(column, row)| texts[column].row(row)));
    let num_bytes = strings.iter().map(|string| string.len()).sum();
    let mut buffer = allocate::room(num_bytes).map_err(refused)?;
    let mut spans = allocate::room(strings.len()).map_err(refused)?;
    for group in strings.chunks(LOOKED_AHEAD) {
        look_ahead(group.iter().copied());
        for string in group {
            spans.push(Span { start: buffer.len(), length: string.len() });
            buffer.extend_from_slice(string);
        }
    }
    Ok(Text::new(buffer.into(), spans))
}

pub(super) fn gather_ragged(
    columns: &[&Column],
    rows: impl ExactSizeIterator<Item = BlockRow> + Clone,
) -> Result<Ragged> {
    let lists = columns.iter().map(|column| match column {
        Column::Ragged(ragged) => Ok(ragged),
        _ => Err(unlike()),
    });
    let lists = lists.collect::<Result<Vec<_>>>()?;
    let mut ends = allocate::room(rows.len()).map_err(|refusal| refusal.at("the ends of lists"))?;
    let mut num_values = 0;
    for (column, row) in rows.clone() {
        num_values += lists[column].row_length(row);
        ends.push(num_values);
    }
    let values: Vec<_> = lists.iter().map(|ragged| ragged.values()).collect();
    let parts = rows.map(|(column, row)| (column, lists[column].range(row)));
    Ok(Ragged::new(gather_parts(&values, parts, num_values)?, ends))
}

/// Joins parts of vectors, each given by the number of its vector and its range; `num_values` in
/// all.
fn gather_parts(
    vectors: &[&Tensor],
    parts: impl Iterator<Item = (usize, Range<usize>)>,
    num_values: usize,
) -> Result<Tensor> {
    let Some(first) = vectors.first() else { return Err(unlike()) };
    check_alike(vectors.iter().map(|vector| (vector.dtype(), vector.shape().row())))?;
    let shape = Shape::new(&[num_values]);
    let room = allocate::elements(first.dtype(), &shape);
    if first.dtype() == DType::String {
        let strings = parts.flat_map(|(vector, part)| &vectors[vector].string_values()[part]);
        let strings = room.collect(strings.cloned())?;
        return Tensor::strings(shape, strings);
    }
    let size = first.dtype().size();
    let mut bytes = room.room()?;
    parts.for_each(|(vector, part)| {
        bytes.extend_from_slice(&vectors[vector].bytes()[part.start * size..part.end * size]);
    });
    Tensor::from_bytes(first.dtype(), shape, bytes.into())
}

pub(super) fn gather_each(columns: &[&Column], mut rows: impl Iterator<Item = BlockRow>) -> Result<Arc<[Tensor]>> {
    let row = |(column, row): BlockRow| match columns[column] {
        Column::Each(tensors) => Ok(tensors[row].clone()),
        other => other.row(row),
    };
    rows.try_fold(Vec::new(), |mut tensors, block_row| {
        tensors.push(row(block_row)?);
        Ok(tensors)
    })
    .map(Into::into)
}

pub(super) fn gather_batches(columns: &[&Column], rows: impl Iterator<Item = BlockRow>) -> Result<Arc<[Column]>> {
    let batch = |(column, row): BlockRow| match columns[column] {
        Column::Batches(batches) => Ok(batches[row].clone()),
        _ => Err(unlike()),
    };
    rows.map(batch).collect::<Result<Vec<_>>>().map(Into::into)
}
