//! Files that are one record each.

use super::chunks::{Codec, Place};
use crate::error::{Error, Result};
use crate::files::compression::Compression;
use crate::pipeline::block::{Block, FileOrigin, Origins};
use crate::pipeline::budget::Charge;
use crate::pipeline::column::{Column, Span, Text};
use crate::pipeline::index::{Hops, Offsets, RandomAccess};
use crate::pipeline::nodes::files::{Format, Scan};
use crate::reader::read_whole_file;
use crate::tensor::Tensor;
use crate::tensor::shape::Shape;
use std::sync::Arc;

/// What a file is expected to have before it is read.
const EXPECTED_BYTES: usize = 128 * 1024;

/// Whole files, as a path and their bytes.
pub struct Whole;

impl Format for Whole {
    fn open(&self, file: &Arc<FileOrigin>) -> Result<Box<dyn Scan>> {
        Ok(Box::new(WholeFile { file: Some(Arc::clone(file)) }))
    }

    fn block_bytes(&self) -> usize {
        EXPECTED_BYTES
    }

    fn random_access(self: Arc<Self>) -> Option<Arc<dyn RandomAccess>> {
        Some(self)
    }
}

impl RandomAccess for Whole {
    fn codec(&self) -> Codec {
        Codec::Known(Compression::None)
    }

    fn scan(&self, _file: &Arc<FileOrigin>, input: &mut Hops) -> Result<Offsets> {
        Ok(Offsets::Even { first: 0, length: input.len(), count: 1 })
    }

    fn unframe(&self, _file: &Arc<FileOrigin>, frame: &[u8], _at: Place) -> Result<Span> {
        Ok(Span { start: 0, length: frame.len() })
    }

    fn columns(&self, data: Text, origins: &Origins) -> Result<Vec<Column>> {
        let unknown = || Error::internal("the path of a file is not known");
        let path = |row| origins.get(row).map(|origin| origin.file.name.bytes().clone()).ok_or_else(unknown);
        let paths = (0..data.len()).map(path).collect::<Result<Vec<_>>>()?;
        Ok(vec![Column::Dense(Tensor::strings(Shape::new(&[paths.len()]), paths)?), Column::Text(data)])
    }
}

struct WholeFile {
    /// `None` after the file was read.
    file: Option<Arc<FileOrigin>>,
}

impl Scan for WholeFile {
    fn next(&mut self, charge: Charge) -> Result<Option<Block>> {
        let Some(file) = self.file.take() else { return Ok(None) };
        let bytes = read_whole_file(&file.name)?;
        let span = Span { start: 0, length: bytes.len() };
        let path = Tensor::strings(Shape::new(&[1]), vec![file.name.bytes().clone()])?;
        let data = Column::Text(Text::new(charge.over(bytes.into()), vec![span]));
        Block::new(vec![Column::Dense(path), data], 1, Origins::Run(file, 0)).map(Some)
    }
}
