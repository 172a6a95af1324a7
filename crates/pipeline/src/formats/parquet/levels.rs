//! The levels of columns, which mark nulls. A single bit in the footer determines whether a
//! column has levels, so the pages are checked for them.
//!
//! Source: "Data Pages" and the Thrift definition of `PageHeader` in the Parquet format.

use crate::formats::parquet::file::{Parsed, guarded};
use crate::formats::parquet::pages::Pages;
use arrow_array::{Array, RecordBatch};
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::basic::{Encoding, Type};
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use std::sync::Arc;

/// The size of the length that precedes the levels of a version 1 page.
const LENGTH_BYTES: usize = 4;
/// The maximum width of dictionary indices, in bits.
const MOST_BITS: u8 = 32;

/// Columns whose first pages are checked for levels.
#[derive(Debug, Default)]
pub struct LevelCheck {
    /// Columns that have no nulls and no lists, according to the footer.
    required: Vec<usize>,
    /// Columns that have no nulls according to their statistics, with their numbers in batches.
    whole: Vec<(usize, usize)>,
}

impl LevelCheck {
    /// Collects the columns of a row group that are read.
    pub fn of(mask: &ProjectionMask, group: &RowGroupMetaData) -> Self {
        let mut check = Self::default();
        let mut roots: Vec<usize> = Vec::new();
        let schema = group.schema_descr();
        for (leaf, chunk) in group.columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf)) {
            let descriptor = chunk.column_descr();
            let root = schema.get_column_root_idx(leaf);
            if roots.last() != Some(&root) {
                roots.push(root);
            }
            let num_nulls = chunk.statistics().and_then(|statistics| statistics.null_count_opt());
            match (descriptor.max_def_level(), descriptor.max_rep_level()) {
                // Page headers may contain counts for an absent dictionary.
                (0, 0)
                    if descriptor.physical_type() == Type::BYTE_ARRAY || chunk.dictionary_page_offset().is_some() =>
                {
                    check.required.push(leaf);
                }
                (1, 0) if descriptor.path().parts().len() == 1 && num_nulls == Some(0) => {
                    check.whole.push((leaf, roots.len() - 1));
                }
                _ => {}
            }
        }
        check
    }

    /// Finds the first column whose pages have levels although the footer says that it has no
    /// nulls.
    pub fn column_with_levels(&self, pages: &Pages, group: &RowGroupMetaData) -> Option<usize> {
        let has_levels = |page: &FirstPage| page.has_levels() && !page.has_values_alone();
        let is_wrong = |leaf: &usize| first_page(pages, group, *leaf).is_some_and(|page| has_levels(&page));
        self.required.iter().copied().find(is_wrong)
    }

    /// Finds the first column with nulls in some rows whose pages have no levels.
    pub fn column_without_levels(&self, rows: &RecordBatch, pages: &Pages, group: &RowGroupMetaData) -> Option<usize> {
        let has_nulls = |column: usize| rows.columns().get(column).is_some_and(|column| column.null_count() > 0);
        let is_wrong = |(leaf, column): &&(usize, usize)| {
            has_nulls(*column) && first_page(pages, group, *leaf).is_some_and(|page| page.has_values_alone())
        };
        self.whole.iter().find(is_wrong).map(|(leaf, _)| *leaf)
    }
}

/// Returns the first page of a column, or `None` if it cannot be read, which is reported elsewhere.
fn first_page(pages: &Pages, group: &RowGroupMetaData, leaf: usize) -> Option<FirstPage> {
    let num_rows = usize::try_from(group.num_rows()).ok()?;
    guarded(|| FirstPage::read(pages, group.column(leaf), num_rows)).ok().flatten()
}

/// The values of a column's first page.
struct FirstPage {
    kind: Type,
    encoding: Encoding,
    num_values: usize,
    bytes: Bytes,
}

impl FirstPage {
    /// Reads the first page of a column without lists. Returns `None` if its header describes its
    /// levels.
    fn read(pages: &Pages, chunk: &ColumnChunkMetaData, num_rows: usize) -> Parsed<Option<Self>> {
        let mut reader = SerializedPageReader::new(Arc::new(pages.clone()), chunk, num_rows, None)?;
        while reader.peek_next_page()?.is_some_and(|page| page.is_dict) {
            reader.skip_next_page()?;
        }
        Ok(match reader.get_next_page()? {
            Some(Page::DataPage { buf: bytes, num_values, encoding, .. }) => {
                let kind = chunk.column_descr().physical_type();
                Some(Self { kind, encoding, num_values: num_values as usize, bytes })
            }
            _ => None,
        })
    }

    /// Returns true if it begins with one-bit levels.
    fn has_levels(&self) -> bool {
        let Some((length, rest)) = self.bytes.split_first_chunk::<LENGTH_BYTES>() else { return false };
        let length = u32::from_le_bytes(*length) as usize;
        rest.get(..length).is_some_and(|levels| are_runs(levels, 1, self.num_values))
    }

    /// Returns true if it contains only values, one per row, and false if that is unknown.
    fn has_values_alone(&self) -> bool {
        match (self.encoding, self.kind) {
            (Encoding::PLAIN, Type::BYTE_ARRAY) => are_texts(&self.bytes, self.num_values),
            (Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY, _) => match self.bytes.split_first() {
                Some((bits, runs)) => *bits <= MOST_BITS && are_runs(runs, *bits, self.num_values),
                None => false,
            },
            _ => false,
        }
    }
}

/// Returns true if the bytes are exactly runs of this many values with this many bits each. The
/// last run may have up to 7 more values, unless it repeats one value.
fn are_runs(mut bytes: &[u8], bits: u8, num_values: usize) -> bool {
    let mut count: usize = 0;
    let mut most_more = 0;
    while let Some((head, rest)) = varint(bytes) {
        let (more, length) = match head & 1 {
            1 => ((head >> 1).saturating_mul(8), (head >> 1).saturating_mul(bits.into())),
            _ => (head >> 1, usize::from(bits).div_ceil(8)),
        };
        if more == 0 || count >= num_values {
            return false;
        }
        count = count.saturating_add(more);
        most_more = if head & 1 == 1 { 7 } else { 0 };
        bytes = match rest.get(length..) {
            Some(behind) => behind,
            // Some programs truncate the last run.
            None => return (num_values..=num_values + most_more).contains(&count) && head & 1 == 1,
        };
    }
    bytes.is_empty() && (num_values..=num_values + most_more).contains(&count)
}

/// Returns true if the bytes are exactly this many texts, each preceded by its length.
fn are_texts(mut bytes: &[u8], num_values: usize) -> bool {
    for _ in 0..num_values {
        let Some((length, rest)) = bytes.split_first_chunk::<LENGTH_BYTES>() else { return false };
        let Some(behind) = rest.get(u32::from_le_bytes(*length) as usize..) else { return false };
        bytes = behind;
    }
    bytes.is_empty()
}

fn varint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let end = bytes.iter().take(5).position(|byte| *byte < 0x80)?;
    let value = bytes[..=end].iter().rev().fold(0_usize, |value, byte| value << 7 | usize::from(byte & 0x7f));
    Some((value, &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_limited_by_their_count_and_by_the_bytes() {
        // A run of 100 ones, then 8 values of one bit each.
        assert!(are_runs(&[0xc8, 0x01, 0x01], 1, 100));
        assert!(are_runs(&[0xc8, 0x01, 0x01, 0x03, 0xff], 1, 105));
        assert!(!are_runs(&[0xc8, 0x01, 0x01], 1, 99));
        assert!(!are_runs(&[0xc8, 0x01, 0x01, 0], 1, 100));
        assert!(!are_runs(&[0xc8, 0x01], 1, 101));
        assert!(!are_runs(&[0], 1, 0));
        assert!(are_runs(&[], 1, 0));
    }

    #[test]
    fn byte_arrays_keep_their_lengths() {
        assert!(are_texts(&[1, 0, 0, 0, b'a', 0, 0, 0, 0], 2));
        assert!(!are_texts(&[1, 0, 0, 0, b'a', 0], 1));
        assert!(!are_texts(&[2, 0, 0, 0, b'a'], 1));
        assert!(!are_texts(&[0xff; 6], 1));
    }
}
