//! Encrypted columns of files whose footers are not encrypted.
//!
//! Source: the Thrift definitions of `FileMetaData`, `RowGroup` and `ColumnChunk` in the Parquet
//! format.

use crate::formats::parquet::file::OpenFile;
use crate::formats::parquet::thrift::{Kind, MAX_DEPTH, Thrift};

/// The numbers of fields of `FileMetaData`, `RowGroup` and `ColumnChunk`.
const ROW_GROUPS: i64 = 4;
const COLUMNS: i64 = 1;
const CRYPTO_METADATA: i64 = 8;
/// The bytes after a footer: its length, and a mark.
const END_BYTES: u64 = 8;

/// True if a column of a row group is encrypted. Reads the footer again.
pub fn is_encrypted(file: &OpenFile, group: usize, column: usize) -> bool {
    let footer = || {
        let start = file.status().len.checked_sub(END_BYTES)?;
        let length = u32::from_le_bytes(file.read(start, 4).ok()?.try_into().ok()?);
        file.read(start.checked_sub(length.into())?, length as usize).ok()
    };
    footer().and_then(|footer| has_crypto_metadata(&footer, group, column)).unwrap_or(false)
}

/// `None` if the footer is damaged, or has no such column.
fn has_crypto_metadata(footer: &[u8], group: usize, column: usize) -> Option<bool> {
    let mut thrift = Thrift::new(footer);
    find(&mut thrift, ROW_GROUPS)?;
    item(&mut thrift, group)?;
    find(&mut thrift, COLUMNS)?;
    item(&mut thrift, column)?;
    Some(find(&mut thrift, CRYPTO_METADATA).is_some())
}

/// Moves to the value of a field of a struct; `None` if there is none.
fn find(thrift: &mut Thrift, wanted: i64) -> Option<()> {
    let mut field = 0;
    loop {
        let kind = thrift.field(&mut field)??;
        if field == wanted {
            return Some(());
        }
        thrift.skip(kind, MAX_DEPTH)?;
    }
}

/// Moves to a struct of a list; `None` if there is none.
fn item(thrift: &mut Thrift, number: usize) -> Option<()> {
    let (count, kind) = thrift.list()?;
    if !matches!(kind, Kind::Struct) || number as u64 >= count {
        return None;
    }
    (0..number).try_for_each(|_| thrift.skip(kind, MAX_DEPTH))
}
