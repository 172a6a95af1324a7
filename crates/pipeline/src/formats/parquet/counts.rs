//! Checks that the counts in a footer agree with each other.

use crate::blocks::file_provenance::FileProvenance;
use headrace_engine::error::{Error, Result};
use parquet::file::metadata::{ColumnChunkMetaData, LevelHistogram, ParquetMetaData, RowGroupMetaData};

/// How to fix a damaged file.
pub const COPY_AGAIN: &str = "The file is damaged; copy it again.";

/// Fails if the numbers of rows of a file, of its row groups and of their columns don't match.
pub fn check_counts(file: &FileProvenance, footer: &ParquetMetaData) -> Result<()> {
    let damaged = |text: String| Error::data_loss(format!("{}: {text}. {COPY_AGAIN}", file.name.text()));
    let mut total: i64 = 0;
    for (number, group) in footer.row_groups().iter().enumerate() {
        let num_rows = group.num_rows();
        if num_rows < 0 {
            return Err(damaged(format!("row group {number}: the footer claims {num_rows} rows, a negative number")));
        }
        if let Some(column) = group.columns().iter().find(|column| !is_whole(group, column)) {
            let has_lists = column.column_descr().max_rep_level() > 0;
            return Err(damaged(format!(
                "row group {number}: the column '{}': the footer claims {} values, expected {}{num_rows}, the number of rows",
                column.column_descr().path().string(),
                column.num_values(),
                if has_lists { "at least " } else { "" },
            )));
        }
        if let Some((column, text)) = group.columns().iter().find_map(|column| Some((column, wrong_levels(column)?))) {
            let path = column.column_descr().path().string();
            return Err(damaged(format!("row group {number}: the column '{path}': the footer {text}")));
        }
        total = total.saturating_add(num_rows);
    }
    match footer.file_metadata().num_rows() {
        num_rows if num_rows == total => Ok(()),
        num_rows => Err(damaged(format!(
            "the footer claims {num_rows} rows, but its {} row groups have {total}",
            footer.num_row_groups()
        ))),
    }
}

/// Describes which of a footer's claims about the nulls and lists of a column are inconsistent.
/// Returns `None` if all are fine.
fn wrong_levels(column: &ColumnChunkMetaData) -> Option<String> {
    let (definition, repetition) = (column.column_descr().max_def_level(), column.column_descr().max_rep_level());
    let histograms = [
        ("nulls", definition, column.definition_level_histogram()),
        ("lists", repetition, column.repetition_level_histogram()),
    ];
    for (what, most, histogram) in histograms {
        let count = histogram.map_or(0, LevelHistogram::len);
        // Some programs leave it out.
        if count > 0 && i64::try_from(count) != Ok(i64::from(most) + 1) {
            return Some(format!("counts levels of {what} from 0 to {}, expected 0 to {most}", count - 1));
        }
    }
    let num_nulls = column.statistics().and_then(|statistics| statistics.null_count_opt()).unwrap_or(0);
    let most = if definition == 0 { 0 } else { u64::try_from(column.num_values()).unwrap_or(u64::MAX) };
    (repetition == 0 && num_nulls > most).then(|| format!("claims {num_nulls} nulls, expected at most {most}"))
}

/// Returns true if a column has a value or a null for each row. A column with lists may have more.
fn is_whole(group: &RowGroupMetaData, column: &ColumnChunkMetaData) -> bool {
    match column.column_descr().max_rep_level() {
        0 => column.num_values() == group.num_rows(),
        _ => column.num_values() >= group.num_rows(),
    }
}
