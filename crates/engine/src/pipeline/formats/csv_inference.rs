//! What the columns of a CSV file are, from its first block.

use super::codec::Codec;
use super::csv::{first_records, header_names};
use crate::error::{Error, Result};
use crate::kernels::records::decode_csv::split::Dialect;
use crate::pipeline::block::FileOrigin;
use crate::pipeline::column::Text;
use crate::tensor::dtype::DType;
use crate::text::number::FromText;
use std::sync::Arc;

/// A column that was found.
#[derive(Debug)]
pub struct Inferred {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub dtype: DType,
    /// Whether strings are text.
    pub is_text: bool,
    /// Whether its values are lists.
    pub is_list: bool,
}

/// The columns of a file with a header: int64 if all of a column's fields are integers; float32 if they are numbers or
/// empty; bool if they are `true` and `false`; else text, or bytes if they are not UTF-8.
pub fn infer_csv(file: &Arc<FileOrigin>, codec: Codec, delimiter: u8) -> Result<Vec<Inferred>> {
    let name = file.name.text();
    let nothing = || {
        let text = format!("{name}: it has no records to infer the columns from. Give them, with columns={{...}}.");
        Error::invalid_argument(text)
    };
    let records = first_records(file, codec, delimiter)?.filter(|records| records.len() > 1).ok_or_else(nothing)?;
    let misfit = |misfit: &str| Error::invalid_argument(format!("{name}: {misfit}. Correct the header."));
    let names = header_names(records.row(0), delimiter).map_err(misfit)?;
    if let Some(twice) = names.iter().enumerate().find_map(|(at, name)| names[..at].contains(name).then_some(name)) {
        return Err(misfit(&format!("the header has two columns '{twice}', expected one")));
    }
    let kinds = kinds(&records, delimiter, names.len());
    let inferred = |(name, kind): (String, Kind)| {
        let (dtype, is_text) = (kind.dtype(), kind.is_utf8);
        Inferred { name, dtype, is_text, is_list: false }
    };
    Ok(names.into_iter().zip(kinds).map(inferred).collect())
}

/// What the fields of a column can be, as far as they were seen.
#[derive(Clone)]
struct Kind {
    is_int: bool,
    is_float: bool,
    is_flag: bool,
    is_utf8: bool,
    has_empty: bool,
    has_value: bool,
}

const ANY: Kind =
    Kind { is_int: true, is_float: true, is_flag: true, is_utf8: true, has_empty: false, has_value: false };

fn kinds(records: &Text, delimiter: u8, num_columns: usize) -> Vec<Kind> {
    let dialect = Dialect::strict(delimiter, true);
    let mut kinds: Vec<_> = std::iter::repeat_n(ANY, num_columns).collect();
    for record in records.rows().skip(1) {
        // What is wrong with a record is said when it is read.
        for (kind, field) in kinds.iter_mut().zip(dialect.split(record).filter_map(std::result::Result::ok)) {
            kind.see(&field);
        }
    }
    kinds
}

impl Kind {
    fn see(&mut self, field: &[u8]) {
        if field.is_empty() {
            self.has_empty = true;
            return;
        }
        self.has_value = true;
        self.is_int = self.is_int && i64::from_text(field).is_some();
        self.is_float = self.is_float && f32::from_text(field).is_some();
        self.is_flag = self.is_flag && [&b"true"[..], b"false"].iter().any(|word| field.eq_ignore_ascii_case(word));
        self.is_utf8 = self.is_utf8 && std::str::from_utf8(field).is_ok();
    }

    fn dtype(&self) -> DType {
        match self {
            Self { is_int: true, has_empty: false, has_value: true, .. } => DType::Int64,
            Self { is_float: true, .. } => DType::Float32,
            Self { is_flag: true, .. } => DType::Bool,
            _ => DType::String,
        }
    }
}
