//! A windowed shuffle, which picks each row at random from a window of waiting rows.

mod draws;

use crate::blocks::packed_rows::PackedRows;
use crate::blocks::rows::Rows;
use crate::budget::Budget;
use crate::checkpoint::{Checkpoint, damaged};
use crate::node::{Context, GROUP_ROWS, Node, Poll};
use crate::nodes::buffers::pending_rows::{PendingRow, PendingRows};
use crate::nodes::buffers::replay::{Replay, ReplayPoll, Restart};
use crate::nodes::step_facts::{BatchesOfInput, RowShards, StepFacts};
use crate::nodes::window::draws::{Draws, below};
use crate::skip_event::SkipEvent;
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::order;
use headrace_engine::philox::Philox;
use std::collections::VecDeque;
use std::sync::Arc;

/// The number of rows to load into the CPU's cache at a time.
const TOUCHED_ROWS: usize = 64;
/// The memory of a full window's blocks, in percent of the memory of its waiting rows. A block is
/// only replaced by a smaller one after half of its rows have left. This gives the sum of `ln 2 /
/// 2^k`, plus a margin for blocks of different sizes.
const SPREAD_PERCENT: u128 = 150;

/// A shuffle window. Until the input ends, `size` rows wait, and each of them is equally likely to
/// be next.
pub struct Window {
    input: Replay,
    size: usize,
    /// The maximum number of rows to return together.
    group_rows: usize,
    random: Philox,
    /// The number of rows drawn so far.
    drawn: u64,
    /// The number of input rows so far, including rows before a resume.
    num_rows: u64,
    /// The position of the random stream when the input ended.
    end_position: Option<u64>,
    /// After a resume: the positions in `waiting` that still have to be refilled, in reverse order.
    refill: Vec<usize>,
    /// The waiting rows.
    waiting: Vec<PendingRow>,
    /// The values of waiting rows, in the same order, once there are rows whose values move here.
    values: Option<PackedRows>,
    /// The position in `waiting` that the last draw emptied. The next input row goes there.
    hole: Option<usize>,
    pending: PendingRows,
    /// Input rows that have arrived but are not in the window yet.
    incoming: VecDeque<PendingRow>,
    /// The positions in `waiting` drawn for a group. The buffer is reused.
    slots: Vec<usize>,
    /// The rows that a group exchanges. The buffers are reused.
    entering: Vec<PendingRow>,
    given: Vec<PendingRow>,
    /// True once the window has been full and its size has been checked.
    was_full: bool,
    is_over: bool,
    /// An error to return after the rows drawn before it.
    error: Option<Error>,
    /// A report of skipped rows to return after the rows drawn before it. No more rows are drawn
    /// until then.
    skip_event: Option<SkipEvent>,
}

impl Window {
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

    /// Creates a window whose draws depend on `seed` and `pass`.
    pub fn new(input: Box<dyn Node>, size: usize, seed: u64, pass: u64) -> Self {
        let random = Philox::new(seed.cast_signed(), pass.cast_signed());
        Self::with(Replay::new(input), size, random)
    }

    /// Continues from a checkpoint's state. The caller skips the rows that follow it.
    pub fn from_checkpoint(
        checkpoint: &Checkpoint,
        restart: Restart,
        size: usize,
        seed: u64,
        pass: u64,
    ) -> Result<Self> {
        let Some([drawn, position, behind_total, end_position, first]) = checkpoint.numbers()? else {
            return Ok(Self::new(restart(&checkpoint.beginning())?, size, seed, pass));
        };
        let mut random = Philox::new(seed.cast_signed(), pass.cast_signed());
        let end = behind_total.checked_sub(1).map(|total| (total, end_position));
        let (rows, next) = Draws { drawn, position, end }.waiting(&mut random, size)?;
        random.move_to(position);
        let mut positions = order::by_key(rows.len(), |index| rows[index]);
        let wanted: Vec<u64> = positions.iter().map(|index| rows[*index]).collect();
        positions.reverse();
        let input = Replay::recalled(vec![(first, checkpoint.input(0)?)], &wanted, next, restart)?;
        let mut window = Self::with(input, size, random);
        window.waiting = positions.iter().map(|_| PendingRow::default()).collect();
        (window.drawn, window.refill) = (drawn, positions);
        (window.num_rows, window.end_position) = (next, end.map(|end| end.1));
        Ok(window)
    }

    /// If `synchronous`, returns one row at a time.
    pub fn synchronous(mut self, synchronous: bool) -> Self {
        self.group_rows = if synchronous { 1 } else { GROUP_ROWS };
        self.pending.move_values(!synchronous);
        self
    }

    /// Sets how many input blocks take turns in returning rows.
    pub fn over(mut self, num_open: usize) -> Self {
        self.pending.keep_open(num_open);
        self
    }

    fn with(input: Replay, size: usize, random: Philox) -> Self {
        Self {
            input,
            size,
            group_rows: GROUP_ROWS,
            random,
            drawn: 0,
            num_rows: 0,
            end_position: None,
            refill: Vec::new(),
            waiting: Vec::new(),
            values: None,
            hole: None,
            pending: PendingRows::default(),
            incoming: VecDeque::new(),
            slots: Vec::new(),
            entering: Vec::new(),
            given: Vec::new(),
            was_full: false,
            is_over: false,
            error: None,
            skip_event: None,
        }
    }

    /// Fills the window with input rows. Stops early if the input has no row available.
    fn fill(&mut self, context: &mut Context) -> Result<()> {
        if !self.refill.is_empty() && !self.refill_slots(context)? {
            return Ok(());
        }
        while self.hole.is_some() || self.waiting.len() < self.size {
            let Some(row) = self.next_row(context)? else { break };
            match self.hole.take() {
                Some(hole) => self.put(hole, row)?,
                None => self.put(self.waiting.len(), row)?,
            }
        }
        if self.is_over
            && let Some(hole) = self.hole.take()
        {
            self.waiting.swap_remove(hole);
            if let Some(values) = &mut self.values {
                values.swap_remove(hole);
            }
        }
        Ok(())
    }

    /// Puts an input row into position `slot` of `waiting`, or at its end.
    fn put(&mut self, slot: usize, row: PendingRow) -> Result<()> {
        match slot < self.waiting.len() {
            true => self.waiting[slot] = row,
            false => self.waiting.push(row),
        }
        if let Some(values) = &mut self.values {
            values.grow_to(self.waiting.len())?;
            self.pending.enter(row, slot, values)?;
        }
        Ok(())
    }

    /// Reads the rows that were waiting at the checkpoint again. Returns true once all of them have
    /// arrived.
    #[cold]
    fn refill_slots(&mut self, context: &mut Context) -> Result<bool> {
        while let Some(slot) = self.refill.last().copied() {
            let Some(row) = self.next_row(context)? else {
                return if self.is_over { Err(damaged()) } else { Ok(false) };
            };
            self.put(slot, row)?;
            self.refill.pop();
        }
        Ok(true)
    }

    /// Returns the next input row if one is available.
    fn next_row(&mut self, context: &mut Context) -> Result<Option<PendingRow>> {
        while self.incoming.is_empty() && self.pull_rows(context)? {}
        Ok(self.incoming.pop_front())
    }

    /// Pulls rows from the input. Returns false if none are available.
    fn pull_rows(&mut self, context: &mut Context) -> Result<bool> {
        if self.is_over || self.skip_event.is_some() {
            return Ok(false);
        }
        match self.input.pull(context)? {
            ReplayPoll::SkipEvent(skip_event) => self.skip_event = Some(skip_event),
            ReplayPoll::Rows(first, rows) => {
                self.pending.begin_arrival(first, rows.checkpoint(0));
                self.num_rows = self.num_rows.max(first + rows.len() as u64);
                self.pending.add_all(&rows, &mut self.incoming, context.budget)?;
                self.prepare_values()?;
            }
            ReplayPoll::Pending => return Ok(false),
            ReplayPoll::End => {
                self.is_over = true;
                self.end_position.get_or_insert(self.random.position());
            }
        }
        Ok(true)
    }

    /// Makes room for the values of waiting rows once some of them move here.
    fn prepare_values(&mut self) -> Result<()> {
        /// A larger window grows as rows arrive.
        const MOST_ROWS: usize = 1 << 16;
        if self.values.is_none()
            && let Some(layout) = self.pending.layout()
        {
            let mut values = PackedRows::with_room(layout, self.size.min(MOST_ROWS))?;
            values.grow_to(self.waiting.len())?;
            self.values = Some(values);
        }
        Ok(())
    }

    /// Draws the position in `waiting` of the next row.
    #[inline]
    fn draw(&mut self) -> usize {
        below(&mut self.random, self.waiting.len() as u64) as usize
    }

    /// Fails if a full window cannot fit into the budget.
    fn check_budget(&self, budget: &Budget) -> Result<()> {
        let row_bytes = self.pending.row_bytes() as u128 * SPREAD_PERCENT / 100;
        let needed = (row_bytes + size_of::<PendingRow>() as u128) * self.size as u128;
        match needed > budget.room_bytes() as u128 {
            false => Ok(()),
            true => Err(Error::new(
                Code::ResourceExhausted,
                format!(
                    "shuffle(window={}) needs about {} bytes, expected at most the {} of memory_bytes. Use a smaller \
                     window, shuffle before the examples are decoded, or raise options(memory_bytes=...)",
                    self.size,
                    // Leave room for larger rows and for the stages before and after the window.
                    budget.limit_for(needed + needed / 5),
                    budget.limit_bytes()
                ),
            )),
        }
    }

    /// Checks that the window fits into memory. This happens when it is full for the first time and
    /// whenever memory runs out. Memory that others hold temporarily, such as the previous pass's
    /// window, is not counted.
    fn look_at_budget(&mut self, budget: &Arc<Budget>) -> Result<()> {
        let num_rows = self.waiting.capacity() + self.incoming.capacity();
        let value_bytes = self.values.as_ref().map_or(0, PackedRows::held_bytes);
        self.pending.look_at(budget, num_rows * size_of::<PendingRow>() + value_bytes)?;
        let is_full = self.waiting.len() == self.size && !self.is_over;
        let is_first = is_full && !self.was_full;
        self.was_full |= is_full;
        let has_room = self.is_over || budget.used_bytes() <= budget.room_bytes();
        let is_used_up = !has_room && self.pending.held_bytes() + value_bytes > budget.room_bytes();
        match is_first || is_used_up {
            true => self.check_budget(budget),
            false => Ok(()),
        }
    }
}

impl Node for Window {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let (mut rows, mut checkpoint) = (Rows::new(), Checkpoint::default());
        self.pending.begin_group();
        let drawn = self.draw_group(&mut rows, &mut checkpoint, context);
        self.pending.end_group(&mut rows, context.budget)?;
        match drawn {
            Err(error) if !rows.is_empty() => self.error = Some(error),
            result => result?,
        }
        if rows.is_empty()
            && let Some(skip_event) = self.skip_event.take()
        {
            return Ok(Poll::SkipEvent(skip_event));
        }
        match (rows.is_empty(), self.is_over && self.num_waiting() == 0) {
            (false, _) => Ok(Poll::Ready(rows.with_checkpoint(checkpoint))),
            (true, true) => Ok(Poll::End),
            (true, false) => Ok(Poll::Pending),
        }
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        self.input.replay_skipped(context)
    }
}

impl Window {
    fn num_waiting(&self) -> usize {
        self.waiting.len() - usize::from(self.hole.is_some())
    }

    /// Returns the checkpoint of the next draw. The window must be as full as possible.
    fn checkpoint(&mut self) -> Checkpoint {
        // The number of rows plus one, or 0 if the number isn't known yet.
        let (behind_total, end_position) = match self.end_position {
            Some(position) if self.is_over => (self.num_rows + 1, position),
            _ => (0, 0),
        };
        let (first, oldest) =
            self.pending.arrivals().next().map(|(first, checkpoint)| (first, checkpoint.clone())).unwrap_or_default();
        Checkpoint::new([self.drawn, self.random.position(), behind_total, end_position, first], [oldest])
    }

    /// Draws rows while the window can be kept full. Stores the first row's checkpoint in
    /// `checkpoint`.
    fn draw_group(&mut self, rows: &mut Rows, checkpoint: &mut Checkpoint, context: &mut Context) -> Result<()> {
        while rows.len() < self.group_rows {
            self.fill(context)?;
            if rows.is_empty() {
                self.look_at_budget(context.budget)?;
            }
            let is_short = self.hole.is_some() || self.waiting.len() < self.size || !self.refill.is_empty();
            if is_short && !self.is_over {
                break;
            }
            if self.waiting.is_empty() {
                break;
            }
            if rows.is_empty() {
                *checkpoint = self.checkpoint();
            }
            self.draw_from_incoming(rows, context)?;
            let hole = self.draw();
            self.hole = Some(hole);
            self.drawn += 1;
            self.pending.give(self.waiting[hole], (hole, self.values.as_ref()), rows)?;
            self.pending.thin_out_few(context.budget)?;
        }
        Ok(())
    }

    /// Draws rows from a full window and replaces each with an input row that has already arrived.
    fn draw_from_incoming(&mut self, given_rows: &mut Rows, context: &Context) -> Result<()> {
        // Leave one row for the caller, which then pulls more input.
        let count = self.incoming.len().min(self.group_rows.saturating_sub(given_rows.len() + 1));
        // Draw all positions before moving any row, and load rows in groups, so that the CPU can
        // overlap the cache misses.
        self.slots.clear();
        self.slots.extend((0..count).map(|_| below(&mut self.random, self.waiting.len() as u64) as usize));
        self.given.clear();
        self.entering.clear();
        self.entering.extend(self.incoming.drain(..count));
        for (slots, rows) in self.slots.chunks(TOUCHED_ROWS).zip(self.entering.chunks(TOUCHED_ROWS)) {
            std::hint::black_box(slots.iter().fold(0, |touched, slot| touched ^ self.waiting[*slot].0));
            let Some(values) = &mut self.values else {
                let moved = slots.iter().zip(rows).map(|(slot, row)| std::mem::replace(&mut self.waiting[*slot], *row));
                self.given.extend(moved);
                continue;
            };
            values.touch(slots.iter().copied());
            self.pending.touch(rows);
            for (slot, row) in slots.iter().zip(rows) {
                let given = std::mem::replace(&mut self.waiting[*slot], *row);
                self.pending.give(given, (*slot, Some(values)), given_rows)?;
                self.pending.enter(*row, *slot, values)?;
            }
        }
        self.drawn += count as u64;
        self.pending.give_all(&self.given, given_rows, context.budget)
    }
}
