//! Files that are one record each.

use crate::error::{Error, Result};
use crate::pipeline::block::{Block, FileOrigin, Origins};
use crate::pipeline::budget::Charge;
use crate::pipeline::column::{Column, Span, Text};
use crate::pipeline::nodes::files::{Format, Scan};
use crate::reader::read_whole_file;
use crate::tensor::Tensor;
use crate::tensor::shape::Shape;
use std::collections::HashMap;
use std::sync::Arc;

/// What a file is expected to have before it is read.
const EXPECTED_BYTES: usize = 128 * 1024;

/// Whole files, as a path and their bytes.
pub struct Whole;

impl Format for Whole {
    fn open(&self, file: &Arc<FileOrigin>) -> Result<Box<dyn Scan>> {
        Ok(Box::new(WholeFile { file: Some(Arc::clone(file)), label: None }))
    }

    fn block_bytes(&self) -> usize {
        EXPECTED_BYTES
    }
}

/// Whole files of a directory that has a directory for each class: their bytes, their label and their path.
pub struct Labelled {
    /// How many bytes the name of the directory has, with the slash behind it.
    pub root_bytes: usize,
    /// The label of each class.
    pub labels: HashMap<Vec<u8>, i64>,
}

impl Format for Labelled {
    fn open(&self, file: &Arc<FileOrigin>) -> Result<Box<dyn Scan>> {
        let below = file.name.bytes().get(self.root_bytes..).unwrap_or_default();
        let class = below.split(|byte| *byte == b'/').next().unwrap_or_default();
        let unknown = || Error::internal(format!("{}: a file of no class", file.name.text()));
        let label = *self.labels.get(class).ok_or_else(unknown)?;
        Ok(Box::new(WholeFile { file: Some(Arc::clone(file)), label: Some(label) }))
    }

    fn block_bytes(&self) -> usize {
        EXPECTED_BYTES
    }
}

struct WholeFile {
    /// `None` after the file was read.
    file: Option<Arc<FileOrigin>>,
    label: Option<i64>,
}

impl Scan for WholeFile {
    fn next(&mut self, charge: Charge) -> Result<Option<Block>> {
        let Some(file) = self.file.take() else { return Ok(None) };
        let bytes = read_whole_file(&file.name)?;
        let span = Span { start: 0, length: bytes.len() };
        let path = Tensor::strings(Shape::new(&[1]), vec![file.name.bytes().clone()])?;
        let data = Column::Text(Text::new(charge.over(bytes.into()), vec![span]));
        let path = Column::Dense(path);
        let columns = match self.label {
            None => vec![path, data],
            Some(label) => vec![data, Column::Dense(Tensor::from_values(Shape::new(&[1]), vec![label])?), path],
        };
        Block::new(columns, 1, Origins::Run(file, 0)).map(Some)
    }
}
