//! A shuffle over a window: each row that leaves is drawn from those that wait.

use crate::error::{Code, Error, Result};
use crate::philox::Philox;
use crate::pipeline::block::{Block, Rows};
use crate::pipeline::node::{Context, Node, Poll};
use std::ops::Range;
use std::sync::Arc;

/// Rows are given in groups of this size.
const GROUP_ROWS: usize = 1024;
/// A block is replaced by a copy of the rows that wait once they are so small a part of it.
const KEPT_PART: usize = 4;

/// The node. As long as the input lasts, `size` rows wait and each is as likely to be next.
pub struct Window {
    input: Box<dyn Node>,
    size: usize,
    random: Philox,
    /// The block and the row of each row that waits.
    waiting: Vec<(u32, u32)>,
    /// The place in `waiting` of the row that was drawn last, which the next row of the input takes.
    hole: Option<usize>,
    blocks: Vec<Held>,
    /// Numbers of `blocks` that are free.
    free: Vec<u32>,
    incoming: Incoming,
    /// Counts the groups of rows that were given.
    group: u64,
    is_over: bool,
    /// Comes after the rows that were drawn before it.
    error: Option<Error>,
}

/// A block of which rows wait.
#[derive(Default)]
struct Held {
    block: Option<Arc<Block>>,
    num_waiting: usize,
    /// When no more than so many wait, the block is replaced or let go.
    few: usize,
    /// Whether each row of the block as it came waits.
    waits: Vec<bool>,
    /// Where each row was moved to when the block was replaced by a smaller one. Empty before.
    moved: Vec<u32>,
    /// The number of the block among those of a group of rows, and the number of that group; groups count from 1.
    known: (usize, u64),
}

impl Held {
    fn new(block: Arc<Block>) -> Self {
        let waits = std::iter::repeat_n(false, block.num_rows()).collect();
        Self { few: block.num_rows() / KEPT_PART, block: Some(block), waits, ..Self::default() }
    }

    /// Whether it holds this very block.
    fn is(&self, block: &Arc<Block>) -> bool {
        self.block.as_ref().is_some_and(|held| Arc::ptr_eq(held, block))
    }

    fn add(&mut self, rows: Range<usize>) {
        self.num_waiting += rows.len();
        self.waits[rows].fill(true);
    }

    /// The place of a row in the block as it is now.
    fn place(&self, row: usize) -> usize {
        self.moved.get(row).map_or(row, |moved| *moved as usize)
    }

    #[inline]
    fn remove(&mut self, row: usize) {
        self.waits[row] = false;
        self.num_waiting -= 1;
    }

    /// The bytes of the rows that wait.
    fn num_bytes(&self) -> usize {
        let bytes = |block: &Arc<Block>| block.num_bytes() * self.num_waiting / block.num_rows().max(1);
        self.block.as_ref().map_or(0, bytes)
    }

    /// Replaces the block by a copy of the rows that wait, if there are any.
    fn compact(&mut self, context: &Context) -> Result<()> {
        let Some(block) = self.block.as_ref().filter(|_| self.num_waiting > 0) else { return Ok(()) };
        let mut kept = Rows::new();
        let mut moved: Vec<u32> = std::iter::repeat_n(0, self.waits.len()).collect();
        for row in (0..self.waits.len()).filter(|row| self.waits[*row]) {
            moved[row] = kept.len() as u32;
            kept.push(block, self.place(row), 1);
        }
        let copy = kept.copy()?;
        let charge = context.budget.charge(copy.num_bytes());
        self.few = copy.num_rows() / KEPT_PART;
        self.block = Some(Arc::new(copy.charged(charge)));
        self.moved = moved;
        self.known = (0, 0);
        Ok(())
    }
}

/// What the input gave and the window did not take yet.
#[derive(Default)]
struct Incoming {
    rows: Rows,
    /// The number of the run of rows that comes next.
    run: usize,
    /// The rows that are left of the run before it, of block number `last`.
    rest: Range<u32>,
    /// The number of the block that came last.
    last: Option<u32>,
}

impl Window {
    /// The draws are those of the pair of seeds.
    pub fn new(input: Box<dyn Node>, size: usize, seed: u64, pass: u64) -> Self {
        Self {
            input,
            size,
            random: Philox::new(seed.cast_signed(), pass.cast_signed()),
            waiting: Vec::new(),
            hole: None,
            blocks: Vec::new(),
            free: Vec::new(),
            incoming: Incoming::default(),
            group: 0,
            is_over: false,
            error: None,
        }
    }

    /// Takes rows of the input until the window is full; stops where the input has none now.
    fn fill(&mut self, context: &mut Context) -> Result<()> {
        while self.hole.is_some() || self.waiting.len() < self.size {
            let Some(row) = self.next_row(context)? else { break };
            match self.hole.take() {
                Some(hole) => self.waiting[hole] = row,
                None => self.waiting.push(row),
            }
        }
        if self.is_over
            && let Some(hole) = self.hole.take()
        {
            self.waiting.swap_remove(hole);
        }
        Ok(())
    }

    /// The next row of the input, if it has one now.
    #[inline]
    fn next_row(&mut self, context: &mut Context) -> Result<Option<(u32, u32)>> {
        loop {
            if let (Some(row), Some(number)) = (self.incoming.rest.next(), self.incoming.last) {
                return Ok(Some((number, row)));
            }
            if !self.next_run(context)? {
                return Ok(None);
            }
        }
    }

    /// Goes on to the next run of rows of the input; false if it has none now.
    fn next_run(&mut self, context: &mut Context) -> Result<bool> {
        loop {
            if let Some((block, start, length)) = self.incoming.rows.run(self.incoming.run) {
                let number = match self.incoming.last.filter(|last| self.blocks[*last as usize].is(block)) {
                    Some(last) => last,
                    None => self.hold(Arc::clone(block)),
                };
                self.blocks[number as usize].add(start..start + length);
                self.incoming.rest = start as u32..(start + length) as u32;
                self.incoming.run += 1;
                return Ok(true);
            }
            if self.is_over {
                return Ok(false);
            }
            match self.input.pull(context)? {
                Poll::Ready(rows) => (self.incoming.rows, self.incoming.run) = (rows, 0),
                Poll::Pending => return Ok(false),
                Poll::End => self.is_over = true,
            }
        }
    }

    /// The number of a block, rows of which wait from now on.
    fn hold(&mut self, block: Arc<Block>) -> u32 {
        // All rows of the block before have come.
        if let Some(before) = self.incoming.last {
            self.release(before);
        }
        let held = Held::new(block);
        let number = match self.free.pop() {
            Some(number) => {
                self.blocks[number as usize] = held;
                number
            }
            None => {
                self.blocks.push(held);
                self.blocks.len() as u32 - 1
            }
        };
        self.incoming.last = Some(number);
        number
    }

    /// The place in `waiting` of the row that is to be next.
    #[inline]
    fn draw(&mut self) -> usize {
        below(&mut self.random, self.waiting.len() as u64) as usize
    }

    /// Takes a row that waited to the end of `rows`.
    #[inline]
    fn give(&mut self, (number, row): (u32, u32), rows: &mut Rows, context: &Context) -> Result<()> {
        let held = &mut self.blocks[number as usize];
        if held.known.1 != self.group
            && let Some(block) = &held.block
        {
            held.known = (rows.add_block(block), self.group);
        }
        rows.push_run(held.known.0, held.place(row as usize), 1);
        held.remove(row as usize);
        match held.num_waiting <= held.few && self.incoming.last != Some(number) {
            true => self.thin_out(number, context),
            false => Ok(()),
        }
    }

    /// Lets go of what does not wait of a block.
    fn thin_out(&mut self, number: u32, context: &Context) -> Result<()> {
        self.blocks[number as usize].compact(context)?;
        self.release(number);
        Ok(())
    }

    /// Lets go of a block of which no row waits.
    fn release(&mut self, number: u32) {
        let held = &mut self.blocks[number as usize];
        if held.num_waiting == 0 {
            *held = Held::default();
            self.free.push(number);
        }
    }

    /// Fails if the window can never be filled within the budget.
    fn check_budget(&self, context: &Context) -> Result<()> {
        let budget = context.budget;
        if budget.used_bytes() <= budget.limit_bytes() || self.waiting.is_empty() {
            return Ok(());
        }
        let held: usize = self.blocks.iter().map(Held::num_bytes).sum();
        let needed = held as u128 * self.size as u128 / self.waiting.len() as u128;
        match needed > budget.limit_bytes() as u128 {
            false => Ok(()),
            true => Err(Error::new(
                Code::ResourceExhausted,
                format!(
                    "shuffle(window={}) needs about {needed} bytes, expected at most the {} of memory_bytes. Use a smaller \
                     window, shuffle before the examples are decoded, or raise options(memory_bytes=...)",
                    self.size,
                    budget.limit_bytes()
                ),
            )),
        }
    }
}

impl Node for Window {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut rows = Rows::new();
        self.group += 1;
        match self.draw_group(&mut rows, context) {
            Err(error) if !rows.is_empty() => self.error = Some(error),
            result => result?,
        }
        match (rows.is_empty(), self.is_over && self.num_waiting() == 0) {
            (false, _) => Ok(Poll::Ready(rows)),
            (true, true) => Ok(Poll::End),
            (true, false) => Ok(Poll::Pending),
        }
    }
}

impl Window {
    fn num_waiting(&self) -> usize {
        self.waiting.len() - usize::from(self.hole.is_some())
    }

    /// Draws rows for as long as the window can be kept full.
    fn draw_group(&mut self, rows: &mut Rows, context: &mut Context) -> Result<()> {
        while rows.len() < GROUP_ROWS {
            self.fill(context)?;
            if (self.hole.is_some() || self.waiting.len() < self.size) && !self.is_over {
                self.check_budget(context)?;
                break;
            }
            if self.waiting.is_empty() {
                break;
            }
            self.draw_from_run(rows, context)?;
            let hole = self.draw();
            self.hole = Some(hole);
            self.give(self.waiting[hole], rows, context)?;
        }
        Ok(())
    }

    /// Draws rows of a full window, each of which is replaced by the next row of a run that the input gave.
    fn draw_from_run(&mut self, rows: &mut Rows, context: &Context) -> Result<()> {
        let Some(last) = self.incoming.last else { return Ok(()) };
        // One row is left for the caller, who goes on to the next run.
        while rows.len() + 1 < GROUP_ROWS
            && let Some(row) = self.incoming.rest.next()
        {
            let place = self.draw();
            let drawn = std::mem::replace(&mut self.waiting[place], (last, row));
            self.give(drawn, rows, context)?;
        }
        Ok(())
    }
}

/// A number below `bound`, which is not 0, each as likely as the others.
///
/// Source: Lemire, "Fast Random Integer Generation in an Interval" (ACM TOMACS 29, 2019).
pub fn below(random: &mut Philox, bound: u64) -> u64 {
    // The remainders are dear, and hardly ever needed.
    if let Ok(bound) = u32::try_from(bound) {
        loop {
            let product = u64::from(random.next_u32()) * u64::from(bound);
            let low = product as u32;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return product >> 32;
            }
        }
    }
    let mut next = || u64::from(random.next_u32()) << 32 | u64::from(random.next_u32());
    loop {
        let product = u128::from(next()) * u128::from(bound);
        let low = product as u64;
        if low >= bound || low >= bound.wrapping_neg() % bound {
            return (product >> 64) as u64;
        }
    }
}
