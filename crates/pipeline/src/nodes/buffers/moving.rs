//! Values of rows that move out of their blocks into a window, and from there into returned blocks.
//!
//! A window touches random rows. In its own memory they lie close together, while the blocks of
//! sixteen open files take many times the memory of the window.

use crate::blocks::block::Block;
use crate::blocks::file_provenance::FileProvenance;
use crate::blocks::packed_rows::{Layout, PackedRows};
use crate::blocks::packing::{block_of, whole_rows};
use crate::blocks::provenance::Provenance;
use crate::blocks::rows::Rows;
use crate::budget::Budget;
use crate::node::GROUP_ROWS;
use headrace_engine::error::{Error, Result};
use std::sync::Arc;

/// The values of a block, which move out.
pub(super) struct Moving {
    /// The values, until all of them have moved out.
    rows: Option<Arc<PackedRows>>,
    /// The number of pending rows whose values are still here.
    num_inside: usize,
    row_bytes: usize,
    /// The file of the rows.
    file: Arc<FileProvenance>,
    /// The number of the first row's record.
    first_record: u64,
    /// For each row, the distance of its record from that one. `None` if records are consecutive.
    distances: Option<Arc<[u32]>>,
}

impl Moving {
    /// The values of a block, if they can move: all of them are packed in rows of this layout, or of
    /// any layout if there is none yet, and a row's number is enough to know its record.
    pub(super) fn of(block: &Block, layout: &mut Option<Arc<Layout>>) -> Option<Self> {
        let (file, first_record, distances) = match block.provenance() {
            Provenance::Run(file, first) => (file, *first, None),
            Provenance::Near(file, first, distances) => (file, *first, Some(distances)),
            _ => return None,
        };
        let rows = whole_rows(block)?;
        let is_alike = layout.get_or_insert_with(|| Arc::clone(rows.layout())) == rows.layout();
        is_alike.then(|| Self {
            rows: Some(Arc::clone(rows)),
            num_inside: 0,
            row_bytes: rows.layout().row_bytes(),
            file: Arc::clone(file),
            first_record,
            distances: distances.map(Arc::clone),
        })
    }

    pub(super) fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Announces pending rows, whose values will move out.
    pub(super) fn announce(&mut self, num_rows: usize) {
        self.num_inside += num_rows;
    }

    /// The number of row `row`'s record.
    #[inline]
    fn record(&self, row: usize) -> u64 {
        self.first_record + self.distances.as_ref().map_or(row as u64, |distances| distances[row].into())
    }

    /// A number that depends on all cache lines of row `row`.
    #[inline]
    pub(super) fn touched(&self, row: usize) -> u8 {
        self.rows.as_ref().map_or(0, |rows| rows.touched(row))
    }

    /// Moves the values of row `row` into row `slot` of a window. Returns true if these were the
    /// last ones for now.
    #[inline]
    pub(super) fn move_into(&mut self, row: usize, slot: usize, window: &mut PackedRows) -> Result<bool> {
        let Some(rows) = &self.rows else { return Err(Error::internal("the values of a row have moved already")) };
        window.set(slot, rows.row(row));
        self.num_inside -= 1;
        Ok(self.num_inside == 0)
    }

    /// Drops the values if all of them have moved out. Returns true if that happens now.
    pub(super) fn forget_values(&mut self) -> bool {
        self.num_inside == 0 && self.rows.take().is_some()
    }
}

/// A group of rows that left a window with their values.
#[derive(Default)]
pub(super) struct Left {
    /// The number of their block in the group.
    block: Option<usize>,
    values: Option<PackedRows>,
    files: Vec<Arc<FileProvenance>>,
    /// For each row, the index of its file and its record number.
    records: Vec<(u32, u64)>,
}

impl Left {
    /// Adds row `row` of a block, whose values are in row `slot` of a window. `file` is the index of
    /// the block's file in this group if an earlier row had it. Returns this index.
    #[inline]
    pub(super) fn push(
        &mut self,
        (moving, row): (&Moving, usize),
        (slot, window): (usize, &PackedRows),
        file: Option<usize>,
        rows: &mut Rows,
    ) -> Result<usize> {
        let values = match &mut self.values {
            Some(values) => values,
            None => self.values.insert(PackedRows::with_room(window.layout(), GROUP_ROWS)?),
        };
        values.push(window.row(slot));
        let file = file.unwrap_or_else(|| {
            self.files.push(Arc::clone(&moving.file));
            self.files.len() - 1
        });
        let number = *self.block.get_or_insert_with(|| rows.reserve_block());
        rows.push_run(number, self.records.len(), 1);
        self.records.push((file as u32, moving.record(row)));
        Ok(file)
    }

    /// Makes the block of these rows.
    pub(super) fn finish(self, rows: &mut Rows, budget: &Arc<Budget>) -> Result<()> {
        let (Some(number), Some(values)) = (self.block, self.values) else { return Ok(()) };
        let block = block_of(values, Provenance::of_rows(self.files, self.records, Vec::new()))?;
        let charge = budget.charge(block.held_bytes());
        rows.set_block(number, Arc::new(block.charged(charge)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::column::Column;
    use crate::nodes::buffers::pending_rows::{PendingRow, PendingRows};
    use headrace_engine::files::name::FileName;
    use headrace_engine::numbering::Numbering;
    use headrace_engine::tensor::Tensor;
    use headrace_engine::tensor::shape::Shape;
    use std::collections::VecDeque;

    /// Two columns of numbers, the second one twice the first.
    fn numbers(first: u32, num_rows: u32, provenance: Provenance) -> Arc<Block> {
        let column = |factor: u32| {
            let values: Vec<_> = (first..first + num_rows).map(|number| factor * number).collect();
            Column::Dense(Tensor::from_values(Shape::new(&[values.len()]), values).unwrap())
        };
        Arc::new(Block::new(vec![column(1), column(2)], num_rows as usize, provenance).unwrap())
    }

    #[test]
    fn moved_values_keep_their_records_beside_rows_that_stay_in_their_blocks() {
        const WINDOW: usize = 60;
        let file = |name: &'static str| Arc::new(FileProvenance::new(FileName::new(name), Numbering::RECORDS, 0));
        let budget = Budget::new(usize::MAX);
        let mut pending = PendingRows::default();
        pending.move_values(true);
        // Short blocks are not packed, and the third one has several files.
        let files = vec![file("c"), file("d")];
        let each = Provenance::of_rows(files, (0..30).map(|row| (row % 2, 60 + u64::from(row))).collect(), Vec::new());
        let blocks = [
            numbers(0, 50, Provenance::Run(file("a"), 0)),
            numbers(50, 10, Provenance::Run(file("b"), 50)),
            numbers(60, 30, each),
            numbers(90, 40, Provenance::Near(file("e"), 90, (0..40).collect())),
        ];
        let mut incoming = VecDeque::new();
        let mut rows = Rows::new();
        blocks.iter().for_each(|block| rows.push(block, 0, block.num_rows()));
        pending.add_all(&rows, &mut incoming, &budget).unwrap();
        drop((rows, blocks));
        let held_bytes = pending.held_bytes();
        let mut values = PackedRows::with_room(pending.layout().unwrap(), 0).unwrap();
        let mut waiting: Vec<PendingRow> = Vec::new();
        let (mut seen, mut step) = (Vec::new(), 0);
        while !incoming.is_empty() || !waiting.is_empty() {
            let mut rows = Rows::new();
            pending.begin_group();
            for _ in 0..7 {
                while waiting.len() < WINDOW
                    && let Some(row) = incoming.pop_front()
                {
                    waiting.push(row);
                    values.grow_to(waiting.len()).unwrap();
                    pending.enter(row, waiting.len() - 1, &mut values).unwrap();
                }
                if waiting.is_empty() {
                    break;
                }
                step += 1;
                let slot = step * 17 % waiting.len();
                pending.give(waiting[slot], (slot, Some(&values)), &mut rows).unwrap();
                pending.thin_out_few(&budget).unwrap();
                waiting.swap_remove(slot);
                values.swap_remove(slot);
            }
            pending.end_group(&mut rows, &budget).unwrap();
            let gathered = rows.gather().unwrap();
            let column = |index: usize| gathered.columns[index].to_tensor().unwrap().values::<u32>().unwrap().to_vec();
            let numbers = column(0);
            assert_eq!(column(1), numbers.iter().map(|number| 2 * number).collect::<Vec<_>>());
            for (row, number) in numbers.iter().enumerate() {
                let provenance = rows.row_provenance(row).unwrap();
                assert_eq!(provenance.record, u64::from(*number));
                let name = match number {
                    0..50 => "a",
                    50..60 => "b",
                    60..90 if number % 2 == 0 => "c",
                    60..90 => "d",
                    _ => "e",
                };
                assert_eq!(&**provenance.file.name.text(), name);
            }
            seen.extend(numbers);
        }
        assert!(!seen.is_sorted());
        seen.sort_unstable();
        assert_eq!(seen, (0..130).collect::<Vec<_>>());
        // The last block is still open.
        assert!(pending.held_bytes() < held_bytes / 2);
    }
}
