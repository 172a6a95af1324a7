//! Packs lists into rows of equal length, after cutting long lists into pieces.

use crate::blocks::block::{Block, Provenance, RowProvenance};
use crate::blocks::column::{Column, Ragged};
use crate::blocks::gather::gather;
use crate::blocks::rows::Rows;
use crate::stages::Stage;
use crate::stages::carried::{Along, carried};
use crate::stages::packed_lists::{ListColumn, PackedLists, list_lengths, unequal};
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::shape::Shape;
use std::sync::Arc;

/// Makes one row of a group of rows: their lists end to end, padded, and two more columns: the
/// number of the list that each element belongs to, from 1 (0 for padding), and its position in the
/// list. Other values follow, and then the ends of the lists.
pub struct PackRows {
    /// The columns with lists. With `has_starts` there is one more column, with the start of each
    /// list.
    pub lists: Vec<ListColumn>,
    /// The length of a row.
    pub length: usize,
    /// True if the lists may be pieces of longer ones.
    pub has_starts: bool,
    /// The columns after them, whose values are collected in the row.
    pub along: Vec<Along>,
    /// True if a column with the ends of the lists follows, from 0.
    pub has_ends: bool,
    /// The padding value of each column with lists, a scalar.
    pub fillers: Vec<Tensor>,
}

impl Stage for PackRows {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let row_length = rows.group().map_or(self.length, |group| group.size);
        let lists = all_lists(&rows, &self.lists)?;
        let Some(first) = lists.first() else { return Err(Error::internal("no lists to pack")) };
        let starts = match self.has_starts {
            true => Some(rows.gather_column(self.lists.len())?.to_tensor()?),
            false => None,
        };
        let starts = starts.as_ref().map(Tensor::values::<i64>).transpose()?;
        let mut columns = lists
            .iter()
            .zip(&self.fillers)
            .map(|(lists, filler)| packed(lists, filler, row_length))
            .collect::<Result<Vec<_>>>()?;
        let (mut segments, mut positions) = (room(row_length)?, room(row_length)?);
        for row in 0..first.len() {
            let (length, start) = (first.row_length(row), starts.map_or(0, |starts| starts[row]));
            segments.extend(std::iter::repeat_n(row as i32 + 1, length));
            positions.extend((start..).take(length).map(|position| position as i32));
        }
        for mut column in [segments, positions] {
            column.extend(std::iter::repeat_n(0, row_length.saturating_sub(column.len())));
            columns.push(Column::Dense(Tensor::from_values(Shape::new(&[1, row_length]), column)?));
        }
        let num_lists = first.len();
        columns.extend(carried(&rows, self.lists.len() + usize::from(self.has_starts), &self.along)?);
        if self.has_ends {
            let ends: Vec<_> =
                std::iter::once(0).chain((0..num_lists).map(|row| first.range(row).end as i32)).collect();
            let shape = Shape::new(&[ends.len()]);
            columns.push(Column::Ragged(Ragged::new(Tensor::from_values(shape, ends)?, vec![num_lists + 1])));
        }
        let provenance =
            rows.group().map_or(Provenance::Unknown, |group| Provenance::Run(Arc::clone(&group.file), group.number));
        Block::new(columns, 1, provenance).map(Rows::all)
    }

    fn is_row_wise(&self) -> bool {
        false
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}

fn room(row_length: usize) -> Result<Vec<i32>> {
    allocate::room(row_length).map_err(|refusal| refusal.at("a packed row"))
}

/// Lists end to end, padded to the length of a row.
fn packed(lists: &PackedLists, filler: &Tensor, row_length: usize) -> Result<Column> {
    let values = lists.values();
    if values.dtype() != filler.dtype() {
        let (one, other) = (values.dtype(), filler.dtype());
        return Err(Error::internal(format!("pack: cannot pad lists of {one} with {other}")));
    }
    let shape = lists.shape(row_length).batched(1);
    let mut bytes: Vec<u8> = allocate::elements(values.dtype(), &shape).room()?;
    bytes.extend_from_slice(values.bytes());
    (values.num_elements()..shape.num_elements()).for_each(|_| bytes.extend_from_slice(filler.bytes()));
    Tensor::from_bytes(values.dtype(), shape.clone(), bytes.into()).map(Column::Dense)
}

/// The rows of the first columns, end to end.
pub fn all_lists(rows: &Rows, lists: &[ListColumn]) -> Result<Vec<PackedLists>> {
    let of_column = |(index, list): (usize, &ListColumn)| {
        PackedLists::of(&rows.gather_column(index)?, list, |row| rows.row_provenance(row))
    };
    lists.iter().enumerate().map(of_column).collect()
}

/// Cuts lists that are too long into pieces, and adds a column with the start of each piece after
/// them. Each piece has the values of the columns that follow.
pub struct CutLists {
    /// The columns with lists.
    pub lists: Vec<ListColumn>,
    /// The number of columns after the columns with lists.
    pub num_along: usize,
    /// The largest length of a piece.
    pub length: usize,
}

impl Stage for CutLists {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let row_provenance = |row| rows.row_provenance(row);
        let columns = (0..self.lists.len()).map(|index| rows.gather_column(index)).collect::<Result<Vec<_>>>()?;
        let pairs = columns.iter().zip(&self.lists);
        let lengths = pairs.clone().map(|(column, list)| list_lengths(column, list, row_provenance));
        let lengths = equal_lengths(lengths.collect::<Result<_>>()?, row_provenance)?;
        let pieces = || {
            lengths.iter().enumerate().flat_map(|(row, length)| {
                let starts = (0..(*length).max(1)).step_by(self.length);
                starts
                    .enumerate()
                    .map(move |(piece, start)| (row, piece as u64, start..(*length).min(start + self.length)))
            })
        };
        let starts: Vec<_> = pieces().map(|(_, _, range)| range.start as i64).collect();
        let num_pieces = starts.len();
        let mut cut = pairs
            .map(|(column, list)| match list.num_axes {
                1 => {
                    let ends = pieces().scan(0, |end, (_, _, range)| {
                        *end += range.len();
                        Some(*end)
                    });
                    let lists = PackedLists::of(column, list, row_provenance)?;
                    Ok(Column::Ragged(Ragged::new(lists.values().clone(), ends.collect())))
                }
                // Other axes may differ between rows, so each row is cut for itself.
                _ => {
                    let pieces = pieces().map(|(row, _, range)| {
                        let column = gather(&[column], std::iter::once((0, row)))?;
                        PackedLists::of(&column, list, |_| row_provenance(row))?.part(range)
                    });
                    Ok(Column::Each(pieces.collect::<Result<Vec<_>>>()?.into()))
                }
            })
            .collect::<Result<Vec<_>>>()?;
        cut.push(Column::Dense(Tensor::from_values(Shape::new(&[num_pieces]), starts)?));
        let of_pieces: Vec<_> = pieces().map(|(row, _, _)| (0, row)).collect();
        for column in self.lists.len()..self.lists.len() + self.num_along {
            cut.push(gather(&[&rows.gather_column(column)?], of_pieces.iter().copied())?);
        }
        let provenance = rows.provenance().made_of(pieces().map(|(row, piece, _)| (row, piece)));
        Block::new(cut, num_pieces, provenance).map(Rows::all)
    }
}

/// The length of each row's lists, which must be equal in all columns.
fn equal_lengths(all: Vec<Vec<usize>>, row_provenance: impl Fn(usize) -> Option<RowProvenance>) -> Result<Vec<usize>> {
    let mut all = all.into_iter();
    let Some(first) = all.next() else { return Err(Error::internal("no lists to cut")) };
    for other in all {
        if let Some(row) = (0..first.len()).find(|row| first[*row] != other[*row]) {
            return Err(unequal(first[row], other[row], row_provenance(row)));
        }
    }
    Ok(first)
}
