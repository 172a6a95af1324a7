//! Blocks with pending rows. If few rows of a block are left, the block is replaced by a copy of
//! those rows.
//!
//! A window can instead move the values of each row into its own memory when the row enters it, and
//! out of it when the row leaves. The block then only remembers the provenance of its rows.

use crate::blocks::block::Block;
use crate::blocks::packed_rows::{Layout, PackedRows};
use crate::blocks::packing::{packed, packed_whole};
use crate::blocks::rows::Rows;
use crate::budget::{Budget, Charge};
use crate::checkpoint::Checkpoint;
use crate::nodes::buffers::moving::{Left, Moving};
use crate::nodes::buffers::row_bits::{Bits, Ranks};
use headrace_engine::error::{Error, Result};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, Weak};

/// A block is replaced once at most one in `KEPT_PART` of its rows is pending.
const KEPT_PART: usize = 4;
/// Replaces [`KEPT_PART`] when memory is short.
const TIGHT_PART: usize = 2;

/// Blocks up to this size are only replaced when memory is short, because the copy costs more than
/// it saves.
const SMALL_BYTES: usize = 16 << 10;

/// A pending row: its block number, and its row number in the original block.
pub type PendingRow = (u32, u32);

/// Blocks with pending rows.
#[derive(Default)]
pub struct PendingRows {
    blocks: Vec<PendingBlock>,
    /// Unused indices of `blocks`.
    free: Vec<u32>,
    /// The most recently used blocks. More of their rows may arrive.
    open: Vec<u32>,
    /// The maximum number of open blocks, not counting the most recent one.
    more_open: usize,
    /// The number of runs of rows added so far.
    num_runs: u64,
    /// The number of the current group of rows.
    group: u64,
    /// Arrivals that may have pending rows, oldest first.
    arrivals: VecDeque<Arrival>,
    /// The number of the current arrival.
    arrival: u64,
    is_tight: bool,
    /// Blocks that may have few rows left. Only used while rows are being moved out.
    few: Vec<u32>,
    /// True if values are moved out of their blocks.
    moves_values: bool,
    /// The layout of moved values, once there are any.
    layout: Option<Arc<Layout>>,
    /// The moved values that belong to the current group of rows.
    left: Left,
    /// The memory charge for the tables, without the blocks.
    charge: Option<Charge>,
}

/// Rows that arrived together.
struct Arrival {
    /// The number of the arrival, counting from 1.
    number: u64,
    /// The number of its blocks that are still held.
    num_blocks: usize,
    /// The number of the first row within the input.
    first: u64,
    checkpoint: Checkpoint,
}

/// A block with pending rows.
#[derive(Default)]
struct PendingBlock {
    /// The number of the arrival that brought its first rows.
    arrival: u64,
    block: Option<Arc<Block>>,
    /// While the block is open: the original block.
    origin: Weak<Block>,
    /// The number of rows in the current block.
    num_rows: usize,
    num_waiting: usize,
    /// True if more of its rows may come.
    is_open: bool,
    /// True if the block takes little memory.
    is_small: bool,
    /// The number of the last run of rows that was added.
    last_run: u64,
    /// For each row of the original block, whether it is pending.
    waits: Bits,
    /// If the block was replaced by a smaller one: the rows that were kept.
    kept: Option<Ranks>,
    /// Present if the values move out.
    moving: Option<Moving>,
    /// The index of the block in a group of rows, or of its file if the values move out, and the
    /// number of that group, counting from 1.
    known: (usize, u64),
}

/// Packs the short values of a block row by row.
fn by_row(block: Arc<Block>, budget: &Arc<Budget>) -> Result<Arc<Block>> {
    if block.is_packed() {
        return Ok(block);
    }
    let packed = packed(block.share())?;
    if !packed.is_packed() {
        return Ok(block);
    }
    let charge = budget.charge(packed.held_bytes());
    Ok(Arc::new(packed.charged(charge)))
}

impl PendingBlock {
    fn new(block: Arc<Block>, arrival: u64, budget: &Arc<Budget>) -> Result<Self> {
        let (num_rows, is_small) = (block.num_rows(), block.held_bytes() <= SMALL_BYTES);
        let (waits, origin) = (Bits::new(num_rows), Arc::downgrade(&block));
        let block = Some(by_row(block, budget)?);
        Ok(Self { arrival, block, origin, num_rows, is_open: true, is_small, waits, ..Self::default() })
    }

    /// Marks rows as pending. They belong to run `run`.
    fn add(&mut self, rows: Range<usize>, run: u64) {
        self.num_waiting += rows.len();
        self.last_run = run;
        match &mut self.moving {
            Some(moving) => moving.announce(rows.len()),
            None => rows.for_each(|row| self.waits.set(row)),
        }
    }

    /// Drops the values if all of them have moved out.
    fn drop_moved(&mut self) {
        if let (Some(moving), Some(block)) = (&mut self.moving, &mut self.block)
            && !self.is_open
            && moving.forget_values()
        {
            *block = Arc::new(Block::empty());
        }
    }

    /// Returns the position of an original row in the current block.
    #[inline]
    fn current_row(&self, row: usize) -> usize {
        self.kept.as_ref().map_or(row, |kept| kept.get(row))
    }

    /// Returns true if few of the block's rows are pending.
    #[inline]
    fn are_few(&self, is_tight: bool) -> bool {
        match is_tight {
            _ if self.moving.is_some() => self.num_waiting == 0,
            true => self.num_waiting * TIGHT_PART <= self.num_rows,
            false if self.is_small => self.num_waiting == 0,
            false => self.num_waiting * KEPT_PART <= self.num_rows,
        }
    }

    /// Returns the memory that the pending rows account for.
    fn num_bytes(&self) -> usize {
        if let Some(moving) = &self.moving {
            return moving.row_bytes() * self.num_waiting;
        }
        let bytes = |block: &Arc<Block>| block.held_bytes() * self.num_waiting / self.num_rows.max(1);
        self.block.as_ref().map_or(0, bytes)
    }

    /// Returns the memory of the tables, without the block.
    fn table_bytes(&self) -> usize {
        let ranks = self.kept.as_ref().map_or(0, Ranks::num_bytes);
        self.waits.num_bytes() + ranks
    }

    /// Replaces the block with a copy of its pending rows, if it has any.
    fn compact(&mut self, budget: &Arc<Budget>) -> Result<()> {
        let Some(block) = self.block.as_ref().filter(|_| self.num_waiting > 0) else { return Ok(()) };
        let mut kept = Rows::new();
        self.waits.iter().for_each(|row| kept.push(block, self.current_row(row), 1));
        let is_packed = block.is_packed();
        let copy = kept.copy()?;
        let copy = if is_packed { packed_whole(copy)? } else { copy };
        self.kept = Some(Ranks::new(self.waits.clone()));
        let charge = budget.charge(copy.held_bytes() + self.table_bytes());
        self.num_rows = copy.num_rows();
        self.block = Some(Arc::new(copy.charged(charge)));
        self.known = (0, 0);
        Ok(())
    }
}

impl PendingRows {
    /// Sets how many blocks may be open for arriving rows, at least 1.
    pub fn keep_open(&mut self, num_open: usize) {
        self.more_open = num_open.saturating_sub(1);
    }

    /// Adds pending rows of a block and returns the block's number. A block's rows must be added
    /// one after the other, or interleaved with rows of other open blocks.
    pub fn add(&mut self, block: &Arc<Block>, rows: Range<usize>, budget: &Arc<Budget>) -> Result<u32> {
        let address = Arc::as_ptr(block);
        let mut open = self.open.iter().copied();
        let number = match open.find(|number| self.blocks[*number as usize].origin.as_ptr() == address) {
            Some(number) => number,
            None => self.hold(Arc::clone(block), budget)?,
        };
        self.num_runs += 1;
        self.blocks[number as usize].add(rows, self.num_runs);
        self.close(budget)?;
        Ok(number)
    }

    /// Adds pending rows like [`PendingRows::add`] and appends the position of each one to
    /// `positions`.
    pub fn add_all(&mut self, rows: &Rows, positions: &mut VecDeque<PendingRow>, budget: &Arc<Budget>) -> Result<()> {
        const NONE: u32 = u32::MAX;
        let blocks = rows.blocks();
        let mut numbers: Vec<u32> = std::iter::repeat_n(NONE, blocks.len()).collect();
        let address = |number: &u32| (self.blocks[*number as usize].origin.as_ptr(), *number);
        let mut open: HashMap<_, _> = self.open.iter().map(address).collect();
        let mut run = 0;
        while let Some((block, start, length)) = rows.numbered_run(run) {
            if numbers[block] == NONE {
                let address = Arc::as_ptr(&blocks[block]);
                numbers[block] = match open.get(&address) {
                    Some(number) => *number,
                    None => self.hold(Arc::clone(&blocks[block]), budget)?,
                };
                open.insert(address, numbers[block]);
            }
            let number = numbers[block];
            self.num_runs += 1;
            self.blocks[number as usize].add(start..start + length, self.num_runs);
            // Rows from several files often alternate. One row is faster to add by itself.
            match length {
                1 => positions.push_back((number, start as u32)),
                _ => positions.extend((start as u32..(start + length) as u32).map(|row| (number, row))),
            }
            run += 1;
        }
        self.close(budget)
    }

    /// Begins an arrival: the rows added from now on arrived together. `first` and `checkpoint`
    /// describe the first one.
    pub fn begin_arrival(&mut self, first: u64, checkpoint: Checkpoint) {
        self.forget_arrivals();
        self.arrival += 1;
        self.arrivals.push_back(Arrival { number: self.arrival, num_blocks: 0, first, checkpoint });
    }

    /// Drops arrivals without pending rows, except the most recent one.
    fn forget_arrivals(&mut self) {
        while self.arrivals.front().is_some_and(|arrival| arrival.num_blocks == 0 && arrival.number < self.arrival) {
            self.arrivals.pop_front();
        }
    }

    /// Returns the row number and the checkpoint of each arrival that may have pending rows, oldest
    /// first.
    pub fn arrivals(&mut self) -> impl Iterator<Item = (u64, &Checkpoint)> {
        self.forget_arrivals();
        self.arrivals.iter().map(|arrival| (arrival.first, &arrival.checkpoint))
    }

    /// Updates the number of blocks that an arrival holds.
    fn count_block(&mut self, arrival: u64, count: impl FnOnce(usize) -> usize) {
        let index = self.arrivals.partition_point(|other| other.number < arrival);
        if let Some(found) = self.arrivals.get_mut(index).filter(|found| found.number == arrival) {
            found.num_blocks = count(found.num_blocks);
        }
    }

    /// Adds a block and returns its number.
    fn hold(&mut self, block: Arc<Block>, budget: &Arc<Budget>) -> Result<u32> {
        let mut pending_block = PendingBlock::new(block, self.arrival, budget)?;
        if self.moves_values
            && let Some(block) = &pending_block.block
        {
            pending_block.moving = Moving::of(block, &mut self.layout);
        }
        let number = match self.free.pop() {
            Some(number) => {
                self.blocks[number as usize] = pending_block;
                number
            }
            None => {
                self.blocks.push(pending_block);
                self.blocks.len() as u32 - 1
            }
        };
        self.count_block(self.arrival, |count| count + 1);
        self.open.push(number);
        Ok(number)
    }

    /// Closes the least recently used blocks. All of their rows have arrived, and most may have
    /// left already.
    fn close(&mut self, budget: &Arc<Budget>) -> Result<()> {
        let Some(num_closed) = self.open.len().checked_sub(self.more_open + 1).filter(|count| *count > 0) else {
            return Ok(());
        };
        let mut open = std::mem::take(&mut self.open);
        open.sort_unstable_by_key(|number| self.blocks[*number as usize].last_run);
        self.open = open.split_off(num_closed);
        for number in open {
            let pending_block = &mut self.blocks[number as usize];
            (pending_block.is_open, pending_block.origin) = (false, Weak::new());
            pending_block.drop_moved();
            self.thin_out(number, budget)?;
        }
        Ok(())
    }

    /// Sets whether values move out of arriving blocks if possible: into a window with
    /// [`PendingRows::enter`], and out of it with [`PendingRows::give`].
    pub fn move_values(&mut self, moves_values: bool) {
        self.moves_values = moves_values;
    }

    /// The layout of the values that move, if there are any yet.
    pub fn layout(&self) -> Option<&Arc<Layout>> {
        self.layout.as_ref()
    }

    /// Loads values that are about to move into the CPU's cache.
    pub fn touch(&self, rows: &[PendingRow]) {
        let touched = rows.iter().fold(0, |touched, (number, row)| {
            let moving = self.blocks[*number as usize].moving.as_ref();
            touched ^ moving.map_or(0, |moving| moving.touched(*row as usize))
        });
        std::hint::black_box(touched);
    }

    /// Moves the values of a pending row into row `slot` of `window`, if its block's values move.
    #[inline]
    pub fn enter(&mut self, (number, row): PendingRow, slot: usize, window: &mut PackedRows) -> Result<()> {
        let pending_block = &mut self.blocks[number as usize];
        let Some(moving) = &mut pending_block.moving else { return Ok(()) };
        if moving.move_into(row as usize, slot, window)? {
            pending_block.drop_moved();
        }
        Ok(())
    }

    /// Begins a new group of returned rows.
    pub fn begin_group(&mut self) {
        self.group += 1;
    }

    /// Ends a group of returned rows.
    pub fn end_group(&mut self, rows: &mut Rows, budget: &Arc<Budget>) -> Result<()> {
        std::mem::take(&mut self.left).finish(rows, budget)
    }

    /// Moves a pending row to the end of `rows`, which holds the current group. If its values moved
    /// into a window, they are in this slot of it. [`PendingRows::thin_out_few`] must follow.
    #[inline]
    pub fn give(
        &mut self,
        (number, row): PendingRow,
        (slot, window): (usize, Option<&PackedRows>),
        rows: &mut Rows,
    ) -> Result<()> {
        let pending_block = &mut self.blocks[number as usize];
        let row = row as usize;
        if let Some(moving) = &pending_block.moving {
            let Some(window) = window else { return Err(Error::internal("the values of a row have moved away")) };
            let known = Some(pending_block.known.0).filter(|_| pending_block.known.1 == self.group);
            pending_block.known = (self.left.push((moving, row), (slot, window), known, rows)?, self.group);
        } else {
            if pending_block.known.1 != self.group
                && let Some(block) = &pending_block.block
            {
                pending_block.known = (rows.add_block(block), self.group);
            }
            rows.push_run(pending_block.known.0, pending_block.current_row(row), 1);
            pending_block.waits.unset(row);
        }
        pending_block.num_waiting -= 1;
        if !pending_block.is_open && pending_block.are_few(self.is_tight) {
            self.few.push(number);
        }
        Ok(())
    }

    /// Moves several pending rows that aren't in a window to the end of `rows`.
    pub fn give_all(&mut self, positions: &[PendingRow], rows: &mut Rows, budget: &Arc<Budget>) -> Result<()> {
        positions.iter().try_for_each(|position| self.give(*position, (0, None), rows))?;
        self.thin_out_few(budget)
    }

    /// Replaces or drops the blocks that have few pending rows left.
    pub fn thin_out_few(&mut self, budget: &Arc<Budget>) -> Result<()> {
        while let Some(number) = self.few.pop() {
            self.thin_out(number, budget)?;
        }
        Ok(())
    }

    /// Drops the non-pending rows of a closed block if only few rows are pending.
    fn thin_out(&mut self, number: u32, budget: &Arc<Budget>) -> Result<()> {
        let pending_block = &mut self.blocks[number as usize];
        if pending_block.are_few(self.is_tight) && !pending_block.is_open {
            pending_block.compact(budget)?;
            self.release(number);
        }
        Ok(())
    }

    /// Drops a block if it has no pending rows.
    fn release(&mut self, number: u32) {
        let pending_block = &mut self.blocks[number as usize];
        if pending_block.num_waiting == 0 && pending_block.block.is_some() {
            let arrival = std::mem::take(pending_block).arrival;
            self.free.push(number);
            self.count_block(arrival, |count| count - 1);
        }
    }

    /// Charges `num_bytes` and the tables to the budget. If more than half of the memory is used,
    /// starts replacing blocks earlier.
    pub fn look_at(&mut self, budget: &Arc<Budget>, num_bytes: usize) -> Result<()> {
        let num_bytes = num_bytes + self.blocks.capacity() * size_of::<PendingBlock>();
        self.charge.get_or_insert_with(|| budget.charge(0)).correct(num_bytes);
        if self.is_tight || budget.used_bytes() <= budget.room_bytes() / 2 {
            return Ok(());
        }
        self.is_tight = true;
        let numbers = 0..self.blocks.len() as u32;
        numbers
            .filter(|number| self.blocks[*number as usize].block.is_some())
            .collect::<Vec<_>>()
            .into_iter()
            .try_for_each(|number| self.thin_out(number, budget))
    }

    /// Returns the memory of all blocks, including rows that are no longer pending.
    pub fn held_bytes(&self) -> usize {
        self.blocks
            .iter()
            .filter_map(|pending_block| pending_block.block.as_ref())
            .map(|block| block.held_bytes())
            .sum()
    }

    /// Returns the average memory of a pending row, not counting the other rows of its block.
    pub fn row_bytes(&self) -> usize {
        let sum = |sum: (usize, usize), pending_block: &PendingBlock| {
            (sum.0 + pending_block.num_waiting, sum.1 + pending_block.num_bytes())
        };
        let (num_rows, num_bytes) = self.blocks.iter().fold((0, 0), sum);
        num_bytes.div_ceil(num_rows.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::block::{FileProvenance, Provenance};
    use crate::blocks::column::{Column, Text};
    use headrace_engine::files::name::FileName;
    use headrace_engine::numbering::Numbering;
    use headrace_engine::tensor::Tensor;
    use headrace_engine::tensor::shape::Shape;

    const NUM_ROWS: u32 = 200;
    /// The length of a row. Long enough that a block does not count as small.
    const LENGTH: usize = 32;

    fn block() -> Arc<Block> {
        let values: Vec<_> = (0..NUM_ROWS).flat_map(|row| [row; LENGTH]).collect();
        let tensor = Tensor::from_values(Shape::new(&[NUM_ROWS as usize, LENGTH]), values).unwrap();
        Arc::new(Block::new(vec![Column::Dense(tensor)], NUM_ROWS as usize, Provenance::Unknown).unwrap())
    }

    fn given(pending: &mut PendingRows, positions: &[PendingRow], budget: &Arc<Budget>) -> Vec<u32> {
        let mut rows = Rows::new();
        pending.begin_group();
        pending.give_all(positions, &mut rows, budget).unwrap();
        let gathered = rows.gather().unwrap();
        gathered.columns[0].to_tensor().unwrap().values::<u32>().unwrap().iter().step_by(LENGTH).copied().collect()
    }

    #[test]
    fn rows_are_found_after_their_block_is_replaced() {
        for limit_bytes in [usize::MAX, 0] {
            let budget = Budget::new(limit_bytes);
            let mut pending = PendingRows::default();
            let number = pending.add(&block(), 0..NUM_ROWS as usize, &budget).unwrap();
            let other = pending.add(&block(), 10..20, &budget).unwrap();
            pending.look_at(&budget, 0).unwrap();
            assert_ne!(number, other);
            // Take the rows modulo seven to spread them over the block.
            let order: Vec<_> = (0..7).flat_map(|first| (first..NUM_ROWS).step_by(7)).collect();
            for rows in order.chunks(9) {
                let positions: Vec<_> = rows.iter().map(|row| (number, *row)).collect();
                assert_eq!(given(&mut pending, &positions, &budget), rows);
            }
            assert_eq!(pending.free, [number]);
            assert_eq!(pending.blocks[other as usize].num_waiting, 10);
        }
    }

    /// A block with short values of several columns.
    fn table() -> Arc<Block> {
        let numbers: Vec<u32> = (0..NUM_ROWS).collect();
        let numbers = Tensor::from_values(Shape::new(&[numbers.len()]), numbers).unwrap();
        let strings: Vec<String> = (0..NUM_ROWS).map(|row| format!("row {row}, {}", "x".repeat(200))).collect();
        let strings = Text::copied(strings.iter().map(|string| string.as_bytes())).unwrap();
        let columns = vec![Column::Dense(numbers), Column::Text(strings)];
        let file = FileProvenance::new(FileName::new("f"), Numbering::RECORDS, 0);
        Arc::new(Block::new(columns, NUM_ROWS as usize, Provenance::Run(Arc::new(file), 7)).unwrap())
    }

    #[test]
    fn rows_of_short_values_keep_their_strings_and_records() {
        for limit_bytes in [usize::MAX, 0] {
            let budget = Budget::new(limit_bytes);
            let mut pending = PendingRows::default();
            let number = pending.add(&table(), 0..NUM_ROWS as usize, &budget).unwrap();
            pending.add(&block(), 0..1, &budget).unwrap();
            pending.look_at(&budget, 0).unwrap();
            assert!(pending.blocks[number as usize].block.as_ref().unwrap().is_packed());
            let order: Vec<_> = (0..7).flat_map(|first| (first..NUM_ROWS).step_by(7)).collect();
            for numbers in order.chunks(9) {
                let mut rows = Rows::new();
                pending.begin_group();
                let positions: Vec<_> = numbers.iter().map(|row| (number, *row)).collect();
                pending.give_all(&positions, &mut rows, &budget).unwrap();
                let records = (0..numbers.len()).map(|row| rows.row_provenance(row).unwrap().record as u32 - 7);
                assert_eq!(records.collect::<Vec<_>>(), numbers);
                let gathered = rows.gather().unwrap();
                assert_eq!(gathered.columns[0].to_tensor().unwrap().values::<u32>().unwrap(), numbers);
                for (index, row) in numbers.iter().enumerate() {
                    assert!(gathered.columns[1].string(index).unwrap().starts_with(format!("row {row}, x").as_bytes()));
                }
            }
            assert_eq!(pending.free, [number]);
        }
    }

    #[test]
    fn block_keeps_its_number_while_its_rows_are_pending() {
        let budget = Budget::new(usize::MAX);
        let mut pending = PendingRows::default();
        pending.keep_open(2);
        let one = table();
        let number = pending.add(&one, 0..2, &budget).unwrap();
        let mut positions = VecDeque::new();
        let mut rows = Rows::new();
        [(&one, 2), (&block(), 0), (&one, 3)].into_iter().for_each(|(block, row)| rows.push(block, row, 1));
        pending.add_all(&rows, &mut positions, &budget).unwrap();
        let other = positions[1].0;
        assert_ne!(other, number);
        assert_eq!(positions, [(number, 2), (other, 0), (number, 3)]);
        // A new block at the same address is a different block.
        drop((rows, one));
        let numbers: Vec<_> = (0..9).map(|_| pending.add(&table(), 0..1, &budget).unwrap()).collect();
        assert!(!numbers.contains(&number), "{numbers:?}");
    }

    #[test]
    fn block_with_few_pending_rows_uses_little_memory() {
        let budget = Budget::new(usize::MAX);
        let mut pending = PendingRows::default();
        let number = pending.add(&block(), 0..NUM_ROWS as usize, &budget).unwrap();
        pending.add(&block(), 0..1, &budget).unwrap();
        let row_bytes = pending.row_bytes();
        let positions: Vec<_> = (0..NUM_ROWS - 10).map(|row| (number, row)).collect();
        given(&mut pending, &positions, &budget);
        let replaced = pending.blocks[number as usize].block.as_ref().unwrap();
        assert_eq!(replaced.num_rows(), 10);
        assert!(budget.used_bytes() < block().held_bytes() / 2);
        assert!((4..200).contains(&row_bytes) && pending.row_bytes() >= row_bytes);
        assert!(budget.used_bytes() > 0);
        drop(pending);
        assert_eq!(budget.used_bytes(), 0);
    }
}
