//! Divides files into pieces, which are whole files or runs of whole records.

use super::borders::Borders;
use super::shared_handle::SharedHandle;
use crate::blocks::block::FileProvenance;
use crate::blocks::file_provenance::Before;
use crate::index::IndexFiles;
use crate::records::{Format, RecordPosition, Scan};
use bytes::Bytes;
use headrace_engine::error::Result;
use headrace_engine::files::ranged::ComingBytes;
use headrace_engine::sync::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum number of remote files whose sizes are requested concurrently.
const NUM_ASKED: usize = 64;

/// A piece of a file.
#[derive(Clone)]
pub struct FilePiece {
    /// The boundaries of the file's pieces.
    pub borders: Arc<Borders>,
    /// The number of the piece in the file.
    pub number: u64,
    /// The index files that contain boundaries.
    pub index_files: Arc<IndexFiles>,
    /// The open file that its pieces share.
    pub shared: SharedHandle,
}

impl FilePiece {
    /// Returns false if the piece is a whole file.
    pub fn is_of_several(&self) -> bool {
        self.borders.num_pieces() > 1
    }

    /// Opens the piece, at the position of an earlier scan if there is one.
    pub fn open(
        &self,
        file: &Arc<FileProvenance>,
        from: Option<RecordPosition>,
        coming: Option<ComingBytes>,
    ) -> Result<Box<dyn Scan>> {
        self.borders.open_piece(file, self.number, (from, coming), (&self.index_files, &self.shared))
    }

    /// If the file is remote, starts reading up to `num_bytes` of the piece, without waiting.
    pub fn begin(&self, from: Option<RecordPosition>, num_bytes: u64) -> Option<ComingBytes> {
        self.borders.begin(self.number, from, num_bytes)
    }

    /// Returns the same file, with records numbered as in this piece.
    pub fn renumber(&self, file: Arc<FileProvenance>) -> Arc<FileProvenance> {
        match self.borders.counts_pieces() && self.number > 0 {
            true => file.counted_from(Arc::new(self.clone())),
            false => file,
        }
    }
}

impl Before for FilePiece {
    fn num_records(&self) -> Result<u64> {
        self.borders.num_records_before(self.number, &self.index_files)
    }

    fn number(&self) -> u64 {
        self.number
    }
}

impl fmt::Debug for FilePiece {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FilePiece {}", self.number)
    }
}

/// The pieces of the files of a source.
pub struct FilePieces {
    files: Vec<(Arc<Borders>, SharedHandle)>,
    /// For each file, the total number of pieces up to and including it.
    ends: Vec<u64>,
    index_files: Arc<IndexFiles>,
}

impl FilePieces {
    /// The number of pieces.
    pub fn len(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns piece `number` and the index of its file.
    pub fn get(&self, number: u64) -> Option<(usize, FilePiece)> {
        let file = self.ends.partition_point(|end| *end <= number);
        let first = file.checked_sub(1).map_or(0, |before| self.ends[before]);
        let (borders, shared) = self.files.get(file)?.clone();
        let index_files = Arc::clone(&self.index_files);
        Some((file, FilePiece { borders, number: number - first, index_files, shared }))
    }
}

/// The boundaries of files, kept for later passes and iterations.
#[derive(Default)]
pub struct KeptBorders {
    files: Mutex<HashMap<(u64, Bytes), Arc<Borders>>>,
    held_bytes: Arc<AtomicUsize>,
}

impl KeptBorders {
    /// Returns the pieces of a source's files. `source` is the number of the source. Fails if a
    /// file is missing.
    pub fn of(
        &self,
        source: u64,
        format: &Arc<dyn Format>,
        files: &[Arc<FileProvenance>],
        block_bytes: u64,
        index_files: &Arc<IndexFiles>,
    ) -> Result<FilePieces> {
        let mut borders = Vec::new();
        for files in files.chunks(NUM_ASKED) {
            let statuses: Vec<_> = match files.iter().any(|file| file.name.is_remote()) {
                false => files.iter().map(|file| Ok((None, file.name.status()?))).collect::<Result<_>>()?,
                true => {
                    let begun: Vec<_> = files.iter().map(|file| file.begin_parts(None)).collect::<Result<_>>()?;
                    let opened = |(remote, status)| (Some(Arc::new(remote)), status);
                    begun.into_iter().map(|begun| begun.wait().map(opened)).collect::<Result<_>>()?
                }
            };
            let mut kept = self.files.lock();
            for (file, (remote, status)) in files.iter().zip(statuses) {
                let key = (source, file.name.bytes().clone());
                let kept_file = kept.get(&key).filter(|kept_file| kept_file.is_of(&status));
                borders.push(match kept_file {
                    Some(kept_file) => {
                        index_files.update(|report| report.num_kept += u64::from(kept_file.are_marked()));
                        Arc::clone(kept_file)
                    }
                    None => {
                        let new = Arc::new(Borders::new(format, file, (remote, status), block_bytes, &self.held_bytes));
                        kept.insert(key, Arc::clone(&new));
                        new
                    }
                });
            }
        }
        let ends = borders.iter().scan(0_u64, |end, borders| {
            *end = end.saturating_add(borders.num_pieces());
            Some(*end)
        });
        let ends = ends.collect();
        let num_open = Arc::new(AtomicUsize::new(0));
        let with_handle = |borders| (borders, SharedHandle::new(&num_open));
        let borders = borders.into_iter().map(with_handle).collect();
        Ok(FilePieces { files: borders, ends, index_files: Arc::clone(index_files) })
    }

    /// The memory that the boundaries use.
    pub fn held_bytes(&self) -> usize {
        self.held_bytes.load(Ordering::Relaxed)
    }
}
