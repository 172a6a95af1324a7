//! Components that packed rows collect from their examples.

use crate::blocks::column::{Column, Lists, Ragged};
use crate::blocks::gather::gather;
use crate::blocks::rows::Rows;
use crate::stages::join::offsets;
use crate::stages::packed_lists::{ListColumn, PackedLists};
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;

/// How a packed row collects the values of a column.
#[derive(Clone, Debug)]
pub enum Along {
    /// Values of one shape become an array with a leading axis.
    Stacked {
        /// The name, for error messages.
        name: String,
    },
    /// Lists are put end to end. A column with the offset of each follows.
    Joined(ListColumn),
}

/// Collects the columns from index `first` on into one row.
pub fn carried(rows: &Rows, first: usize, along: &[Along]) -> Result<Vec<Column>> {
    let mut columns = Vec::new();
    for (column, along) in (first..).zip(along) {
        let column = rows.gather_column(column)?;
        match along {
            Along::Stacked { name } => columns.push(one_row(stacked(&column, name)?)),
            Along::Joined(list) => {
                columns.push(match &column {
                    Column::Lists(lists) => inner_lists(lists)?,
                    column => {
                        let lists = PackedLists::of(column, list, |row| rows.row_provenance(row))?;
                        one_row(lists.values().clone())
                    }
                });
                columns.push(one_row(offsets(&column, None)?));
            }
        }
    }
    Ok(columns)
}

fn stacked(column: &Column, name: &str) -> Result<Tensor> {
    column
        .to_tensor()
        .map_err(|error| Error::new(error.code(), format!("pack: component '{name}': {}", error.message())))
}

/// A column whose only row is a tensor.
pub fn one_row(tensor: Tensor) -> Column {
    match tensor.shape()[..] {
        [length] => Column::Ragged(Ragged::new(tensor, vec![length])),
        _ => Column::Each([tensor].into()),
    }
}

/// A column whose only row consists of the inner lists of all rows.
fn inner_lists(lists: &Lists) -> Result<Column> {
    let num_lists = lists.len().checked_sub(1).map_or(0, |last| lists.range(last).end);
    let inner = match lists.inner().len() == num_lists {
        true => lists.inner().clone(),
        false => gather(&[lists.inner()], (0..num_lists).map(|list| (0, list)))?,
    };
    Ok(Column::Lists(Lists::new(inner, vec![num_lists])))
}
