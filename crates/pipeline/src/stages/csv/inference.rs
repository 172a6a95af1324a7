//! Infers the columns of a CSV file from its first block.

use crate::blocks::block::Block;
use crate::blocks::column::{Column, Text};
use crate::blocks::file_provenance::FileProvenance;
use crate::formats::{first_records, header_names};
use crate::records::Codec;
use crate::stages::csv::Words;
use headrace_engine::error::{Error, Result};
use headrace_engine::kernels::records::decode_csv::split::Dialect;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::text::excerpt::excerpt;
use headrace_engine::text::written::{Form, fits_f32, fits_f64, fits_i64, form};
use std::sync::Arc;

/// An inferred column.
#[derive(Debug)]
pub struct Inferred {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub dtype: DType,
    /// True if the strings are valid text.
    pub is_text: bool,
    /// Describes the line that made a column of numbers or booleans a column of strings, and why.
    pub decided: Option<String>,
}

/// Infers the columns of a file with a header, with types that fit their values. Returns `None` if
/// it has no records. Fields that are empty or listed in `missing` have no value.
///
/// The dtype is int64 if all values of a column are integers. Otherwise it is float32 if that
/// round-trips all numbers, or else float64 if that does. `true` and `false` are bool. Anything
/// else is text, or bytes if it is not valid UTF-8.
pub fn infer_csv(
    file: &Arc<FileProvenance>,
    codec: Codec,
    delimiter: u8,
    missing: &Words,
) -> Result<Option<Vec<Inferred>>> {
    let name = file.name.text();
    let blocks = first_records(file, codec, delimiter)?;
    let mut records = blocks.iter().flat_map(records_of);
    let Some((_, header)) = records.next() else { return Ok(None) };
    let misfit = |misfit: &str| Error::invalid_argument(format!("{name}: {misfit}. Correct the header."));
    let names = header_names(header, delimiter).map_err(misfit)?;
    if let Some(twice) = names.iter().enumerate().find_map(|(at, name)| names[..at].contains(name).then_some(name)) {
        return Err(misfit(&format!("the header has two columns '{twice}', expected one")));
    }
    if let Some(text) = other_delimiter(&names, delimiter) {
        return Err(Error::invalid_argument(format!("{name}: {text}")));
    }
    let mut records = records.peekable();
    if records.peek().is_none() {
        return Ok(None);
    }
    let mut kinds: Vec<_> = names.iter().map(|_| Kind::new()).collect();
    let dialect = Dialect::strict(delimiter, true);
    for (position, record) in records {
        // Invalid records are reported when they are read.
        let Ok(fields) = dialect.split(record).collect::<std::result::Result<Vec<_>, _>>() else { continue };
        if fields.len() == kinds.len() {
            kinds.iter_mut().zip(fields).for_each(|(kind, field)| kind.see(&field, position, missing));
        }
    }
    let inferred = |(name, kind): (String, Kind)| {
        let dtype = kind.dtype();
        let decided = kind.decided.filter(|_| dtype == DType::String).map(|(position, field, reason)| {
            let at = position.block.row_provenance(position.row).map_or_else(String::new, |at| format!("{at}: "));
            format!("{at}'{}' {}", excerpt(&field), reason.text(&name))
        });
        Inferred { name, dtype, is_text: kind.is_utf8, decided }
    };
    Ok(Some(names.into_iter().zip(kinds).map(inferred).collect()))
}

/// Iterates over the records of a block with their positions.
fn records_of(block: &Block) -> impl Iterator<Item = (Position<'_>, &[u8])> {
    let records = match block.columns.first() {
        Some(Column::Text(records)) => Some(records),
        _ => None,
    };
    let records = records.into_iter().flat_map(Text::rows).enumerate();
    records.map(move |(row, record)| (Position { block, row }, record))
}

/// A row of a block.
#[derive(Clone, Copy)]
struct Position<'a> {
    block: &'a Block,
    row: usize,
}

/// The error for a header that seems to use another delimiter: it contains tabs, or it has a single
/// name that contains another delimiter.
fn other_delimiter(names: &[String], delimiter: u8) -> Option<String> {
    let others: &[(char, &str)] = match names {
        [_] => &[('\t', "\\t"), (';', ";"), ('|', "|"), (',', ",")],
        _ => &[('\t', "\\t")],
    };
    let is_there =
        |(other, _): &&(char, &str)| *other != char::from(delimiter) && names.iter().any(|name| name.contains(*other));
    let (_, other) = others.iter().find(is_there)?;
    let columns = if let [name] = names {
        format!("one column ('{}')", excerpt(name.as_bytes()))
    } else {
        format!("{} columns", names.len())
    };
    Some(format!(
        "the header has {columns} and contains '{other}', expected names separated by '{}'. Set the file's delimiter \
         with delimiter=\"{other}\", or the types with columns={{...}}.",
        excerpt(&[delimiter])
    ))
}

/// The possible types of a column, given the fields seen so far.
struct Kind<'a> {
    is_int: bool,
    is_single: bool,
    is_double: bool,
    is_flag: bool,
    is_utf8: bool,
    /// True if all values are written as integers, or are NaN or infinite.
    is_whole: bool,
    /// True if some are integers too large for int64.
    is_long: bool,
    has_value: bool,
    has_number: bool,
    /// The first field that turned the column into strings, after other values, and why.
    decided: Option<(Position<'a>, Vec<u8>, Reason)>,
}

/// Why a field turns a column of numbers or booleans into strings.
#[derive(Clone, Copy)]
enum Reason {
    /// The column has numbers and booleans.
    Mixed,
    /// The column has only integers, and this is the first that exceeds int64.
    Long,
    /// The column has only numbers, but no type keeps all of them.
    Inexact,
    Text,
}

impl Reason {
    /// The rest of a sentence about the field.
    fn text(self, name: &str) -> String {
        match self {
            Self::Mixed => format!("makes the column '{name}' a mix of numbers and booleans, so it is str"),
            Self::Long => format!("is too large for int64, so the column '{name}' is str"),
            Self::Inexact => format!(
                "makes the column '{name}' str, because neither int64 nor float64 represents it and all earlier values \
                 exactly"
            ),
            Self::Text => {
                format!("is text, so the column '{name}' is str, but earlier values are numbers or booleans")
            }
        }
    }
}

impl<'a> Kind<'a> {
    /// The state before the first field.
    fn new() -> Self {
        Self {
            is_int: true,
            is_single: true,
            is_double: true,
            is_flag: true,
            is_utf8: true,
            is_whole: true,
            is_long: false,
            has_value: false,
            has_number: false,
            decided: None,
        }
    }

    fn see(&mut self, field: &[u8], position: Position<'a>, missing: &Words) {
        if field.is_empty() || missing.has(field) {
            return;
        }
        let could_be_other = self.has_value && self.dtype() != DType::String;
        let was_flag = self.is_flag;
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
        if could_be_other && self.dtype() == DType::String {
            let reason = match (form, was_flag) {
                (Some(Form::Int), false) if !is_int && self.is_whole => Reason::Long,
                (Some(_), false) => Reason::Inexact,
                (Some(_), true) => Reason::Mixed,
                (None, false) if is_flag(field) => Reason::Mixed,
                (None, _) => Reason::Text,
            };
            self.decided = Some((position, field.to_vec(), reason));
        }
    }

    /// The type that fits all values so far.
    fn dtype(&self) -> DType {
        match self {
            Self { has_value: false, .. } => DType::String,
            Self { is_int: true, .. } => DType::Int64,
            // Integers too large for int64 are treated as identifiers, not as numbers.
            Self { is_whole: true, is_long: true, .. } => DType::String,
            Self { has_number: true, is_whole: true, is_double: true, .. } => DType::Float64,
            Self { has_number: true, is_whole: false, is_single: true, .. } => DType::Float32,
            Self { has_number: true, is_whole: false, is_double: true, .. } => DType::Float64,
            Self { is_flag: true, .. } => DType::Bool,
            _ => DType::String,
        }
    }
}

/// Returns true if a field is `true` or `false`, in any case.
pub fn is_flag(field: &[u8]) -> bool {
    [&b"true"[..], b"false"].iter().any(|word| field.eq_ignore_ascii_case(word))
}
