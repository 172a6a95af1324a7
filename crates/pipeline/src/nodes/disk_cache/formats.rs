//! The formats of the files that cached rows were read from, for finding the offsets of their
//! records.

use crate::blocks::file_provenance::{FileProvenance, KnownOffset, Locate};
use crate::blocks::row_id::Path;
use crate::formats::RecordLocator;
use crate::records::{Format, RecordPosition};
use bytes::Bytes;
use headrace_engine::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// A source: its path within combinations, its format and its files.
pub type FormatOfFiles = (Path, Arc<dyn Format>, Arc<[Arc<FileProvenance>]>);

/// The sources of a pipeline up to a cache.
#[derive(Default)]
pub struct Formats {
    sources: Vec<FormatOfFiles>,
    /// One locator per file, shared by all cached rows of the file.
    locators: Mutex<HashMap<FileKey, Arc<RecordLocator>>>,
}

/// Identifies a locator: the path of the source, the number and name of the file, and the position
/// from which records are counted.
type FileKey = ((u128, u32), u64, Bytes, Option<u64>);

impl Formats {
    /// These sources.
    pub fn new(sources: Vec<FormatOfFiles>) -> Self {
        Self { sources, ..Self::default() }
    }

    /// No sources. The offsets of records cannot be looked up.
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns a locator for the records of a file, given one known offset. Secrets are removed
    /// from file names before they are compared, because stored names have none.
    pub fn locator(&self, kept: &FileProvenance, from: RecordPosition) -> Option<Arc<dyn Locate>> {
        let (path, number, name) = (kept.pass.path, kept.number, kept.name.bytes());
        let is_it = |file: &&Arc<FileProvenance>| file.number == number && file.name.without_secrets() == *name;
        let has_it = |files: &[Arc<FileProvenance>]| {
            let at = usize::try_from(number).ok().and_then(|number| files.get(number));
            at.filter(is_it).or_else(|| files.iter().find(is_it)).is_some()
        };
        let (_, format, _) = self.sources.iter().find(|(other, _, files)| *other == path && has_it(files))?;
        let key = (path.numbers(), number, name.clone(), kept.before.as_ref().map(|before| before.number()));
        let new = || Arc::new(RecordLocator::new(Arc::clone(format)));
        let locator = Arc::clone(self.locators.lock().entry(key).or_insert_with(new));
        locator.remember(from);
        Some(locator)
    }
}

/// The offsets of some records, in ascending order of record number.
#[derive(Debug)]
pub struct Offsets(pub Vec<(u64, u64)>);

impl Locate for Offsets {
    fn offset(&self, _file: &Arc<FileProvenance>, record: u64) -> Option<u64> {
        let index = self.0.binary_search_by_key(&record, |(record, _)| *record).ok()?;
        Some(self.0[index].1)
    }

    fn known_offset(&self, file: &Arc<FileProvenance>, record: u64) -> Option<KnownOffset> {
        self.offset(file, record).map(KnownOffset::At)
    }
}
