//! Reads the components of one file of a table.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::Column;
use crate::blocks::file_provenance::FileProvenance;
use crate::blocks::gather::gather;
use crate::formats::arrow::columns::{Fault, columns};
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

/// Reads a component of one file.
pub struct Reader {
    component: Component,
    /// The position of the column among those of the file, and the fields within; `None` if the
    /// file does not have it.
    position: Option<(usize, Vec<String>)>,
    /// The type of the column; null if the file does not have it.
    kind: DataType,
    /// The value of all rows of a file that does not have the column, as a row.
    constant: Option<Column>,
}

/// The components, the conditions and the constants that are read of files.
pub struct TableQuery {
    /// The components of rows.
    pub components: Vec<Component>,
    /// Conditions that rows meet.
    pub conditions: Vec<Condition>,
    /// Components that are the same in all rows of a file.
    pub constants: Vec<Constant>,
}

/// A component that is the same in all rows of a file, from the names of directories.
pub struct Constant {
    /// The number of the component.
    pub component: usize,
    /// The value for each file; `None` for null.
    pub values: Vec<Option<Tensor>>,
}

/// A column of a file, whether it can become a component or not.
pub struct ColumnKind {
    /// The type of the column, in words.
    pub words: String,
    /// The component, or a remedy if there is none.
    pub component: std::result::Result<Component, String>,
}

/// The columns of a file with their names: the requested ones, or all.
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

/// The names of columns that no other column has.
fn unique(fields: &Fields) -> String {
    let is_unique = |name: &str| fields.iter().filter(|field| field.name() == name).count() == 1;
    let names = fields.iter().map(|field| field.name()).filter(|name| is_unique(name));
    names.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
}

impl Reader {
    /// A reader of a file with these columns. `first` is the first of all files.
    pub fn new(file: &FileProvenance, fields: &Fields, component: &Component, first: &FileProvenance) -> Result<Self> {
        let reader = |position, kind| Self { component: component.clone(), position, kind, constant: None };
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

    /// A reader of rows that all have this value, from the name of a directory.
    fn constant(file: &FileProvenance, component: &Component, value: Option<&Tensor>) -> Result<Self> {
        if value.is_none() && !component.has_filler() {
            return Err(Error::invalid_argument(format!(
                "{}: the column '{}' is null, according to the directory name, expected a value. {}",
                file.name.text(),
                component.name,
                component.fillers()
            )));
        }
        let constant = value.map(|value| component.row(value)).transpose()?;
        Ok(Self { component: component.clone(), position: None, kind: DataType::Null, constant })
    }

    /// The name of the component.
    pub fn name(&self) -> &str {
        &self.component.name
    }

    /// The number of the column among those of the file.
    pub fn root(&self) -> Option<usize> {
        self.position.as_ref().map(|(root, _)| *root)
    }

    /// The names of the fields that lead to the values.
    pub fn path(&self) -> &[String] {
        self.position.as_ref().map_or(&[], |(_, path)| path)
    }

    /// The columns of the component for these rows of the file; `position` is the position of its
    /// column.
    pub fn columns(&self, rows: &RecordBatch, position: usize) -> std::result::Result<Vec<Column>, Fault> {
        if self.position.is_none() {
            return Ok(self.absent(rows.num_rows())?);
        }
        let internal = |error| Error::internal(format!("a column cannot be read: {error}"));
        let array = normal(rows.column(position)).map_err(internal)?;
        columns(&self.component, &pick(&array, self.path())?, &self.kind)
    }

    /// Rows of a file that does not have the column.
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

/// The readers of a file.
pub struct Readers {
    readers: Vec<Reader>,
    /// Conditions that rows meet, and their readers.
    conditions: Vec<(Condition, Reader)>,
    /// The numbers of the columns that are read, ascending.
    roots: Vec<usize>,
}

/// The rows before the first one at fault that meet the conditions.
pub struct Cut {
    columns: Vec<Column>,
    /// Their number.
    pub num_rows: usize,
    /// The number of rows examined, up to the one at fault.
    pub num_read: usize,
    /// The positions of the kept rows among them, unless all are kept.
    kept: Option<Vec<usize>>,
    /// The fault of the row after them, in words that begin with its column.
    pub fault: Option<String>,
}

impl Cut {
    /// The rows as a block. The first row that was looked at has number `first` in its file.
    pub fn block(self, file: &Arc<FileProvenance>, first: u64) -> Result<Block> {
        let provenance = match self.kept {
            None => Provenance::Run(Arc::clone(file), first),
            Some(kept) => Provenance::records(file, kept.into_iter().map(|position| first + position as u64)),
        };
        Block::new(self.columns, self.num_rows, provenance)
    }
}

impl Readers {
    /// The readers of the requested columns of a file. `first` is the first of all files.
    pub fn new(file: &FileProvenance, fields: &Fields, query: &TableQuery, first: &FileProvenance) -> Result<Self> {
        let reader = |component: &Component| Reader::new(file, fields, component, first);
        let of_component = |(number, component): (usize, &Component)| {
            let constant = query.constants.iter().find(|constant| constant.component == number);
            let value = constant.map(|constant| constant.values.get(file.number as usize).and_then(Option::as_ref));
            value.map_or_else(|| reader(component), |value| Reader::constant(file, component, value))
        };
        let readers = query.components.iter().enumerate().map(of_component).collect::<Result<Vec<_>>>()?;
        let condition = |condition: &Condition| {
            let reader = reader(&condition.component)?;
            let is_of_decimals = condition.values.iter().any(|value| matches!(value, Value::Decimal(_)));
            if is_of_decimals && !reader.kind.is_decimal() {
                return Err(Error::invalid_argument(format!(
                    "{}: the column '{}' is {}, expected decimals, as in the first file, since a condition compares \
                     them. Write the files with the same types.",
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

    /// All readers, also those of conditions.
    pub fn iter(&self) -> impl Iterator<Item = &Reader> {
        self.readers.iter().chain(self.conditions.iter().map(|(_, reader)| reader))
    }

    /// The conditions, and the readers of their columns.
    pub fn conditions(&self) -> &[(Condition, Reader)] {
        &self.conditions
    }

    /// The numbers of the columns that are read, ascending.
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// The rows, of the columns that are read, before the first one at fault.
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

    /// True for each row that meets all conditions; `None` if there are none.
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
