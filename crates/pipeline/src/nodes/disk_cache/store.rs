//! The cache files in a directory: how they are looked up, written and removed.

use crate::checkpoint::Checkpoint;
use crate::index::index_files::rest_of_tick;
use crate::index::sidecar::{Identity, Stamp};
use crate::nodes::disk_cache::encoding::Chunk;
use crate::nodes::disk_cache::entry::{Entry, Table, VERSION, header};
use crate::nodes::disk_cache::formats::Formats;
use crate::nodes::disk_cache::links::without_link;
use crate::nodes::step_facts::{BatchesOfInput, RowShards, StepFacts};
use crate::skip_event::SkipEvent;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::name::FileName;
use headrace_engine::files::storage;
use headrace_engine::sync::Mutex;
use siphasher::sip128::{Hasher128, SipHasher13};
use std::fs::{self, File, OpenOptions};
use std::hash::Hasher;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The file name extension of cache files.
pub const SUFFIX: &str = ".hrcache";
/// The file name extension of notes about the rows of a cache.
const NOTE: &str = ".hrspecs";
/// The file name extension of files that are still being written.
const PART: &str = ".part";
/// The longest time until a change of a file shows up in its modification time.
const TICK: Duration = Duration::from_millis(20);

/// The content of one `cache(directory=...)` stage, for one iteration.
#[derive(Debug)]
pub struct DiskStore {
    directory: PathBuf,
    /// The maximum total size of all caches in the directory, in bytes.
    most_bytes: u64,
    /// A hash of the description of the rows.
    key: String,
    /// The files that the rows are read from.
    files: Vec<FileName>,
    /// True if nothing is read or stored.
    is_off: bool,
    identities: Mutex<Option<IdentitiesResult>>,
    messages: Mutex<Vec<String>>,
}

/// The identities of the files, or the reason why they are unavailable.
type IdentitiesResult = std::result::Result<Arc<[Identity]>, String>;

/// Settings outside the description that affect the rows and the reports about them.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    /// The number of the stage that skips failures, if any.
    pub skipper: Option<usize>,
    /// True if a row is only skipped if its partners in a zip can be skipped too.
    pub is_aligned: bool,
    /// True if the rows may come in any order.
    pub in_any_order: bool,
}

impl DiskStore {
    /// The properties of the step.
    pub const FACTS: StepFacts = StepFacts {
        is_one_to_one: true,
        is_row_wise: false,
        python_worker: None,
        keeps_pieces: false,
        is_cache: true,
        may_end_early: false,
        shards: RowShards::None,
        batches: BatchesOfInput::None,
    };

    /// Creates a store in a directory, for rows whose description has this key and which are read
    /// from these files. If `is_off`, nothing is read or stored.
    pub fn new(directory: PathBuf, most_bytes: u64, key: String, files: Vec<FileName>, is_off: bool) -> Self {
        let (identities, messages) = (Mutex::default(), Mutex::default());
        Self { directory, most_bytes, key, files, is_off, identities, messages }
    }

    /// The messages for the user since the last call.
    pub fn take_messages(&self) -> Vec<String> {
        std::mem::take(&mut *self.messages.lock())
    }

    fn say(&self, message: String) {
        let mut messages = self.messages.lock();
        if !messages.contains(&message) {
            messages.push(message);
        }
    }

    fn say_not_kept(&self, reason: &str) {
        self.say(format!("cache: examples are not stored in {}: {reason}.", self.directory.display()));
    }

    /// The identities of the files at the start of the iteration.
    fn identities(&self) -> IdentitiesResult {
        let mut identities = self.identities.lock();
        identities.get_or_insert_with(|| self.current_identities()).clone()
    }

    fn current_identities(&self) -> IdentitiesResult {
        let statuses = statuses(&self.files).map_err(|error| error.message().to_owned())?;
        let mut identities = Vec::new();
        for (name, status) in self.files.iter().zip(statuses) {
            let Some(identity) = Identity::of(&status) else {
                return Err(format!("{} has no modification time", name.text()));
            };
            let rest = rest_of_tick(&identity);
            if rest > TICK {
                return Err(format!("{} was modified just now", name.text()));
            }
            // Any later change of the file changes its modification time.
            std::thread::sleep(rest);
            identities.push(identity);
        }
        Ok(identities.into())
    }

    /// The path of a note about the rows, unless the identities of the files are unavailable.
    pub fn note_path(&self) -> Option<PathBuf> {
        self.path(&format!("{}-", self.key), NOTE).ok()
    }

    /// The path of the file with the rows, or the reason why there is none.
    fn rows_path(&self, used: Use) -> std::result::Result<PathBuf, String> {
        self.path(&self.prefix(used), SUFFIX)
    }

    fn path(&self, prefix: &str, suffix: &str) -> std::result::Result<PathBuf, String> {
        let identities = self.identities()?;
        let mut hasher = SipHasher13::new();
        hasher.write_u64(self.files.len() as u64);
        for (name, identity) in self.files.iter().zip(&*identities) {
            hasher.write_u64(name.bytes().len() as u64);
            hasher.write(name.bytes());
            hasher.write_u64(identity.len);
            match &identity.stamp {
                Stamp::Modified { seconds, nanos } => {
                    hasher.write_i64(*seconds);
                    hasher.write_u32(*nanos);
                }
                Stamp::Tag(tag) => {
                    hasher.write_u64(tag.len() as u64);
                    hasher.write(tag.as_bytes());
                }
            }
        }
        let hash = hasher.finish128().as_u128();
        Ok(self.directory.join(format!("{prefix}{hash:032x}{suffix}")))
    }

    /// The common prefix of the names of files with these rows.
    fn prefix(&self, used: Use) -> String {
        let skipper = used.skipper.map_or_else(String::new, |skipper| skipper.to_string());
        let (order, zip) = (if used.in_any_order { "any" } else { "" }, if used.is_aligned { "zip" } else { "" });
        format!("{}-{VERSION}-{skipper}{zip}-{order}-", self.key)
    }

    /// Opens the rows that an earlier pass stored, if any. Removes damaged files. If a file cannot
    /// be opened for another reason, it is ignored.
    pub fn open(&self, used: Use, formats: &Arc<Formats>) -> Option<Arc<Entry>> {
        let path = (!self.is_off).then(|| self.rows_path(used).ok()).flatten()?;
        match Entry::open(&path, Arc::clone(formats)) {
            Ok(entry) => {
                // The least recently used files are removed first.
                touch(&path).unwrap_or_default();
                Some(Arc::new(entry))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) if matches!(error.kind(), ErrorKind::InvalidData | ErrorKind::UnexpectedEof) => {
                self.forget(&path, &error.to_string());
                None
            }
            Err(error) => {
                let error = Error::io(&path.display().to_string(), &error);
                self.say(format!("cache: {}; the examples are computed again.", error.message()));
                None
            }
        }
    }

    /// Removes a file that cannot be used.
    pub fn forget(&self, path: &Path, reason: &str) {
        fs::remove_file(path).unwrap_or_default();
        self.say(format!("cache: {}: {reason}; the file is deleted and rebuilt.", path.display()));
    }

    /// Starts writing the rows. Returns `None`, and adds a message, if that isn't possible. If
    /// `is_alone`, writes to a separate file when another process is writing the same rows.
    pub fn begin(self: &Arc<Self>, used: Use, is_alone: bool) -> Option<Writer> {
        if self.is_off {
            return None;
        }
        let path = self.rows_path(used).map_err(|reason| self.say_not_kept(&reason)).ok()?;
        match Writer::create(Arc::clone(self), path, self.prefix(used), is_alone) {
            Ok(writer) => writer,
            Err(error) => {
                self.say_not_kept(&error.to_string());
                None
            }
        }
    }

    /// Removes outdated cache files of the same description, then the least recently used ones
    /// until `num_bytes` more fit.
    fn make_room(&self, path: &Path, prefix: &str, num_bytes: u64) -> io::Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if [SUFFIX, NOTE].iter().any(|suffix| name.contains(&format!("{suffix}{PART}"))) {
                // Unless it is locked, it was left by a killed process.
                if locked(&entry.path())?.is_some() {
                    fs::remove_file(entry.path()).unwrap_or_default();
                }
                continue;
            }
            if !name.ends_with(SUFFIX) && !name.ends_with(NOTE) {
                continue;
            }
            let Ok(metadata) = entry.metadata() else { continue };
            if entry.path() == path {
                continue;
            }
            if name.starts_with(prefix) {
                self.say(format!(
                    "cache: {}: the source files have changed; the cache file is deleted.",
                    entry.path().display()
                ));
                fs::remove_file(entry.path()).unwrap_or_default();
                continue;
            }
            entries.push((metadata.modified()?, metadata.len(), entry.path()));
        }
        entries.sort();
        let mut total = entries.iter().fold(num_bytes, |total, (_, length, _)| total.saturating_add(*length));
        for (_, length, path) in entries {
            if total <= self.most_bytes {
                break;
            }
            fs::remove_file(path).unwrap_or_default();
            total -= length;
        }
        Ok(())
    }
}

/// Gets the status of each file. Remote files are queried concurrently.
fn statuses(files: &[FileName]) -> Result<Vec<storage::Status>> {
    let begin = |name: &FileName| match name.url() {
        Some(url) => storage::storage().map(|storage| Some(storage.begin_parts(url, None, None))),
        None => Ok(None),
    };
    let begun = files.iter().map(begin).collect::<Result<Vec<_>>>()?;
    let status = |(name, begun): (&FileName, Option<_>)| match begun {
        None => name.status(),
        Some(begun) => {
            let begun: Box<dyn storage::Opening<_>> = begun;
            begun.wait().map(|(_, status)| status).map_err(|error| name.not_opened(&error))
        }
    };
    files.iter().zip(begun).map(status).collect()
}

fn touch(path: &Path) -> io::Result<()> {
    without_link(OpenOptions::new().append(true)).open(path)?.set_modified(SystemTime::now())
}

/// Writes the rows of a pass to a file. If it is dropped before it is finished, the file is
/// removed.
pub struct Writer {
    store: Arc<DiskStore>,
    path: PathBuf,
    prefix: String,
    part: PathBuf,
    output: Arc<File>,
    table: Table,
    is_finished: bool,
}

impl Writer {
    /// Creates the file. If another process is writing the same rows, uses a separate file if
    /// `is_alone`, and returns `None` otherwise.
    fn create(store: Arc<DiskStore>, path: PathBuf, prefix: String, is_alone: bool) -> io::Result<Option<Self>> {
        fs::create_dir_all(&store.directory)?;
        let mut part = path.clone().into_os_string();
        part.push(PART);
        let mut part = PathBuf::from(part);
        let mut file = locked(&part)?;
        if file.is_none() && is_alone {
            part.as_mut_os_string().push(format!("{}", std::process::id()));
            file = locked(&part)?;
        }
        let Some(file) = file else { return Ok(None) };
        // A killed process may have left something in it.
        file.set_len(0)?;
        let output = Arc::new(file);
        let writer = Self { store, path, prefix, part, output, table: Table::new(), is_finished: false };
        write_at(&writer.output, &header(), 0)?;
        Ok(Some(writer))
    }

    /// Adds chunks of rows. Returns the work that writes them. Fails with the reason why nothing is
    /// stored.
    pub fn add(
        &mut self,
        chunks: Vec<Chunk>,
        checkpoints: [Checkpoint; 2],
    ) -> std::result::Result<impl FnOnce() -> Result<()> + Send + use<>, String> {
        let starts = self.table.add(&chunks, checkpoints);
        if self.table.length() as u64 > self.store.most_bytes {
            return Err(format!(
                "they need more than the {} bytes of bytes={}. Raise bytes, or cache before decoding",
                self.store.most_bytes, self.store.most_bytes
            ));
        }
        let (output, part) = (Arc::clone(&self.output), self.part.clone());
        Ok(move || {
            let mut pairs = starts.iter().zip(&chunks);
            pairs
                .try_for_each(|(start, chunk)| write_at(&output, &chunk.bytes, *start))
                .map_err(|error| Error::io(&part.display().to_string(), &error))
        })
    }

    /// Adds a skip event.
    pub fn add_event(&mut self, event: SkipEvent) {
        self.table.add_event(event);
    }

    /// Renames the file to its final name, or reports why the rows are not stored.
    pub fn finish(mut self) {
        if let Err(reason) = self.publish() {
            self.store.say_not_kept(&reason);
        }
    }

    fn publish(&mut self) -> std::result::Result<(), String> {
        let end = self.table.finished().map_err(|error| error.message().to_owned())?;
        let now = self.store.current_identities();
        if now != self.store.identities() {
            return Err("a file changed while it was read".to_owned());
        }
        let length = self.table.length() as u64 + end.len() as u64;
        if length > self.store.most_bytes {
            return Err(format!("they need {length} bytes, more than bytes={}", self.store.most_bytes));
        }
        let failed = |error: io::Error| Error::io(&self.part.display().to_string(), &error).message().to_owned();
        write_at(&self.output, &end, self.table.length()).map_err(failed)?;
        self.store.make_room(&self.path, &self.prefix, length).map_err(failed)?;
        fs::rename(&self.part, &self.path).map_err(failed)?;
        self.is_finished = true;
        Ok(())
    }

    /// Stores nothing, and reports this reason.
    pub fn give_up(self, reason: &str) {
        self.store.say_not_kept(reason);
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if !self.is_finished {
            fs::remove_file(&self.part).unwrap_or_default();
        }
    }
}

#[cfg(unix)]
fn write_at(file: &File, bytes: &[u8], start: usize) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, start as u64)
}

#[cfg(not(unix))]
fn write_at(_: &File, _: &[u8], _: usize) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Opens and locks a file, creating it if necessary. Returns `None` if another process holds the
/// lock. The lock ends with the process.
fn locked(path: &Path) -> io::Result<Option<File>> {
    loop {
        let file = without_link(OpenOptions::new().write(true).create(true).truncate(false)).open(path)?;
        if !try_lock(&file)? {
            return Ok(None);
        }
        // Another process may have finished or removed it in the meantime.
        if is_at(&file, path)? {
            return Ok(Some(file));
        }
    }
}

#[cfg(target_os = "linux")]
fn try_lock(file: &File) -> io::Result<bool> {
    match rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(target_os = "linux")]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (mine, there) = (file.metadata()?, fs::metadata(path));
    match there {
        Ok(there) => Ok((mine.dev(), mine.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(not(target_os = "linux"))]
fn try_lock(_: &File) -> io::Result<bool> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}
