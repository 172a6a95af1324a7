//! Packs lists into rows of equal length, after cutting long lists into pieces.

use crate::blocks::block::{Block, Provenance, RowProvenance};
use crate::blocks::column::{Column, Ragged};
use crate::blocks::gather::gather;
use crate::blocks::rows::Rows;
use crate::stages::Stage;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::shape::Shape;
use std::sync::Arc;

/// Makes one row of a group of rows: their lists end to end, padded, and two more columns: the
/// number of the list that each element belongs to, from 1 (0 for padding), and its position in the
/// list. Other values follow, and then the ends of the lists.
pub struct PackRows {
    /// The names of the columns with lists. With `has_starts` there is one more column, with the
    /// start of each list.
    pub names: Vec<String>,
    /// The length of a row.
    pub length: usize,
    /// True if the lists may be pieces of longer ones.
    pub has_starts: bool,
    /// The number of columns after them whose values become a list of the row, one of each list.
    pub num_along: usize,
    /// True if a column with the ends of the lists follows, from 0.
    pub has_ends: bool,
    /// The padding value of each column with lists, a scalar.
    pub fillers: Vec<Tensor>,
}

impl Stage for PackRows {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let row_length = rows.group().map_or(self.length, |group| group.size);
        let lists = all_lists(&rows, &self.names)?;
        let Some(first) = lists.first() else { return Err(Error::internal("no lists to pack")) };
        let starts = match self.has_starts {
            true => Some(rows.gather_column(self.names.len())?.to_tensor()?),
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
        let first_along = self.names.len() + usize::from(self.has_starts);
        for column in first_along..first_along + self.num_along {
            let values = rows.gather_column(column)?.to_tensor()?;
            columns.push(Column::Ragged(Ragged::new(values, vec![num_lists])));
        }
        if self.has_ends {
            let lengths = (0..num_lists).map(|row| first.row_length(row) as i32);
            let ends = lengths.scan(0, |end, length| {
                *end += length;
                Some(*end)
            });
            let ends: Vec<_> = std::iter::once(0).chain(ends).collect();
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
fn packed(lists: &Ragged, filler: &Tensor, row_length: usize) -> Result<Column> {
    let values = lists.values();
    if values.dtype() != filler.dtype() {
        let (one, other) = (values.dtype(), filler.dtype());
        return Err(Error::internal(format!("pack: cannot pad lists of {one} with {other}")));
    }
    let shape = Shape::new(&[1, row_length]);
    let mut bytes: Vec<u8> = allocate::elements(values.dtype(), &shape).room()?;
    bytes.extend_from_slice(values.bytes());
    (values.num_elements()..row_length).for_each(|_| bytes.extend_from_slice(filler.bytes()));
    Tensor::from_bytes(values.dtype(), shape.clone(), bytes.into()).map(Column::Dense)
}

/// The rows of all columns as contiguous lists.
fn all_lists(rows: &Rows, names: &[String]) -> Result<Vec<Ragged>> {
    names.iter().enumerate().map(|(column, name)| lists(rows, column, name)).collect()
}

/// The rows of a column as contiguous lists.
fn lists(rows: &Rows, column: usize, name: &str) -> Result<Ragged> {
    match rows.gather_column(column)? {
        Column::Ragged(ragged) => Ok(ragged),
        Column::Dense(tensor) if tensor.shape().len() == 2 => {
            let (num_rows, length) = (tensor.shape()[0], tensor.shape()[1]);
            let shape = Shape::new(&[num_rows * length]);
            Ok(Ragged::new(tensor.reshaped(shape)?, (1..=num_rows).map(|row| row * length).collect()))
        }
        Column::Each(tensors) => {
            let mut ends = allocate::room(tensors.len()).map_err(|refusal| refusal.at("the ends of lists"))?;
            let mut num_values = 0;
            for (row, tensor) in tensors.iter().enumerate() {
                if tensor.shape().len() != 1 {
                    return Err(no_vector(name, tensor.shape(), rows.row_provenance(row)));
                }
                if tensor.dtype() != tensors[0].dtype() {
                    let (one, other) = (tensors[0].dtype(), tensor.dtype());
                    return Err(Error::internal(format!(
                        "pack: the component '{name}' has lists of {one} and of {other}, expected one type"
                    )));
                }
                num_values += tensor.num_elements();
                ends.push(num_values);
            }
            let Some(first) = tensors.first() else { return Err(Error::internal("no lists to pack")) };
            let shape = Shape::new(&[num_values]);
            let mut bytes: Vec<u8> = allocate::elements(first.dtype(), &shape).room()?;
            tensors.iter().for_each(|tensor| bytes.extend_from_slice(tensor.bytes()));
            Ok(Ragged::new(Tensor::from_bytes(first.dtype(), shape.clone(), bytes.into())?, ends))
        }
        Column::Dense(tensor) => Err(no_vector(name, &tensor.shape().row(), rows.row_provenance(0))),
        _ => Err(Error::internal("a component that is packed has no numbers")),
    }
}

/// The length of a row that is to be packed.
pub fn vector_length(column: &Column, row: usize, name: &str, block: &Block) -> Result<usize> {
    match column {
        Column::Dense(tensor) if tensor.shape().len() != 2 => {
            Err(no_vector(name, &tensor.shape().row(), block.row_provenance(row)))
        }
        Column::Packed(packed) if packed.axes().len() != 1 => {
            Err(no_vector(name, &Shape::new(packed.axes()), block.row_provenance(row)))
        }
        Column::Each(tensors) if tensors[row].shape().len() != 1 => {
            Err(no_vector(name, tensors[row].shape(), block.row_provenance(row)))
        }
        _ => Ok(column.row_length(row)),
    }
}

/// The error for an example whose component has no axis, or several.
fn no_vector(name: &str, shape: &Shape, row_provenance: Option<RowProvenance>) -> Error {
    let text = format!(
        "pack: the component '{name}' of an example has shape {shape}, expected a vector. Flatten it in map with \
         reshape(-1), or filter the example out"
    );
    misfit(text, row_provenance)
}

/// Cuts lists that are too long into pieces, and adds a column with the start of each piece after
/// them. Each piece has the values of the columns that follow.
pub struct CutLists {
    /// The names of the columns with lists.
    pub names: Vec<String>,
    /// The number of columns after them.
    pub num_along: usize,
    /// The largest length of a piece.
    pub length: usize,
}

impl Stage for CutLists {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let all = all_lists(&rows, &self.names)?;
        let Some(first) = all.first() else { return Err(Error::internal("no lists to cut")) };
        let pieces = || {
            (0..first.len()).flat_map(|row| {
                let range = first.range(row);
                let starts = (range.start..range.end.max(range.start + 1)).step_by(self.length);
                starts.enumerate().map(move |(piece, start)| (row, piece as u64, start - range.start))
            })
        };
        let starts: Vec<_> = pieces().map(|(_, _, start)| start as i64).collect();
        let num_pieces = starts.len();
        let cut = |lists: Ragged| {
            let ends = pieces().map(|(row, _, start)| {
                let range = lists.range(row);
                range.end.min(range.start + start + self.length)
            });
            Column::Ragged(Ragged::new(lists.values().clone(), ends.collect()))
        };
        check_lengths(&all, &rows)?;
        let mut columns: Vec<_> = all.iter().cloned().map(cut).collect();
        columns.push(Column::Dense(Tensor::from_values(Shape::new(&[num_pieces]), starts)?));
        let of_pieces: Vec<_> = pieces().map(|(row, _, _)| (0, row)).collect();
        for column in self.names.len()..self.names.len() + self.num_along {
            columns.push(gather(&[&rows.gather_column(column)?], of_pieces.iter().copied())?);
        }
        let provenance = rows.provenance().made_of(pieces().map(|(row, piece, _)| (row, piece)));
        Block::new(columns, num_pieces, provenance).map(Rows::all)
    }
}

fn check_lengths(all: &[Ragged], rows: &Rows) -> Result<()> {
    let Some((first, others)) = all.split_first() else { return Ok(()) };
    for row in 0..first.len() {
        if let Some(other) = others.iter().find(|other| other.row_length(row) != first.row_length(row)) {
            return Err(unequal(first.row_length(row), other.row_length(row), rows.row_provenance(row)));
        }
    }
    Ok(())
}

/// The error for components of an example that are packed together and differ in length.
pub fn unequal(length: usize, other: usize, row_provenance: Option<RowProvenance>) -> Error {
    let text = format!(
        "pack: one component of an example has {length} elements, another {other}, expected equal lengths. Pack them \
         separately, or make them equal in map"
    );
    misfit(text, row_provenance)
}

/// An error for an example, with its origin.
pub fn misfit(text: String, row_provenance: Option<RowProvenance>) -> Error {
    let error = Error::invalid_argument(text);
    match row_provenance {
        Some(row_provenance) => error.while_reading(&row_provenance),
        None => error,
    }
}
