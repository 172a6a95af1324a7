//! Selections of rows from blocks, in the requested order.

use crate::blocks::block::Block;
use crate::blocks::column::Column;
use crate::blocks::file_provenance::FileProvenance;
use crate::blocks::gather::gather;
use crate::blocks::packing::gather_packed;
use crate::blocks::provenance::{HasProvenance, Provenance, ProvenanceBuilder, RowProvenance};
use crate::blocks::row_id::RowId;
use crate::checkpoint::{Checkpoint, RowCheckpoints};
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::allocate;
use std::cell::RefCell;
use std::sync::Arc;

/// Consecutive rows of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    block: usize,
    start: usize,
    length: usize,
}

/// A batch, or a packed row, that rows belong to.
#[derive(Clone, Debug)]
pub struct Group {
    /// The provenance that counts batches.
    pub file: Arc<FileProvenance>,
    /// The number of the batch.
    pub number: u64,
    /// The number of rows in a whole batch, or the number of elements in a packed row.
    pub size: usize,
}

/// A selection of rows from blocks, in any order. Nothing is copied until [`Rows::gather`].
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// The blocks that `runs` refer to by number. Rows that were split share this list.
    blocks: Arc<Vec<Arc<Block>>>,
    runs: Vec<Run>,
    num_rows: usize,
    group: Option<Group>,
    /// The checkpoints of the rows; empty if unknown.
    checkpoints: RowCheckpoints,
}

impl Rows {
    /// No rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// All rows of a block.
    pub fn all(block: impl Into<Arc<Block>>) -> Self {
        let block = block.into();
        let num_rows = block.num_rows();
        let mut rows = Self::new();
        rows.push(&block, 0, num_rows);
        rows
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.num_rows
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.num_rows == 0
    }

    /// Adds `length` rows of a block, starting at row `start`.
    pub fn push(&mut self, block: &Arc<Block>, start: usize, length: usize) {
        if length == 0 {
            return;
        }
        let is_same = self.blocks.last().is_some_and(|last| Arc::ptr_eq(last, block));
        let number = if is_same { self.blocks.len() - 1 } else { self.add_block(block) };
        self.push_run(number, start, length);
    }

    /// Adds a block without any of its rows, and returns its number for [`Rows::push_run`].
    pub fn add_block(&mut self, block: &Arc<Block>) -> usize {
        Arc::make_mut(&mut self.blocks).push(Arc::clone(block));
        self.blocks.len() - 1
    }

    /// Reserves the number of a block that [`Rows::set_block`] will add.
    pub fn reserve_block(&mut self) -> usize {
        let blocks = Arc::make_mut(&mut self.blocks);
        blocks.push(Arc::new(Block::empty()));
        blocks.len() - 1
    }

    /// Sets the block of a reserved number.
    pub fn set_block(&mut self, number: usize, block: Arc<Block>) {
        Arc::make_mut(&mut self.blocks)[number] = block;
    }

    /// Adds `length` rows of block `block`, starting at row `start`.
    #[inline]
    pub fn push_run(&mut self, block: usize, start: usize, length: usize) {
        self.num_rows += length;
        match self.runs.last_mut() {
            Some(last) if last.block == block && last.start + last.length == start => last.length += length,
            _ => self.runs.push(Run { block, start, length }),
        }
    }

    /// Run `index` of consecutive rows: the block, the first row and the number of rows.
    pub fn run(&self, index: usize) -> Option<(&Arc<Block>, usize, usize)> {
        self.runs.get(index).map(|run| (&self.blocks[run.block], run.start, run.length))
    }

    /// Run `index`: its block's number in [`Rows::blocks`], the first row and the number of
    /// rows.
    #[inline]
    pub fn numbered_run(&self, index: usize) -> Option<(usize, usize, usize)> {
        self.runs.get(index).map(|run| (run.block, run.start, run.length))
    }

    /// The blocks. Some of them may have no rows selected.
    pub fn blocks(&self) -> &[Arc<Block>] {
        &self.blocks
    }

    /// Sets the checkpoint at which the node that returns these rows begins.
    pub fn with_checkpoint(mut self, checkpoint: Checkpoint) -> Self {
        self.checkpoints = RowCheckpoints::of(checkpoint, self.num_rows);
        self
    }

    /// The checkpoint of row `row`, for the node that returned the rows.
    pub fn checkpoint(&self, row: usize) -> Checkpoint {
        self.checkpoints.get(row)
    }

    /// Appends other rows.
    pub fn append(&mut self, other: &Self) {
        self.checkpoints.append(&other.checkpoints);
        if self.is_empty() {
            (self.blocks, self.runs, self.num_rows) = (Arc::clone(&other.blocks), other.runs.clone(), other.num_rows);
        } else if Arc::ptr_eq(&self.blocks, &other.blocks) {
            other.runs.iter().for_each(|run| self.push_run(run.block, run.start, run.length));
        } else {
            // Otherwise, blocks whose rows have all been taken from the front would pile up.
            self.forget_blocks(0);
            // If both sides share the block at the border, it is stored once.
            let is_shared =
                matches!((self.blocks.last(), other.blocks.first()), (Some(a), Some(b)) if Arc::ptr_eq(a, b));
            let offset = self.blocks.len() - usize::from(is_shared);
            let new = other.blocks.iter().skip(usize::from(is_shared)).cloned();
            Arc::make_mut(&mut self.blocks).extend(new);
            other.runs.iter().for_each(|run| self.push_run(offset + run.block, run.start, run.length));
        }
    }

    /// Removes and returns the first `count` rows.
    pub fn take_front(&mut self, count: usize) -> Self {
        if count >= self.num_rows {
            return std::mem::take(self);
        }
        let (mut num_whole, mut rest) = (0, count);
        while self.runs[num_whole].length <= rest {
            rest -= self.runs[num_whole].length;
            num_whole += 1;
        }
        let mut runs: Vec<_> = self.runs.drain(..num_whole).collect();
        if rest > 0 {
            let parted = &mut self.runs[0];
            runs.push(Run { length: rest, ..*parted });
            parted.start += rest;
            parted.length -= rest;
        }
        self.num_rows -= count;
        let checkpoints = self.checkpoints.take_front(count);
        let mut front = Self { blocks: Arc::clone(&self.blocks), runs, num_rows: count, group: None, checkpoints };
        let num_runs = front.runs.len();
        front.forget_blocks(2 * num_runs);
        front
    }

    /// Drops unused blocks if there are more than `enough` blocks.
    fn forget_blocks(&mut self, enough: usize) {
        const SPARE: usize = 8;
        if self.blocks.len() <= enough + SPARE || self.uses_all_blocks() {
            return;
        }
        let mut numbers: Vec<_> = std::iter::repeat_n(None, self.blocks.len()).collect();
        self.runs.iter().for_each(|run| numbers[run.block] = Some(0));
        numbers.iter_mut().flatten().enumerate().for_each(|(number, used)| *used = number);
        self.runs.iter_mut().for_each(|run| run.block = numbers[run.block].unwrap_or_default());
        let used = self.blocks.iter().zip(&numbers).filter(|(_, number)| number.is_some());
        self.blocks = Arc::new(used.map(|(block, _)| Arc::clone(block)).collect());
    }

    /// Returns true if it is plain that all blocks are used: if they are used in order.
    fn uses_all_blocks(&self) -> bool {
        let mut num_used = 0;
        let is_ordered = self.runs.iter().all(|run| {
            let is_next = run.block == num_used;
            num_used += usize::from(is_next);
            is_next || run.block + 1 == num_used
        });
        is_ordered && num_used == self.blocks.len()
    }

    /// Iterates over the rows, each as a block and a row number in it.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<Block>, usize)> + Clone {
        self.runs.iter().flat_map(|run| (run.start..run.start + run.length).map(|row| (&self.blocks[run.block], row)))
    }

    /// The strings of column `column`.
    pub fn strings(&self, column: usize) -> Result<Vec<Bytes>> {
        let mut texts = Vec::new();
        for block in self.blocks.iter() {
            match &block.columns[column] {
                Column::Text(text) => texts.push(text.counted_apart()),
                _ => return self.each_string(column),
            }
        }
        let refused = |refusal: allocate::Refusal| refusal.at("the strings of rows");
        // Look up all spans before incrementing any reference count, because the CPU cannot overlap
        // the two.
        let mut positions = allocate::room(self.num_rows).map_err(refused)?;
        positions.extend(self.block_rows().map(|(block, row)| (block, texts[block].row(row))));
        let mut strings = allocate::room(self.num_rows).map_err(refused)?;
        strings.extend(positions.iter().map(|(block, string)| texts[*block].shared(string)));
        Ok(strings)
    }

    /// The bytes of the strings of column `column`, borrowed from the blocks.
    pub fn lent_strings(&self, column: usize) -> Result<Vec<&[u8]>> {
        let columns: Vec<_> = self.blocks.iter().map(|block| &block.columns[column]).collect();
        let mut strings = allocate::room(self.num_rows).map_err(|refusal| refusal.at("the strings of rows"))?;
        for (block, row) in self.block_rows() {
            strings.push(columns[block].string(row)?);
        }
        Ok(strings)
    }

    fn each_string(&self, column: usize) -> Result<Vec<Bytes>> {
        let string =
            |(block, row): (&Arc<Block>, usize)| block.columns[column].row(row)?.string_scalar("a row").cloned();
        self.iter().map(string).collect()
    }

    fn block_rows(&self) -> BlockRows<'_> {
        BlockRows { runs: &self.runs, rest: self.num_rows, at: 0 }
    }

    /// The provenance of row `row`, if known.
    pub fn row_provenance(&self, row: usize) -> Option<RowProvenance> {
        self.iter().nth(row).and_then(|(block, row)| block.row_provenance(row))
    }

    /// The unique identity of each row, if known. It seeds the row's random draws.
    pub fn row_ids(&self) -> impl Iterator<Item = Result<Option<RowId>>> {
        self.iter().map(|(block, row)| block.row_id(row))
    }

    /// The provenance of all rows.
    pub fn provenance(&self) -> Provenance {
        if let [run] = self.runs[..]
            && let Provenance::Run(file, first) = self.blocks[run.block].provenance()
        {
            return Provenance::Run(Arc::clone(file), first + run.start as u64);
        }
        let mut gathered = ProvenanceBuilder::with_room(self.num_rows);
        match self.runs.iter().all(|run| gathered.push(self.blocks[run.block].provenance(), run.start, run.length)) {
            true => gathered.finish(),
            false => Provenance::Unknown,
        }
    }

    /// Replaces the provenance of the rows.
    pub fn with_provenance(self, provenance: Provenance) -> Result<Self> {
        let block = self.gather()?;
        drop(self);
        let block = Arc::try_unwrap(block).unwrap_or_else(|shared| shared.share());
        Ok(Self::all(block.with_provenance(provenance)))
    }

    /// The batch that the rows belong to, if they were grouped.
    pub fn group(&self) -> Option<&Group> {
        self.group.as_ref()
    }

    /// Marks the rows as belonging to a batch.
    pub fn in_group(mut self, group: Option<Group>) -> Self {
        self.group = group;
        self
    }

    /// Returns the block if these are all of its rows in order and its columns are not packed.
    pub fn whole_block(&self) -> Option<&Arc<Block>> {
        let is_whole = |block: &&Arc<Block>, length| block.num_rows() == length && !block.is_packed();
        match self.runs[..] {
            [Run { block, start: 0, length }] => self.blocks.get(block).filter(|block| is_whole(block, length)),
            _ => None,
        }
    }

    /// Returns true if the rows are such a small part of their blocks that a copy would save a lot
    /// of memory.
    pub fn are_few(&self) -> bool {
        /// Smaller parts than one in this many are copied.
        const PART: usize = 4;
        let all: usize = self.blocks.iter().map(|block| block.num_rows()).sum();
        self.num_rows * PART <= all
    }

    /// The approximate number of bytes of the elements, using the average row of each block.
    pub fn num_bytes(&self) -> usize {
        let bytes = |run: &Run| {
            let block = &self.blocks[run.block];
            block.num_bytes() * run.length / block.num_rows().max(1)
        };
        self.runs.iter().map(bytes).sum()
    }

    /// Gathers the rows of column `column`. Nothing is copied if they are a whole block.
    pub fn gather_column(&self, column: usize) -> Result<Column> {
        match self.whole_block() {
            Some(block) => Ok(block.columns[column].clone()),
            None => gather(&self.columns(column), self.block_rows()),
        }
    }

    /// Like [`Rows::gather_column`], for several columns.
    pub fn gather_columns(&self, columns: impl IntoIterator<Item = usize>) -> Result<Vec<Column>> {
        let gatherer = self.gatherer()?;
        columns.into_iter().map(|column| gatherer.column(column)).collect()
    }

    /// Locates each row once, for gathering several columns.
    pub fn gatherer(&self) -> Result<Gatherer<'_>> {
        let positions = if self.whole_block().is_some() { Vec::new() } else { self.positions()? };
        Ok(self.gatherer_of(positions))
    }

    fn gatherer_of(&self, positions: Vec<(usize, usize)>) -> Gatherer<'_> {
        Gatherer { rows: self, positions, gathered: RefCell::default() }
    }

    fn positions(&self) -> Result<Vec<(usize, usize)>> {
        let positions = allocate::collected(self.num_rows, self.block_rows());
        positions.map_err(|refusal| refusal.at("the positions of rows"))
    }

    /// Column `column` of each block.
    fn columns(&self, column: usize) -> Vec<&Column> {
        self.blocks.iter().map(|block| &block.columns[column]).collect()
    }

    /// Copies the rows into a new block.
    pub fn copy(&self) -> Result<Block> {
        let num_columns = self.blocks.first().map_or(0, |block| block.columns.len());
        let gatherer = self.gatherer_of(self.positions()?);
        let columns = (0..num_columns).map(|column| gatherer.copy(column)).collect::<Result<_>>()?;
        Block::new(columns, self.num_rows, self.provenance())
    }

    /// Gathers the rows into one block. Nothing is copied if they are a whole block.
    pub fn gather(&self) -> Result<Arc<Block>> {
        match self.whole_block() {
            Some(block) => Ok(Arc::clone(block)),
            None => self.copy().map(Arc::new),
        }
    }
}

/// Gathers columns of rows one at a time, after locating the rows once.
#[derive(Debug)]
pub struct Gatherer<'a> {
    rows: &'a Rows,
    /// The block number of each row, and the row number in it. Empty if the rows are a whole block.
    positions: Vec<(usize, usize)>,
    /// Columns that were gathered along with others, with their numbers.
    gathered: RefCell<Vec<(usize, Column)>>,
}

impl Gatherer<'_> {
    /// Gathers the rows of column `column`. Nothing is copied if they are a whole block.
    pub fn column(&self, column: usize) -> Result<Column> {
        match self.rows.whole_block() {
            Some(block) => Ok(block.columns[column].clone()),
            None => self.copy(column),
        }
    }

    fn copy(&self, column: usize) -> Result<Column> {
        let mut gathered = self.gathered.borrow_mut();
        if let Some(index) = gathered.iter().position(|(other, _)| *other == column) {
            return Ok(gathered.swap_remove(index).1);
        }
        let blocks = &self.rows.blocks;
        if let Some(packed) = gather_packed(blocks, column, &self.positions)? {
            gathered.extend(packed);
            let index = gathered.iter().position(|(other, _)| *other == column);
            let index = index.ok_or_else(|| Error::internal("the rows of a packed column are missing"))?;
            return Ok(gathered.swap_remove(index).1);
        }
        gather(&self.rows.columns(column), self.positions.iter().copied())
    }
}

/// Rows that are consumed one by one.
#[derive(Debug, Default)]
pub struct Cursor {
    rows: Rows,
    run: usize,
    at: usize,
    num_taken: usize,
}

impl Cursor {
    /// Starts at the first row.
    pub fn new(rows: Rows) -> Self {
        Self { rows, run: 0, at: 0, num_taken: 0 }
    }

    /// The checkpoint of the next row, even if that row does not exist yet.
    pub fn checkpoint(&self) -> Checkpoint {
        self.rows.checkpoint(self.num_taken)
    }

    /// True if no row is left.
    pub fn is_empty(&self) -> bool {
        self.run >= self.rows.runs.len()
    }

    /// The number of rows that remain in the current run of consecutive rows.
    pub fn run_length(&self) -> usize {
        self.rows.runs.get(self.run).map_or(0, |run| run.length - self.at)
    }

    /// Takes `count` rows of the current run, at most [`Cursor::run_length`]. Returns their block
    /// and the first row.
    pub fn next_run(&mut self, count: usize) -> Option<(&Arc<Block>, usize)> {
        let run = self.rows.runs.get(self.run)?;
        let row = run.start + self.at;
        self.at += count;
        self.num_taken += count;
        if self.at >= run.length {
            (self.run, self.at) = (self.run + 1, 0);
        }
        Some((&self.rows.blocks[run.block], row))
    }
}

impl HasProvenance for Rows {
    fn provenance(&self) -> Provenance {
        Self::provenance(self)
    }
}

/// Iterates over the block number and row number of each row.
#[derive(Clone)]
struct BlockRows<'a> {
    runs: &'a [Run],
    rest: usize,
    at: usize,
}

impl Iterator for BlockRows<'_> {
    type Item = (usize, usize);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let run = self.runs.first()?;
        let position = (run.block, run.start + self.at);
        self.at += 1;
        self.rest -= 1;
        if self.at == run.length {
            self.runs = &self.runs[1..];
            self.at = 0;
        }
        Some(position)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.rest, Some(self.rest))
    }
}

impl ExactSizeIterator for BlockRows<'_> {}

#[cfg(test)]
mod tests {
    use super::*;
    use headrace_engine::files::name::FileName;
    use headrace_engine::numbering::Numbering;
    use headrace_engine::tensor::Tensor;
    use headrace_engine::tensor::shape::Shape;

    fn block(values: &[i32]) -> Arc<Block> {
        let tensor = Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap();
        let file = FileProvenance::new(FileName::new("f"), Numbering::RECORDS, 0);
        let provenance = Provenance::Run(Arc::new(file), 100 * values[0].unsigned_abs() as u64);
        Arc::new(Block::new(vec![Column::Dense(tensor)], values.len(), provenance).unwrap())
    }

    fn values(rows: &Rows) -> Vec<i32> {
        let gathered = rows.gather().unwrap();
        gathered.columns[0].to_tensor().unwrap().values().unwrap().to_vec()
    }

    #[test]
    fn rows_are_taken_from_the_front_across_blocks() {
        let mut rows = Rows::all(block(&[1, 2, 3]));
        rows.append(&Rows::all(block(&[4, 5])));
        assert_eq!(rows.len(), 5);
        assert!(rows.take_front(0).is_empty());
        let front = rows.take_front(4);
        assert_eq!((values(&front), values(&rows)), (vec![1, 2, 3, 4], vec![5]));
        assert_eq!(values(&rows.take_front(9)), [5]);
        assert!(rows.is_empty());
    }

    #[test]
    fn rows_drop_blocks_that_are_no_longer_used() {
        let blocks: Vec<_> = (0..40).map(|value| block(&[value, -value])).collect();
        let mut rows = Rows::new();
        blocks.iter().for_each(|block| rows.push(block, 1, 1));
        blocks.iter().for_each(|block| rows.push(block, 0, 1));
        let front = rows.take_front(3);
        assert_eq!((front.blocks.len(), values(&front)), (3, vec![0, -1, -2]));
        rows.take_front(74);
        rows.append(&front);
        assert_eq!((rows.blocks.len(), values(&rows)), (6, vec![37, 38, 39, 0, -1, -2]));
    }

    #[test]
    fn blocks_that_are_used_in_order_stay() {
        let mut rows = Rows::new();
        for value in 0..40 {
            rows.append(&Rows::all(block(&[value, -value])));
            assert_eq!((rows.uses_all_blocks(), rows.blocks.len()), (true, value as usize + 1));
        }
        rows.add_block(&block(&[7]));
        assert!(!rows.uses_all_blocks());
        rows.take_front(2);
        assert!(!rows.uses_all_blocks());
        rows.append(&Rows::all(block(&[8])));
        assert_eq!(rows.blocks.len(), 40);
    }

    #[test]
    fn blocks_of_consumed_rows_do_not_pile_up() {
        let mut rows = Rows::new();
        for value in 0..1000 {
            rows.append(&Rows::all(block(&[value, -value, value])));
            if value > 9 {
                rows.take_front(3);
            }
            assert!(rows.blocks.len() <= 20, "{} blocks for {} rows", rows.blocks.len(), rows.len());
        }
        assert_eq!(values(&rows.take_front(4)), [990, -990, 990, 991]);
    }

    #[test]
    fn complete_block_is_not_copied() {
        let (one, other) = (block(&[1, 2, 3]), block(&[7]));
        assert!(Arc::ptr_eq(&Rows::all(Arc::clone(&one)).gather().unwrap(), &one));
        let mut rows = Rows::new();
        rows.push(&one, 1, 2);
        assert!(rows.whole_block().is_none());
        rows.push(&other, 0, 1);
        assert_eq!(values(&rows), [2, 3, 7]);
    }

    #[test]
    fn each_row_has_its_record() {
        let (one, other) = (block(&[1, 2, 3]), block(&[7]));
        let mut rows = Rows::new();
        rows.push(&one, 1, 2);
        assert_eq!(rows.row_provenance(1).unwrap().to_string(), "f: record 102");
        rows.push(&other, 0, 1);
        let gathered = rows.gather().unwrap();
        let records: Vec<_> = (0..3).map(|row| gathered.row_provenance(row).unwrap().record).collect();
        assert_eq!(records, [101, 102, 700]);
    }
}
