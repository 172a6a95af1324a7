//! Manages index files: where they are stored, and which one belongs to a file.

use super::idx_files;
use super::sidecar::{self, Header, Identity, SUFFIX, Sidecar, Stamp};
use crate::records::ScanResult;
use bytes::Bytes;
use headrace_engine::error::Result;
use headrace_engine::files::atomic_file::AtomicFile;
use headrace_engine::files::mapping;
use headrace_engine::files::name::FileName;
use headrace_engine::files::output::{Output, WrittenFile};
use headrace_engine::files::storage::Status;
use headrace_engine::sync::Mutex;
use headrace_engine::tensor::allocate;
use siphasher::sip128::{Hasher128, SipHasher13};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hash::Hasher;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How much of a file's name is used in the name of its index in another directory.
const MOST_NAME_BYTES: usize = 100;
/// Two writes within this time may leave the same modification time.
const TICK: Duration = Duration::from_millis(20);
/// Replaces [`TICK`] if times are in whole seconds.
const COARSE_TICK: Duration = Duration::from_secs(2);

/// The number of bytes to write at once.
const BUFFER_BYTES: usize = 1 << 18;
/// The number of bytes to read from a remote index to check that it belongs to the file.
const START_BYTES: u64 = 64 << 10;

/// How index files are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Read them, and write them after a scan.
    Auto,
    /// Keep positions only in memory.
    Memory,
    /// Do without positions: nothing is scanned.
    Off,
}

/// The index files of one iteration.
#[derive(Debug)]
pub struct IndexFiles {
    mode: Mode,
    /// The directories for indexes that cannot be stored next to their files, in order of
    /// preference.
    directories: Vec<PathBuf>,
    report: Mutex<Report>,
}

/// Counts where the positions of records came from.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The number of files whose positions were kept from an earlier iteration.
    pub num_kept: u64,
    /// The number of files whose index was opened.
    pub num_opened: u64,
    /// The number of scanned files.
    pub num_scanned: u64,
    /// The total size of the scanned files in bytes.
    pub scanned_bytes: u64,
    /// The number of indexes that were written.
    pub num_written: u64,
    /// The directories of the indexes that were opened or written.
    pub directories: BTreeSet<PathBuf>,
    /// Why an index could not be written, if that happened.
    pub failure: Option<String>,
}

/// An index that belongs to a file.
#[derive(Debug)]
pub struct FoundIndex {
    /// Its path on this machine.
    pub path: PathBuf,
    /// Its content.
    pub sidecar: Sidecar,
}

impl IndexFiles {
    /// Indexes that cannot be stored next to their files go to the first of `directories` that is
    /// writable.
    pub fn new(mode: Mode, directories: Vec<PathBuf>) -> Self {
        Self { mode, directories, report: Mutex::default() }
    }

    /// No index files.
    pub fn none() -> Self {
        Self::new(Mode::Memory, Vec::new())
    }

    /// How index files are used.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The report so far.
    pub fn report(&self) -> Report {
        self.report.lock().clone()
    }

    /// Updates the report.
    pub fn update(&self, change: impl FnOnce(&mut Report)) {
        change(&mut self.report.lock());
    }

    fn add_directory(&self, path: &Path) {
        let directory = path.parent().unwrap_or(Path::new("")).to_owned();
        self.update(|report| {
            report.directories.insert(directory);
        });
    }

    /// The possible paths of a file's index, in order of preference.
    fn paths(&self, name: &FileName, kind: &str) -> Vec<PathBuf> {
        let beside = name.url().is_none().then(|| beside(&name.path()));
        let elsewhere = self.directories.iter().map(|directory| directory.join(name_elsewhere(name, kind)));
        beside.into_iter().chain(elsewhere).collect()
    }

    /// Finds an undamaged index for records of this kind in a file with this status.
    pub fn find(&self, name: &FileName, status: &Status, kind: &str) -> Option<FoundIndex> {
        let identity = Identity::of(status).filter(|_| self.mode == Mode::Auto)?;
        let is_wanted = |header: &Header| header.kind == kind && header.identity == identity;
        let here = self.paths(name, kind).into_iter().find_map(|path| {
            let sidecar = open(&path).ok().filter(|sidecar| is_wanted(sidecar.header()))?;
            Some(FoundIndex { path, sidecar })
        });
        let indexed = here.or_else(|| self.find_remote(name, kind, is_wanted));
        let indexed = indexed.or_else(|| {
            let (path, sidecar) = idx_files::find(name, &identity, kind)?;
            Some(FoundIndex { path, sidecar })
        })?;
        self.add_directory(&indexed.path);
        Some(indexed)
    }

    /// Finds the index next to a remote file, and copies it to a directory on this machine.
    fn find_remote(&self, name: &FileName, kind: &str, is_wanted: impl Fn(&Header) -> bool) -> Option<FoundIndex> {
        let beside = remote_beside(name)?;
        let (mut input, _) = FileName::new(beside.clone()).open().ok()?;
        let mut start = Vec::new();
        allocate::read_to_end(&mut (&mut input).take(START_BYTES), &mut start).ok()?;
        sidecar::header_of(&start).ok().filter(is_wanted)?;
        for path in self.paths(name, kind) {
            let Ok((mut file, mut output)) = replacement(&path) else { continue };
            let copied = output.write_all(&start).and_then(|()| io::copy(&mut input, &mut output));
            if copied.and_then(|_| output.flush()).and_then(|()| file.publish()).is_err() {
                // The input has been partly read, so it cannot be copied again.
                return None;
            }
            return open(&path).ok().map(|sidecar| FoundIndex { path, sidecar });
        }
        allocate::read_to_end(&mut input, &mut start).ok()?;
        Sidecar::open(&start.into()).ok().map(|sidecar| FoundIndex { path: beside.into(), sidecar })
    }

    /// Finds undamaged tables of this kind for a file with this status. Those of remote files are
    /// only on this machine.
    pub fn find_tables(&self, name: &FileName, status: &Status, kind: &str) -> Option<Bytes> {
        let identity = Identity::of(status).filter(|_| self.mode == Mode::Auto)?;
        let (path, tables) = self.paths(name, kind).into_iter().find_map(|path| {
            let (header, tables) = open_tables(&path).ok()?;
            (header.kind == kind && header.identity == identity).then_some((path, tables))
        })?;
        self.add_directory(&path);
        Some(tables)
    }

    /// Waits until any further change of the file would change its modification time, so that later
    /// reads return the content at that time. Returns `None` if that is impossible for a file with
    /// this status.
    pub fn begin(&self, status: &Status) -> Option<Identity> {
        let identity = Identity::of(status).filter(|_| self.mode == Mode::Auto)?;
        let rest = rest_of_tick(&identity);
        // Don't make the user wait for seconds. A later start writes the index.
        (rest <= TICK).then(|| std::thread::sleep(rest))?;
        Some(identity)
    }

    /// After a scan without errors, writes the index of a file to the first possible place. A
    /// failure is recorded in the report.
    pub fn write(&self, name: &FileName, kind: &str, identity: &Identity, scan: &ScanResult) -> Option<PathBuf> {
        self.write_with(name, kind, identity, |output| sidecar::write(output, kind, identity, scan))
    }

    /// Writes the tables of a file, as [`IndexFiles::write`] does. `count` is for display.
    pub fn write_tables(
        &self,
        name: &FileName,
        kind: &str,
        identity: &Identity,
        count: u64,
        tables: &[u8],
    ) -> Option<PathBuf> {
        self.write_with(name, kind, identity, |output| sidecar::write_tables(output, kind, identity, count, tables))
    }

    fn write_with(
        &self,
        name: &FileName,
        kind: &str,
        identity: &Identity,
        content: impl Fn(&mut IndexOutput) -> io::Result<()>,
    ) -> Option<PathBuf> {
        let mut failure = None;
        for path in self.paths(name, kind) {
            if is_of_another_kind(&path, kind, identity) {
                continue;
            }
            match replacement(&path).and_then(|(file, output)| finish(file, output, &content)) {
                Ok(()) => {
                    self.add_directory(&path);
                    self.update(|report| report.num_written += 1);
                    return Some(path);
                }
                Err(error) => failure = Some(format!("{}: {error}", path.display())),
            }
        }
        self.update(|report| report.failure = report.failure.take().or(failure));
        None
    }
}

impl FoundIndex {
    /// Removes the index. A failure is ignored, because a damaged or foreign index is never trusted
    /// anyway.
    pub fn remove(&self) {
        if self.path.as_os_str().as_encoded_bytes().ends_with(SUFFIX.as_bytes()) {
            fs::remove_file(&self.path).unwrap_or_default();
        }
    }
}

/// Opens an index of records.
pub fn open(path: &Path) -> io::Result<Sidecar> {
    Sidecar::open(&mapped(path)?).map_err(|fault| io::Error::new(io::ErrorKind::InvalidData, fault))
}

/// Opens an index that holds tables other than the positions of records.
pub fn open_tables(path: &Path) -> io::Result<(Header, Bytes)> {
    sidecar::open_tables(&mapped(path)?).map_err(|fault| io::Error::new(io::ErrorKind::InvalidData, fault))
}

fn mapped(path: &Path) -> io::Result<Bytes> {
    let file = File::open(path)?;
    match file.metadata()? {
        metadata if metadata.is_file() && metadata.len() > 0 => mapping::map(&file),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The time until a change of the file would change its modification time.
pub fn rest_of_tick(identity: &Identity) -> Duration {
    let Stamp::Modified { seconds, nanos } = identity.stamp else { return Duration::ZERO };
    let since = Duration::new(u64::try_from(seconds).unwrap_or_default(), nanos);
    let modified = SystemTime::UNIX_EPOCH.checked_add(since);
    // A user or another clock set this time, which is in the future.
    let age = modified.and_then(|modified| SystemTime::now().duration_since(modified).ok());
    let tick = if nanos == 0 { COARSE_TICK } else { TICK };
    age.map_or(Duration::ZERO, |age| tick.saturating_sub(age))
}

/// Writes a temporary index and renames it, so that other programs see either the old or the new
/// one. It need not reach the disk at once, because checksums detect damage after a crash.
pub fn write(path: &Path, kind: &str, identity: &Identity, scan: &ScanResult) -> io::Result<()> {
    let (file, output) = replacement(path)?;
    finish(file, output, |output| sidecar::write(output, kind, identity, scan))
}

/// Like [`write`], for a name that may be a URL.
pub fn write_named(name: &FileName, kind: &str, identity: &Identity, scan: &ScanResult) -> io::Result<()> {
    if name.url().is_none() {
        return write(&name.path(), kind, identity, scan);
    }
    let (file, output) = AtomicFile::create(name)?;
    let output = BufWriter::with_capacity(BUFFER_BYTES, output);
    finish(file, output, |output| sidecar::write(output, kind, identity, scan))
}

/// Where an index is written.
type IndexOutput = BufWriter<Output<WrittenFile>>;

fn replacement(path: &Path) -> io::Result<(AtomicFile, IndexOutput)> {
    let directory = path.parent().ok_or(io::ErrorKind::NotFound)?;
    if !directory.as_os_str().is_empty() {
        fs::create_dir_all(directory)?;
    }
    let (file, output) = AtomicFile::over(path.to_owned())?;
    Ok((file, BufWriter::with_capacity(BUFFER_BYTES, output)))
}

fn finish(
    mut file: AtomicFile,
    mut output: IndexOutput,
    content: impl Fn(&mut IndexOutput) -> io::Result<()>,
) -> io::Result<()> {
    content(&mut output)?;
    output.flush()?;
    file.publish()
}

/// The name for the index of a file, in a directory or next to the file. Returns `None` if it
/// cannot be next to the file.
pub fn target(name: &FileName, kind: &str, directory: Option<&Path>) -> Option<Vec<u8>> {
    if let Some(directory) = directory {
        return Some(directory.join(name_elsewhere(name, kind)).into_os_string().into_encoded_bytes());
    }
    match name.url() {
        Some(_) => remote_beside(name).map(String::into_bytes),
        None => Some(beside(&name.path()).into_os_string().into_encoded_bytes()),
    }
}

/// The URL of an index next to a remote file, unless the file's URL is a query.
fn remote_beside(name: &FileName) -> Option<String> {
    name.url().filter(|url| !url.contains(['?', '#'])).map(|url| format!("{url}{SUFFIX}"))
}

/// The path of an index next to its file.
pub fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(SUFFIX);
    beside.into()
}

/// Returns true if the file has an index for a different kind of record, which may be in use.
fn is_of_another_kind(path: &Path, kind: &str, identity: &Identity) -> bool {
    let header = open(path).map(|sidecar| sidecar.header().clone());
    let header = header.or_else(|_| open_tables(path).map(|(header, _)| header));
    header.is_ok_and(|header| header.kind != kind && header.identity == *identity)
}

/// The name of an index in a directory shared by many files. It is unique for each file.
fn name_elsewhere(name: &FileName, kind: &str) -> String {
    let mut hasher = SipHasher13::new();
    match name.url() {
        Some(url) => hasher.write(url.as_bytes()),
        None => {
            let path = name.path();
            let path = std::path::absolute(&path).unwrap_or_else(|_| path.to_path_buf());
            hasher.write(path.as_os_str().as_encoded_bytes());
        }
    }
    hasher.write_u8(0);
    hasher.write(kind.as_bytes());
    let hash = hasher.finish128().as_u128();
    let last = name.text().rsplit('/').next().unwrap_or_default();
    let is_plain = |letter: &char| letter.is_alphanumeric() || "-_.".contains(*letter);
    let mut short = String::new();
    for letter in last.chars().filter(is_plain) {
        if short.len() + letter.len_utf8() > MOST_NAME_BYTES {
            break;
        }
        short.push(letter);
    }
    format!("{short}-{hash:032x}{SUFFIX}")
}

/// Returns true if a file still has the same status. Remote files cannot change while they are
/// being read.
pub fn is_unchanged(name: &FileName, status: &Status) -> Result<bool> {
    if name.url().is_some() {
        return Ok(true);
    }
    let now = name.status()?;
    Ok(now.len == status.len && now.version == status.version)
}
