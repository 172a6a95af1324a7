//! The files that rows are read from: how to open them, their pass, and the record numbers in
//! errors.

use crate::blocks::row_id::Pass;
use headrace_engine::error::Result;
use headrace_engine::files::input::Input;
use headrace_engine::files::name::FileName;
use headrace_engine::files::positioned::{self, Positioned};
use headrace_engine::files::storage::{self, Ahead, Cache, Coming, OpeningStream, Status};
use headrace_engine::numbering::Numbering;
use headrace_engine::philox::mix;
use headrace_engine::sync::Mutex;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// A record that a row was read from: its file and its number.
pub type Origin = (Arc<FileProvenance>, u64);

/// A file that rows were read from, or another source of rows, in one pass over it.
#[derive(Clone, Debug)]
pub struct FileProvenance {
    /// Its path; empty for sources without a name, such as the batches of a pipeline.
    pub name: FileName,
    /// The names and numbers of its records in errors.
    pub numbering: Numbering,
    /// Its number among the files of the source.
    pub number: u64,
    /// The number of the part of the file that is read, for formats that are read in parts.
    pub part: usize,
    /// The pass in which it is read.
    pub pass: Pass,
    /// True for rows that repeat another rank's rows so that all ranks have the same number.
    pub is_repeated: bool,
    /// For a table: the columns of its records. Set by the task that opens it.
    pub layout: OnceLock<Arc<Layout>>,
    /// Finds the offsets of its records, if they may be needed.
    pub locate: Option<Arc<dyn Locate>>,
    /// For rows built from several others: the number of those from each part of a mixture.
    pub parts: Option<Arc<[u64]>>,
    /// For rows built from several others: the records of those, if they are remembered.
    pub made_of: Option<Arc<[Origin]>>,
    /// For a remote file: the cache of its parts, if any.
    pub cache: Option<Arc<Cache>>,
    /// For a remote file: the opening in progress.
    pub begun: Arc<PendingRequests>,
    /// The size in bytes of the largest file of the source that was opened; 0 if none was.
    pub largest_bytes: Arc<AtomicU64>,
    /// Set if records are counted from a position in the file. Counts the earlier records when
    /// needed.
    pub before: Option<Arc<dyn Before>>,
}

/// The number of records before a position in a file.
pub trait Before: fmt::Debug + Send + Sync {
    /// Reads the file up to that position, once.
    fn num_records(&self) -> Result<u64>;

    /// A number for the position, another one for each position of a file.
    fn number(&self) -> u64;
}

/// The opening of a remote file, or the request of parts of it, if it is in progress.
#[derive(Default)]
pub struct PendingRequests(Mutex<Option<OpeningStream>>, Mutex<Option<RequestedParts>>);

/// Parts of an open remote file that have been requested.
pub struct RequestedParts {
    /// The file.
    pub file: Positioned,
    /// Its status.
    pub status: Status,
    /// The request.
    pub coming: Box<dyn Coming>,
}

impl PendingRequests {
    /// True unless the file is being opened and cannot be read yet.
    pub fn is_ready(&self) -> bool {
        self.0.lock().as_mut().is_none_or(|opening| opening.is_ready())
            && self.1.lock().as_mut().is_none_or(|parts| parts.coming.is_ready())
    }
}

impl fmt::Debug for PendingRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PendingRequests")
    }
}

/// Finds the offsets of records that were read before.
pub trait Locate: fmt::Debug + Send + Sync {
    /// The offset of a record with its framing in its uncompressed file. May read the file again;
    /// `None` if the file has changed.
    fn offset(&self, file: &Arc<FileProvenance>, record: u64) -> Option<u64>;

    /// The offset of a record, or of one before it, without reading the file.
    fn known_offset(&self, file: &Arc<FileProvenance>, record: u64) -> Option<KnownOffset>;
}

/// The offset of a record, if it is known without reading the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownOffset {
    /// The offset of the record itself.
    At(u64),
    /// The first record of a block, at or before the requested one.
    From {
        /// Its number.
        record: u64,
        /// Its offset.
        offset_bytes: u64,
    },
}

/// The positions of the requested columns among the fields of a record.
#[derive(Debug)]
pub struct Layout {
    /// The names of the columns; empty for files without a header.
    pub names: Arc<[String]>,
    /// The number of each field that is requested and the number of its column, in the order of the
    /// fields.
    pub fields: Vec<(usize, usize)>,
    /// The number of fields of a record.
    pub num_fields: usize,
}

impl Layout {
    /// All columns, this many, of files without a header.
    pub fn of_all(count: usize) -> Self {
        Self { names: Arc::new([]), fields: (0..count).map(|at| (at, at)).collect(), num_fields: count }
    }
}

impl FileProvenance {
    /// File number `number` of a source.
    pub fn new(name: FileName, numbering: Numbering, number: u64) -> Self {
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
            begun: Arc::default(),
            largest_bytes: Arc::default(),
            before: None,
        }
    }

    /// The files of a source, by their names.
    pub fn of_source(names: impl IntoIterator<Item = FileName>, numbering: Numbering) -> Vec<Arc<Self>> {
        let largest_bytes = Arc::<AtomicU64>::default();
        let file = |(name, number)| {
            Arc::new(Self { largest_bytes: Arc::clone(&largest_bytes), ..Self::new(name, numbering, number) })
        };
        names.into_iter().zip(0..).map(file).collect()
    }

    /// The number of a record in the whole file. May read the file.
    pub fn record_number(&self, record: u64) -> Result<u64> {
        match &self.before {
            None => Ok(record),
            Some(before) => before.num_records().map(|before| before.saturating_add(record)),
        }
    }

    /// The name of a record in messages: `record 7`, `line 8`. May read the file.
    pub fn record_name(&self, record: u64) -> String {
        match self.record_number(record) {
            Ok(record) => self.numbering.of(record),
            // The file cannot be read any more.
            Err(_) => format!("a {}", self.numbering.word),
        }
    }

    /// The same file, to be opened again.
    pub fn reopened(&self) -> Arc<Self> {
        Arc::new(Self { layout: OnceLock::new(), begun: Arc::default(), ..self.clone() })
    }

    /// Part number `part` of the file.
    pub fn in_part(&self, part: usize) -> Arc<Self> {
        Arc::new(Self { part, ..self.clone() })
    }

    /// The same file; if it is remote, parts of it are kept in `cache`.
    pub fn cached(&self, cache: &Arc<Cache>) -> Arc<Self> {
        Arc::new(Self { cache: Some(Arc::clone(cache)), ..self.clone() })
    }

    /// Begins to open a remote file, and to read up to `num_bytes` of it. The next open continues
    /// this. Does not wait.
    pub fn begin(&self, num_bytes: usize) {
        if let Some(url) = self.name.url()
            && let Ok(storage) = storage::storage()
        {
            let ahead = Ahead { num_bytes, is_eager: true, cache: self.cache.clone() };
            *self.begun.0.lock() = Some(storage.begin(url, &ahead));
        }
    }

    /// Keeps a request of parts of the file, until [`FileProvenance::take_parts`] takes it.
    pub fn keep_parts(&self, parts: RequestedParts) {
        *self.begun.1.lock() = Some(parts);
    }

    /// The request of parts that was kept.
    pub fn take_parts(&self) -> Option<RequestedParts> {
        self.begun.1.lock().take()
    }

    /// Opens the file to read it from its beginning to its end. Continues opening a file after
    /// [`FileProvenance::begin`].
    pub fn open(&self) -> Result<(Input, Status)> {
        let begun = self.begun.0.lock().take();
        let (input, status) = match begun {
            Some(begun) => begun.wait().map(Input::of_stream).map_err(|error| self.name.not_opened(&error)),
            None => self.name.open(),
        }?;
        self.largest_bytes.fetch_max(status.len, Relaxed);
        Ok((input, status))
    }

    /// The size of the file in bytes, `None` if it is unknown.
    pub fn size(&self) -> Option<u64> {
        self.name.status().ok().filter(|status| status.is_regular).map(|status| status.len)
    }

    /// Begins to open the file to read parts of it. For a remote file with its status in `known`,
    /// the storage is not queried for it.
    pub fn begin_parts(&self, status: Option<&Status>) -> Result<positioned::OpeningFile<'_>> {
        positioned::OpeningFile::new(&self.name, self.cache.as_ref(), status)
    }

    /// The same file, with this layout of its records.
    pub fn laid_out(&self, layout: &Arc<Layout>) -> Arc<Self> {
        Arc::new(Self { layout: OnceLock::from(Arc::clone(layout)), ..self.clone() })
    }

    /// The same file, with records that are counted from a position in it.
    pub fn counted_from(&self, before: Arc<dyn Before>) -> Arc<Self> {
        Arc::new(Self { before: Some(before), ..self.clone() })
    }

    /// The same file, with `locate` to find its records.
    pub fn with_locate(&self, locate: Arc<dyn Locate>) -> Arc<Self> {
        Arc::new(Self { locate: Some(locate), ..self.clone() })
    }

    /// The provenance of rows without files: rows called `word` in messages, counted from 0.
    pub fn unnamed(word: &'static str, pass: Pass) -> Arc<Self> {
        let numbering = Numbering { word, first: 0 };
        Arc::new(Self { pass, ..Self::new(FileName::new(""), numbering, 0) })
    }

    /// The same file, for rows that repeat others.
    pub fn repeated(&self) -> Arc<Self> {
        Arc::new(Self { is_repeated: true, ..self.clone() })
    }

    /// The same file in another pass. The branch of the old pass is mixed into the new one, so that
    /// combined pipelines stay distinct.
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
