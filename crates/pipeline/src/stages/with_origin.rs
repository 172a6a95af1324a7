//! Adds the file and the number of each record as components.

use crate::blocks::block::{Block, FileProvenance, Provenance};
use crate::blocks::column::{Column, Span, Text};
use crate::blocks::rows::Rows;
use crate::stages::Stage;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::shape::Shape;
use std::sync::Arc;

/// Adds the name of the file and the number of the record after the first `self.0` columns.
pub struct WithOrigin(pub usize);

impl Stage for WithOrigin {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let mut columns = rows.gather_columns(0..self.0)?;
        let mut names = Names::default();
        let mut records = Vec::new();
        for (block, row) in rows.iter() {
            let unknown = || Error::internal("with_origin: the record of a row is unknown");
            let row_provenance = block.row_provenance(row).ok_or_else(unknown)?;
            names.push(&row_provenance.file)?;
            records.push(row_provenance.record_number()?.cast_signed());
        }
        columns.push(Column::Text(Text::new(names.text.into(), names.spans)));
        columns.push(Column::Dense(Tensor::from_values(Shape::new(&[records.len()]), records)?));
        Block::new(columns, rows.len(), Provenance::of(rows)).map(Rows::all)
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}

/// Replaces all columns with the file name of each record.
pub struct OriginFiles;

impl Stage for OriginFiles {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let mut names = Names::default();
        for (block, row) in rows.iter() {
            let unknown = || Error::internal("the file of a row is unknown");
            names.push(block.provenance().file(row).ok_or_else(unknown)?)?;
        }
        let column = Column::Text(Text::new(names.text.into(), names.spans));
        Block::new(vec![column], rows.len(), Provenance::of(rows)).map(Rows::all)
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}

/// File names. A name that occurs several times in a row is stored once.
#[derive(Default)]
struct Names {
    text: Vec<u8>,
    spans: Vec<Span>,
    last: Option<Arc<FileProvenance>>,
}

impl Names {
    /// Adds a file name. Fails if it is not valid UTF-8, which text requires.
    fn push(&mut self, file: &Arc<FileProvenance>) -> Result<()> {
        let is_same = self.last.as_ref().is_some_and(|last| Arc::ptr_eq(last, file));
        match self.spans.last() {
            Some(span) if is_same => self.spans.push(*span),
            _ => {
                let name = file.name.without_secrets();
                if std::str::from_utf8(&name).is_err() {
                    return Err(Error::invalid_argument(format!(
                        "{}: with_origin: the file name is not UTF-8. Rename the file.",
                        file.name.text()
                    )));
                }
                self.spans.push(Span { start: self.text.len(), length: name.len() });
                self.text.extend_from_slice(&name);
                self.last = Some(Arc::clone(file));
            }
        }
        Ok(())
    }
}
