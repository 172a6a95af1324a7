//! A full shuffle, which first indexes the rows and then reads them in the order of a
//! permutation.

use crate::blocks::block::{Block, FileProvenance, RowProvenance};
use crate::blocks::indexed::Indexed;
use crate::budget::Charge;
use crate::checkpoint::Checkpoint;
use crate::index::{FileIndex, IndexFiles, KeptIndexes, RecordLookup};
use crate::node::{Context, Node, Poll, Position};
use crate::nodes::cache::{CachedRows, Store};
use crate::nodes::disk_cache::StoredRows;
use crate::nodes::disk_cache::formats::Formats;
use crate::nodes::disk_cache::store::{DiskStore, Use};
use crate::records::{RandomAccess, ScanFault};
use crate::row_order::OrderStage;
use crate::skip_event::{SkipEvent, Skipped, is_damage};
use crate::tasks::meters::{Stopwatch, enter_stage};
use crate::tasks::task::Ring;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::positioned::OpeningFile;
use headrace_engine::run::catch_panic;
use std::collections::VecDeque;
use std::sync::Arc;

/// How to get random access to the rows of one part.
pub enum RowAccess {
    /// It is available already.
    Known(Arc<dyn Indexed>),
    /// Scan and index the files.
    Files(Box<Scans>),
    /// Cache all rows of a node.
    Cache(Box<dyn Node>, Arc<Store>),
    /// Write all rows of a node to a file, unless the file exists already.
    Stored(Option<Box<dyn Node>>, Arc<DiskStore>, Use, Arc<Formats>),
    /// Impossible.
    Refused(Error),
}

impl RowAccess {
    /// Returns the rows, or `None` until a task finishes. Appends reports of skipped rows.
    fn poll(
        &mut self,
        context: &mut Context,
        skip_events: &mut Vec<SkipEvent>,
        stage: OrderStage,
    ) -> Result<Option<Arc<dyn Indexed>>> {
        match self {
            Self::Known(_) => {}
            Self::Refused(error) => return Err(error.clone()),
            Self::Files(scans) => match scans.poll(context, skip_events, stage)? {
                Some(rows) => *self = Self::Known(Arc::new(rows)),
                None => return Ok(None),
            },
            Self::Cache(node, store) => {
                while store.get().is_none() {
                    if let Poll::Pending = node.pull(context)? {
                        return Ok(None);
                    }
                }
                let cached = store.get().ok_or_else(|| Error::internal("cache: there are no cached rows"))?;
                skip_events.extend(cached.skip_events().cloned());
                *self = Self::Known(Arc::new(CachedRows::new(cached, context.budget)?));
            }
            Self::Stored(node, store, used, formats) => {
                while let Some(filling) = node {
                    match filling.pull(context)? {
                        Poll::Pending => return Ok(None),
                        Poll::End => *node = None,
                        Poll::Ready(_) | Poll::SkipEvent(_) => {}
                    }
                }
                let entry = store.open(*used, formats).ok_or_else(|| {
                    let (reasons, name) = (store.take_messages().join(" "), stage.name());
                    let or_window = stage.or_window();
                    Error::failed_precondition(format!(
                        "{name}: all examples of cache(directory=...) are needed, but they are not stored. {reasons} \
                         Write {name}(...) before cache(...){or_window}."
                    ))
                })?;
                skip_events.extend(entry.skip_events().iter().map(|(_, event)| event.clone()));
                let rows = StoredRows::new(entry, Arc::clone(store));
                *self = Self::Known(Arc::new(rows));
            }
        }
        match self {
            Self::Known(rows) => Ok(Some(Arc::clone(rows))),
            _ => Ok(None),
        }
    }
}

/// The number of files that one task scans.
const FILES_OF_A_TASK: usize = 16;

/// Concurrent scans of files.
pub struct Scans {
    access: Arc<dyn RandomAccess>,
    files: Vec<Arc<FileProvenance>>,
    kept: Arc<KeptIndexes>,
    index_files: Arc<IndexFiles>,
    /// The part of the pipeline that the files belong to.
    part: usize,
    next: usize,
    ring: Ring<Vec<Arc<FileIndex>>>,
    indexes: Vec<Arc<FileIndex>>,
    charges: Vec<Charge>,
    ahead: usize,
    position: Position,
}

impl Scans {
    /// Stores the indexes for this part of the pipeline.
    pub fn new(
        access: Arc<dyn RandomAccess>,
        files: Vec<Arc<FileProvenance>>,
        ((kept, part), index_files): ((Arc<KeptIndexes>, usize), Arc<IndexFiles>),
        ahead: usize,
        position: Position,
    ) -> Self {
        let (ring, indexes, charges) = (Ring::new(), Vec::new(), Vec::new());
        Self { access, files, kept, index_files, part, next: 0, ring, indexes, charges, ahead, position }
    }

    fn start_tasks(&mut self, context: &mut Context, stage: OrderStage) {
        while self.next < self.files.len() && self.ring.len() < self.ahead {
            let end = self.files.len().min(self.next + FILES_OF_A_TASK);
            let files = self.files[self.next..end].to_vec();
            self.next = end;
            let (access, kept, part) = (Arc::clone(&self.access), Arc::clone(&self.kept), self.part);
            let index_files = Arc::clone(&self.index_files);
            let slot = self.ring.start(Checkpoint::default());
            let position = self.position;
            let scan = move |file: &Arc<FileProvenance>, begun: OpeningFile<'_>| {
                let index = FileIndex::of(&*access, file, begun, kept.get(part, file), &index_files, stage)?;
                kept.put(part, &index);
                let must_end = |fault: &&ScanFault| position.skipper.is_none() || !is_damage(&fault.error);
                match index.faults().iter().find(must_end) {
                    Some(fault) => Err(fault.error.clone()),
                    None => Ok(index),
                }
            };
            let (meters, number) = (Arc::clone(context.meters), self.position.stage);
            let work = move || {
                let watch = Stopwatch::start_with_processor(meters.stage(number));
                enter_stage(number);
                let indexes = catch_panic(|| {
                    let begun = files.iter().map(|file| file.begin_parts(None)).collect::<Result<Vec<_>>>()?;
                    files.iter().zip(begun).map(|(file, begun)| scan(file, begun)).collect()
                });
                drop(watch);
                slot.set(indexes);
            };
            context.start(self.position.distance, Box::new(work));
        }
    }

    /// Returns the records, or `None` until all files have been scanned. Appends reports of
    /// unreadable parts.
    fn poll(
        &mut self,
        context: &mut Context,
        skip_events: &mut Vec<SkipEvent>,
        stage: OrderStage,
    ) -> Result<Option<Indexes>> {
        loop {
            self.start_tasks(context, stage);
            let Some((_, indexes)) = self.ring.pop() else { break };
            for index in indexes? {
                self.charges.push(context.budget.charge(index.memory_bytes()));
                self.indexes.push(index);
            }
        }
        if !self.ring.is_empty() {
            return Ok(None);
        }
        let files: Vec<_> =
            std::mem::take(&mut self.files).into_iter().zip(std::mem::take(&mut self.indexes)).collect();
        if let Some(skipper) = self.position.skipper {
            let num_scanned = files.iter().map(|(_, index)| index.len()).sum();
            let left_out = |(file, fault): (&Arc<FileProvenance>, &ScanFault)| {
                let (stages, at, error) = ((skipper, self.position.stage), fault.at, fault.error.clone());
                Skipped::damage(stages, file, at, error, fault.rest).with_num_scanned(num_scanned).into()
            };
            let faults = files.iter().flat_map(|(file, index)| index.faults().iter().map(move |fault| (file, fault)));
            skip_events.extend(faults.map(left_out));
        }
        let charges = std::mem::take(&mut self.charges);
        Ok(Some(Indexes { files: RecordLookup::new(Arc::clone(&self.access), files), _charges: charges }))
    }
}

/// The records of files, with the memory charge of their index.
struct Indexes {
    files: RecordLookup,
    _charges: Vec<Charge>,
}

impl Indexed for Indexes {
    fn len(&self) -> u64 {
        self.files.len()
    }

    fn read(&self, numbers: &[u64]) -> Result<Block> {
        self.files.read(numbers)
    }

    fn row_provenance(&self, number: u64) -> Option<RowProvenance> {
        self.files.row_provenance(number)
    }

    fn row_bytes(&self) -> usize {
        self.files.row_bytes()
    }
}

/// Creates the node that returns the rows, once every part has random access.
pub type Begin = Box<dyn FnOnce(Vec<Arc<dyn Indexed>>) -> Result<Box<dyn Node>> + Send>;

/// A node for a full shuffle.
pub struct Shuffled {
    parts: Vec<RowAccess>,
    /// The stage that orders the rows.
    stage: OrderStage,
    begin: Option<Begin>,
    node: Option<Box<dyn Node>>,
    /// Reports of rows skipped before the first row, for each part.
    skip_events: Vec<Vec<SkipEvent>>,
    /// The same reports in order, once every part has random access.
    left_out: VecDeque<SkipEvent>,
}

impl Shuffled {
    /// Returns the rows of all parts, in the order of the node that `begin` creates.
    pub fn new(parts: Vec<RowAccess>, begin: Begin, stage: OrderStage) -> Self {
        let skip_events = parts.iter().map(|_| Vec::new()).collect();
        Self { parts, stage, begin: Some(begin), node: None, skip_events, left_out: VecDeque::new() }
    }
}

impl Node for Shuffled {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        if let Some(begin) = self.begin.take() {
            let parts = self.parts.iter_mut().zip(&mut self.skip_events);
            let lookup: Vec<_> =
                parts.map(|(part, skip_events)| part.poll(context, skip_events, self.stage)).collect::<Result<_>>()?;
            match lookup.into_iter().collect() {
                Some(lookup) => {
                    self.node = Some(begin(lookup)?);
                    self.left_out.extend(self.skip_events.drain(..).flatten());
                }
                None => self.begin = Some(begin),
            }
        }
        if let Some(skip_event) = self.left_out.pop_front() {
            return Ok(Poll::SkipEvent(skip_event));
        }
        match &mut self.node {
            Some(node) => node.pull(context),
            None => Ok(Poll::Pending),
        }
    }
}
