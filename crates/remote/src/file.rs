//! A remote file: its size and version, and a check that it has not changed.

use crate::cache::CachedFile;
use crate::failure::failed;
use crate::http::answers::UNKNOWN_SIZE;
use crate::store;
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::files::storage::{Cache, Status, Version, changed};
use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta, ObjectStore, ObjectStoreExt};
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

/// A file whose size and content are known.
pub struct File {
    pub store: Arc<dyn ObjectStore>,
    pub path: Path,
    /// The size in bytes, or [`UNKNOWN_SIZE`] if the server does not report it.
    pub size: u64,
    pub version: Option<Version>,
    /// True if the server supports range requests.
    pub has_ranges: bool,
    /// The cache of its parts.
    pub kept: Option<CachedFile>,
}

impl File {
    /// Looks up the current file with this name. Queries the storage unless the status is known.
    pub async fn look_up(url: &str, cache: Option<&Arc<Cache>>, status: Option<&Status>) -> Result<Self> {
        let (store, path) = store::find(url)?;
        if let Some(Status { len, version, is_regular }) = status.cloned() {
            let kept = CachedFile::of(url, len, version.as_ref(), cache);
            return Ok(Self { store, path, size: len, version, has_ranges: is_regular, kept });
        }
        let meta = store.head(&path).await.map_err(|error| failed(&error))?;
        Ok(Self::new((store, path), &meta, url, cache))
    }

    /// Creates a file from the storage's response.
    pub fn new(
        (store, path): (Arc<dyn ObjectStore>, Path),
        meta: &ObjectMeta,
        url: &str,
        cache: Option<&Arc<Cache>>,
    ) -> Self {
        let version = version(meta);
        let kept = CachedFile::of(url, meta.size, version.as_ref(), cache);
        let has_ranges = meta.size != UNKNOWN_SIZE;
        Self { store, path, size: meta.size, version, has_ranges, kept }
    }

    pub fn status(&self) -> Status {
        let len = if self.size == UNKNOWN_SIZE { 0 } else { self.size };
        Status { len, is_regular: self.has_ranges, version: self.version.clone() }
    }

    /// Conditions for a request, so that the storage does not return changed content.
    pub fn options(&self) -> GetOptions {
        let tag = match &self.version {
            // A weak ETag never matches.
            Some(Version::Tag(tag)) if !tag.starts_with("W/") => Some(tag.to_string()),
            _ => None,
        };
        GetOptions { if_match: tag, ..GetOptions::default() }
    }

    /// Fails if the storage returned another version.
    pub fn check(&self, meta: &ObjectMeta) -> Result<()> {
        if meta.size != self.size {
            return Err(changed(format_args!("it has {} bytes, but had {} before", meta.size, self.size)));
        }
        match version(meta) == self.version {
            true => Ok(()),
            false => Err(changed("its ETag or modification time has changed")),
        }
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "File({})", self.path)
    }
}

fn version(meta: &ObjectMeta) -> Option<Version> {
    // The crate uses this value if a server sends no time.
    let epoch = SystemTime::UNIX_EPOCH;
    match &meta.e_tag {
        Some(tag) => Some(Version::Tag(tag.as_str().into())),
        None => Some(SystemTime::from(meta.last_modified)).filter(|time| *time != epoch).map(Version::Modified),
    }
}

/// The error for a body that repeatedly breaks off.
pub fn broken(times: usize, why: &str) -> Error {
    let text = format!("the connection broke {times} times while reading a part of the file, most recently: {why}");
    Error::new(Code::Unavailable, text).with_remedy("Check the network and try again.")
}
