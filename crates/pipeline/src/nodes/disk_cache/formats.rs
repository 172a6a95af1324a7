//! The formats of the files that kept rows were read from, for the offsets of their records.

use crate::blocks::file_provenance::{FileProvenance, KnownOffset, Locate};
use crate::blocks::row_id::Path;
use crate::formats::RecordLocator;
use crate::records::{Format, RecordPosition};
use bytes::Bytes;
use headrace_engine::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// A source: the parts of combinations that lead to it, its format and its files.
pub type FormatOfFiles = (Path, Arc<dyn Format>, Arc<[Arc<FileProvenance>]>);

/// The sources of a pipeline before a cache.
#[derive(Default)]
pub struct Formats {
    sources: Vec<FormatOfFiles>,
    /// The locators of files, which all kept rows of a file share.
    locators: Mutex<HashMap<FileKey, Arc<RecordLocator>>>,
}

/// The path of a source, the number and name of a file in it, and the number of the position from
/// which records are counted.
type FileKey = ((u128, u32), u64, Bytes, Option<u64>);

impl Formats {
    /// These sources.
    pub fn new(sources: Vec<FormatOfFiles>) -> Self {
        Self { sources, ..Self::default() }
    }

    /// No sources: unknown offsets of records cannot be found.
    pub fn none() -> Self {
        Self::default()
    }

    /// Finds the offsets of the records of a file, given the offset of one. The name of the file
    /// has no secrets, like the stored one.
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

/// The offsets of some records, in ascending order of the records.
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
