//! Windows of consecutive rows.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::Column;
use crate::blocks::opaque::{Opaque, OpaqueValues};
use crate::blocks::provenance::ProvenanceBuilder;
use crate::blocks::rows::Rows;
use crate::blocks::windows::{Window, WindowShape, Windowing};
use crate::checkpoint::{Checkpoint, damaged};
use crate::node::{Context, Node, Poll};
use crate::nodes::step_facts::{BatchesOfInput, RowShards, StepFacts};
use headrace_engine::error::Result;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// A node that returns windows of its input's rows, in order. Each is a value that
/// [`StackWindows`](crate::stages::stack_windows::StackWindows) turns into columns.
pub struct Windows {
    input: Box<dyn Node>,
    windowing: Arc<Windowing>,
    /// The rows of the current episode that later windows may need.
    pieces: VecDeque<Piece>,
    /// The number of rows in the current episode so far.
    num_rows: u64,
    /// The number of the next window's start row in the episode.
    next: u64,
    /// The last row of the input.
    last: Option<(Arc<Block>, usize)>,
    is_over: bool,
}

/// Consecutive rows of an episode and of a block.
struct Piece {
    block: Arc<Block>,
    row: usize,
    length: usize,
    /// The number of its first row in the episode.
    first: u64,
    /// The input's checkpoint of its first row.
    checkpoint: Checkpoint,
}

impl Piece {
    fn end(&self) -> u64 {
        self.first + self.length as u64
    }
}

impl Windows {
    /// The properties of the step.
    pub const FACTS: StepFacts = StepFacts {
        is_one_to_one: false,
        is_row_wise: false,
        python_worker: None,
        keeps_pieces: false,
        is_cache: false,
        may_end_early: false,
        shards: RowShards::None,
        batches: BatchesOfInput::None,
    };

    /// Windows of the rows of `input`.
    pub fn new(input: Box<dyn Node>, windowing: Arc<Windowing>) -> Self {
        let next = windowing.shape.first_start();
        Self { input, windowing, pieces: VecDeque::new(), num_rows: 0, next, last: None, is_over: false }
    }

    fn shape(&self) -> &WindowShape {
        &self.windowing.shape
    }

    /// Continues from a checkpoint. The input starts at the first row that the next window needs.
    pub fn from_checkpoint(mut self, checkpoint: &Checkpoint) -> Result<Self> {
        if let Some([next]) = checkpoint.numbers()? {
            if next > self.shape().num_before() {
                return Err(damaged());
            }
            self.next = next;
        }
        Ok(self)
    }

    /// Returns the windows that are complete with these rows.
    fn take(&mut self, rows: &Rows) -> Result<Option<Rows>> {
        let (mut arrived, mut windows) = (0, NewWindows::default());
        for index in 0.. {
            let Some((block, start, length)) = rows.run(index) else { break };
            let mut row = start;
            while row < start + length {
                let end = self.end_of_episode(block, row, start + length);
                if self.last.as_ref().is_some_and(|last| !self.is_same_episode(last, block, row)) {
                    self.finish_episode(&mut windows);
                }
                self.pieces.push_back(Piece {
                    block: Arc::clone(block),
                    row,
                    length: end - row,
                    first: self.num_rows,
                    checkpoint: rows.checkpoint(arrived),
                });
                self.num_rows += (end - row) as u64;
                arrived += end - row;
                self.last = Some((Arc::clone(block), end - 1));
                row = end;
            }
        }
        let end = self.num_rows.saturating_sub(self.shape().num_after());
        self.add_windows(end, &mut windows);
        windows.into_rows()
    }

    fn is_same_episode(&self, (last, last_row): &(Arc<Block>, usize), block: &Block, row: usize) -> bool {
        self.windowing.is_same_episode((&**last, *last_row), (block, row))
    }

    /// Returns the first row after `row` that belongs to another episode, up to `end`.
    fn end_of_episode(&self, block: &Block, row: usize, end: usize) -> usize {
        if self.windowing.within.is_none() {
            return end;
        }
        let is_border = |next: &usize| !self.windowing.is_same_episode((block, next - 1), (block, *next));
        (row + 1..end).find(is_border).unwrap_or(end)
    }

    /// Adds the last windows of the episode, and starts the next one.
    fn finish_episode(&mut self, windows: &mut NewWindows) {
        self.add_windows(self.shape().end_of_starts(self.num_rows), windows);
        self.pieces.clear();
        (self.num_rows, self.next) = (0, self.shape().first_start());
    }

    /// Adds the windows that start before row `end` of the episode.
    fn add_windows(&mut self, end: u64, windows: &mut NewWindows) {
        if self.next < end {
            let blocks: Arc<[_]> = self.pieces.iter().map(|piece| Arc::clone(&piece.block)).collect();
            while self.next < end {
                let (window, at) = (self.window(&blocks), self.piece_at(self.next));
                let piece = &self.pieces[at];
                let row = piece.row + (self.next - piece.first) as usize;
                windows.push(window, &piece.block, row, || self.checkpoint());
                self.next += self.shape().stride();
            }
        }
        let needed = self.next.saturating_sub(self.shape().num_before());
        while self.pieces.front().is_some_and(|piece| piece.end() <= needed) {
            self.pieces.pop_front();
        }
    }

    /// The number of the piece that contains a row of the episode.
    fn piece_at(&self, row: u64) -> usize {
        self.pieces.partition_point(|piece| piece.end() <= row)
    }

    /// The next window. Block `i` belongs to piece `i`.
    fn window(&self, blocks: &Arc<[Arc<Block>]>) -> Window {
        let mut window = Window::new(blocks);
        let inside = self.shape().for_each_run(self.next, &(0..self.num_rows), |rows, count| {
            self.push(rows, count, &mut window);
        });
        window.inside(inside)
    }

    fn push(&self, rows: Range<u64>, count: Option<usize>, window: &mut Window) {
        let mut next = rows.start;
        for (index, piece) in self.pieces.iter().enumerate().skip(self.piece_at(rows.start)) {
            if next >= rows.end {
                break;
            }
            let (row, end) = (piece.row + (next - piece.first) as usize, piece.end().min(rows.end));
            match count {
                Some(count) => window.push_repeated(index, row, count),
                None => window.push(index, row, (end - next) as usize),
            }
            next = end;
        }
    }

    /// The checkpoint of the next window.
    fn checkpoint(&self) -> Checkpoint {
        let first = self.next.saturating_sub(self.shape().num_before());
        let piece = &self.pieces[self.piece_at(first)];
        Checkpoint::new([self.next - first], [piece.checkpoint.advanced_by(first - piece.first)])
    }
}

/// Windows to be returned together.
#[derive(Default)]
struct NewWindows {
    windows: Vec<Arc<dyn Opaque>>,
    num_bytes: usize,
    held_bytes: usize,
    /// The provenance of the start rows, unless it is unknown.
    provenance: ProvenanceBuilder,
    is_unknown: bool,
    /// The checkpoint of the first window.
    checkpoint: Checkpoint,
}

impl NewWindows {
    /// Adds a window that starts at a row of a block.
    fn push(&mut self, window: Window, block: &Block, row: usize, checkpoint: impl FnOnce() -> Checkpoint) {
        if self.windows.is_empty() {
            self.checkpoint = checkpoint();
        }
        self.num_bytes += window.num_bytes();
        self.held_bytes += window.held_bytes();
        self.is_unknown |= !self.provenance.push(block.provenance(), row, 1);
        self.windows.push(Arc::new(window));
    }

    fn into_rows(self) -> Result<Option<Rows>> {
        let num_windows = self.windows.len();
        if num_windows == 0 {
            return Ok(None);
        }
        let provenance = if self.is_unknown { Provenance::Unknown } else { self.provenance.finish() };
        let column = Column::Opaque(OpaqueValues::new(self.windows, self.num_bytes, self.held_bytes));
        let block = Block::new(vec![column], num_windows, provenance)?;
        Ok(Some(Rows::all(block).with_checkpoint(self.checkpoint)))
    }
}

impl Node for Windows {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        while !self.is_over {
            let rows = match self.input.pull(context)? {
                Poll::Ready(rows) => self.take(&rows)?,
                Poll::End => {
                    self.is_over = true;
                    let mut windows = NewWindows::default();
                    self.finish_episode(&mut windows);
                    windows.into_rows()?
                }
                other => return Ok(other),
            };
            if let Some(rows) = rows {
                return Ok(Poll::Ready(rows));
            }
        }
        Ok(Poll::End)
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        self.input.replay_skipped(context)
    }
}
