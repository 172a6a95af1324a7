//! Statistics of row groups, which can show that no row meets a condition.

use crate::blocks::column::Column;
use crate::formats::arrow::columns::{Fault, columns};
use crate::formats::arrow::reader::{Reader, Readers};
use crate::formats::arrow::selection::Condition;
use crate::formats::component::Form;
use crate::formats::parquet::file::guarded;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Schema};
use headrace_engine::error::Result;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};

/// The columns and the footer of a file.
pub struct Described<'a> {
    /// The columns, with Arrow types.
    pub schema: &'a Schema,
    /// The footer.
    pub footer: &'a ParquetMetaData,
}

impl Described<'_> {
    /// Returns false if no row of a row group can meet all conditions.
    pub fn may_be_met(&self, readers: &Readers, group: &RowGroupMetaData) -> bool {
        let mut conditions = readers.conditions().iter();
        conditions.all(|(condition, reader)| self.bounds_meet(group, condition, reader).unwrap_or(true))
    }

    /// Returns false if the bounds of a column show that no row meets a condition, and `None` if
    /// there are no bounds.
    fn bounds_meet(&self, group: &RowGroupMetaData, condition: &Condition, reader: &Reader) -> Option<bool> {
        let schema = self.schema;
        let root = reader.root().filter(|_| reader.path().is_empty())?;
        let kind = schema.field(root).data_type();
        let is_int96 = matches!((condition.component.form, kind), (Form::Instant(_), DataType::FixedSizeBinary(_)));
        if kind.is_nested() || is_int96 {
            return None;
        }
        let descriptor = self.footer.file_metadata().schema_descr();
        let converter = guarded(|| StatisticsConverter::try_new(reader.name(), schema, descriptor)).ok()?;
        let statistics = group.column(converter.parquet_column_index()?).statistics()?;
        if statistics.is_min_max_deprecated() {
            // Older programs ordered strings and unsigned numbers differently.
            return None;
        }
        let least = guarded(|| converter.row_group_mins([group])).ok()?;
        let most = guarded(|| converter.row_group_maxes([group])).ok()?;
        let of = |array: &ArrayRef| -> Result<Option<Vec<Column>>> {
            match columns(&condition.component, array, array.data_type()) {
                Ok(bounds) => Ok(Some(bounds)),
                Err(Fault::Other(error)) => Err(error),
                Err(Fault::Value(..)) => Ok(None),
            }
        };
        let (least, most) = (of(&least).ok()??, of(&most).ok()??);
        condition.may_be_met(&least, &most).ok()
    }
}
