//! A local cache for parts of remote files. Several processes may use the same directory.
//!
//! Each part is a file that gets its name when it is complete and ends with a checksum. So a killed
//! process leaves nothing that could be mistaken for a part. The name identifies both the file and
//! its content, so parts never become stale. Outdated parts are simply no longer used, and are
//! removed when space is needed.

use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::atomic_file::AtomicFile;
use headrace_engine::files::storage::{Cache, Version};
use headrace_engine::order;
use headrace_engine::sync::Mutex;
use ring::digest::{Context, SHA256};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::SystemTime;

/// The size of a part.
pub const PART_BYTES: u64 = 1 << 20;
/// The size of a stored part's trailer: its checksum and its length.
const TRAILER_BYTES: usize = 8;
/// A process checks the size of the directory after writing this fraction of the limit.
const SHARE_WRITTEN: u64 = 16;

/// The cached parts of a file.
pub struct CachedFile {
    cache: Arc<Cache>,
    /// A hash of the file's URL and content.
    name: String,
}

impl CachedFile {
    /// Returns the cache of a file, or `None` if changes of the file could not be detected.
    pub fn of(url: &str, size: u64, version: Option<&Version>, cache: Option<&Arc<Cache>>) -> Option<Self> {
        let cache = Arc::clone(cache?);
        let version = match version? {
            Version::Tag(tag) => tag.to_string(),
            Version::Modified(time) => format!("{time:?}"),
            // Remote files do not have this kind of version.
            Version::Local { .. } => return None,
        };
        let mut digest = Context::new(&SHA256);
        for part in [url, &version, &size.to_string()] {
            digest.update(&(part.len() as u64).to_le_bytes());
            digest.update(part.as_bytes());
        }
        let name = digest.finish().as_ref().iter().take(16).fold(String::new(), |mut name, byte| {
            // Writing to a string never fails.
            write!(name, "{byte:02x}").unwrap_or(());
            name
        });
        Some(Self { cache, name })
    }

    /// Reads a part of this length from the cache. Returns `None` if it is missing or damaged.
    pub async fn read(&self, number: u64, length: usize) -> Result<Option<Bytes>> {
        blocking(&self.path(number), Box::new(move |path| read(path, length))).await
    }

    /// Caches a part.
    pub async fn keep(&self, number: u64, bytes: Bytes) -> Result<()> {
        let cache = Arc::clone(&self.cache);
        let work = Box::new(move |path: &Path| keep(path, &bytes, &cache).map(|()| None));
        blocking(&self.path(number), work).await.map(drop)
    }

    fn path(&self, number: u64) -> PathBuf {
        self.cache.directory.join(&self.name[..2]).join(format!("{}-{number}", self.name))
    }
}

/// Work that waits for a disk. It returns a part if it reads one.
type Work = Box<dyn FnOnce(&Path) -> io::Result<Option<Bytes>> + Send>;

/// Runs work that waits for a disk on a separate thread.
async fn blocking(path: &Path, work: Work) -> Result<Option<Bytes>> {
    let owned = path.to_owned();
    let done = tokio::task::spawn_blocking(move || work(&owned)).await;
    let done = done.map_err(|error| Error::internal(format!("a task of the cache has ended: {error}")))?;
    let remedy = "Set options(cache_directory=...) to a writable directory with more space, or set a smaller \
                  cache_bytes.";
    done.map_err(|error| Error::io(&path.to_string_lossy(), &error).with_remedy(remedy))
}

/// Reads a part from the cache. Returns `None` if it is missing or damaged.
fn read(path: &Path, length: usize) -> io::Result<Option<Bytes>> {
    let mut bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if bytes.len() != length + TRAILER_BYTES || bytes[length..] != trailer(&bytes[..length]) {
        return Ok(None);
    }
    bytes.truncate(length);
    touch(path);
    Ok(Some(bytes.into()))
}

/// Marks a part as used. It doesn't matter if another process has removed it.
fn touch(path: &Path) {
    let set = fs::File::options().write(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
    set.unwrap_or(());
}

fn trailer(bytes: &[u8]) -> [u8; TRAILER_BYTES] {
    let mut trailer = [0; TRAILER_BYTES];
    trailer[..4].copy_from_slice(&crc32c::crc32c(bytes).to_le_bytes());
    trailer[4..].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
    trailer
}

/// Caches a part if it fits, and removes other parts if there are too many.
fn keep(path: &Path, bytes: &[u8], cache: &Cache) -> io::Result<()> {
    let Some(directory) = path.parent() else { return Ok(()) };
    if (bytes.len() + TRAILER_BYTES) as u64 > least_room(cache) {
        return Ok(());
    }
    fs::create_dir_all(directory)?;
    // Somebody else may have placed a symbolic link there.
    if fs::symlink_metadata(directory)?.is_symlink() {
        return Err(ErrorKind::NotADirectory.into());
    }
    let (mut file, mut output) = AtomicFile::over(path.to_owned())?;
    output.write_all(bytes)?;
    output.write_all(&trailer(bytes))?;
    output.flush()?;
    match file.publish() {
        // Another process needed the space.
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        published => published?,
    }
    note_written((bytes.len() + TRAILER_BYTES) as u64, cache)
}

/// How many bytes this process has written to each directory since it last checked its size.
static WRITTEN: LazyLock<Mutex<Option<HashMap<PathBuf, u64>>>> = LazyLock::new(|| Mutex::new(None));

fn note_written(num_bytes: u64, cache: &Cache) -> io::Result<()> {
    {
        let mut written = WRITTEN.lock();
        // The directory may already be full at the start.
        let written = written.get_or_insert_default().entry(cache.directory.clone()).or_insert(cache.num_bytes);
        *written = written.saturating_add(num_bytes);
        if *written < cache.num_bytes / SHARE_WRITTEN {
            return Ok(());
        }
        *written = 0;
    }
    shrink(cache)
}

/// A directory never needs to be smaller than this: the limit minus the bytes that a process may
/// write before it checks again.
fn least_room(cache: &Cache) -> u64 {
    cache.num_bytes - cache.num_bytes / SHARE_WRITTEN
}

/// Removes the least recently used parts until the size is somewhat below the limit.
fn shrink(cache: &Cache) -> io::Result<()> {
    let mut kept = Vec::new();
    let mut num_bytes = 0;
    for directory in entries(&cache.directory)? {
        if !directory.file_type()?.is_dir() || directory.file_name().len() != 2 {
            continue;
        }
        for entry in entries(&directory.path())? {
            // Another process may have removed it.
            let Ok(metadata) = entry.metadata() else { continue };
            num_bytes += metadata.len();
            kept.push((metadata.modified()?, metadata.len(), entry.path()));
        }
    }
    let limit = least_room(cache);
    for position in order::by_key(kept.len(), |position| kept[position].0) {
        let (_, length, path) = &kept[position];
        if num_bytes <= limit {
            break;
        }
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => num_bytes -= length,
        }
    }
    Ok(())
}

fn entries(directory: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries?.collect(),
    }
}
