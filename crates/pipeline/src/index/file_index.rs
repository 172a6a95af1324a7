//! The positions of a file's records, found in an index file or by a scan.

use super::index_files::{FoundIndex, IndexFiles, Mode, is_unchanged};
use super::sidecar::{Identity, RecordSpan};
use crate::blocks::block::FileProvenance;
use crate::blocks::file_provenance::{KnownOffset, Layout, Locate};
use crate::records::{Codec, HeaderScan, MARK_BYTES, RandomAccess, RecordPosition, ScanFault, ScanResult};
use crate::row_order::OrderStage;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::files::name::FileName;
use headrace_engine::files::positioned::OpeningFile;
use headrace_engine::files::storage::Status;
use headrace_engine::sync::Mutex;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The positions of one file's records.
#[derive(Debug)]
pub struct FileIndex {
    file: Arc<FileProvenance>,
    status: Status,
    layout: Option<Arc<Layout>>,
    source: PositionSource,
}

#[derive(Debug)]
enum PositionSource {
    /// By a scan.
    Scanned(ScanResult),
    /// In an index file.
    Indexed(Box<Indexed>),
}

#[derive(Debug)]
struct Indexed {
    index: FoundIndex,
    files: Arc<IndexFiles>,
    /// The result of a scan, made after part of the index turned out to be damaged.
    rescanned: OnceLock<ScanResult>,
    /// Held by the thread that is scanning.
    scanning: Mutex<()>,
    /// True if the scan has written a new index.
    is_replaced: AtomicBool,
}

impl FileIndex {
    /// Returns `known` if it matches the file's current content. Otherwise reads the positions from
    /// an index file or scans the file and writes an index file. Records after damage are left out.
    /// `stage` needs the positions.
    pub fn of(
        access: &dyn RandomAccess,
        file: &Arc<FileProvenance>,
        begun: OpeningFile,
        kept: Option<Arc<Self>>,
        files: &Arc<IndexFiles>,
        stage: OrderStage,
    ) -> Result<Arc<Self>> {
        let index = Self::obtain(access, file, begun, kept, files, stage)?;
        if index.faults().is_empty() {
            access.check_len(file, index.len())?;
        }
        Ok(index)
    }

    fn obtain(
        access: &dyn RandomAccess,
        file: &Arc<FileProvenance>,
        begun: OpeningFile,
        kept: Option<Arc<Self>>,
        files: &Arc<IndexFiles>,
        stage: OrderStage,
    ) -> Result<Arc<Self>> {
        let kind = access.kind();
        if kind.is_some() && files.mode() == Mode::Off {
            return Err(refused(file, stage));
        }
        let (input, status) = begun.wait()?;
        if let Some(kept) = kept.as_ref().filter(|kept| kept.is_of(&status) && kept.fits(access)) {
            files.update(|report| report.num_kept += u64::from(kind.is_some()));
            return Ok(Arc::clone(kept));
        }
        // The file's modification time may have been set back. An index does not record this, but
        // the earlier status does.
        let is_other =
            kept.is_some_and(|kept| !kept.is_of(&status) && Identity::of(&kept.status) == Identity::of(&status));
        if !is_other && let Some(index) = Self::opened(access, file, &status, files)? {
            files.update(|report| report.num_opened += 1);
            return Ok(Arc::new(index));
        }
        let mut header_scan = HeaderScan::new(input, file, status.len)?;
        if !is_uncompressed(access.codec(), file, &mut header_scan)? {
            return Err(compressed(file, stage));
        }
        // Another pipeline may detect the compression from the content.
        let kind = kind.filter(|_| matches!(is_uncompressed(Codec::ByContent, file, &mut header_scan), Ok(true)));
        let identity = kind.as_ref().and_then(|_| files.begin(&status));
        let scan = access.scan(file, &mut header_scan)?;
        if let Some(kind) = kind {
            files.update(|report| {
                report.num_scanned += 1;
                report.scanned_bytes += status.len;
            });
            let is_whole = scan.faults.is_empty() && status.len > 0;
            if let Some(identity) = identity.filter(|_| is_whole)
                && is_unchanged(&file.name, &status)?
            {
                files.write(&file.name, &kind, &identity, &scan);
            }
        }
        let layout = scan.layout.clone();
        Ok(Arc::new(Self { file: Arc::clone(file), status, layout, source: PositionSource::Scanned(scan) }))
    }

    /// Reads the positions from the file's index file, without a scan. Returns `None` if there is
    /// no index or it does not match the file's current content.
    pub fn from_index_file(
        access: &dyn RandomAccess,
        file: &Arc<FileProvenance>,
        files: &Arc<IndexFiles>,
    ) -> Result<Option<Self>> {
        let status = file.name.status()?;
        if status.is_regular && status.len == 0 && access.kind().is_some() {
            // An empty file has no records and needs no index.
            let source = PositionSource::Scanned(ScanResult::default());
            return Ok(Some(Self { file: Arc::clone(file), status, layout: None, source }));
        }
        Self::opened(access, file, &status, files)
    }

    fn opened(
        access: &dyn RandomAccess,
        file: &Arc<FileProvenance>,
        status: &Status,
        files: &Arc<IndexFiles>,
    ) -> Result<Option<Self>> {
        let is_plain = matches!(access.codec(), Codec::ByContent | Codec::Known(Compression::None));
        let Some(kind) = access.kind().filter(|_| is_plain) else { return Ok(None) };
        let Some(index) = files.find(&file.name, status, &kind) else { return Ok(None) };
        if access.ends_with_file() && index.sidecar.end() != Some(status.len) {
            return Ok(None);
        }
        if !access.first_offsets().is_none_or(|offsets| index.sidecar.is_dense(offsets)) {
            return Ok(None);
        }
        let num_fields = index.sidecar.header().num_fields;
        // If the header of a table is invalid, a scan reports it.
        let Ok(layout) = access.layout(file) else { return Ok(None) };
        if layout.as_ref().is_some_and(|layout| layout.num_fields as u64 != num_fields) {
            return Ok(None);
        }
        let files = Arc::clone(files);
        let indexed = Indexed {
            index,
            files,
            rescanned: OnceLock::new(),
            scanning: Mutex::new(()),
            is_replaced: AtomicBool::new(false),
        };
        let (file, status) = (Arc::clone(file), status.clone());
        Ok(Some(Self { file, status, layout, source: PositionSource::Indexed(Box::new(indexed)) }))
    }

    fn is_of(&self, status: &Status) -> bool {
        let was = &self.status;
        was.len == status.len && was.version.is_some() && was.version == status.version
    }

    fn fits(&self, access: &dyn RandomAccess) -> bool {
        self.layout.as_ref().is_none_or(|layout| access.fits(layout))
    }

    /// The unreadable parts of the file. A file with an index has none.
    pub fn faults(&self) -> &[ScanFault] {
        match &self.source {
            PositionSource::Scanned(scan) => &scan.faults,
            PositionSource::Indexed(_) => &[],
        }
    }

    /// The number of records.
    pub fn len(&self) -> u64 {
        match &self.source {
            PositionSource::Scanned(scan) => scan.offsets.len(),
            PositionSource::Indexed(indexed) => indexed.index.sidecar.header().count,
        }
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of the file.
    pub fn file_name(&self) -> &FileName {
        &self.file.name
    }

    /// The status of the file when the positions were determined.
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// For tables: the columns of the records.
    pub fn layout(&self) -> Option<&Arc<Layout>> {
        self.layout.as_ref()
    }

    /// The total number of bytes of all records.
    pub fn total_bytes(&self) -> u64 {
        match &self.source {
            PositionSource::Scanned(scan) => scan.offsets.total_bytes(),
            PositionSource::Indexed(indexed) => indexed.index.sidecar.total_bytes(),
        }
    }

    /// The memory that it uses, in bytes, not counting mapped pages.
    pub fn memory_bytes(&self) -> usize {
        match &self.source {
            PositionSource::Scanned(scan) => scan.memory_bytes(),
            PositionSource::Indexed(indexed) => indexed.index.sidecar.memory_bytes(),
        }
    }

    /// The path of the index file, if the positions come from one.
    pub fn path(&self) -> Option<&Path> {
        match &self.source {
            PositionSource::Scanned(_) => None,
            PositionSource::Indexed(indexed) => Some(&indexed.index.path),
        }
    }

    /// The position of record `index`, which must be less than [`FileIndex::len`]. If that part of
    /// the index file is damaged, the file is scanned.
    pub fn span(&self, access: &dyn RandomAccess, index: u64) -> Result<RecordSpan> {
        match &self.source {
            PositionSource::Scanned(scan) => Ok(span_of(scan, index)),
            PositionSource::Indexed(indexed) => match indexed.span(index) {
                Some(span) => Ok(span),
                None => self.rescan(access, indexed).map(|scan| span_of(scan, index)),
            },
        }
    }

    /// The position of record `index`.
    pub fn position(&self, access: &dyn RandomAccess, index: u64) -> Result<RecordPosition> {
        let RecordSpan { range, number } = self.span(access, index)?;
        Ok(RecordPosition { offset_bytes: range.start, record: number })
    }

    /// Fails if record `index` is not at the position stored in an index file. The index then
    /// belongs to a different file, even though its header matches.
    pub fn check(&self, access: &dyn RandomAccess, index: u64, span: &RecordSpan) -> Result<()> {
        let PositionSource::Indexed(indexed) = &self.source else { return Ok(()) };
        match span_of(self.rescan(access, indexed)?, index) == *span {
            true => Ok(()),
            false => Err(self.foreign(indexed, &format!("record {index} is not at byte {}", span.range.start))),
        }
    }

    /// Scans a file whose index is damaged. This happens only once.
    fn rescan<'a>(&self, access: &dyn RandomAccess, indexed: &'a Indexed) -> Result<&'a ScanResult> {
        let _scanning = indexed.scanning.lock();
        if let Some(scan) = indexed.rescanned.get() {
            return Ok(scan);
        }
        let (input, status) = self.file.begin_parts(Some(&self.status))?.wait()?;
        if !self.is_of(&status) {
            let text = format!("{}: the file changed while it was read", self.file.name.text());
            return Err(Error::failed_precondition(format!("{text}. Finish writing the files before you read them")));
        }
        let scan = access.scan(&self.file, &mut HeaderScan::new(input, &self.file, status.len)?)?;
        indexed.files.update(|report| {
            report.num_scanned += 1;
            report.scanned_bytes += status.len;
        });
        // A damaged index must not be used again, and neither must an index of a different file.
        indexed.index.remove();
        if let Some(fault) = scan.faults.first() {
            return Err(fault.error.clone());
        }
        let header = indexed.index.sidecar.header();
        let written = indexed.files.write(&self.file.name, &header.kind, &header.identity, &scan);
        indexed.is_replaced.store(written.is_some(), Ordering::Relaxed);
        if scan.offsets.len() != header.count {
            let text = format!("the file has {} records, not {}", scan.offsets.len(), header.count);
            return Err(self.foreign(indexed, &text));
        }
        Ok(indexed.rescanned.get_or_init(|| scan))
    }

    #[cold]
    fn foreign(&self, indexed: &Indexed, text: &str) -> Error {
        let remedy = match indexed.is_replaced.load(Ordering::Relaxed) {
            true => "A new index was written; start again.",
            false => "Delete it, and start again.",
        };
        Error::failed_precondition(format!(
            "{}: the index does not belong to {}: {text}. {remedy}",
            indexed.index.path.display(),
            self.file.name.text()
        ))
    }

    /// The number of record `index` in the file, if known without a scan.
    pub fn number(&self, index: u64) -> Option<u64> {
        match &self.source {
            PositionSource::Scanned(scan) => Some(scan.numbers.get(index)),
            PositionSource::Indexed(indexed) => indexed.span(index).map(|span| span.number),
        }
    }
}

impl Indexed {
    fn span(&self, index: u64) -> Option<RecordSpan> {
        match self.rescanned.get() {
            Some(scan) => Some(span_of(scan, index)),
            None => self.index.sidecar.span(index),
        }
    }
}

fn span_of(scan: &ScanResult, index: u64) -> RecordSpan {
    RecordSpan { range: scan.offsets.range(index), number: scan.numbers.get(index) }
}

impl Locate for FileIndex {
    fn offset(&self, _file: &Arc<FileProvenance>, record: u64) -> Option<u64> {
        let scan = match &self.source {
            PositionSource::Scanned(scan) => scan,
            PositionSource::Indexed(indexed) => match indexed.rescanned.get() {
                Some(scan) => scan,
                None => {
                    let sidecar = &indexed.index.sidecar;
                    return sidecar.span(sidecar.find(record)?).map(|span| span.range.start);
                }
            },
        };
        scan.numbers.find(record, scan.offsets.len()).map(|index| scan.offsets.range(index).start)
    }

    fn known_offset(&self, file: &Arc<FileProvenance>, record: u64) -> Option<KnownOffset> {
        self.offset(file, record).map(KnownOffset::At)
    }
}

#[cold]
fn refused(file: &FileProvenance, stage: OrderStage) -> Error {
    Error::invalid_argument(format!(
        "{}: {}: finding its records needs an index, but the pipeline has options(index=\"off\"). Remove that option{}",
        stage.name(),
        file.name.text(),
        stage.or_window()
    ))
}

#[cold]
fn compressed(file: &FileProvenance, stage: OrderStage) -> Error {
    Error::invalid_argument(format!(
        "{}: {}: the file is compressed, so its records cannot be accessed at random. Decompress the files{}",
        stage.name(),
        file.name.text(),
        stage.or_window()
    ))
}

/// Returns false if a file is compressed, because its records cannot be accessed individually.
pub(super) fn is_uncompressed(codec: Codec, file: &FileProvenance, header_scan: &mut HeaderScan) -> Result<bool> {
    let codec = match codec {
        Codec::ByContent => {
            let start = header_scan.at(0, MARK_BYTES)?;
            Codec::of_file(&start[..start.len().min(MARK_BYTES)], file.name.text())?
        }
        codec => codec,
    };
    Ok(codec == Codec::Known(Compression::None))
}
