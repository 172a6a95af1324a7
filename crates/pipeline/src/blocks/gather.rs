//! Gathers rows from several columns into one column.

use crate::blocks::column::{Column, Lists, Ragged, Text};
use crate::blocks::opaque::OpaqueValues;
use crate::blocks::stack::check_alike;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use std::ops::Range;
use std::sync::Arc;

/// A row: the number of its column, and its number within that column.
type BlockRow = (usize, usize);

/// Gathers rows from several columns. Each item of `rows` is a column number and a row number
/// within that column. If the columns differ in kind, type or shape, each row becomes a separate
/// tensor.
pub fn gather(columns: &[&Column], rows: impl ExactSizeIterator<Item = BlockRow> + Clone) -> Result<Column> {
    let Some(first) = columns.first() else { return Err(Error::internal("there is no column to gather rows from")) };
    if !columns[1..].iter().all(|column| are_alike(column, first)) {
        return gather_each(columns, rows).map(Column::Each);
    }
    match first {
        Column::Dense(_) if columns.iter().all(|column| matches!(column, Column::Dense(_))) => {
            gather_dense(columns, rows).map(Column::Dense)
        }
        Column::Dense(_) | Column::Packed(_) => gather_values(columns, rows).map(Column::Dense),
        Column::Text(_) => gather_text(columns, rows).map(Column::Text),
        Column::Ragged(_) => gather_ragged(columns, rows).map(Column::Ragged),
        Column::Lists(_) => gather_lists(columns, rows).map(Column::Lists),
        Column::Each(_) => gather_each(columns, rows).map(Column::Each),
        Column::Batches(_) => gather_batches(columns, rows).map(Column::Batches),
        Column::Opaque(_) => gather_opaque(columns, rows).map(Column::Opaque),
    }
}

/// Returns true if rows of both columns fit into one column of the same kind.
fn are_alike(one: &Column, other: &Column) -> bool {
    match (row_type(one), row_type(other)) {
        (None, None) => std::mem::discriminant(one) == std::mem::discriminant(other),
        (one, other) => one == other,
    }
}

/// The dtype and dimensions that all rows of a column share.
fn row_type(column: &Column) -> Option<(DType, &[usize])> {
    match column {
        Column::Dense(tensor) => Some((tensor.dtype(), tensor.shape().get(1..).unwrap_or_default())),
        Column::Packed(packed) => packed.row_type().map(|(dtype, shape)| (dtype, &**shape)),
        _ => None,
    }
}

fn unlike() -> Error {
    Error::internal("the columns of one component are of different kinds")
}

fn gather_dense(columns: &[&Column], rows: impl ExactSizeIterator<Item = BlockRow> + Clone) -> Result<Tensor> {
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
    let sources: Vec<_> = tensors.iter().map(|tensor| tensor.bytes()).collect();
    // Rows as short as a number are moved by a single instruction, without a call.
    let bytes = match length * first.dtype().size() {
        1 => copy_short::<1>(&sources, rows),
        2 => copy_short::<2>(&sources, rows),
        4 => copy_short::<4>(&sources, rows),
        8 => copy_short::<8>(&sources, rows),
        16 => copy_short::<16>(&sources, rows),
        row_bytes => {
            let mut bytes = room.room()?;
            copy_runs(&sources, rows, row_bytes, &mut bytes);
            Ok(bytes)
        }
    };
    let bytes = bytes.map_err(|refusal| refusal.of_tensor(first.dtype(), &shape))?;
    Tensor::from_bytes(first.dtype(), shape, bytes.into())
}

/// Copies rows of `N` bytes each.
fn copy_short<const N: usize>(
    sources: &[&[u8]],
    rows: impl ExactSizeIterator<Item = BlockRow>,
) -> std::result::Result<Vec<u8>, allocate::Refusal> {
    let sources: Vec<&[[u8; N]]> = sources.iter().map(|bytes| bytes.as_chunks().0).collect();
    let mut copies: Vec<[u8; N]> = allocate::room(rows.len())?;
    copies.extend(rows.map(|(column, row)| sources[column][row]));
    Ok(copies.into_flattened())
}

/// Copies rows of `row_bytes` each. Consecutive rows of a column are copied together.
fn copy_runs(sources: &[&[u8]], rows: impl Iterator<Item = BlockRow>, row_bytes: usize, bytes: &mut Vec<u8>) {
    let mut copy = |(column, run): (usize, Range<usize>)| {
        bytes.extend_from_slice(&sources[column][run.start * row_bytes..run.end * row_bytes]);
    };
    let mut run = (0, 0..0);
    rows.for_each(|(column, row)| {
        if (column, row) == (run.0, run.1.end) {
            run.1.end += 1;
        } else {
            copy(std::mem::replace(&mut run, (column, row..row + 1)));
        }
    });
    copy(run);
}

/// Gathers fixed-size rows from columns of which only some are packed.
fn gather_values(columns: &[&Column], rows: impl ExactSizeIterator<Item = BlockRow>) -> Result<Tensor> {
    let Some((dtype, dims)) = columns.first().and_then(|column| row_type(column)) else { return Err(unlike()) };
    let shape = Shape::new(dims);
    let row_bytes = shape.num_elements() * dtype.size();
    let shape = shape.batched(rows.len());
    let mut bytes: Vec<u8> = allocate::elements(dtype, &shape).room()?;
    for (column, row) in rows {
        bytes.extend_from_slice(match columns[column] {
            Column::Dense(tensor) => &tensor.bytes()[row * row_bytes..][..row_bytes],
            Column::Packed(packed) => packed.bytes(row),
            _ => return Err(unlike()),
        });
    }
    Tensor::from_bytes(dtype, shape, bytes.into())
}

fn gather_text(columns: &[&Column], rows: impl ExactSizeIterator<Item = BlockRow>) -> Result<Text> {
    let texts = columns.iter().map(|column| match column {
        Column::Text(text) => Ok(text),
        _ => Err(unlike()),
    });
    let texts = texts.collect::<Result<Vec<_>>>()?;
    Text::copied(rows.map(|(column, row)| texts[column].row(row)))
}

fn gather_ragged(columns: &[&Column], rows: impl ExactSizeIterator<Item = BlockRow> + Clone) -> Result<Ragged> {
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

fn gather_lists(columns: &[&Column], rows: impl ExactSizeIterator<Item = BlockRow> + Clone) -> Result<Lists> {
    let lists = columns.iter().map(|column| match column {
        Column::Lists(lists) => Ok(lists),
        _ => Err(unlike()),
    });
    let lists = lists.collect::<Result<Vec<_>>>()?;
    let refused = |refusal: allocate::Refusal| refusal.at("the ends of lists");
    let mut ends = allocate::room(rows.len()).map_err(refused)?;
    let mut num_lists = 0;
    for (column, row) in rows.clone() {
        num_lists += lists[column].range(row).len();
        ends.push(num_lists);
    }
    let mut inner: Vec<BlockRow> = allocate::room(num_lists).map_err(refused)?;
    inner.extend(rows.flat_map(|(column, row)| lists[column].range(row).map(move |list| (column, list))));
    let columns: Vec<_> = lists.iter().map(|lists| lists.inner()).collect();
    Ok(Lists::new(gather(&columns, inner.into_iter())?, ends))
}

/// Concatenates ranges of vectors, `num_values` values in total. Each part is a vector number and a
/// range.
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

fn gather_each(columns: &[&Column], mut rows: impl Iterator<Item = BlockRow>) -> Result<Arc<[Tensor]>> {
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

fn gather_batches(columns: &[&Column], rows: impl Iterator<Item = BlockRow>) -> Result<Arc<[Column]>> {
    let batch = |(column, row): BlockRow| match columns[column] {
        Column::Batches(batches) => Ok(batches[row].clone()),
        _ => Err(unlike()),
    };
    rows.map(batch).collect::<Result<Vec<_>>>().map(Into::into)
}

fn gather_opaque(columns: &[&Column], rows: impl Iterator<Item = BlockRow>) -> Result<OpaqueValues> {
    let values = columns.iter().map(|column| match column {
        Column::Opaque(values) => Ok(values),
        _ => Err(unlike()),
    });
    OpaqueValues::copied(&values.collect::<Result<Vec<_>>>()?, rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::column::Span;

    fn text(lines: &[&str]) -> Column {
        let mut spans = Vec::new();
        let mut buffer = Vec::new();
        for line in lines {
            spans.push(Span { start: buffer.len(), length: line.len() });
            buffer.extend_from_slice(line.as_bytes());
        }
        Column::Text(Text::new(buffer.into(), spans))
    }

    fn numbers(rows: usize, values: &[i32]) -> Column {
        let shape = Shape::new(&[rows, values.len() / rows]);
        Column::Dense(Tensor::from_values(shape, values.to_vec()).unwrap())
    }

    #[test]
    fn rows_are_gathered_in_the_requested_order() {
        let (a, b) = (numbers(2, &[1, 2, 3, 4]), numbers(1, &[5, 6]));
        let rows = [(1, 0), (0, 1), (1, 0)];
        let gathered = gather(&[&a, &b], rows.into_iter()).unwrap().to_tensor().unwrap();
        assert_eq!(gathered, Tensor::from_values(Shape::new(&[3, 2]), vec![5, 6, 3, 4, 5, 6]).unwrap());
        let (a, b) = (text(&["x", "", "yy"]), text(&["z"]));
        let Column::Text(gathered) = gather(&[&a, &b], [(0, 2), (1, 0), (0, 1)].into_iter()).unwrap() else {
            panic!("expected strings");
        };
        assert_eq!(gathered.rows().collect::<Vec<_>>(), [b"yy".as_slice(), b"z", b""]);
    }

    #[test]
    fn rows_of_any_size_are_copied_one_by_one_and_in_runs() {
        for size in [1, 2, 3, 4, 5, 8, 12, 16, 20] {
            let values: Vec<u8> = (0..6 * size).map(|value| value as u8).collect();
            let (a, b) = values.split_at(4 * size);
            let column = |bytes: &[u8]| {
                let shape = Shape::new(&[bytes.len() / size, size]);
                Column::Dense(Tensor::copied(DType::UInt8, shape, bytes).unwrap())
            };
            let rows = [(0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (0, 0), (0, 0), (1, 1), (0, 2)];
            let numbers = [1, 2, 3, 4, 5, 0, 0, 5, 2];
            let expected: Vec<u8> =
                numbers.iter().flat_map(|number| &values[number * size..][..size]).copied().collect();
            let gathered = gather(&[&column(a), &column(b)], rows.into_iter()).unwrap().to_tensor().unwrap();
            assert_eq!((&gathered.shape()[..], gathered.bytes()), (&[rows.len(), size][..], &expected[..]));
        }
    }

    #[test]
    fn lists_of_lists_keep_their_lengths() {
        let values = Tensor::from_values(Shape::new(&[4]), vec![1_i64, 2, 3, 4]).unwrap();
        let inner = Column::Ragged(Ragged::new(values, vec![1, 1, 3, 4]));
        let a = Column::Lists(Lists::new(inner, vec![2, 2, 4]));
        let gathered = gather(&[&a], [(0, 2), (0, 1), (0, 0)].into_iter()).unwrap();
        let Column::Lists(lists) = &gathered else { panic!("expected lists of lists") };
        assert_eq!([lists.range(0), lists.range(1), lists.range(2)], [0..2, 2..2, 2..4]);
        let lengths: Vec<_> = (0..4).map(|list| lists.inner().row_length(list)).collect();
        assert_eq!(lengths, [2, 1, 1, 0]);
        assert!(gathered.to_tensor().unwrap_err().message().contains("Use padded_batch"));
    }

    #[test]
    fn lists_keep_their_lengths() {
        let values = |values: &[i64]| Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap();
        let a = Column::Ragged(Ragged::new(values(&[1, 2, 3]), vec![1, 1, 3]));
        let Column::Ragged(gathered) = gather(&[&a], [(0, 2), (0, 1), (0, 0)].into_iter()).unwrap() else {
            panic!("expected lists");
        };
        let rows: Vec<_> = (0..3).map(|row| gathered.row(row).unwrap()).collect();
        assert_eq!(rows, [values(&[2, 3]), values(&[]), values(&[1])]);
        assert!(Column::Ragged(gathered).to_tensor().unwrap_err().message().contains("Use padded_batch"));
    }

    #[test]
    fn rows_of_different_shapes_cannot_be_batched() {
        let (a, b) = (numbers(1, &[1, 2]), numbers(1, &[5]));
        let gathered = gather(&[&a, &b], [(0, 0), (1, 0)].into_iter()).unwrap();
        assert_eq!(gathered.row(1).unwrap(), b.row(0).unwrap());
        assert_eq!((gathered.row_length(0), gathered.row_length(1)), (2, 1));
        let error = gathered.to_tensor().unwrap_err();
        assert_eq!(
            error.message(),
            "one example has int32 of shape [2], another int32 of shape [1], expected the same in all examples of a \
             batch. Resize or pad them, or use padded_batch or batch(lists=...)"
        );
    }
}
