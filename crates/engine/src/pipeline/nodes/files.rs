//! The records of files, one file after the other. Some files are read at the same time.

use crate::error::{Error, Result};
use crate::pipeline::block::{Block, FileOrigin};
use crate::pipeline::budget::Charge;
use crate::pipeline::index::RandomAccess;
use crate::pipeline::meters::Stopwatch;
use crate::pipeline::node::{Context, Node, Poll, Position};
use crate::pipeline::nodes::expected::Expected;
use crate::pipeline::rows::Rows;
use crate::pipeline::task::{Ring, Slot};
use crate::run::catch_panic;
use std::collections::VecDeque;
use std::sync::Arc;

/// How files of a kind are cut into blocks.
pub trait Format: Send + Sync {
    /// Opens a file at its first record.
    fn open(&self, file: &Arc<FileOrigin>) -> Result<Box<dyn Scan>>;

    /// How many bytes a block may have, unless one record has more.
    fn block_bytes(&self) -> usize;

    /// How many bytes an open file takes beside its blocks.
    fn open_bytes(&self) -> usize {
        self.block_bytes()
    }

    /// How records are reached one by one; `None` if they are not.
    fn random_access(self: Arc<Self>) -> Option<Arc<dyn RandomAccess>> {
        None
    }
}

/// A file that is read from its beginning to its end.
pub trait Scan: Send {
    /// The next records, `None` after the last one. Records before a damaged one come first; the error comes with the
    /// next call, and nothing after it.
    fn next(&mut self, charge: Charge) -> Result<Option<Block>>;
}

/// Blocks of a file that may wait: so many of the file whose records come next, and of each other one.
const MAX_BLOCKS: usize = 4;

/// The node.
pub struct Files {
    format: Arc<dyn Format>,
    files: Arc<[Arc<FileOrigin>]>,
    next_file: usize,
    /// The files being read, in order.
    open: VecDeque<Stream>,
    max_open: usize,
    position: Position,
    /// What blocks take.
    expected: Expected,
    in_any_order: bool,
}

/// What a task for a file gives back.
struct Part {
    scan: Option<Box<dyn Scan>>,
    block: Result<Option<Block>>,
}

struct Stream {
    /// `None` before the file is opened, while a task has it, and after its end.
    scan: Option<Box<dyn Scan>>,
    file: Arc<FileOrigin>,
    is_opened: bool,
    /// The task that has the file.
    reading: Ring<Part>,
    ready: VecDeque<Block>,
    /// What the open file takes beside its blocks; `None` if it is not open.
    open_charge: Option<Charge>,
    /// No more is read.
    is_over: bool,
    error: Option<Error>,
}

impl Files {
    /// Up to `max_open` files are read at the same time.
    pub fn new(format: Arc<dyn Format>, files: Arc<[Arc<FileOrigin>]>, max_open: usize, position: Position) -> Self {
        let (open, max_open) = (VecDeque::new(), max_open.max(1));
        let expected = Expected::default();
        Self { format, files, next_file: 0, open, max_open, position, expected, in_any_order: false }
    }

    /// With `in_any_order`, blocks come as soon as they are there.
    pub fn in_any_order(mut self, in_any_order: bool) -> Self {
        self.in_any_order = in_any_order;
        self
    }

    /// The number of the file whose block comes next.
    fn next_stream(&self) -> usize {
        let is_ready = |stream: &Stream| !stream.ready.is_empty() || stream.is_over;
        match self.in_any_order {
            true => self.open.iter().position(is_ready).unwrap_or(0),
            false => 0,
        }
    }

    fn open_files(&mut self) {
        while self.open.len() < self.max_open
            && let Some(file) = self.files.get(self.next_file)
        {
            self.next_file += 1;
            self.open.push_back(Stream::new(file.in_pass(self.position.pass)));
        }
    }

    fn start_tasks(&mut self, context: &mut Context) {
        for (index, stream) in self.open.iter_mut().enumerate() {
            stream.collect(&self.expected);
            let is_needed = index == 0 && stream.ready.is_empty();
            if stream.is_over || !stream.reading.is_empty() || stream.ready.len() >= MAX_BLOCKS {
                continue;
            }
            if stream.open_charge.is_none() {
                stream.open_charge = context.charge(self.format.open_bytes(), is_needed);
            }
            if stream.open_charge.is_none() {
                return;
            }
            let num_bytes = self.expected.task_bytes().unwrap_or_else(|| self.format.block_bytes());
            let Some(charge) = context.charge(num_bytes, is_needed) else { return };
            stream.start(&self.format, charge, context, self.position);
        }
    }
}

impl Stream {
    fn new(file: Arc<FileOrigin>) -> Self {
        let (reading, ready) = (Ring::new(), VecDeque::new());
        Self { scan: None, file, is_opened: false, reading, ready, open_charge: None, is_over: false, error: None }
    }

    fn start(&mut self, format: &Arc<dyn Format>, charge: Charge, context: &mut Context, position: Position) {
        let slot: Slot<Part> = self.reading.start();
        let (format, file) = (Arc::clone(format), Arc::clone(&self.file));
        let (scan, is_opened) = (self.scan.take(), std::mem::replace(&mut self.is_opened, true));
        let meters = Arc::clone(context.meters);
        let work = move || {
            let meter = meters.stage(position.stage);
            let watch = Stopwatch::start_with_processor(meter);
            let read = || {
                let mut scan = match scan {
                    Some(scan) => scan,
                    None if !is_opened => format.open(&file)?,
                    None => return Err(Error::internal("a file is read after its end")),
                };
                let block = scan.next(charge);
                if let (Some(meter), Ok(Some(block))) = (meter, &block) {
                    meter.count(0, block.num_bytes());
                }
                Ok(Part { scan: Some(scan), block })
            };
            let part = catch_panic(read);
            drop(watch);
            slot.set(part);
        };
        context.start(position.distance, Box::new(work));
    }

    /// Takes what the task of this file has given.
    fn collect(&mut self, expected: &Expected) {
        let Some(part) = self.reading.pop() else { return };
        match part.and_then(|part| {
            self.scan = part.scan;
            part.block
        }) {
            Ok(Some(block)) => {
                expected.note(block.num_rows(), block.held_bytes());
                self.ready.push_back(block);
            }
            Ok(None) => self.is_over = true,
            Err(error) => {
                self.is_over = true;
                self.error = Some(error);
            }
        }
        if self.is_over {
            self.scan = None;
            self.open_charge = None;
        }
    }
}

impl Node for Files {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            self.open_files();
            self.start_tasks(context);
            let next = self.next_stream();
            let Some(first) = self.open.get_mut(next) else { return Ok(Poll::End) };
            match first.ready.pop_front() {
                Some(block) if block.num_rows() > 0 => {
                    self.start_tasks(context);
                    return Ok(Poll::Ready(Rows::all(block)));
                }
                Some(_) => {}
                None if first.is_over => {
                    if let Some(error) = first.error.take() {
                        return Err(error);
                    }
                    self.open.remove(next);
                }
                None => return Ok(Poll::Pending),
            }
        }
    }
}
