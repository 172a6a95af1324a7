//! Reads records from files in order, with several files open at the same time.

use crate::blocks::block::{Block, FileProvenance};
use crate::blocks::packing::packed;
use crate::blocks::rows::Rows;
use crate::budget::Charge;
use crate::checkpoint::{Checkpoint, damaged};
use crate::formats::RecordLocator;
use crate::index::FilePiece;
use crate::node::{Context, Node, Poll, Position};
use crate::records::{Format, RecordPosition, Rest, Scan};
use crate::skip_event::{SkipEvent, Skipped, is_damage};
use crate::tasks::meters::{Stopwatch, enter_stage};
use crate::tasks::size_estimate::SizeEstimate;
use crate::tasks::task::{Ring, Slot};
use headrace_engine::error::{Error, Result};
use headrace_engine::files::ranged::ComingBytes;
use headrace_engine::run::catch_panic;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The maximum number of waiting blocks, for the file whose records come next and for each other
/// file.
const MAX_BLOCKS: usize = 4;
/// If the next file has fewer waiting blocks than this, its next block is read before anything
/// else. Only one task reads a file at a time. If that task only started once nothing else was left
/// to do, all other workers would have to wait for it.
const FEW_BLOCKS: usize = 2;
/// The maximum size of the waiting blocks of a part of a file, in bytes.
const MAX_PART_BYTES: usize = 64 << 20;
/// The share of the pipeline's memory for files that are read in turn, not counting their blocks. A
/// file that uses more than its share is closed after each block and reopened for the next one.
const TURNS_PART: usize = 2;
/// Files whose block is at most this large, in bytes, are small.
const SMALL_FILE_BYTES: usize = 64 << 10;
/// The number of small files to read concurrently, for each other file. As many tasks wait for
/// workers, which would otherwise sleep until the next file is opened.
const SMALL_FILES: usize = 4;
/// The minimum number of remote files to read concurrently. The first number is for files with a
/// single record, the second for other files. More are read if they are small.
const MIN_REMOTE_FILES: [usize; 2] = [MAX_REMOTE_FILES, 4];
/// The maximum number of small remote files to read concurrently.
const MAX_REMOTE_FILES: usize = 32;
/// The share of the pipeline's memory for requests to remote files.
const AHEAD_PART: usize = 8;
/// The lower and upper limit for the read-ahead of a remote file. In between, all files share the
/// memory for requests equally.
const AHEAD_BYTES: [usize; 2] = [256 << 10, 32 << 20];

/// A node that reads files in order.
pub struct Files {
    format: Arc<dyn Format>,
    files: Arc<[Arc<FileProvenance>]>,
    next_file: usize,
    /// The number after the last file.
    end: usize,
    /// The maximum number of waiting blocks per file.
    max_blocks: usize,
    /// True if later files are read ahead as far as memory allows.
    are_parts: bool,
    /// The number of files that this node and others read in turn, if there are several and files
    /// can be opened at any record.
    num_turns: Option<usize>,
    are_remote: bool,
    /// Where to open the first file, if not at its beginning.
    first_record: Option<RecordPosition>,
    /// The piece to read if there is only one file, or `None` for the whole file.
    piece: Option<FilePiece>,
    /// The files that are currently being read, in order.
    open: VecDeque<Stream>,
    max_open: usize,
    /// True if the last file that was read to its end is small.
    are_small: bool,
    position: Position,
    /// The estimated size of a block.
    size_estimate: SizeEstimate,
    in_any_order: bool,
}

/// Returns true if any file is remote.
pub fn are_remote(files: &[Arc<FileProvenance>]) -> bool {
    files.iter().any(|file| file.name.is_remote())
}

/// Returns how many remote files, or pieces of them, to read concurrently with `limit_bytes` of
/// memory. Small files take as long to respond as large ones, so more of them are requested.
/// `most_bytes` is the size of the largest file, or 0 if unknown.
pub fn num_remote_files(format: &dyn Format, most_bytes: u64, limit_bytes: usize) -> usize {
    let least = MIN_REMOTE_FILES[usize::from(!format.is_one_record())];
    let fitting = ((limit_bytes / AHEAD_PART) as u64).checked_div(most_bytes).unwrap_or(0);
    usize::try_from(fitting).map_or(MAX_REMOTE_FILES, |fitting| fitting.clamp(least, MAX_REMOTE_FILES))
}

/// The size in bytes of the largest file of a source opened so far, or 0.
pub fn largest_bytes(files: &[Arc<FileProvenance>]) -> u64 {
    files.first().map_or(0, |file| file.largest_bytes.load(Relaxed))
}

/// The result of a task that reads a file.
struct Part {
    /// `None` if there is nothing left to read.
    scan: Option<Box<dyn Scan>>,
    /// The position of its first record.
    at_record: RecordPosition,
    output: Option<StreamOutput>,
    /// The memory charge of the open file, without its blocks. `None` if the file isn't open.
    open_charge: Option<Charge>,
    /// If the file was closed because it used too much memory: the position of the next record, and
    /// the memory it used.
    closed: Option<(RecordPosition, usize)>,
}

impl Part {
    /// Charges the open file for its memory. If it uses more than `most_held_bytes`, closes it.
    fn charged(self, mut charge: Option<Charge>, most_held_bytes: usize) -> Self {
        let held = self.scan.as_ref().and_then(|scan| Some((scan.position(), scan.held_bytes()?)));
        match held {
            Some((_, held_bytes)) if held_bytes > most_held_bytes => Self { scan: None, closed: held, ..self },
            _ => {
                if let (Some(charge), Some((_, held_bytes))) = (&mut charge, held) {
                    charge.correct(held_bytes);
                }
                Self { open_charge: charge, ..self }
            }
        }
    }
}

enum StreamOutput {
    Block(Block),
    SkipEvent(SkipEvent),
}

struct Stream {
    /// `None` before the file is opened, while a task is using it, and after its end.
    scan: Option<Box<dyn Scan>>,
    file: Arc<FileProvenance>,
    /// The number of the file.
    number: usize,
    /// Where to open the file, if not at its beginning.
    first_record: Option<RecordPosition>,
    /// The piece of the file to read, or `None` for the whole file.
    piece: Option<FilePiece>,
    /// The requested bytes of a piece that have not arrived yet.
    coming: Option<ComingBytes>,
    is_opened: bool,
    /// The task that is reading the file.
    reading: Ring<Part>,
    ready: VecDeque<(RecordPosition, StreamOutput)>,
    /// Records the positions of blocks, if damaged parts may be skipped.
    locator: Option<Arc<RecordLocator>>,
    /// The memory charge of the open file, without its blocks. `None` if the file isn't open.
    open_charge: Option<Charge>,
    /// The memory that the open file uses, without its blocks, if it has been opened before.
    held_bytes: Option<usize>,
    /// The target size of blocks, if it differs from the format's default.
    target_bytes: Option<usize>,
    /// True if the file has been read to its end.
    is_over: bool,
    error: Option<Error>,
}

impl Files {
    /// Reads up to `max_open` files at the same time.
    pub fn new(
        format: Arc<dyn Format>,
        files: Arc<[Arc<FileProvenance>]>,
        max_open: usize,
        position: Position,
    ) -> Self {
        let are_remote = are_remote(&files);
        let max_open = if are_remote { num_remote_files(&*format, 0, 0).max(max_open) } else { max_open };
        Self { are_remote, ..Self::with(format, files, max_open, position) }
    }

    fn with(format: Arc<dyn Format>, files: Arc<[Arc<FileProvenance>]>, max_open: usize, position: Position) -> Self {
        let open = VecDeque::new();
        let (size_estimate, first_record, piece) = (SizeEstimate::default(), None, None);
        let (end, max_blocks, in_any_order) = (files.len(), MAX_BLOCKS, false);
        let are_parts = format.has_parts();
        Self {
            format,
            files,
            next_file: 0,
            end,
            max_blocks,
            are_parts,
            num_turns: None,
            are_remote: false,
            first_record,
            piece,
            open,
            max_open,
            are_small: false,
            position,
            size_estimate,
            in_any_order,
        }
    }

    /// Reads only file `number`. In total, `num_open` files are read at the same time.
    pub fn one_of(
        format: Arc<dyn Format>,
        files: Arc<[Arc<FileProvenance>]>,
        number: usize,
        num_open: usize,
        position: Position,
    ) -> Self {
        let (next_file, end) = (number, number + 1);
        let max_blocks = if num_open > 1 { FEW_BLOCKS } else { MAX_BLOCKS };
        let num_turns = Some(num_open).filter(|num_open| *num_open > 1 && format.has_parts());
        let (max_open, are_parts) = (num_open.max(1), false);
        Self { next_file, end, max_blocks, max_open, are_parts, num_turns, ..Self::with(format, files, 1, position) }
    }

    /// Reads only one piece of a single file.
    pub fn of_piece(self, piece: Option<FilePiece>) -> Self {
        Self { piece, ..self }
    }

    /// Continues from a checkpoint's state. The caller skips the rows that follow it.
    pub fn from_checkpoint(mut self, checkpoint: &Checkpoint) -> Result<Self> {
        if let Some([file, offset_bytes, record]) = checkpoint.numbers()? {
            self.next_file = usize::try_from(file)
                .ok()
                .filter(|file| (self.next_file..self.end).contains(file))
                .ok_or_else(damaged)?;
            self.first_record = Some(RecordPosition { offset_bytes, record });
        }
        Ok(self)
    }

    /// If `in_any_order`, returns blocks as soon as they are finished.
    pub fn in_any_order(mut self, in_any_order: bool) -> Self {
        self.in_any_order = in_any_order;
        self
    }

    /// The index of the file whose block comes next.
    fn next_stream(&self) -> usize {
        let is_ready = |stream: &Stream| !stream.ready.is_empty() || stream.is_over;
        match self.in_any_order {
            true => self.open.iter().position(is_ready).unwrap_or(0),
            false => 0,
        }
    }

    fn open_files(&mut self, context: &Context) {
        if self.are_remote {
            let limit_bytes = context.budget.limit_bytes();
            let num_files = num_remote_files(&*self.format, largest_bytes(&self.files), limit_bytes);
            self.max_open = self.max_open.max(num_files);
        }
        let are_small = self.are_small && !self.are_remote;
        let max_open = if are_small { self.max_open.saturating_mul(SMALL_FILES) } else { self.max_open };
        while self.open.len() < max_open
            && self.next_file < self.end
            && let Some(file) = self.files.get(self.next_file)
        {
            let (number, first_record) = (self.next_file, self.first_record.take());
            self.next_file += 1;
            let file = file.in_pass(self.position.pass);
            let file = self.piece.iter().fold(file, |file, piece| piece.renumber(file));
            let is_located = self.position.skipper.is_some() || self.position.keeps_origins;
            let locator = is_located.then(|| Arc::new(RecordLocator::new(Arc::clone(&self.format))));
            let file = match &locator {
                Some(locator) => file.with_locate(Arc::<RecordLocator>::clone(locator)),
                None => file,
            };
            let file = if file.name.is_remote() { file.reopened() } else { file };
            self.open.push_back(Stream::new(file, number, first_record, self.piece.clone(), locator));
        }
    }

    /// The maximum number of waiting blocks of any file but the first. If the parts of one file are
    /// read in order, it depends on how many parts fit into memory.
    fn max_later_blocks(&self, context: &Context) -> usize {
        let block_bytes = self.size_estimate.task_bytes().unwrap_or_else(|| self.format.block_bytes());
        let part_bytes = (context.budget.room_bytes() / (4 * self.max_open)).min(MAX_PART_BYTES);
        match self.are_parts {
            true => self.max_blocks.max(part_bytes / block_bytes.max(1)),
            false => self.max_blocks,
        }
    }

    /// The maximum memory that a file may use between two blocks.
    fn most_held_bytes(&self, context: &Context) -> usize {
        let share = |num_turns: usize| context.budget.room_bytes() / TURNS_PART / num_turns;
        self.num_turns.map_or(usize::MAX, share)
    }

    /// Starts tasks that read the next blocks. If `has_block`, a block is about to be returned, so
    /// the next one can wait for memory.
    fn start_tasks(&mut self, has_block: bool, context: &mut Context) {
        let max_later_blocks = self.max_later_blocks(context);
        let most_held_bytes = self.most_held_bytes(context);
        for (index, stream) in self.open.iter_mut().enumerate() {
            self.are_small = stream.collect(&self.size_estimate).unwrap_or(self.are_small);
            let is_needed = index == 0 && stream.ready.is_empty() && !has_block;
            let max_blocks = if index == 0 { self.max_blocks } else { max_later_blocks };
            if stream.is_over || !stream.reading.is_empty() || stream.ready.len() >= max_blocks {
                continue;
            }
            // These files were opened because others are small, but they are not.
            if index >= self.max_open && stream.is_opened {
                continue;
            }
            if stream.open_charge.is_none() {
                let ahead_bytes = context.budget.limit_bytes() / AHEAD_PART / self.max_open;
                let ahead_bytes = ahead_bytes.clamp(AHEAD_BYTES[0], AHEAD_BYTES[1]);
                let open_bytes = stream.held_bytes.unwrap_or_else(|| self.format.open_bytes(&stream.file));
                let open_bytes = stream.block_bytes().map_or(open_bytes, |block_bytes| open_bytes.min(block_bytes));
                stream.held_bytes = Some(open_bytes);
                let open_bytes = open_bytes.saturating_add(self.format.opening_bytes(&stream.file));
                stream.open_charge = stream.begin(&*self.format, open_bytes, ahead_bytes, context, is_needed);
            }
            if stream.open_charge.is_none() {
                return;
            }
            // A worker waiting for it could not do the work that others are waiting for.
            if !is_needed && !stream.has_begun() {
                continue;
            }
            let most_bytes = self.format.block_bytes();
            let most_bytes = stream.block_bytes().map_or(most_bytes, |block_bytes| most_bytes.min(2 * block_bytes));
            let num_bytes = self.size_estimate.task_bytes().unwrap_or(most_bytes);
            // Use large blocks, because the file is reopened for each one.
            let is_closed = stream.held_bytes.is_some_and(|held_bytes| held_bytes > most_held_bytes);
            stream.target_bytes = is_closed.then(|| most_held_bytes.max(self.format.block_bytes()));
            let num_bytes = num_bytes.max(stream.target_bytes.unwrap_or(0));
            let Some(charge) = context.charge(num_bytes, is_needed) else { return };
            let is_urgent = index == 0 && stream.ready.len() < FEW_BLOCKS;
            stream.start(&self.format, (charge, most_held_bytes), context, self.position, is_urgent);
        }
    }
}

impl Stream {
    fn new(
        file: Arc<FileProvenance>,
        number: usize,
        first_record: Option<RecordPosition>,
        piece: Option<FilePiece>,
        locator: Option<Arc<RecordLocator>>,
    ) -> Self {
        let (reading, ready, coming) = (Ring::new(), VecDeque::new(), None);
        Self {
            scan: None,
            file,
            number,
            first_record,
            piece,
            coming,
            is_opened: false,
            reading,
            ready,
            locator,
            open_charge: None,
            held_bytes: None,
            target_bytes: None,
            is_over: false,
            error: None,
        }
    }

    /// Charges the memory of an open file. If the file is remote, also starts opening it.
    fn begin(
        &mut self,
        format: &dyn Format,
        open_bytes: usize,
        ahead_bytes: usize,
        context: &Context,
        is_needed: bool,
    ) -> Option<Charge> {
        // `open_bytes` already includes the requested bytes of a part.
        let is_remote = self.file.name.is_remote() && !format.has_parts();
        let ahead_bytes = match self.block_bytes() {
            Some(block_bytes) => ahead_bytes.min(block_bytes.saturating_add(AHEAD_BYTES[0])),
            None => ahead_bytes,
        };
        let charge = context.charge(open_bytes.saturating_add(if is_remote { ahead_bytes } else { 0 }), is_needed)?;
        match self.piece.as_ref().filter(|piece| piece.is_of_several()) {
            Some(piece) => self.coming = piece.begin(self.first_record, ahead_bytes as u64),
            None => format.begin(&self.file, ahead_bytes),
        }
        Some(charge)
    }

    /// Returns false if the beginning was requested but has not arrived yet.
    fn has_begun(&mut self) -> bool {
        self.coming.as_mut().is_none_or(ComingBytes::is_ready) && self.file.has_begun()
    }

    /// The maximum size of a piece in bytes, unless a single record is larger.
    fn block_bytes(&self) -> Option<usize> {
        let piece = self.piece.as_ref().filter(|piece| piece.is_of_several())?;
        usize::try_from(piece.borders.block_bytes()).ok()
    }

    /// The checkpoint of a block.
    fn checkpoint(&self, at_record: RecordPosition) -> Checkpoint {
        Checkpoint::new([self.number as u64, at_record.offset_bytes, at_record.record], [])
    }

    /// Starts a task that reads the next block. The task closes the file if it uses more than
    /// `most_held_bytes` afterwards. Urgent tasks run before tasks that are closer to the consumer.
    fn start(
        &mut self,
        format: &Arc<dyn Format>,
        (charge, most_held_bytes): (Charge, usize),
        context: &mut Context,
        position: Position,
        is_urgent: bool,
    ) {
        let slot: Slot<Part> = self.reading.start(Checkpoint::default());
        let (format, file, first_record) = (Arc::clone(format), Arc::clone(&self.file), self.first_record);
        let (scan, is_opened) = (self.scan.take(), std::mem::replace(&mut self.is_opened, true));
        let (piece, coming, target_bytes) = (self.piece.clone(), self.coming.take(), self.target_bytes);
        let (meters, locator, open_charge) =
            (Arc::clone(context.meters), self.locator.clone(), self.open_charge.take());
        let work = move || {
            let meter = meters.stage(position.stage);
            let watch = Stopwatch::start_with_processor(meter);
            enter_stage(position.stage);
            let read = || {
                let first = scan.as_ref().map_or(first_record, |scan| Some(scan.position()));
                let first = first.unwrap_or_default().record;
                let reading = meters.begin_read(position.stage, &file, first);
                let scan = match scan {
                    Some(scan) => Ok(scan),
                    None if !is_opened => match piece {
                        Some(piece) => piece.open(&file, first_record, coming),
                        None => format.open(&file, first_record.unwrap_or_default()),
                    },
                    None => return Err(Error::internal("read past the end of a file")),
                };
                let mut scan = match scan {
                    Ok(scan) => scan,
                    Err(error) => return left_out(None, error, &file, first_record.unwrap_or_default(), position),
                };
                let at_record = scan.position();
                if let Some(target_bytes) = target_bytes {
                    scan.set_block_bytes(target_bytes);
                }
                locator.inspect(|locator| locator.remember(at_record));
                let block = scan.next(charge);
                drop(reading);
                let block = match block {
                    Ok(block) => block,
                    Err(error) => return left_out(Some(scan), error, &file, at_record, position),
                };
                if let (Some(meter), Some(block)) = (meter, &block) {
                    meter.count(0, block.num_bytes());
                }
                let block = if position.is_mixed { block.map(packed).transpose()? } else { block };
                let output = block.map(StreamOutput::Block);
                // Another task would only find the end.
                let scan = if scan.is_over() { None } else { Some(scan) };
                Ok(Part { scan, at_record, output, open_charge: None, closed: None })
            };
            let part = catch_panic(|| read().map(|part| part.charged(open_charge, most_held_bytes)));
            drop(watch);
            slot.set(part);
        };
        context.start(if is_urgent { 0 } else { position.distance }, Box::new(work));
    }

    /// Takes the result of this file's task. Returns whether the file is small, if there is one.
    fn collect(&mut self, size_estimate: &SizeEstimate) -> Option<bool> {
        let (_, part) = self.reading.pop()?;
        let mut is_small = false;
        match part {
            Ok(Part { scan, at_record, output, open_charge, closed }) => {
                self.is_over = (scan.is_none() && closed.is_none()) || output.is_none();
                (self.scan, self.open_charge) = (scan, open_charge);
                if let Some((at, held_bytes)) = closed {
                    (self.first_record, self.held_bytes, self.is_opened) = (Some(at), Some(held_bytes), false);
                }
                if let Some(StreamOutput::Block(block)) = &output {
                    size_estimate.add(block.num_rows(), block.held_bytes());
                    is_small = block.held_bytes() <= SMALL_FILE_BYTES;
                }
                is_small = (is_small || output.is_none()) && self.is_over && at_record.offset_bytes == 0;
                self.ready.extend(output.map(|output| (at_record, output)));
            }
            Err(error) => {
                self.is_over = true;
                self.error = Some(error);
            }
        }
        if self.is_over {
            self.scan = None;
            self.open_charge = None;
        }
        Some(is_small)
    }
}

/// Returns the report for the part of a file that an error made unreadable, if it may be skipped.
fn left_out(
    scan: Option<Box<dyn Scan>>,
    error: Error,
    file: &Arc<FileProvenance>,
    at_record: RecordPosition,
    position: Position,
) -> Result<Part> {
    let Some(skipper) = position.skipper.filter(|_| is_damage(&error)) else { return Err(error) };
    let at = scan.as_ref().map_or(at_record, |scan| scan.position());
    let num_bytes = scan.as_ref().and_then(|scan| scan.rest_bytes());
    let scan = scan.and_then(|mut scan| scan.go_on().then_some(scan));
    let rest = scan.is_none().then_some(Rest { num_bytes });
    let skipped = Skipped::damage((skipper, position.stage), file, at, error, rest);
    let output = Some(StreamOutput::SkipEvent(skipped.into()));
    Ok(Part { scan, at_record, output, open_charge: None, closed: None })
}

impl Node for Files {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            self.open_files(context);
            self.start_tasks(false, context);
            let next = self.next_stream();
            let Some(first) = self.open.get_mut(next) else { return Ok(Poll::End) };
            match first.ready.pop_front() {
                Some((at_record, StreamOutput::Block(block))) if block.num_rows() > 0 => {
                    let checkpoint = first.checkpoint(at_record);
                    // Otherwise, nothing has changed since tasks were started above.
                    if !first.is_over {
                        self.start_tasks(true, context);
                    }
                    return Ok(Poll::Ready(Rows::all(block).with_checkpoint(checkpoint)));
                }
                Some((_, StreamOutput::SkipEvent(skip_event))) => return Ok(Poll::SkipEvent(skip_event)),
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
