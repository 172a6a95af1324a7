//! The claims in page headers, which are checked against the footer.
//!
//! Source: the Thrift definition of `PageHeader` in the Parquet format.

use crate::formats::parquet::thrift::{Kind, MAX_DEPTH, Thrift};
use parquet::basic::{Compression, Type};
use parquet::file::metadata::ColumnChunkMetaData;

/// Field numbers of `PageHeader`.
const UNCOMPRESSED_SIZE: i64 = 2;
const STORED_SIZE: i64 = 3;
const DATA_PAGE: i64 = 5;
const DICTIONARY_PAGE: i64 = 7;
const DATA_PAGE_V2: i64 = 8;
/// The number of the `PLAIN` encoding.
const PLAIN: u64 = 0;
/// The minimum size of levels in bytes: their length, and a run of one value.
const LEVELS_BYTES: u64 = 4 + 2;
/// The maximum size of levels in bytes, in addition to half a byte per level.
const MOST_LEVELS_BYTES: u64 = 64;

/// The type of a page.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub enum PageKind {
    #[default]
    Other,
    Dictionary,
    /// A version 1 data page, whose levels are compressed together with its values.
    One,
    Two,
}

/// The claims of a page header.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Claims {
    pub kind: PageKind,
    /// The uncompressed size of the page.
    pub num_bytes: u64,
    pub num_values: u64,
    /// The size of the page in the file.
    num_stored_bytes: u64,
    num_nulls: u64,
    encoding: u64,
    /// For a version 2 page: the sizes of the definition and repetition levels in bytes.
    levels_bytes: [u64; 2],
}

impl Claims {
    /// Parses a header. Returns `None` if it is damaged or does not fit in these bytes.
    pub fn of(header: &[u8]) -> Option<Self> {
        let mut claims = Self::default();
        let mut thrift = Thrift::new(header);
        let mut field = 0;
        while let Some(kind) = thrift.field(&mut field)? {
            claims.kind = match (field, kind) {
                (UNCOMPRESSED_SIZE, Kind::Int) => {
                    claims.num_bytes = thrift.count()?;
                    continue;
                }
                (STORED_SIZE, Kind::Int) => {
                    claims.num_stored_bytes = thrift.count()?;
                    continue;
                }
                (DATA_PAGE, Kind::Struct) => PageKind::One,
                (DICTIONARY_PAGE, Kind::Struct) => PageKind::Dictionary,
                (DATA_PAGE_V2, Kind::Struct) => PageKind::Two,
                (_, kind) => {
                    thrift.skip(kind, MAX_DEPTH)?;
                    continue;
                }
            };
            // Nothing after this matters.
            return claims.with_data(&mut thrift);
        }
        Some(claims)
    }

    /// Adds the claims of the nested data page header.
    fn with_data(mut self, thrift: &mut Thrift) -> Option<Self> {
        let mut field = 0;
        while let Some(kind) = thrift.field(&mut field)? {
            let claim = match (self.kind, field) {
                (_, 1) => &mut self.num_values,
                (PageKind::One | PageKind::Dictionary, 2) | (PageKind::Two, 4) => &mut self.encoding,
                (PageKind::Two, 2) => &mut self.num_nulls,
                (PageKind::Two, 5) => &mut self.levels_bytes[0],
                (PageKind::Two, 6) => &mut self.levels_bytes[1],
                (PageKind::Two, 3) => {
                    thrift.skip(kind, MAX_DEPTH)?;
                    continue;
                }
                _ => break,
            };
            match kind {
                Kind::Int => *claim = thrift.count()?,
                _ => return None,
            }
        }
        Some(self)
    }
}

/// The claims of a footer about a column, for checking its pages.
#[derive(Debug)]
pub struct Expected {
    pub num_bytes: u64,
    pub num_values: u64,
    /// The size of a value in bits, for types of fixed size.
    value_bits: Option<u64>,
    is_compressed: bool,
    has_nulls: bool,
    has_lists: bool,
    /// True if the statistics show that there are no nulls.
    is_known_without_nulls: bool,
}

impl Expected {
    pub fn of(column: &ColumnChunkMetaData) -> Self {
        let number = |number: i64| u64::try_from(number).unwrap_or(0);
        let descriptor = column.column_descr();
        let value_bits = match descriptor.physical_type() {
            Type::BOOLEAN => Some(1),
            Type::INT32 | Type::FLOAT => Some(32),
            Type::INT64 | Type::DOUBLE => Some(64),
            Type::INT96 => Some(96),
            Type::FIXED_LEN_BYTE_ARRAY => u64::try_from(descriptor.type_length()).ok().map(|length| 8 * length),
            Type::BYTE_ARRAY => None,
        };
        let num_nulls = column.statistics().and_then(|statistics| statistics.null_count_opt());
        Self {
            num_bytes: number(column.uncompressed_size()),
            num_values: number(column.num_values()),
            value_bits,
            is_compressed: column.compression() != Compression::UNCOMPRESSED,
            has_nulls: descriptor.max_def_level() > 0,
            has_lists: descriptor.max_rep_level() > 0,
            is_known_without_nulls: num_nulls == Some(0),
        }
    }

    /// Describes the claims of a page that don't match. Returns `None` if all do.
    pub fn difference(&self, claims: &Claims) -> Option<String> {
        let Claims { kind, num_bytes, num_values, num_nulls, .. } = *claims;
        let [definition, repetition] = claims.levels_bytes;
        if kind == PageKind::Two && (definition > 0 && !self.has_nulls || repetition > 0 && !self.has_lists) {
            return Some("a page has levels, but according to the footer its column has no nulls or lists".to_owned());
        }
        if !self.is_compressed && num_bytes != claims.num_stored_bytes {
            return Some(format!(
                "a page claims {} bytes, and {num_bytes} before compression, but according to the footer its column \
                 is not compressed",
                claims.num_stored_bytes
            ));
        }
        let bits = self.value_bits.filter(|_| claims.encoding == PLAIN)?;
        let size = |num_values: u64| u64::try_from((u128::from(num_values) * u128::from(bits)).div_ceil(8)).ok();
        let all = size(num_values)?;
        let (least, most) = match kind {
            PageKind::Dictionary => (all, all),
            _ if self.has_lists => return None,
            PageKind::One if !self.has_nulls => (all, all),
            PageKind::One => {
                let least =
                    if self.is_known_without_nulls && num_values > 0 { all.saturating_add(LEVELS_BYTES) } else { 0 };
                (least, all.saturating_add(num_values / 2).saturating_add(MOST_LEVELS_BYTES))
            }
            PageKind::Two => {
                let present = size(num_values.saturating_sub(num_nulls))?;
                let whole = present.saturating_add(definition).saturating_add(repetition);
                (whole, whole)
            }
            PageKind::Other => return None,
        };
        (!(least..=most).contains(&num_bytes)).then(|| {
            let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
            format!("a page claims {num_bytes} bytes for {num_values} {bits}-bit values, expected {expected}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claimed_sizes_are_read_from_headers() {
        // A data page of 300 bytes (70 compressed) with 10 values, in PLAIN and RLE encoding.
        let data = [
            0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0x8c, 0x01, 0x2c, 0x15, 0x14, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0, 0,
        ];
        assert_eq!(
            Claims::of(&data),
            Some(Claims {
                kind: PageKind::One,
                num_bytes: 300,
                num_stored_bytes: 70,
                num_values: 10,
                ..Claims::default()
            })
        );
        // A dictionary page with a checksum.
        let dictionary = [0x15, 0x04, 0x15, 0x20, 0x15, 0x22, 0x15, 0x03, 0x3c, 0x15, 0x08, 0x15, 0x00, 0, 0];
        assert_eq!(
            Claims::of(&dictionary),
            Some(Claims {
                kind: PageKind::Dictionary,
                num_bytes: 16,
                num_stored_bytes: 17,
                num_values: 4,
                ..Claims::default()
            })
        );
        assert_eq!(Claims::of(&data[..9]), None);
        assert_eq!(Claims::of(&[0x15, 0x00, 0x15, 0x01, 0]), None);
        assert_eq!(Claims::of(&[0x1f; 300]), None);
    }
}
