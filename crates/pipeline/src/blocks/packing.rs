//! Packs short values of a block row by row, and gathers packed columns.

use crate::blocks::block::Block;
use crate::blocks::column::{Column, Text};
use crate::blocks::packed_rows::{Layout, Packed, PackedRows, Source, Values};
use crate::blocks::provenance::Provenance;
use crate::blocks::span::Span;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use std::sync::Arc;

/// Smaller blocks are not packed, because the description of the rows would take more memory than
/// packing saves.
const LEAST_ROWS: usize = 16;

/// Packs the short values of a block, if it has many rows, and corrects its memory charge.
pub fn packed(block: Block) -> Result<Block> {
    match block.num_rows() < LEAST_ROWS {
        true => Ok(block),
        false => packed_whole(block),
    }
}

/// Packs the short values of a block.
pub fn packed_whole(block: Block) -> Result<Block> {
    let layouts = Layout::all_of(block.columns.iter().map(values));
    if layouts.is_empty() || block.num_rows() == 0 {
        return Ok(block);
    }
    let (num_rows, provenance) = (block.num_rows(), block.provenance().clone());
    let (mut columns, charge) = block.into_columns();
    for layout in layouts {
        let numbers: Vec<_> = layout.fields().iter().map(|field| field.column).collect();
        let sources = numbers.iter().map(|column| source(&columns[*column]));
        let rows = PackedRows::new(layout, &sources.collect::<Result<Vec<_>>>()?, num_rows)?;
        for (column, packed) in numbers.into_iter().zip(Packed::all_of(rows)) {
            columns[column] = match &columns[column] {
                Column::Text(text) => Column::Text(text.packed(packed)),
                _ => Column::Packed(packed),
            };
        }
    }
    let block = Block::new(columns, num_rows, provenance)?;
    let Some(mut charge) = charge else { return Ok(block) };
    charge.correct(block.held_bytes());
    Ok(block.charged(charge))
}

/// The packed rows of a block, if they hold all of its values.
pub fn whole_rows(block: &Block) -> Option<&Arc<PackedRows>> {
    let rows = block.columns.first()?.packed()?.rows();
    let is_whole = |column: &Column| matches!(column, Column::Packed(packed) if Arc::ptr_eq(packed.rows(), rows));
    block.columns.iter().all(is_whole).then_some(rows)
}

/// A block of packed rows that hold all of its values.
pub fn block_of(rows: PackedRows, provenance: Provenance) -> Result<Block> {
    let num_rows = rows.len();
    Block::new(Packed::all_of(rows).map(Column::Packed).collect(), num_rows, provenance)
}

/// The values of a column, if they can be stored in packed rows.
fn values(column: &Column) -> Option<Values> {
    match column {
        Column::Dense(tensor) if tensor.dtype() != DType::String => {
            Some(Values::Elements(tensor.dtype(), tensor.shape().row()))
        }
        Column::Text(text) => text.packable_spans().map(|_| Values::Spans),
        _ => None,
    }
}

fn source(column: &Column) -> Result<Source<'_>> {
    match column {
        Column::Dense(tensor) => Ok(Source::Elements(tensor.bytes())),
        Column::Text(text) => text.packable_spans().map(Source::Spans).ok_or_else(unpacked),
        _ => Err(unpacked()),
    }
}

#[cold]
fn unpacked() -> Error {
    Error::internal("expected a packed column")
}

/// Gathers the rows at `positions` for all columns that are packed together with column `column`. A
/// position is a block number and a row in that block. Returns each column with its number, or
/// `None` if the blocks don't all pack `column` in the same way.
pub fn gather_packed(
    blocks: &[Arc<Block>],
    column: usize,
    positions: &[(usize, usize)],
) -> Result<Option<Vec<(usize, Column)>>> {
    let rows = blocks.iter().map(|block| block.columns[column].packed().map(|packed| &**packed.rows()));
    let Some(rows) = rows.collect::<Option<Vec<_>>>() else { return Ok(None) };
    let Some(layout) = rows.first().map(|rows| rows.layout()) else { return Ok(None) };
    if rows.iter().any(|rows| rows.layout() != layout) {
        return Ok(None);
    }
    let values = layout.fields().iter().zip(PackedRows::gather(&rows, positions)?);
    let gathered = values.map(|(field, values)| {
        let column = match &field.values {
            Values::Elements(dtype, shape) => {
                Column::Dense(Tensor::from_bytes(*dtype, shape.batched(positions.len()), values.into())?)
            }
            Values::Spans => {
                let texts = blocks.iter().map(|block| match &block.columns[field.column] {
                    Column::Text(text) => Ok(text),
                    _ => Err(unpacked()),
                });
                let texts = texts.collect::<Result<Vec<_>>>()?;
                let spans = values.as_chunks().0.iter();
                let strings = positions.iter().zip(spans);
                let strings = strings.map(|((block, _), span)| texts[*block].at(Span::of_bytes(*span)));
                Column::Text(Text::copied(strings)?)
            }
        };
        Ok((field.column, column))
    });
    gathered.collect::<Result<_>>().map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::column::{Lists, Ragged};
    use crate::blocks::rows::Rows;
    use crate::budget::Budget;
    use headrace_engine::tensor::shape::Shape;
    use proptest::prelude::*;

    const DTYPES: [DType; 15] = [
        DType::Bool,
        DType::UInt8,
        DType::Int8,
        DType::UInt16,
        DType::Int16,
        DType::Float16,
        DType::UInt32,
        DType::Int32,
        DType::Float32,
        DType::UInt64,
        DType::Int64,
        DType::Float64,
        DType::Complex64,
        DType::Complex128,
        DType::String,
    ];

    /// A column of `num_rows` rows of each kind. `salt` makes the values of columns differ.
    fn column(kind: usize, num_rows: usize, salt: usize) -> Column {
        let number = |index: usize| (index * 31 + salt * 7 + kind) as u8;
        let dense = |dtype: DType, dims: &[usize]| {
            let shape = Shape::new(dims).batched(num_rows);
            if dtype == DType::String {
                let strings = (0..shape.num_elements()).map(|index| vec![number(index); index % 4].into());
                return Column::Dense(Tensor::strings(shape, strings.collect()).unwrap());
            }
            let num_bytes = shape.num_elements() * dtype.size();
            let byte = |index| if dtype == DType::Bool { number(index) & 1 } else { number(index) };
            Column::Dense(
                Tensor::from_bytes(dtype, shape, (0..num_bytes).map(byte).collect::<Vec<_>>().into()).unwrap(),
            )
        };
        let ragged = |num_rows: usize| {
            let lengths = (0..num_rows).map(|row| number(row) as usize % 3);
            let ends: Vec<_> = lengths
                .scan(0, |end, length| {
                    *end += length;
                    Some(*end)
                })
                .collect();
            let values = (0..ends.last().copied().unwrap_or(0)).map(|index| i64::from(number(index)));
            let values: Vec<_> = values.collect();
            Ragged::new(Tensor::from_values(Shape::new(&[values.len()]), values).unwrap(), ends)
        };
        match kind {
            kind if kind < DTYPES.len() => dense(DTYPES[kind], &[]),
            15 => dense(DType::Float32, &[3]),
            16 => dense(DType::UInt8, &[2, 5]),
            17 => dense(DType::Int64, &[4]),
            18 => dense(DType::Int64, &[5]),
            19 => dense(DType::Int32, &[0]),
            20 | 21 => {
                let strings: Vec<Vec<u8>> =
                    (0..num_rows).map(|row| vec![number(row); number(row) as usize % 5]).collect();
                // Store the strings in reverse, so that they are not contiguous.
                let mut buffer = vec![9; kind];
                let spans = strings.iter().rev().map(|string| {
                    buffer.extend_from_slice(string);
                    Span { start: buffer.len() - string.len(), length: string.len() }
                });
                let mut spans: Vec<_> = spans.collect();
                spans.reverse();
                Column::Text(Text::new(buffer.into(), spans))
            }
            22 => Column::Ragged(ragged(num_rows)),
            23 => {
                let inner = ragged(2 * num_rows);
                Column::Lists(Lists::new(Column::Ragged(inner), (1..=num_rows).map(|row| 2 * row).collect()))
            }
            24 => {
                let row = |row: usize| {
                    let values = vec![number(row); row % 3];
                    Tensor::from_values(Shape::new(&[values.len()]), values).unwrap()
                };
                Column::Each((0..num_rows).map(row).collect())
            }
            _ => Column::Batches(
                (0..num_rows)
                    .map(|row| Column::Dense(Tensor::from_values(Shape::new(&[1]), vec![number(row)]).unwrap()))
                    .collect(),
            ),
        }
    }

    const NUM_KINDS: usize = 26;

    fn block(kinds: &[usize], num_rows: usize, salt: usize) -> Arc<Block> {
        let columns = kinds.iter().map(|kind| column(*kind, num_rows, salt)).collect();
        Arc::new(Block::new(columns, num_rows, Provenance::Unknown).unwrap())
    }

    fn by_row(block: &Arc<Block>) -> Arc<Block> {
        Arc::new(packed_whole(block.share()).unwrap())
    }

    fn rows(blocks: &[Arc<Block>], positions: &[(usize, usize)]) -> Rows {
        let mut rows = Rows::new();
        positions.iter().for_each(|(block, row)| rows.push(&blocks[*block], *row, 1));
        rows
    }

    /// The rows of a column as text.
    fn words(column: &Column) -> Result<Vec<String>> {
        assert!(column.packed().is_none(), "{column:?}");
        let kind = format!("{column:?}").split('(').next().unwrap().to_owned();
        let tensor = |tensor: Tensor| {
            format!("{} {} {:?} {:?}", tensor.dtype(), tensor.shape(), tensor.bytes(), tensor.string_values())
        };
        let word = |row: usize| match column {
            Column::Batches(_) => Ok(format!("{kind} {:?}", words(&column.batch(row)?)?)),
            Column::Lists(lists) => {
                let inner = lists.range(row).map(|inner| lists.inner().row(inner).map(tensor));
                Ok(format!("{kind} {:?}", inner.collect::<Result<Vec<_>>>()?))
            }
            _ => Ok(format!("{kind} {}", tensor(column.row(row)?))),
        };
        (0..column.len()).map(word).collect()
    }

    /// The columns of rows as text, checked to be the same for each way of gathering them.
    fn gathered(rows: &Rows) -> std::result::Result<Vec<Vec<String>>, String> {
        let all = |columns: &[Column]| columns.iter().map(words).collect::<Result<Vec<_>>>();
        let word = |error: Error| error.message().to_owned();
        let gathered = all(&rows.gather().map_err(word)?.columns).map_err(word)?;
        assert_eq!(all(&rows.copy().unwrap().columns).unwrap(), gathered);
        let alone = (0..gathered.len()).map(|column| words(&rows.gather_column(column).unwrap()).unwrap());
        assert_eq!(alone.collect::<Vec<_>>(), gathered);
        let mut some = all(&rows.gather_columns((0..gathered.len()).rev()).unwrap()).unwrap();
        some.reverse();
        assert_eq!(some, gathered);
        Ok(gathered)
    }

    proptest! {
        #[test]
        fn packed_rows_are_gathered_like_unpacked_ones(
            kinds in prop::collection::vec(0..NUM_KINDS, 1..14),
            other in 0..NUM_KINDS,
            sizes in prop::collection::vec(1_usize..300, 1..5),
            num_packed in 0_usize..5,
            is_mixed: bool,
            picks: Vec<(usize, usize)>,
        ) {
            let block = |(salt, num_rows): (usize, &usize)| {
                let mut kinds = kinds.clone();
                if is_mixed && salt == 1 {
                    kinds[0] = other;
                }
                block(&kinds, *num_rows, salt)
            };
            let blocks: Vec<_> = sizes.iter().enumerate().map(block).collect();
            let by_row: Vec<_> = blocks.iter().enumerate().map(|(index, block)| {
                if index < num_packed { by_row(block) } else { Arc::clone(block) }
            }).collect();
            let positions: Vec<_> = picks.iter().map(|(block, row)| {
                let block = block % blocks.len();
                (block, row % sizes[block])
            }).chain([(0, 0)]).collect();
            prop_assert_eq!(gathered(&rows(&by_row, &positions)), gathered(&rows(&blocks, &positions)));
            for (by_row, block) in by_row.iter().zip(&blocks) {
                prop_assert_eq!(gathered(&Rows::all(Arc::clone(by_row))), gathered(&Rows::all(Arc::clone(block))));
                prop_assert_eq!(by_row.num_bytes(), block.num_bytes());
                prop_assert!(by_row.is_packed() || by_row.held_bytes() == block.held_bytes());
                for (packed, column) in by_row.columns.iter().zip(&block.columns) {
                    prop_assert_eq!(packed.len(), column.len());
                    for row in [0, column.len() - 1] {
                        prop_assert_eq!(packed.row_length(row), column.row_length(row));
                        prop_assert_eq!(packed.row_axes(row), column.row_axes(row));
                        prop_assert_eq!(packed.string(row).ok(), column.string(row).ok());
                        prop_assert_eq!(packed.row(row).ok(), column.row(row).ok());
                    }
                }
            }
        }
    }

    #[test]
    fn short_columns_are_packed_into_cache_line_sized_rows() {
        let widths = |kinds: &[usize]| -> Vec<usize> {
            let block = by_row(&block(kinds, 10, 0));
            let mut rows: Vec<*const PackedRows> = Vec::new();
            let packed = block.columns.iter().filter_map(Column::packed);
            packed.for_each(|packed| rows.push(std::ptr::from_ref(packed.rows())));
            let held = block.columns.iter().filter_map(Column::packed).map(Packed::held_bytes).sum::<usize>();
            rows.dedup();
            vec![held / 10, rows.len()]
        };
        // Eight floats and two integers. The span of a string takes eight bytes.
        assert_eq!(widths(&[8, 8, 8, 8, 8, 8, 8, 8, 10, 10]), [48, 1]);
        assert_eq!(widths(&[8, 20, 1]), [16, 1]);
        assert_eq!(widths(&[13, 13, 13, 13, 11, 11]), [80, 2]);
        // A column on its own, or with only long values or lists beside it.
        assert_eq!(widths(&[8]), [0, 0]);
        assert_eq!(widths(&[8, 18, 19, 22, 24, 14]), [0, 0]);
    }

    #[test]
    fn blocks_with_few_rows_are_not_packed() {
        for (num_rows, is_packed) in [(0, false), (LEAST_ROWS - 1, false), (LEAST_ROWS, true)] {
            let block = packed(block(&[8, 8], num_rows, 0).share()).unwrap();
            assert_eq!((block.is_packed(), block.num_rows()), (is_packed, num_rows));
        }
        assert!(!packed_whole(block(&[8, 8], 0, 0).share()).unwrap().is_packed());
    }

    #[test]
    fn charge_matches_the_packed_rows() {
        let budget = Budget::new(usize::MAX);
        let block = block(&[8, 20], 100, 0).share();
        let num_bytes = block.held_bytes();
        let packed = packed(block.charged(budget.charge(num_bytes))).unwrap();
        assert_eq!(budget.used_bytes(), packed.held_bytes());
        assert!(packed.held_bytes() < num_bytes);
    }
}
