//! Converts schemas with older layouts. Lists get three levels, as in files of current programs,
//! and 96-bit timestamps become bytes.
//!
//! In a list with two levels, the repeated field is the element. With a third level and a required
//! element, the list has the same definition and repetition levels, so no value changes.
//!
//! Source: the "Backward-compatibility rules" of lists, in "Logical Types" of Parquet's
//! specification.

use crate::formats::arrow::int96::INT96_BYTES;
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, ParquetMetaData, ParquetMetaDataBuilder};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};
use std::sync::Arc;

type Parsed<T> = std::result::Result<T, ParquetError>;

/// Gives all lists of a footer three levels.
pub fn in_three_levels(footer: ParquetMetaData) -> Parsed<ParquetMetaData> {
    with_schema(footer, Leaves::AsTheyAre)
}

/// Turns the 96-bit timestamps of a footer into bytes.
pub fn int96_as_bytes(footer: ParquetMetaData) -> Parsed<ParquetMetaData> {
    with_schema(footer, Leaves::Int96AsBytes)
}

/// How the types of single values are converted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaves {
    AsTheyAre,
    Int96AsBytes,
}

fn with_schema(footer: ParquetMetaData, leaves: Leaves) -> Parsed<ParquetMetaData> {
    let file = footer.file_metadata();
    let root = file.schema_descr().root_schema_ptr();
    let root_type = converted(&root, root.name(), None, leaves)?;
    if root_type == root {
        return Ok(footer);
    }
    let file = FileMetaData::new(
        file.version(),
        file.num_rows(),
        file.created_by().map(ToOwned::to_owned),
        file.key_value_metadata().cloned(),
        Arc::new(SchemaDescriptor::new(root_type)),
        file.column_orders().cloned(),
    );
    let groups = ParquetMetaDataBuilder::new_from_metadata(footer).take_row_groups();
    Ok(ParquetMetaData::new(file, groups))
}

/// Gives the lists of a type three levels. Also changes its name and repetition, if these are
/// passed.
fn converted(kind: &TypePtr, name: &str, repetition: Option<Repetition>, leaves: Leaves) -> Parsed<TypePtr> {
    let info = kind.get_basic_info();
    let own = info.has_repetition().then(|| info.repetition());
    let repetition = repetition.or(own);
    let id = info.has_id().then(|| info.id());
    let Type::GroupType { fields, .. } = kind.as_ref() else {
        let is_same = leaves == Leaves::AsTheyAre || kind.get_physical_type() != Physical::INT96;
        return match name == kind.name() && repetition == own && is_same {
            true => Ok(Arc::clone(kind)),
            false => primitive(kind, name, repetition, leaves),
        };
    };
    let fields = match &fields[..] {
        [repeated] if is_list(kind) && is_element(kind, repeated) => {
            let element = converted(repeated, "element", Some(Repetition::REQUIRED), leaves)?;
            let list = Type::group_type_builder("list").with_repetition(Repetition::REPEATED);
            vec![Arc::new(list.with_fields(vec![element]).build()?)]
        }
        fields => fields.iter().map(|field| converted(field, field.name(), None, leaves)).collect::<Parsed<_>>()?,
    };
    let mut builder = Type::group_type_builder(name)
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_fields(fields)
        .with_id(id);
    if let Some(repetition) = repetition {
        builder = builder.with_repetition(repetition);
    }
    Ok(Arc::new(builder.build()?))
}

fn primitive(kind: &Type, name: &str, repetition: Option<Repetition>, leaves: Leaves) -> Parsed<TypePtr> {
    let Type::PrimitiveType { basic_info, physical_type, type_length, scale, precision } = kind else {
        return Err(ParquetError::General("a group as a value".to_owned()));
    };
    let (physical, length) = match (leaves, physical_type) {
        (Leaves::Int96AsBytes, Physical::INT96) => (Physical::FIXED_LEN_BYTE_ARRAY, INT96_BYTES),
        (_, other) => (*other, *type_length),
    };
    let builder = Type::primitive_type_builder(name, physical)
        .with_repetition(repetition.unwrap_or(Repetition::REQUIRED))
        .with_converted_type(basic_info.converted_type())
        .with_logical_type(basic_info.logical_type_ref().cloned())
        .with_length(length)
        .with_scale(*scale)
        .with_precision(*precision)
        .with_id(basic_info.has_id().then(|| basic_info.id()));
    Ok(Arc::new(builder.build()?))
}

/// Returns true if the repeated field of a list is its element, so that the list has two levels.
fn is_element(list: &Type, repeated: &Type) -> bool {
    let info = repeated.get_basic_info();
    if !info.has_repetition() || info.repetition() != Repetition::REPEATED {
        return false;
    }
    let Type::GroupType { fields, .. } = repeated else { return true };
    let [field] = &fields[..] else { return true };
    let field = field.get_basic_info();
    let has_one_value = !field.has_repetition() || field.repetition() != Repetition::REPEATED;
    let has_name_of_structs = repeated.name() == "array" || repeated.name() == format!("{}_tuple", list.name());
    is_list(repeated) || is_map(repeated) || (has_one_value && has_name_of_structs)
}

fn is_list(kind: &Type) -> bool {
    let info = kind.get_basic_info();
    kind.is_group()
        && (info.logical_type_ref() == Some(&LogicalType::List) || info.converted_type() == ConvertedType::LIST)
}

fn is_map(kind: &Type) -> bool {
    let info = kind.get_basic_info();
    let is_old = matches!(info.converted_type(), ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE);
    kind.is_group() && (info.logical_type_ref() == Some(&LogicalType::Map) || is_old)
}
