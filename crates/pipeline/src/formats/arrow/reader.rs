//! Reads the components of a table from one of its files.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::Column;
use crate::blocks::file_provenance::FileProvenance;
use crate::blocks::gather::gather;
use crate::formats::arrow::columns::{Fault, columns};
use crate::formats::arrow::directory_values::{self, first_difference, is_comparable};
use crate::formats::arrow::fields::{NotFound, SchemaColumn, find, names, pick};
use crate::formats::arrow::normal::normal;
use crate::formats::arrow::selection::{Condition, Value};
use crate::formats::arrow::types::{check, inferred, read_as, words};
use crate::formats::component::{Component, mask};
use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::{DataType, Fields};
use arrow_select::filter::filter_record_batch;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use std::sync::Arc;

/// Reads one component from a file.
pub struct Reader {
    component: Component,
    /// The number of the column in the file, and the path to the field inside it. `None` if the
    /// file lacks the column.
    position: Option<(usize, Vec<String>)>,
    /// The type of the column, or null if the file lacks it.
    kind: DataType,
    /// True if the name of a directory gives the value of all rows. If the file has the column too,
    /// it is only compared with that value.
    is_named: bool,
    /// That value as a single row, or `None` for null.
    constant: Option<Column>,
    /// That value as text.
    text: Option<String>,
}

/// The components, conditions and constants to read from the files.
pub struct TableQuery {
    /// The components of rows.
    pub components: Vec<Component>,
    /// The conditions that rows must meet.
    pub conditions: Vec<Condition>,
    /// Components with the same value in all rows of a file.
    pub constants: Vec<Constant>,
}

/// A component with the same value in all rows of a file, which comes from the names of
/// directories.
pub struct Constant {
    /// The number of the component.
    pub component: usize,
    /// One value per file, or `None` for null.
    pub values: Vec<Option<Tensor>>,
}

/// A column of a file, which may or may not be usable as a component.
pub struct ColumnKind {
    /// A description of the column's type.
    pub words: String,
    /// The component, or else how to make the column usable.
    pub component: std::result::Result<Component, String>,
}

/// Returns the requested columns of a file, or all of them, with their names.
pub fn kinds(file: &FileProvenance, fields: &Fields, names: Option<&[String]>) -> Result<Vec<(String, ColumnKind)>> {
    let names = match names {
        Some(names) => names.to_vec(),
        None => fields.iter().map(|field| field.name().clone()).collect(),
    };
    let kind = |name: &String| {
        let SchemaColumn { kind, .. } = find_column(file, fields, name)?;
        Ok((name.clone(), ColumnKind { words: words(&kind), component: inferred(name, &kind) }))
    };
    names.iter().map(kind).collect()
}

fn find_column(file: &FileProvenance, fields: &Fields, name: &str) -> Result<SchemaColumn> {
    let at = file.name.text();
    find(fields, name).map_err(|reason| match reason {
        NotFound::Missing => {
            Error::invalid_argument(format!("{at}: there is no column '{name}', expected one of {}.", names(fields)))
        }
        NotFound::Several(count) => Error::invalid_argument(format!(
            "{at}: there are {count} columns '{name}', expected one. Rename one of them, or omit them with \
             columns=[{}].",
            unique(fields)
        )),
    })
}

/// Lists the column names that occur only once.
fn unique(fields: &Fields) -> String {
    let is_unique = |name: &str| fields.iter().filter(|field| field.name() == name).count() == 1;
    let names = fields.iter().map(|field| field.name()).filter(|name| is_unique(name));
    names.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

impl Reader {
    /// Creates a reader for a file with these columns. `first` is the first file of the table.
    pub fn new(file: &FileProvenance, fields: &Fields, component: &Component, first: &FileProvenance) -> Result<Self> {
        let reader = |position, kind| Self {
            component: component.clone(),
            position,
            kind,
            is_named: false,
            constant: None,
            text: None,
        };
        let SchemaColumn { root, path, kind } = match find(fields, &component.name) {
            Err(NotFound::Missing) if component.default.is_some() => return Ok(reader(None, DataType::Null)),
            Err(NotFound::Missing) if file.number != first.number => {
                return Err(Error::invalid_argument(format!(
                    "{}: there is no column '{name}', as in {}, expected one of {}. Set a default with \
                     defaults={{'{name}': ...}}.",
                    file.name.text(),
                    first.name.text(),
                    names(fields),
                    name = component.name
                )));
            }
            _ => find_column(file, fields, &component.name)?,
        };
        check(component, &kind).map_err(|expected| {
            Error::invalid_argument(format!(
                "{}: the column '{}' is {}, {expected}",
                file.name.text(),
                component.name,
                words(&kind)
            ))
        })?;
        Ok(reader(Some((root, path)), read_as(&kind)))
    }

    /// Creates a reader for rows that all have this value, which comes from the name of a
    /// directory.
    fn constant(file: &FileProvenance, fields: &Fields, component: &Component, value: Option<&Tensor>) -> Result<Self> {
        if value.is_none() && !component.has_filler() {
            return Err(Error::invalid_argument(format!(
                "{}: the column '{}' is null, according to the directory name, expected a value. {}",
                file.name.text(),
                component.name,
                component.fillers()
            )));
        }
        let constant = value.map(|value| component.row(value)).transpose()?;
        let text = value.and_then(directory_values::text);
        // A value of another type, such as a float, is not compared.
        let is_known = value.is_none() || text.is_some();
        let own = find(fields, &component.name).ok().filter(|own| is_known && is_comparable(&read_as(&own.kind)));
        let (position, kind) = match own {
            Some(SchemaColumn { root, path, kind }) => (Some((root, path)), read_as(&kind)),
            None => (None, DataType::Null),
        };
        Ok(Self { component: component.clone(), position, kind, is_named: true, constant, text })
    }

    /// The name of the component.
    pub fn name(&self) -> &str {
        &self.component.name
    }

    /// The number of the column in the file.
    pub fn root(&self) -> Option<usize> {
        self.position.as_ref().map(|(root, _)| *root)
    }

    /// The names of the fields that lead to the values.
    pub fn path(&self) -> &[String] {
        self.position.as_ref().map_or(&[], |(_, path)| path)
    }

    /// Converts rows of the file to the columns of the component. `position` is the position of its
    /// column among the rows.
    pub fn columns(&self, rows: &RecordBatch, position: usize) -> std::result::Result<Vec<Column>, Fault> {
        if self.position.is_none() {
            return Ok(self.absent(rows.num_rows())?);
        }
        let internal = |error| Error::internal(format!("a column cannot be read: {error}"));
        let array = normal(rows.column(position)).map_err(internal)?;
        let array = pick(&array, self.path())?;
        if !self.is_named {
            return columns(&self.component, &array, &self.kind);
        }
        match first_difference(&array, self.text.as_deref()) {
            None => Ok(self.absent(rows.num_rows())?),
            Some(row) => Err(Fault::Value(
                row,
                "differs from the value in the directory name. Correct the file or the name, or leave the column out \
                 with columns=[...]."
                    .to_owned(),
            )),
        }
    }

    /// Returns rows with the value of the directory name, or of a file that lacks the column.
    fn absent(&self, num_rows: usize) -> Result<Vec<Column>> {
        let filler = if self.constant.is_none() { self.component.filler_row()? } else { None };
        let row = self.constant.as_ref().or(filler.as_ref());
        let row = row.ok_or_else(|| Error::internal("a column without a default is missing"))?;
        let values = gather(&[row], std::iter::repeat_n((0, 0), num_rows))?;
        let is_there = self.constant.is_some();
        let mask = self.component.has_mask.then(|| mask(std::iter::repeat_n(is_there, num_rows))).transpose()?;
        Ok([values].into_iter().chain(mask).collect())
    }
}

/// The readers for one file.
pub struct Readers {
    readers: Vec<Reader>,
    /// The conditions that rows must meet, with their readers.
    conditions: Vec<(Condition, Reader)>,
    /// The numbers of the columns to read, in ascending order.
    roots: Vec<usize>,
}

/// The rows that meet the conditions, up to the first faulty row.
pub struct Cut {
    columns: Vec<Column>,
    /// Their number.
    pub num_rows: usize,
    /// The number of rows that were examined, up to the faulty one.
    pub num_read: usize,
    /// The positions of the kept rows among them, or `None` if all are kept.
    kept: Option<Vec<usize>>,
    /// The reason why the next row is invalid. The text begins with the name of the column.
    pub fault: Option<String>,
}

impl Cut {
    /// Converts the rows to a block. The first examined row has number `first` in its file.
    pub fn block(self, file: &Arc<FileProvenance>, first: u64) -> Result<Block> {
        let provenance = match self.kept {
            None => Provenance::Run(Arc::clone(file), first),
            Some(kept) => Provenance::records(file, kept.into_iter().map(|position| first + position as u64)),
        };
        Block::new(self.columns, self.num_rows, provenance)
    }
}

impl Readers {
    /// Creates the readers for the requested columns of a file. `first` is the first file of the
    /// table.
    pub fn new(file: &FileProvenance, fields: &Fields, query: &TableQuery, first: &FileProvenance) -> Result<Self> {
        let reader = |component: &Component| Reader::new(file, fields, component, first);
        let of_component = |(number, component): (usize, &Component)| {
            let constant = query.constants.iter().find(|constant| constant.component == number);
            let value = constant.map(|constant| constant.values.get(file.number as usize).and_then(Option::as_ref));
            let named = |value| Reader::constant(file, fields, component, value);
            value.map_or_else(|| reader(component), named)
        };
        let readers = query.components.iter().enumerate().map(of_component).collect::<Result<Vec<_>>>()?;
        let condition = |condition: &Condition| {
            let reader = reader(&condition.component)?;
            let is_of_decimals = condition.values.iter().any(|value| matches!(value, Value::Decimal(_)));
            if is_of_decimals && !reader.kind.is_decimal() {
                return Err(Error::invalid_argument(format!(
                    "{}: the column '{}' is {}, expected decimals as in the first file, because a condition compares \
                     them. Write all files with the same types.",
                    file.name.text(),
                    reader.name(),
                    words(&reader.kind)
                )));
            }
            Ok((condition.clone(), reader))
        };
        let conditions = query.conditions.iter().map(condition).collect::<Result<Vec<_>>>()?;
        let all = readers.iter().chain(conditions.iter().map(|(_, reader)| reader));
        let mut roots: Vec<_> = all.filter_map(Reader::root).collect();
        roots.sort_unstable();
        roots.dedup();
        Ok(Self { readers, conditions, roots })
    }

    /// Iterates over all readers, including those of conditions.
    pub fn iter(&self) -> impl Iterator<Item = &Reader> {
        self.readers.iter().chain(self.conditions.iter().map(|(_, reader)| reader))
    }

    /// The conditions, and the readers of their columns.
    pub fn conditions(&self) -> &[(Condition, Reader)] {
        &self.conditions
    }

    /// The numbers of the columns to read, in ascending order.
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// Converts the rows up to the first faulty one.
    pub fn cut(&self, rows: &RecordBatch) -> Result<Cut> {
        let Some(kept) = self.kept(rows)? else { return self.all(rows) };
        let positions: Vec<_> =
            kept.iter().enumerate().filter(|(_, is_kept)| **is_kept).map(|(position, _)| position).collect();
        let internal = |error| Error::internal(format!("rows cannot be selected: {error}"));
        let selected = filter_record_batch(rows, &BooleanArray::from(kept)).map_err(internal)?;
        let cut = self.all(&selected)?;
        let num_read = match cut.fault {
            Some(_) => positions[cut.num_rows],
            None => rows.num_rows(),
        };
        Ok(Cut { num_read, kept: Some(positions[..cut.num_rows].to_vec()), ..cut })
    }

    /// Returns for each row whether it meets all conditions, or `None` if there are none.
    fn kept(&self, rows: &RecordBatch) -> Result<Option<Vec<bool>>> {
        let mut kept: Option<Vec<bool>> = None;
        for (condition, reader) in &self.conditions {
            let columns = reader.columns(rows, self.position(reader)).map_err(|fault| match fault {
                Fault::Other(error) => error,
                Fault::Value(_, text) => Error::invalid_argument(format!("the column '{}' {text}", reader.name())),
            })?;
            let met = condition.met(&columns)?;
            kept = Some(match kept {
                None => met,
                Some(kept) => kept.into_iter().zip(met).map(|(one, other)| one && other).collect(),
            });
        }
        Ok(kept)
    }

    /// The position of a reader's column among the columns that are read.
    fn position(&self, reader: &Reader) -> usize {
        reader.root().map_or(0, |root| self.roots.partition_point(|other| *other < root))
    }

    fn all(&self, rows: &RecordBatch) -> Result<Cut> {
        let (mut columns, mut fault): (Vec<Column>, Option<(usize, String)>) = (Vec::new(), None);
        for reader in &self.readers {
            match reader.columns(rows, self.position(reader)) {
                Ok(converted) => columns.extend(converted),
                Err(Fault::Other(error)) => return Err(error),
                Err(Fault::Value(row, text)) => {
                    if fault.as_ref().is_none_or(|(first, _)| row < *first) {
                        fault = Some((row, format!("the column '{}' {text}", reader.name())));
                    }
                }
            }
        }
        let num_rows = rows.num_rows();
        match fault {
            None => Ok(Cut { columns, num_rows, num_read: num_rows, kept: None, fault: None }),
            Some((row, text)) => Ok(Cut { fault: Some(text), ..self.all(&rows.slice(0, row))? }),
        }
    }
}
