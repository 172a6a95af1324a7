//! Tar archives of samples. A sample consists of neighbouring files with the same name up to the
//! first dot.
//!
//! Source: the pax interchange format of POSIX.1-2017, with GNU's long names; samples are grouped
//! like in the `webdataset` library.

mod archive;
mod index;
mod input;
mod samples;

use crate::blocks::block::FileProvenance;
use crate::formats::chunks::CHUNK_BYTES;
use crate::formats::tar::archive::Archive;
use crate::formats::tar::samples::Samples;
use crate::records::{Codec, FilePart, Format, RandomAccess, RecordPosition, Scan};
use bytes::Bytes;
use headrace_engine::error::Result;
use std::sync::Arc;

/// Tar archives of samples. Each sample has a key, and the contents of the file for each requested
/// extension.
pub struct Tar {
    /// The compression of the archives.
    pub codec: Codec,
    /// The requested extensions. Each may have a value for samples that lack the file.
    pub extensions: Arc<[(String, Option<Bytes>)]>,
}

impl Format for Tar {
    fn open(&self, file: &Arc<FileProvenance>, at: RecordPosition) -> Result<Box<dyn Scan>> {
        let archive = Archive::open(file, self.codec, at.offset_bytes)?;
        let extensions = Arc::clone(&self.extensions);
        Ok(Box::new(Samples::new(archive, extensions, at.record)))
    }

    fn open_part(&self, file: &Arc<FileProvenance>, part: FilePart) -> Result<Box<dyn Scan>> {
        let archive = Archive::new(file, part.input, part.at.offset_bytes);
        Ok(Box::new(Samples::new(archive, Arc::clone(&self.extensions), part.at.record).before(part.end)))
    }

    fn block_bytes(&self) -> usize {
        CHUNK_BYTES
    }

    fn random_access(self: Arc<Self>) -> Option<Arc<dyn RandomAccess>> {
        Some(self)
    }
}

/// Returns the extensions of the first sample in an archive, or `None` if there is none.
pub fn infer_tar(file: &Arc<FileProvenance>, codec: Codec) -> Result<Option<Vec<String>>> {
    let mut archive = Archive::open(file, codec, 0)?;
    let mut extensions = Vec::new();
    let mut key = None;
    while let Some(member) = archive.next()? {
        if *key.get_or_insert_with(|| member.key.clone()) != member.key {
            break;
        }
        extensions.push(member.extension);
    }
    Ok(Some(extensions).filter(|extensions| !extensions.is_empty()))
}
