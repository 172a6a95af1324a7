//! Infers the columns of a CSV file from its first block.

use crate::blocks::block::FileProvenance;
use crate::blocks::column::Text;
use crate::formats::codec::Codec;
use crate::formats::csv::{first_records, header_names};
use crate::stages::csv::Words;
use headrace_engine::error::{Error, Result};
use headrace_engine::kernels::records::decode_csv::split::Dialect;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::text::written::{Form, fits_f32, fits_f64, fits_i64, form};
use std::sync::Arc;

/// An inferred column.
#[derive(Debug)]
pub struct Inferred {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub dtype: DType,
    /// True if strings are text.
    pub is_text: bool,
}

/// The columns of a file with a header, with types that hold their values; `None` if it has no
/// records. Columns in `filled` have a value for fields that are empty or one of the words in
/// `missing`.
///
/// int64 if all fields of a column are integers; float32 if it gives back all numbers, else float64
/// if that does; bool for `true` and `false`; else text, or bytes if they are not UTF-8. Integers
/// with gaps are float64 with NaN in the gaps, if float64 holds them exactly and the gaps have no
/// value.
pub fn infer_csv(
    file: &Arc<FileProvenance>,
    codec: Codec,
    delimiter: u8,
    missing: &Words,
    filled: &[String],
) -> Result<Option<Vec<Inferred>>> {
    let name = file.name.text();
    let found = first_records(file, codec, delimiter)?;
    let mut records = found.iter().flat_map(Text::rows);
    let Some(header) = records.next() else { return Ok(None) };
    let misfit = |misfit: &str| Error::invalid_argument(format!("{name}: {misfit}. Correct the header."));
    let names = header_names(header, delimiter).map_err(misfit)?;
    if let Some(twice) = names.iter().enumerate().find_map(|(at, name)| names[..at].contains(name).then_some(name)) {
        return Err(misfit(&format!("the header has two columns '{twice}', expected one")));
    }
    let mut records = records.peekable();
    if records.peek().is_none() {
        return Ok(None);
    }
    let mut kinds: Vec<_> = names.iter().map(|_| Kind::new()).collect();
    let dialect = Dialect::strict(delimiter, true);
    for record in records {
        // Faults of records are reported when they are read.
        let Ok(fields) = dialect.split(record).collect::<std::result::Result<Vec<_>, _>>() else { continue };
        if fields.len() == kinds.len() {
            kinds.iter_mut().zip(fields).for_each(|(kind, field)| kind.see(&field, missing));
        }
    }
    let inferred = |(name, kind): (String, Kind)| {
        let (dtype, is_text) = (kind.dtype(filled.contains(&name)), kind.is_utf8);
        Inferred { name, dtype, is_text }
    };
    Ok(Some(names.into_iter().zip(kinds).map(inferred).collect()))
}

/// The possible types of a column, given the fields seen.
struct Kind {
    is_int: bool,
    is_single: bool,
    is_double: bool,
    is_flag: bool,
    is_utf8: bool,
    /// True if all are written as integers, or are NaN or infinite.
    is_whole: bool,
    /// True if some are integers too large for int64.
    is_long: bool,
    has_gaps: bool,
    has_value: bool,
    has_number: bool,
}

impl Kind {
    /// The state before any field was seen.
    fn new() -> Self {
        Self {
            is_int: true,
            is_single: true,
            is_double: true,
            is_flag: true,
            is_utf8: true,
            is_whole: true,
            is_long: false,
            has_gaps: false,
            has_value: false,
            has_number: false,
        }
    }

    fn see(&mut self, field: &[u8], missing: &Words) {
        if field.is_empty() || missing.has(field) {
            self.has_gaps = true;
            return;
        }
        let form = form(field);
        self.has_value = true;
        self.has_number |= matches!(form, Some(Form::Int | Form::Decimal));
        self.is_whole &= matches!(form, Some(Form::Int | Form::Special));
        let is_int = fits_i64(field);
        self.is_long |= form == Some(Form::Int) && !is_int;
        self.is_int &= is_int;
        self.is_single = self.is_single && fits_f32(field);
        self.is_double = self.is_double && fits_f64(field);
        self.is_flag = self.is_flag && is_flag(field);
        self.is_utf8 = self.is_utf8 && std::str::from_utf8(field).is_ok();
    }

    /// The type that holds all values seen. Gaps of a column that `is_filled` have a value of its
    /// type.
    fn dtype(&self, is_filled: bool) -> DType {
        let needs_nan = self.has_gaps && !is_filled;
        match self {
            Self { has_value: false, .. } => DType::String,
            Self { is_int: true, is_double, .. } => {
                // Beyond 2^53 float64 would not hold them: the first gap is an error.
                if needs_nan && *is_double { DType::Float64 } else { DType::Int64 }
            }
            // Integers too large for int64 are treated as names, not as numbers.
            Self { is_whole: true, is_long: true, .. } => DType::String,
            Self { has_number: true, is_whole: true, is_double: true, .. } => DType::Float64,
            Self { has_number: true, is_whole: false, is_single: true, .. } => DType::Float32,
            Self { has_number: true, is_whole: false, is_double: true, .. } => DType::Float64,
            Self { is_flag: true, .. } if !needs_nan => DType::Bool,
            _ => DType::String,
        }
    }
}

/// True if a field is `true` or `false`, in any case.
pub fn is_flag(field: &[u8]) -> bool {
    [&b"true"[..], b"false"].iter().any(|word| field.eq_ignore_ascii_case(word))
}
