//! An open archive and its members.

use super::directory::{self, Entry, MAX_TAIL_BYTES, checked};
use crate::error::{Error, Result};
use crate::files::name::FileName;
use crate::files::positioned::{OpeningFile, Positioned};
use crate::files::storage::{Cache, Status, Version};
use crate::tensor::allocate;
use crate::text::excerpt::excerpt;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The maximum size of the extra fields of a local header.
const MAX_EXTRA_BYTES: u64 = u16::MAX as u64;

/// A zip archive, open for reading.
pub struct Archive {
    name: FileName,
    status: Status,
    file: Arc<Positioned>,
    /// The same file, with parts of it kept in a cache.
    cached: OnceLock<(Arc<Cache>, Arc<Positioned>)>,
    /// The members, sorted by their offsets.
    entries: Vec<Entry>,
    numbers: HashMap<Vec<u8>, usize>,
    /// The offset of the central directory.
    end: u64,
}

/// A member of an archive.
#[derive(Clone, Debug)]
pub struct Member {
    archive: Arc<Archive>,
    number: usize,
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Archive").field(&self.name).finish()
    }
}

impl Archive {
    /// Opens an archive and reads its central directory.
    pub fn open(name: FileName) -> Result<Self> {
        let (file, status) = OpeningFile::new(&name, None, None)?.wait()?;
        let text = Arc::clone(name.text());
        let tail_bytes = status.len.min(MAX_TAIL_BYTES as u64);
        let tail = read(&name, &file, status.len - tail_bytes..status.len)?;
        let directory = checked(&text, directory::locate(&tail, status.len))?;
        let start = (status.len - tail_bytes).min(directory.offset);
        let bytes = match directory.offset.checked_sub(status.len - tail_bytes) {
            Some(start) => tail[start as usize..][..directory.num_bytes as usize].to_vec(),
            None => read(&name, &file, start..start + directory.num_bytes)?,
        };
        let entries = checked(&text, directory::entries(&bytes, &directory))?;
        let numbers = entries.iter().enumerate().map(|(number, entry)| (entry.name.clone(), number)).collect();
        Ok(Self {
            name,
            status,
            file: Arc::new(file),
            cached: OnceLock::new(),
            entries,
            numbers,
            end: directory.offset,
        })
    }

    /// The name of the archive.
    pub fn name(&self) -> &FileName {
        &self.name
    }

    /// The version of the archive when it was opened, if known.
    pub fn version(&self) -> Option<&Version> {
        self.status.version.as_ref()
    }

    /// Returns true if it is remote.
    pub fn is_remote(&self) -> bool {
        self.file.is_remote()
    }

    /// The names and sizes of its files, in the order of their data.
    pub fn members(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.entries.iter().map(|entry| (&entry.name[..], entry.num_bytes))
    }

    /// The member with this name. Fails if there is none, or if it cannot be read.
    pub fn member(self: &Arc<Self>, name: &[u8]) -> Result<Member> {
        let shown = excerpt(name);
        let at = |text: &str| Error::invalid_argument(format!("{}: member '{shown}': {text}.", self.name.text()));
        let number = *self.numbers.get(name).ok_or_else(|| at("not found in the archive"))?;
        match &self.entries[number].obstacle {
            Some(obstacle) => Err(at(obstacle)),
            None => Ok(Member { archive: Arc::clone(self), number }),
        }
    }

    /// The archive file. If it is remote, its parts are cached.
    fn file(&self, cache: Option<&Arc<Cache>>) -> Result<Arc<Positioned>> {
        let Some(cache) = cache.filter(|_| self.file.is_remote()) else { return Ok(Arc::clone(&self.file)) };
        if let Some((of, file)) = self.cached.get()
            && of == cache
        {
            return Ok(Arc::clone(file));
        }
        let (file, _) = OpeningFile::new(&self.name, Some(cache), Some(&self.status))?.wait()?;
        let file = Arc::new(file);
        Ok(Arc::clone(&self.cached.get_or_init(|| (Arc::clone(cache), file)).1))
    }
}

impl Member {
    /// The archive.
    pub fn archive(&self) -> &Arc<Archive> {
        &self.archive
    }

    pub(super) fn entry(&self) -> &Entry {
        &self.archive.entries[self.number]
    }

    /// The file that contains it.
    pub(super) fn file(&self, cache: Option<&Arc<Cache>>) -> Result<Arc<Positioned>> {
        self.archive.file(cache)
    }

    /// The range of bytes that contains its local header and its data.
    pub(super) fn frame(&self) -> Range<u64> {
        let entry = self.entry();
        let next = self.archive.entries.get(self.number + 1).map_or(self.archive.end, |next| next.offset);
        let end = entry.least_end().and_then(|end| end.checked_add(MAX_EXTRA_BYTES)).map_or(next, |end| end.min(next));
        entry.offset..end
    }

    /// Returns false if the archive has changed since it was opened.
    pub(super) fn is_unchanged(&self) -> bool {
        let status = self.archive.file.status();
        !matches!(status, Ok(Some(status)) if status.version != self.archive.status.version || status.len != self.archive.status.len)
    }
}

fn read(name: &FileName, file: &Positioned, range: Range<u64>) -> Result<Vec<u8>> {
    let count = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let mut bytes = allocate::zeros(count).map_err(|refusal| refusal.at(name.text()))?;
    file.read(&mut bytes, range.start).map_err(|error: io::Error| match error.kind() {
        ErrorKind::UnexpectedEof => Error::data_loss(format!(
            "{}: the archive became shorter while it was read. Finish writing it before you read it",
            name.text()
        )),
        _ => Error::io(name.text(), &error),
    })?;
    Ok(bytes)
}
