//! The files that rows come from: how to open them, the current pass, and record numbers for
//! error messages.

use crate::blocks::row_id::Pass;
use headrace_engine::error::Result;
use headrace_engine::files::input::Input;
use headrace_engine::files::name::FileName;
use headrace_engine::files::positioned::{self, Positioned};
use headrace_engine::files::storage::{Ahead, Cache, Coming, OpeningStream, Status};
use headrace_engine::numbering::Numbering;
use headrace_engine::philox::mix;
use headrace_engine::sync::Mutex;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// The file and the record number that a row was read from.
pub type Origin = (Arc<FileProvenance>, u64);

/// A file, or another source of rows, within one pass over it.
#[derive(Clone, Debug)]
pub struct FileProvenance {
    /// The path; empty if the source has no name, such as the batches of a pipeline.
    pub name: FileName,
    /// How error messages name and count its records.
    pub numbering: Numbering,
    /// The number of the file within its source.
    pub number: u64,
    /// The part of the file that is read, for formats that are read in parts.
    pub part: usize,
    /// The pass that reads it.
    pub pass: Pass,
    /// True if the rows repeat another rank's rows to give all ranks the same number.
    pub is_repeated: bool,
    /// For tables: the columns of each record. The task that opens the file sets it.
    pub layout: OnceLock<Arc<Layout>>,
    /// Finds the offsets of records, for files where they may be needed.
    pub locate: Option<Arc<dyn Locate>>,
    /// For rows built from other rows: the number of rows from each part of a mixture.
    pub parts: Option<Arc<[u64]>>,
    /// For rows built from other rows: their records, if the pipeline keeps track of them.
    pub made_of: Option<Arc<[Origin]>>,
    /// For remote files: the cache for downloaded parts, if any.
    pub cache: Option<Arc<Cache>>,
    /// For remote files: the request that is opening the file.
    pub begun: Option<Arc<PendingRequests>>,
    /// The size in bytes of the largest file of the source opened so far, or 0.
    pub largest_bytes: Arc<AtomicU64>,
    /// Set if record numbers count from a position within the file. Counts the records before that
    /// position on request.
    pub before: Option<Arc<dyn Before>>,
}

/// Counts the records before a position in a file.
pub trait Before: fmt::Debug + Send + Sync {
    /// Counts the records by reading the file up to the position, once.
    fn num_records(&self) -> Result<u64>;

    /// A number that identifies the position within the file.
    fn number(&self) -> u64;
}

/// A request that opens a remote file, and a request for parts of it, while they are in progress.
#[derive(Default)]
pub struct PendingRequests(Mutex<Option<OpeningStream>>, Mutex<Option<RequestedParts>>);

/// Parts of an open remote file that were requested.
pub struct RequestedParts {
    /// The file.
    pub file: Positioned,
    /// Its status.
    pub status: Status,
    /// The request.
    pub coming: Box<dyn Coming>,
}

impl PendingRequests {
    fn is_ready(&self) -> bool {
        self.0.lock().as_mut().is_none_or(|opening| opening.is_ready())
            && self.1.lock().as_mut().is_none_or(|parts| parts.coming.is_ready())
    }
}

impl fmt::Debug for PendingRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PendingRequests")
    }
}

/// Finds the offsets of records that have been read.
pub trait Locate: fmt::Debug + Send + Sync {
    /// Returns a record's offset, including its framing, in the uncompressed file. May read the
    /// file again. Returns `None` if the file has changed.
    fn offset(&self, file: &Arc<FileProvenance>, record: u64) -> Option<u64>;

    /// Returns the offset of a record, or of an earlier record, without reading the file.
    fn known_offset(&self, file: &Arc<FileProvenance>, record: u64) -> Option<KnownOffset>;
}

/// The offset of a record, as far as it is known without reading the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownOffset {
    /// The offset of the record itself.
    At(u64),
    /// The first record of a block, which is the requested record or an earlier one.
    From {
        /// Its number.
        record: u64,
        /// Its offset.
        offset_bytes: u64,
    },
}

/// Where the requested columns are among the fields of a record.
#[derive(Debug)]
pub struct Layout {
    /// The column names; empty for files without a header.
    pub names: Arc<[String]>,
    /// For each requested field, its number and the number of its column, in field order.
    pub fields: Vec<(usize, usize)>,
    /// The number of fields in a record.
    pub num_fields: usize,
}

impl Layout {
    /// Selects all `count` columns of a file without a header.
    pub fn of_all(count: usize) -> Self {
        Self { names: Arc::new([]), fields: (0..count).map(|at| (at, at)).collect(), num_fields: count }
    }
}

impl FileProvenance {
    /// File `number` of a source.
    pub fn new(name: FileName, numbering: Numbering, number: u64) -> Self {
        let begun = name.is_remote().then(Arc::default);
        Self {
            name,
            numbering,
            number,
            part: 0,
            pass: Pass::default(),
            is_repeated: false,
            layout: OnceLock::new(),
            locate: None,
            parts: None,
            made_of: None,
            cache: None,
            begun,
            largest_bytes: Arc::default(),
            before: None,
        }
    }

    /// Creates the files of a source from their names.
    pub fn of_source(names: impl IntoIterator<Item = FileName>, numbering: Numbering) -> Vec<Arc<Self>> {
        let largest_bytes = Arc::<AtomicU64>::default();
        let file = |(name, number)| {
            Arc::new(Self { largest_bytes: Arc::clone(&largest_bytes), ..Self::new(name, numbering, number) })
        };
        names.into_iter().zip(0..).map(file).collect()
    }

    /// Returns the number of a record counted from the start of the file. May read the file.
    pub fn record_number(&self, record: u64) -> Result<u64> {
        match &self.before {
            None => Ok(record),
            Some(before) => before.num_records().map(|before| before.saturating_add(record)),
        }
    }

    /// Names a record in messages, for example `record 7` or `line 8`. May read the file.
    pub fn record_name(&self, record: u64) -> String {
        match self.record_number(record) {
            Ok(record) => self.numbering.of(record),
            // The file can no longer be read.
            Err(_) => format!("a {}", self.numbering.word),
        }
    }

    /// Returns the same file, to be opened again.
    pub fn reopened(&self) -> Arc<Self> {
        let begun = self.name.is_remote().then(Arc::default);
        Arc::new(Self { layout: OnceLock::new(), begun, ..self.clone() })
    }

    /// Part `part` of the file.
    pub fn in_part(&self, part: usize) -> Arc<Self> {
        Arc::new(Self { part, ..self.clone() })
    }

    /// Returns the same file. If it is remote, its parts are kept in `cache`.
    pub fn cached(&self, cache: &Arc<Cache>) -> Arc<Self> {
        Arc::new(Self { cache: Some(Arc::clone(cache)), ..self.clone() })
    }

    /// Starts opening a remote file and reading up to `num_bytes` of it, without waiting. The next
    /// open continues from there.
    pub fn begin(&self, num_bytes: usize) {
        let Some(pending) = &self.begun else { return };
        let ahead = Ahead { num_bytes, is_eager: true, cache: self.cache.clone() };
        if let Some(opening) = self.name.begin(&ahead) {
            *pending.0.lock() = Some(opening);
        }
    }

    /// Returns false while a request that opens the file or reads parts of it is in progress.
    pub fn has_begun(&self) -> bool {
        self.begun.as_ref().is_none_or(|pending| pending.is_ready())
    }

    /// Stores a request for parts of a remote file until [`FileProvenance::take_parts`] is called.
    pub fn keep_parts(&self, parts: RequestedParts) {
        if let Some(pending) = &self.begun {
            *pending.1.lock() = Some(parts);
        }
    }

    /// Takes the stored request for parts.
    pub fn take_parts(&self) -> Option<RequestedParts> {
        self.begun.as_ref()?.1.lock().take()
    }

    /// Opens the file for reading from start to end, continuing what [`FileProvenance::begin`]
    /// started.
    pub fn open(&self) -> Result<(Input, Status)> {
        let begun = self.begun.as_ref().and_then(|pending| pending.0.lock().take());
        let (input, status) = match begun {
            Some(begun) => begun.wait().map(Input::of_stream).map_err(|error| self.name.not_opened(&error)),
            None => self.name.open(),
        }?;
        self.largest_bytes.fetch_max(status.len, Relaxed);
        Ok((input, status))
    }

    /// The size of the file in bytes, or `None` if unknown.
    pub fn size(&self) -> Option<u64> {
        self.name.status().ok().filter(|status| status.is_regular).map(|status| status.len)
    }

    /// Starts opening the file to read parts of it. If `status` is passed for a remote file, the
    /// storage is not queried again.
    pub fn begin_parts(&self, status: Option<&Status>) -> Result<positioned::OpeningFile<'_>> {
        positioned::OpeningFile::new(&self.name, self.cache.as_ref(), status)
    }

    /// Returns the same file with this record layout.
    pub fn laid_out(&self, layout: &Arc<Layout>) -> Arc<Self> {
        Arc::new(Self { layout: OnceLock::from(Arc::clone(layout)), ..self.clone() })
    }

    /// Returns the same file with record numbers that count from a position in it.
    pub fn counted_from(&self, before: Arc<dyn Before>) -> Arc<Self> {
        Arc::new(Self { before: Some(before), ..self.clone() })
    }

    /// Returns the same file, with `locate` to find record offsets.
    pub fn with_locate(&self, locate: Arc<dyn Locate>) -> Arc<Self> {
        Arc::new(Self { locate: Some(locate), ..self.clone() })
    }

    /// Creates the provenance of rows that have no file. Messages call them `word` and count them
    /// from 0.
    pub fn unnamed(word: &'static str, pass: Pass) -> Arc<Self> {
        let numbering = Numbering { word, first: 0 };
        Arc::new(Self { pass, ..Self::new(FileName::new(""), numbering, 0) })
    }

    /// Returns the same file, marked as repeating other rows.
    pub fn repeated(&self) -> Arc<Self> {
        Arc::new(Self { is_repeated: true, ..self.clone() })
    }

    /// Returns the same file in another pass. The old pass's branch is mixed into the new one, so
    /// that combined pipelines stay distinct.
    pub fn in_pass(self: &Arc<Self>, pass: Pass) -> Arc<Self> {
        let branch = match self.pass.branch {
            0 => pass.branch,
            branch => mix(pass.branch, branch),
        };
        match self.pass == pass {
            true => Arc::clone(self),
            false => {
                let path = pass.path.then(self.pass.path);
                Arc::new(Self { pass: Pass { branch, path, ..pass }, ..Self::clone(self) })
            }
        }
    }
}
