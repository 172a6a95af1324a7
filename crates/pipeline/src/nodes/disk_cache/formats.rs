//! The formats of the files that kept rows were read from, for the offsets of their records.

use crate::blocks::file_provenance::{FileProvenance, KnownOffset, Locate};
use crate::blocks::row_id::Path;
use crate::formats::{Format, RecordLocator, RecordPosition};
use headrace_engine::files::name::FileName;
use std::sync::Arc;

/// A source: the parts of combinations that lead to it, its format and its files.
pub type FormatOfFiles = (Path, Arc<dyn Format>, Arc<[Arc<FileProvenance>]>);

/// The sources of a pipeline before a cache.
#[derive(Default)]
pub struct Formats(Vec<FormatOfFiles>);

impl Formats {
    /// These sources.
    pub fn new(sources: Vec<FormatOfFiles>) -> Self {
        Self(sources)
    }

    /// No sources: offsets of records that are not known are not found.
    pub fn none() -> Self {
        Self::default()
    }

    /// Finds the offsets of the records of a file from one of them on.
    pub fn locator(&self, path: Path, number: u64, name: &FileName, from: RecordPosition) -> Option<Arc<dyn Locate>> {
        let is_it = |file: &&Arc<FileProvenance>| file.number == number && file.name.bytes() == name.bytes();
        let has_it = |files: &[Arc<FileProvenance>]| {
            let at = usize::try_from(number).ok().and_then(|number| files.get(number));
            at.filter(is_it).or_else(|| files.iter().find(is_it)).is_some()
        };
        let (_, format, _) = self.0.iter().find(|(known, _, files)| *known == path && has_it(files))?;
        let locator = RecordLocator::new(Arc::clone(format));
        locator.remember(from);
        Some(Arc::new(locator))
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

    fn known(&self, file: &Arc<FileProvenance>, record: u64) -> Option<KnownOffset> {
        self.offset(file, record).map(KnownOffset::At)
    }
}
