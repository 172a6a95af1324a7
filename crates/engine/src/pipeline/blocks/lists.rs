//! Lists of lists: one in each row, of any length, whose elements are lists of any length again.

use crate::error::{Error, Result};
use crate::pipeline::blocks::column::Column;
use std::ops::Range;
use std::sync::Arc;

/// Row `i` is the lists `ends[i - 1]..ends[i]` of a column of lists.
#[derive(Clone, Debug)]
pub struct Lists {
    inner: Arc<Column>,
    ends: Arc<[usize]>,
}

impl Lists {
    /// Lists that end at `ends` of `inner`, which are [`Column::Ragged`] or [`Column::Lists`].
    pub fn new(inner: Column, ends: Vec<usize>) -> Self {
        Self { inner: Arc::new(inner), ends: ends.into() }
    }

    /// The lists of all rows, in order.
    pub fn inner(&self) -> &Column {
        &self.inner
    }

    /// The position of the lists of row `row`.
    pub fn range(&self, row: usize) -> Range<usize> {
        row.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[row]
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The memory that it takes.
    pub fn held_bytes(&self) -> usize {
        size_of_val(&*self.ends) + self.inner.held_bytes()
    }
}

/// The error for lists of lists where one tensor is expected.
#[cold]
pub fn not_one_tensor() -> Error {
    Error::invalid_argument(
        "its lists of lists differ in length, expected rows of one shape. Use padded_batch or bucket_by_length in \
         place of batch",
    )
}

/// The longest list at each depth, of some rows: first that of the lists in the rows.
pub fn longest(column: &Column, rows: impl Iterator<Item = usize>) -> Result<Vec<usize>> {
    match column {
        Column::Ragged(ragged) => Ok(vec![rows.map(|row| ragged.row_length(row)).max().unwrap_or(0)]),
        Column::Lists(lists) => {
            let mut most = 0;
            let inner: Vec<_> = rows
                .flat_map(|row| {
                    let range = lists.range(row);
                    most = most.max(range.len());
                    range
                })
                .collect();
            let deeper = longest(lists.inner(), inner.into_iter())?;
            Ok([most].into_iter().chain(deeper).collect())
        }
        _ => Err(Error::internal("lists of lists that are not lists")),
    }
}
