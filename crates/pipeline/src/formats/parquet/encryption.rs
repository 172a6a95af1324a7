//! Encrypted columns in files whose footer is not encrypted.
//!
//! Source: the Thrift definitions of `FileMetaData`, `RowGroup` and `ColumnChunk` in the Parquet
//! format.

use crate::formats::parquet::file::OpenFile;
use crate::formats::parquet::thrift::Thrift;

/// Field numbers of `FileMetaData`, `RowGroup` and `ColumnChunk`.
const ROW_GROUPS: i64 = 4;
const COLUMNS: i64 = 1;
const CRYPTO_METADATA: i64 = 8;

/// Returns true if a column of a row group is encrypted. Reads the footer again.
pub fn is_encrypted(file: &OpenFile, group: usize, column: usize) -> bool {
    file.footer_bytes().ok().and_then(|footer| has_crypto_metadata(&footer, group, column)).unwrap_or(false)
}

/// Returns `None` if the footer is damaged or has no such column.
fn has_crypto_metadata(footer: &[u8], group: usize, column: usize) -> Option<bool> {
    let mut thrift = Thrift::new(footer);
    thrift.find(ROW_GROUPS)?;
    thrift.item(group)?;
    thrift.find(COLUMNS)?;
    thrift.item(column)?;
    Some(thrift.find(CRYPTO_METADATA).is_some())
}
