//! The counts of a footer, which must agree with each other.

use crate::blocks::file_provenance::FileProvenance;
use headrace_engine::error::{Error, Result};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, RowGroupMetaData};

/// The remedy for damage.
pub const COPY_AGAIN: &str = "The file is damaged; copy it again.";

/// Fails if the numbers of rows of a file, of its row groups and of their columns do not fit.
pub fn check_counts(file: &FileProvenance, footer: &ParquetMetaData) -> Result<()> {
    let damaged = |text: String| Error::data_loss(format!("{}: {text}. {COPY_AGAIN}", file.name.text()));
    let mut total: i64 = 0;
    for (number, group) in footer.row_groups().iter().enumerate() {
        let num_rows = group.num_rows();
        if num_rows < 0 {
            return Err(damaged(format!("row group {number}: its footer claims {num_rows} rows, a negative number")));
        }
        if let Some(column) = group.columns().iter().find(|column| !is_whole(group, column)) {
            let has_lists = column.column_descr().max_rep_level() > 0;
            return Err(damaged(format!(
                "row group {number}: the column '{}': its footer claims {} values, expected {}{num_rows} as the row group \
                 has rows",
                column.column_descr().path().string(),
                column.num_values(),
                if has_lists { "at least the " } else { "the " },
            )));
        }
        total = total.saturating_add(num_rows);
    }
    match footer.file_metadata().num_rows() {
        num_rows if num_rows == total => Ok(()),
        num_rows => Err(damaged(format!(
            "its footer claims {num_rows} rows, expected the {total} of its {} row groups",
            footer.num_row_groups()
        ))),
    }
}

/// True if a column has a value, or a null, for each row; one with lists may have more.
fn is_whole(group: &RowGroupMetaData, column: &ColumnChunkMetaData) -> bool {
    match column.column_descr().max_rep_level() {
        0 => column.num_values() == group.num_rows(),
        _ => column.num_values() >= group.num_rows(),
    }
}
