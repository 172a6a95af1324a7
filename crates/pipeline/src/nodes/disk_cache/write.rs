//! Returns the rows of its input while tasks write them to a cache file.

use crate::blocks::rows::Rows;
use crate::budget::Charge;
use crate::checkpoint::Checkpoint;
use crate::node::{Context, Node, Poll, Position};
use crate::nodes::disk_cache::encoding::{Chunk, chunks};
use crate::nodes::disk_cache::store::Writer;
use crate::skip_event::SkipEvent;
use crate::tasks::meters::{Stopwatch, enter_stage};
use crate::tasks::task::Ring;
use headrace_engine::error::{Error, Result};
use headrace_engine::run::catch_panic;
use std::sync::Arc;

/// Returns the rows of its input and writes them to a cache file.
pub struct Write {
    input: Input,
    /// Input rows that are not in a task yet.
    waiting: Option<Rows>,
    writer: Option<Writer>,
    /// Input rows that are being encoded.
    encoded: Ring<Encoded>,
    /// Chunks that are being written, and the end of the file while it gets its final name.
    written: Ring<()>,
    /// The maximum number of concurrent tasks of each kind.
    ahead: usize,
    /// The number of the next row.
    next: u64,
    position: Position,
}

enum Input {
    Open(Box<dyn Node>),
    Ended,
    /// An error to return after the rows before it.
    Failed(Error),
}

/// Rows or a report from the input.
enum Encoded {
    Rows {
        rows: Rows,
        /// The checkpoint after the last row.
        rest: Checkpoint,
        /// The encoded chunks, or the reason why they cannot be stored.
        chunks: std::result::Result<Vec<Chunk>, String>,
        charge: Charge,
    },
    Event(SkipEvent),
}

impl Write {
    /// Writes the rows of a whole pass. Begins up to `ahead` tasks before their results are
    /// requested.
    pub fn new(input: Box<dyn Node>, writer: Writer, ahead: usize, position: Position) -> Self {
        let ahead = if position.synchronous { 1 } else { ahead.max(1) };
        let (encoded, written) = (Ring::new(), Ring::new());
        Self {
            input: Input::Open(input),
            waiting: None,
            writer: Some(writer),
            encoded,
            written,
            ahead,
            next: 0,
            position,
        }
    }

    /// Stores nothing, and reports this reason.
    fn give_up(&mut self, reason: &str) {
        if let Some(writer) = self.writer.take() {
            writer.give_up(reason);
        }
    }

    fn start_encoding(&mut self, context: &mut Context) {
        while self.encoded.len() < self.ahead {
            if let Some(rows) = self.waiting.take() {
                let num_bytes = if self.writer.is_some() { rows.num_bytes() } else { 0 };
                match context.charge(num_bytes.min(context.budget.room_bytes()), self.encoded.is_empty()) {
                    Some(charge) => self.encode(rows, charge, context),
                    None => {
                        self.waiting = Some(rows);
                        return;
                    }
                }
                continue;
            }
            let Input::Open(input) = &mut self.input else { return };
            match input.pull(context) {
                Ok(Poll::Ready(rows)) => self.waiting = Some(rows),
                Ok(Poll::SkipEvent(event)) => {
                    self.encoded.start(Checkpoint::default()).set(Ok(Encoded::Event(event)));
                }
                Ok(Poll::Pending) => return,
                Ok(Poll::End) => self.input = Input::Ended,
                Err(error) => self.input = Input::Failed(error),
            }
        }
    }

    fn encode(&mut self, rows: Rows, mut charge: Charge, context: &mut Context) {
        let (position, is_kept) = (self.position, self.writer.is_some());
        let slot = self.encoded.start(rows.checkpoint(0));
        let meters = Arc::clone(context.meters);
        let work = move || {
            let watch = Stopwatch::start_with_processor(meters.stage(position.stage));
            enter_stage(position.stage);
            let encoded = catch_panic(|| {
                let rest = rows.checkpoint(rows.len());
                let chunks = match is_kept {
                    true => chunks(&rows).map_err(|error| error.message().to_owned()),
                    false => Ok(Vec::new()),
                };
                let held = |chunks: &Vec<Chunk>| chunks.iter().map(|chunk| chunk.bytes.capacity()).sum();
                charge.correct(chunks.as_ref().map_or(0, held));
                let provenance = rows.provenance().in_pass(position.pass);
                Ok(Encoded::Rows { rows: rows.with_provenance(provenance)?, rest, chunks, charge })
            });
            drop(watch);
            slot.set(encoded);
        };
        context.start(position.distance, Box::new(work));
    }

    /// Starts a task that works on the file.
    fn start_writing(&mut self, context: &mut Context, write: impl FnOnce() -> Result<()> + Send + 'static) {
        let (slot, position) = (self.written.start(Checkpoint::default()), self.position);
        let meters = Arc::clone(context.meters);
        let work = move || {
            let watch = Stopwatch::start_with_processor(meters.stage(position.stage));
            enter_stage(position.stage);
            let written = catch_panic(write);
            drop(watch);
            slot.set(written);
        };
        context.start(position.distance, Box::new(work));
    }

    fn keep(&mut self, chunks: Vec<Chunk>, checkpoints: [Checkpoint; 2], charge: Charge, context: &mut Context) {
        let Some(writer) = &mut self.writer else { return };
        match writer.add(chunks, checkpoints) {
            Ok(write) => self.start_writing(context, move || {
                let written = write();
                drop(charge);
                written
            }),
            Err(reason) => self.give_up(&reason),
        }
    }

    /// Collects the results of finished writes. Stops at the first error.
    fn collect_written(&mut self) {
        while let Some((_, written)) = self.written.pop() {
            if let Err(error) = written {
                self.give_up(error.message());
            }
        }
    }
}

impl Node for Write {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            self.collect_written();
            self.start_encoding(context);
            if self.written.len() >= self.ahead {
                return Ok(Poll::Pending);
            }
            match self.encoded.pop() {
                Some((_, Ok(Encoded::Event(event)))) => {
                    if let Some(writer) = &mut self.writer {
                        writer.add_event(event.clone());
                    }
                    return Ok(Poll::SkipEvent(event));
                }
                Some((checkpoint, Ok(Encoded::Rows { rows, rest, chunks, charge }))) => {
                    match chunks {
                        Ok(chunks) => self.keep(chunks, [checkpoint.clone(), rest], charge, context),
                        Err(reason) => self.give_up(&reason),
                    }
                    let checkpoint = Checkpoint::new([self.next], [checkpoint]);
                    self.next += rows.len() as u64;
                    return Ok(Poll::Ready(rows.with_checkpoint(checkpoint)));
                }
                Some((_, Err(error))) => return Err(error),
                None if !self.encoded.is_empty() => return Ok(Poll::Pending),
                None => {}
            }
            match &mut self.input {
                _ if self.waiting.is_some() => return Ok(Poll::Pending),
                Input::Open(_) => return Ok(Poll::Pending),
                Input::Failed(error) => return Err(error.clone()),
                Input::Ended if !self.written.is_empty() => return Ok(Poll::Pending),
                Input::Ended => match self.writer.take() {
                    Some(writer) => self.start_writing(context, move || {
                        writer.finish();
                        Ok(())
                    }),
                    None => return Ok(Poll::End),
                },
            }
        }
    }
}
