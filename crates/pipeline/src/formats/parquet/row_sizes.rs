//! Checks the row sizes of a schema against the number of values in the file. A null in a
//! fixed-size list or fixed-size binary needs as much memory as a value.

use crate::blocks::file_provenance::FileProvenance;
use crate::formats::arrow::types::{row_bits, words};
use arrow_schema::Fields;
use headrace_engine::error::{Error, Result};
use parquet::basic::Type;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

/// Rows up to this size, in bytes, are accepted without checking the values.
const LEAST_BYTES: u64 = 16 << 20;
/// The maximum size of a value that is not a fixed-size binary, in bytes.
const MOST_BYTES: u64 = 32;

/// Fails if a row of a column needs more memory than all its values together.
pub fn check_row_sizes(
    file: &FileProvenance,
    footer: &ParquetMetaData,
    fields: &Fields,
    roots: &[usize],
) -> Result<()> {
    for root in roots {
        let Some(field) = fields.get(*root) else { continue };
        let row_bytes = row_bits(field.data_type()) / 8;
        if row_bytes <= LEAST_BYTES {
            continue;
        }
        let schema = footer.file_metadata().schema_descr();
        let chunks = footer.row_groups().iter().flat_map(|group| group.columns().iter().enumerate());
        let chunks = chunks.filter(|(leaf, _)| schema.get_column_root_idx(*leaf) == *root);
        let most = chunks.fold(0, |sum: u64, (_, chunk)| sum.saturating_add(most_bytes(chunk)));
        if row_bytes > most {
            return Err(Error::data_loss(format!(
                "{}: the column '{}' is {}, so a row needs {row_bytes} bytes, expected at most the {most} bytes of \
                 all its values. The file is damaged; copy it again. If all rows are null, omit the column with \
                 columns=[...].",
                file.name.text(),
                field.name(),
                words(field.data_type())
            )));
        }
    }
    Ok(())
}

/// The maximum memory of a column chunk's values, in bytes.
fn most_bytes(chunk: &ColumnChunkMetaData) -> u64 {
    let number = |number: i64| u64::try_from(number).unwrap_or(0);
    let column = chunk.column_descr();
    let length = match column.physical_type() {
        Type::FIXED_LEN_BYTE_ARRAY => number(column.type_length().into()),
        _ => 0,
    };
    // Each value that is not null is stored at least once, before compression.
    let value_bytes = if length <= number(chunk.uncompressed_size()) { length.max(MOST_BYTES) } else { MOST_BYTES };
    number(chunk.num_values()).saturating_mul(value_bytes)
}
