//! The types and names of columns, which a footer has twice: in its schema and in each column
//! chunk.
//!
//! Source: the Thrift definitions of `FileMetaData`, `SchemaElement`, `RowGroup`, `ColumnChunk` and
//! `ColumnMetaData` in the Parquet format.

use crate::blocks::file_provenance::FileProvenance;
use crate::formats::parquet::counts::COPY_AGAIN;
use crate::formats::parquet::thrift::{Kind, MAX_DEPTH, Thrift};
use headrace_engine::error::{Error, Result};
use parquet::basic::{ConvertedType, LogicalType, Type};
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor, Type as SchemaType};

/// Field numbers of `FileMetaData`, `SchemaElement`, `RowGroup`, `ColumnChunk` and
/// `ColumnMetaData`.
const SCHEMA: i64 = 2;
pub const ROW_GROUPS: i64 = 4;
const NAME: i64 = 4;
const CONVERTED_TYPE: i64 = 6;
const LOGICAL_TYPE: i64 = 10;
const COLUMNS: i64 = 1;
const METADATA: i64 = 3;
const TYPE: i64 = 1;
const PATH: i64 = 3;

/// All types, in the order of their numbers in a footer.
const TYPES: [Type; 8] = [
    Type::BOOLEAN,
    Type::INT32,
    Type::INT64,
    Type::INT96,
    Type::FLOAT,
    Type::DOUBLE,
    Type::BYTE_ARRAY,
    Type::FIXED_LEN_BYTE_ARRAY,
];

/// Fails if the type or name of a column chunk in the first row group differs from the schema, or
/// if the schema is inconsistent. Other row groups would not reveal more about a damaged schema.
pub fn check_schema(file: &FileProvenance, footer: &[u8], schema: &SchemaDescriptor) -> Result<()> {
    let mut fault = without_logical_type(footer)
        .or_else(|| group_of_two_kinds(schema.root_schema()))
        .map(|(name, text)| format!("the column '{name}': {text}"));
    if fault.is_none() {
        // If this parser fails but the `parquet` crate may succeed, leave the schema to the crate.
        let _ = chunks(footer, |leaf, chunk| {
            let column = schema.columns().get(leaf)?;
            let text = chunk.difference(column);
            let path = column.path().string();
            fault = text.map(|text| format!("row group 0: the column '{path}': {text} in the schema of the footer"));
            fault.is_none().then_some(())
        });
    }
    match fault {
        Some(text) => Err(Error::data_loss(format!("{}: {text}. {COPY_AGAIN}", file.name.text()))),
        None => Ok(()),
    }
}

/// Finds the first column of the schema that has no logical type but a struct with another field
/// number, which no version of the format has.
fn without_logical_type(footer: &[u8]) -> Option<(String, String)> {
    let mut thrift = Thrift::new(footer);
    thrift.find(SCHEMA)?;
    let (count, kind) = thrift.list()?;
    if !matches!(kind, Kind::Struct) {
        return None;
    }
    for _ in 0..count {
        let (mut name, mut unknown, mut is_known) = (&[][..], None, false);
        let mut field = 0;
        while let Some(kind) = thrift.field(&mut field)? {
            is_known |= matches!(field, CONVERTED_TYPE | LOGICAL_TYPE);
            match (field, kind) {
                (NAME, Kind::Binary) => name = thrift.binary()?,
                (_, kind) => {
                    if matches!(kind, Kind::Struct) && field > LOGICAL_TYPE {
                        unknown = Some(field);
                    }
                    thrift.skip(kind, MAX_DEPTH)?;
                }
            }
        }
        if let Some(field) = unknown.filter(|_| !is_known) {
            let text = format!(
                "instead of a logical type, the footer has field {field} for it, which the format does not define"
            );
            return Some((String::from_utf8_lossy(name).into_owned(), text));
        }
    }
    None
}

/// Finds the first group of a schema whose old and new annotation differ. Lists and maps have both.
fn group_of_two_kinds(group: &SchemaType) -> Option<(String, String)> {
    let SchemaType::GroupType { basic_info, fields } = group else { return None };
    let old = basic_info.converted_type();
    let is_right = match basic_info.logical_type_ref() {
        Some(LogicalType::List) => old == ConvertedType::LIST,
        Some(LogicalType::Map) => matches!(old, ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE),
        _ => true,
    };
    match is_right {
        true => fields.iter().find_map(|field| group_of_two_kinds(field)),
        false => {
            Some((basic_info.name().to_owned(), format!("the footer marks it as a list or map, but also as {old}")))
        }
    }
}

/// The metadata of a column chunk.
#[derive(Default)]
struct Chunk<'a> {
    kind: Option<u64>,
    /// The names of its column and of the groups around it.
    path: Vec<&'a [u8]>,
}

impl<'a> Chunk<'a> {
    fn of(thrift: &mut Thrift<'a>) -> Option<Self> {
        let mut chunk = Self::default();
        let mut field = 0;
        while let Some(kind) = thrift.field(&mut field)? {
            if field != METADATA {
                thrift.skip(kind, MAX_DEPTH)?;
                continue;
            }
            let mut field = 0;
            while let Some(kind) = thrift.field(&mut field)? {
                match (field, kind) {
                    (TYPE, Kind::Int) => chunk.kind = Some(thrift.count()?),
                    (PATH, Kind::List) => chunk.path = names(thrift)?,
                    (_, kind) => thrift.skip(kind, MAX_DEPTH)?,
                }
            }
        }
        Some(chunk)
    }

    /// Describes how it differs from the schema. Returns `None` if it does not.
    fn difference(&self, column: &ColumnDescriptor) -> Option<String> {
        let kind = self.kind.map(|kind| usize::try_from(kind).ok().and_then(|kind| TYPES.get(kind)));
        if let Some(kind) = kind
            && kind != Some(&column.physical_type())
        {
            let kind = kind.map_or_else(|| "unknown".to_owned(), Type::to_string);
            return Some(format!("its type is {kind}, but {}", column.physical_type()));
        }
        // Some programs join names or omit those of lists, but none changes a letter.
        let names = column.path().parts();
        let is_as_long = self.path.len() == names.len()
            && self.path.iter().zip(names).all(|(name, other)| name.len() == other.len());
        let is_same = self.path.iter().zip(names).all(|(name, other)| *name == other.as_bytes());
        (is_as_long && !is_same).then(|| {
            let names: Vec<_> = self.path.iter().map(|name| String::from_utf8_lossy(name)).collect();
            format!("its name is '{}', which differs from the name", names.join("."))
        })
    }
}

/// Calls a function for each column chunk of the first row group until it returns `None`.
fn chunks<'a>(footer: &'a [u8], mut each: impl FnMut(usize, Chunk<'a>) -> Option<()>) -> Option<()> {
    let mut thrift = Thrift::new(footer);
    thrift.find(ROW_GROUPS)?;
    thrift.item(0)?;
    thrift.find(COLUMNS)?;
    let (count, kind) = thrift.list()?;
    for leaf in 0..usize::try_from(count).ok()? {
        match kind {
            Kind::Struct => each(leaf, Chunk::of(&mut thrift)?)?,
            _ => return None,
        }
    }
    Some(())
}

fn names<'a>(thrift: &mut Thrift<'a>) -> Option<Vec<&'a [u8]>> {
    match thrift.list()? {
        (count, Kind::Binary) => (0..count).map(|_| thrift.binary()).collect(),
        _ => None,
    }
}
