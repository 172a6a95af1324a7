//! Whole files as records.

use crate::blocks::block::{Block, FileProvenance, Provenance};
use crate::blocks::column::{Column, Span, Text};
use crate::budget::Charge;
use crate::records::{Codec, Format, HeaderScan, Offsets, RandomAccess, RecordPosition, Scan, ScanResult};
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::files::whole::read_to_end;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::shape::Shape;
use std::collections::HashMap;
use std::sync::Arc;

/// The estimated size of a file before it is read.
const EXPECTED_BYTES: usize = 128 * 1024;

/// Whole files: the path and the bytes.
pub struct Whole;

impl Format for Whole {
    fn open(&self, file: &Arc<FileProvenance>, _at: RecordPosition) -> Result<Box<dyn Scan>> {
        Ok(Box::new(WholeFile { file: Some(Arc::clone(file)), label: None, is_damaged: false }))
    }

    fn block_bytes(&self) -> usize {
        EXPECTED_BYTES
    }

    fn open_bytes(&self, _file: &FileProvenance) -> usize {
        0
    }

    fn offset(&self, _file: &FileProvenance, record: u64) -> Option<u64> {
        (record == 0).then_some(0)
    }

    fn is_one_record(&self) -> bool {
        true
    }

    fn random_access(self: Arc<Self>) -> Option<Arc<dyn RandomAccess>> {
        Some(self)
    }
}

/// Files in a directory with one subdirectory per class: the bytes, the label and the path.
pub struct Labelled {
    /// The length of the directory's name in bytes, including the slash after it.
    pub root_bytes: usize,
    /// The label of each class.
    pub labels: HashMap<Vec<u8>, i64>,
}

impl Format for Labelled {
    fn open(&self, file: &Arc<FileProvenance>, _at: RecordPosition) -> Result<Box<dyn Scan>> {
        let label = self.label(file)?;
        Ok(Box::new(WholeFile { file: Some(Arc::clone(file)), label: Some(label), is_damaged: false }))
    }

    fn block_bytes(&self) -> usize {
        EXPECTED_BYTES
    }

    fn open_bytes(&self, _file: &FileProvenance) -> usize {
        0
    }

    fn offset(&self, _file: &FileProvenance, record: u64) -> Option<u64> {
        (record == 0).then_some(0)
    }

    fn is_one_record(&self) -> bool {
        true
    }

    fn random_access(self: Arc<Self>) -> Option<Arc<dyn RandomAccess>> {
        Some(self)
    }
}

impl Labelled {
    fn label(&self, file: &FileProvenance) -> Result<i64> {
        let below = file.name.bytes().get(self.root_bytes..).unwrap_or_default();
        let class = below.split(|byte| *byte == b'/').next().unwrap_or_default();
        let unknown = || Error::internal(format!("{}: the file's class is unknown", file.name.text()));
        self.labels.get(class).copied().ok_or_else(unknown)
    }
}

/// The files of `num_rows` rows.
fn files(provenance: &Provenance, num_rows: usize) -> Result<Vec<Arc<FileProvenance>>> {
    let unknown = || Error::internal("the path of a file is unknown");
    (0..num_rows).map(|row| provenance.get(row).map(|row_provenance| row_provenance.file).ok_or_else(unknown)).collect()
}

fn paths(files: &[Arc<FileProvenance>]) -> Result<Column> {
    let paths = files.iter().map(|file| file.name.without_secrets()).collect();
    Tensor::strings(Shape::new(&[files.len()]), paths).map(Column::Dense)
}

impl RandomAccess for Labelled {
    fn codec(&self) -> Codec {
        Whole.codec()
    }

    fn scan(&self, file: &Arc<FileProvenance>, input: &mut HeaderScan) -> Result<ScanResult> {
        Whole.scan(file, input)
    }

    fn unframe(&self, file: &Arc<FileProvenance>, frame: &[u8], at: RecordPosition) -> Result<Span> {
        Whole.unframe(file, frame, at)
    }

    fn columns(&self, data: Text, _offsets: &[u64], provenance: &Provenance) -> Result<Vec<Column>> {
        let files = files(provenance, data.len())?;
        let labels = files.iter().map(|file| self.label(file)).collect::<Result<Vec<_>>>()?;
        let labels = Tensor::from_values(Shape::new(&[files.len()]), labels)?;
        Ok(vec![Column::Text(data), Column::Dense(labels), paths(&files)?])
    }
}

impl RandomAccess for Whole {
    fn codec(&self) -> Codec {
        Codec::Known(Compression::None)
    }

    fn scan(&self, _file: &Arc<FileProvenance>, input: &mut HeaderScan) -> Result<ScanResult> {
        Ok(Offsets::Even { first: 0, length: input.len(), count: 1 }.into())
    }

    fn unframe(&self, _file: &Arc<FileProvenance>, frame: &[u8], _at: RecordPosition) -> Result<Span> {
        Ok(Span { start: 0, length: frame.len() })
    }

    fn columns(&self, data: Text, _offsets: &[u64], provenance: &Provenance) -> Result<Vec<Column>> {
        Ok(vec![paths(&files(provenance, data.len())?)?, Column::Text(data)])
    }
}

struct WholeFile {
    /// `None` once the file has been read.
    file: Option<Arc<FileProvenance>>,
    label: Option<i64>,
    /// True if reading failed, and the error states how many files are lost.
    is_damaged: bool,
}

impl Scan for WholeFile {
    fn position(&self) -> RecordPosition {
        RecordPosition::default()
    }

    fn is_over(&self) -> bool {
        self.file.is_none()
    }

    fn go_on(&mut self) -> bool {
        self.is_damaged
    }

    fn next(&mut self, charge: Charge) -> Result<Option<Block>> {
        let Some(file) = self.file.take() else { return Ok(None) };
        let bytes = file.open().and_then(|opened| read_to_end(&file.name, opened)).inspect_err(|error| {
            self.is_damaged = error.lost().is_some();
        })?;
        let span = Span { start: 0, length: bytes.len() };
        let path = Tensor::strings(Shape::new(&[1]), vec![file.name.without_secrets()])?;
        let data = Column::Text(Text::new(charge.over(bytes.into(), 0), vec![span]));
        let path = Column::Dense(path);
        let columns = match self.label {
            None => vec![path, data],
            Some(label) => vec![data, Column::Dense(Tensor::from_values(Shape::new(&[1]), vec![label])?), path],
        };
        Block::new(columns, 1, Provenance::Run(file, 0)).map(Some)
    }
}
