//! 96-bit timestamps, which Spark and Hive write: the nanoseconds of a day, and the day.
//!
//! The `parquet` crate reads them as 64 bits, which overflow or lose digits. So this module reads
//! them as bytes, and each component converts them to exact times or fails.
//!
//! Source: `INT96` in "Types" of Parquet's specification; the layout is Impala's.

use crate::formats::arrow::int96::INT96_BYTES;
use crate::formats::arrow::types::read_as;
use arrow_schema::{DataType, Field, FieldRef, Schema, TimeUnit};
use parquet::arrow::ARROW_SCHEMA_META_KEY;
use parquet::basic::Type;
use parquet::file::metadata::{FileMetaData, ParquetMetaData};
use std::sync::Arc;

/// The columns of a file, and which of them are such timestamps.
pub struct Int96Columns {
    /// For each Parquet column, in order, whether it is such a timestamp.
    leaves: Vec<bool>,
    /// True if they are read as 64-bit nanoseconds. fastparquet only writes times that fit, and its
    /// pages have extra bytes after the values.
    are_of_64_bits: bool,
}

impl Int96Columns {
    /// The columns of a file.
    pub fn of(footer: &FileMetaData) -> Self {
        let columns = footer.schema_descr().columns().iter();
        let are_of_64_bits = footer.created_by().is_some_and(|program| program.starts_with("fastparquet"));
        Self { leaves: columns.map(|column| column.physical_type() == Type::INT96).collect(), are_of_64_bits }
    }

    /// Returns true if some columns are read as bytes.
    pub fn are_bytes(&self) -> bool {
        self.leaves.contains(&true) && !self.are_of_64_bits
    }

    /// The columns as programs see them. The type is microseconds, which can represent all years in
    /// 64 bits, unless an Arrow program recorded the original type.
    pub fn seen(&self, schema: &Schema, footer: &ParquetMetaData) -> Schema {
        let mut pairs = footer.file_metadata().key_value_metadata().into_iter().flatten();
        match pairs.any(|pair| pair.key == ARROW_SCHEMA_META_KEY) {
            true => schema.clone(),
            false => self.replaced(schema, &|_| DataType::Timestamp(TimeUnit::Microsecond, None)),
        }
    }

    /// The columns with the types that they are read as.
    pub fn stored(&self, schema: &Schema) -> Schema {
        self.replaced(schema, &|kind| match kind {
            DataType::Timestamp(_, zone) if self.are_of_64_bits => {
                DataType::Timestamp(TimeUnit::Nanosecond, zone.clone())
            }
            DataType::Timestamp(..) => DataType::FixedSizeBinary(INT96_BYTES),
            // It may be declared to contain only nulls.
            kind => kind.clone(),
        })
    }

    fn replaced(&self, schema: &Schema, replace: &dyn Fn(&DataType) -> DataType) -> Schema {
        let mut leaves = self.leaves.iter().copied();
        let fields: Vec<_> = schema.fields().iter().map(|field| replaced(field, &mut leaves, replace)).collect();
        Schema::new(fields).with_metadata(schema.metadata().clone())
    }
}

/// Replaces the types of such timestamps within a field. `leaves` yields the Parquet columns from
/// this field on.
fn replaced(
    field: &FieldRef,
    leaves: &mut dyn Iterator<Item = bool>,
    replace: &dyn Fn(&DataType) -> DataType,
) -> FieldRef {
    let kind = match field.data_type() {
        DataType::List(values) => DataType::List(replaced(values, leaves, replace)),
        DataType::LargeList(values) => DataType::LargeList(replaced(values, leaves, replace)),
        DataType::ListView(values) => DataType::ListView(replaced(values, leaves, replace)),
        DataType::LargeListView(values) => DataType::LargeListView(replaced(values, leaves, replace)),
        DataType::FixedSizeList(values, length) => DataType::FixedSizeList(replaced(values, leaves, replace), *length),
        DataType::Map(entries, is_sorted) => DataType::Map(replaced(entries, leaves, replace), *is_sorted),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|field| replaced(field, leaves, replace)).collect())
        }
        kind if leaves.next() == Some(true) => replace(&read_as(kind)),
        kind => kind.clone(),
    };
    match &kind == field.data_type() {
        true => Arc::clone(field),
        false => Arc::new(Field::clone(field).with_data_type(kind)),
    }
}
