//! Locates records in a file that was read before, for reports of skipped records.

use crate::blocks::file_provenance::{FileProvenance, KnownOffset, Locate};
use crate::records::{Format, RecordPosition, Scan};
use headrace_engine::sync::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The maximum number of positions to remember per file.
const MOST_PLACES: usize = 1024;
/// The maximum number of searches to keep. Each has an open file.
const MOST_SEARCHES: usize = 32;
/// The maximum number of offsets that a search keeps, unless it found more at once.
const MOST_OFFSETS: usize = 1 << 16;

/// The most recently used searches of all locators, latest last. A locator lives as long as any row
/// of its file, so it must not keep the file open itself.
static SEARCHES: std::sync::Mutex<VecDeque<(u64, Search)>> = std::sync::Mutex::new(VecDeque::new());

static NUM_LOCATORS: AtomicU64 = AtomicU64::new(0);

/// Remembers the positions of some of a file's blocks and searches for records from there.
pub struct RecordLocator {
    format: Arc<dyn Format>,
    positions: Mutex<Positions>,
    /// A unique number within the process.
    id: u64,
    /// True once the file is known to be compressed. It can then only be read from its beginning.
    is_compressed: AtomicBool,
    /// Held by the thread that is searching.
    searching: Mutex<()>,
}

/// Positions in ascending order, at least `step` records apart.
struct Positions {
    positions: Vec<RecordPosition>,
    step: u64,
}

/// Records that were located in a file. Records near the most recent ones can be located without
/// reading from the start again.
#[derive(Default)]
struct Search {
    /// Continues after the most recent run.
    scan: Option<Box<dyn Scan>>,
    /// Runs of consecutive records, each with the number and the offset of every record. The most
    /// recent run is last.
    runs: VecDeque<Vec<(u64, u64)>>,
}

impl RecordLocator {
    /// Creates a locator that remembers no positions yet.
    pub fn new(format: Arc<dyn Format>) -> Self {
        let positions = Mutex::new(Positions { positions: Vec::new(), step: 1 });
        let (id, is_compressed) = (NUM_LOCATORS.fetch_add(1, Relaxed), AtomicBool::new(false));
        Self { format, positions, id, is_compressed, searching: Mutex::new(()) }
    }

    /// Remembers the position of a block.
    pub fn remember(&self, position: RecordPosition) {
        self.positions.lock().remember(position);
    }

    /// Removes this locator's search from the kept searches and returns it.
    fn take_search(&self) -> Option<Search> {
        let mut searches = SEARCHES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let index = searches.iter().position(|(id, _)| *id == self.id)?;
        searches.remove(index).map(|(_, search)| search)
    }

    /// Reads until a record is located, starting at a remembered position if that is closer.
    fn find(&self, search: &mut Search, file: &Arc<FileProvenance>, record: u64) -> Option<u64> {
        let is_compressed = self.is_compressed.load(Relaxed);
        let before = match is_compressed {
            // Records along the way are located too.
            true => self.positions.lock().first(record),
            false => self.positions.lock().before(record),
        };
        let near = before.record..=record;
        let mut scan = match search.scan.take().filter(|scan| near.contains(&scan.position().record)) {
            Some(scan) => scan,
            None => self.format.open(&file.reopened(), before).ok()?,
        };
        if !is_compressed && scan.rest_bytes().is_none() {
            self.is_compressed.store(true, Relaxed);
        }
        loop {
            let run = scan.locate().ok()?;
            let last = run.last()?.0;
            search.add(run);
            if last >= record {
                search.scan = Some(scan);
                return search.get(record);
            }
        }
    }

    fn keep_search(&self, search: Search) {
        let mut searches = SEARCHES.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        searches.push_back((self.id, search));
        let dropped = if searches.len() > MOST_SEARCHES { searches.pop_front() } else { None };
        drop(searches);
        drop(dropped);
    }
}

impl Drop for RecordLocator {
    fn drop(&mut self) {
        drop(self.take_search());
    }
}

impl Positions {
    fn remember(&mut self, position: RecordPosition) {
        if self.positions.len() == MOST_PLACES {
            let mut number = 0;
            self.positions.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.step = self.step.saturating_mul(2);
        }
        let index = self.positions.partition_point(|other| other.record < position.record);
        let is_far = |other: &RecordPosition| other.record.abs_diff(position.record) >= self.step;
        let before = index.checked_sub(1).and_then(|index| self.positions.get(index));
        if before.is_none_or(is_far) && self.positions.get(index).is_none_or(is_far) {
            self.positions.insert(index, position);
        }
    }

    /// Returns the first position, unless it is after the record.
    fn first(&self, record: u64) -> RecordPosition {
        self.positions.first().copied().filter(|position| position.record <= record).unwrap_or_default()
    }

    /// Returns the last position that is not after the record.
    fn before(&self, record: u64) -> RecordPosition {
        let behind = self.positions.partition_point(|position| position.record <= record);
        behind.checked_sub(1).map_or_else(RecordPosition::default, |last| self.positions[last])
    }
}

impl Search {
    /// The offset of a record that was located before.
    fn get(&self, record: u64) -> Option<u64> {
        let offset = |run: &Vec<(u64, u64)>| {
            let index = run.binary_search_by_key(&record, |(number, _)| *number).ok()?;
            Some(run[index].1)
        };
        self.runs.iter().rev().find_map(offset)
    }

    /// Adds the numbers and offsets of more records, and drops the oldest ones.
    fn add(&mut self, run: Vec<(u64, u64)>) {
        self.runs.push_back(run);
        while self.runs.len() > 1 && self.runs.iter().map(Vec::len).sum::<usize>() > MOST_OFFSETS {
            self.runs.pop_front();
        }
    }
}

impl Locate for RecordLocator {
    /// Returns `None` if the file has changed or can no longer be read.
    fn offset(&self, file: &Arc<FileProvenance>, record: u64) -> Option<u64> {
        if let Some(offset) = self.format.offset(file, record) {
            return Some(offset);
        }
        let _searching = self.searching.lock();
        let mut search = self.take_search().unwrap_or_default();
        let offset = search.get(record).or_else(|| self.find(&mut search, file, record));
        self.keep_search(search);
        offset
    }

    fn known_offset(&self, _file: &Arc<FileProvenance>, record: u64) -> Option<KnownOffset> {
        let RecordPosition { offset_bytes, record } = self.positions.lock().before(record);
        Some(KnownOffset::From { record, offset_bytes })
    }
}

impl fmt::Debug for RecordLocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecordLocator")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::block::Block;
    use crate::budget::Charge;
    use crate::records::FilePart;
    use headrace_engine::error::{Error, Result};
    use headrace_engine::files::name::FileName;
    use headrace_engine::numbering::Numbering;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn nearest_position_before_a_record_is_found_even_if_some_were_dropped() {
        let mut positions = Positions { positions: Vec::new(), step: 1 };
        let num_records = 3 * MOST_PLACES as u64;
        // Blocks may be remembered in any order.
        let order =
            (0..num_records).filter(|record| record % 2 == 0).chain((0..num_records).filter(|record| record % 2 == 1));
        order.for_each(|record| positions.remember(RecordPosition { offset_bytes: 10 * record, record }));
        assert!(
            positions.positions.len() <= MOST_PLACES
                && positions.positions.is_sorted_by_key(|position| position.record)
        );
        assert_eq!(positions.before(0).record, 0);
        for record in [1, 77, num_records / 2, num_records - 1] {
            let before = positions.before(record);
            assert!(before.record <= record && record - before.record < 16, "{before:?}");
            assert_eq!(before.offset_bytes, 10 * before.record);
        }
    }

    const NUM_RECORDS: u64 = 1000;
    const RUN_RECORDS: u64 = 10;

    /// Records of 7 bytes, read ten at a time. Counts the reads.
    struct Sevens {
        is_compressed: bool,
        num_reads: Arc<AtomicUsize>,
    }

    struct SevensScan {
        next: u64,
        is_compressed: bool,
        num_reads: Arc<AtomicUsize>,
    }

    impl Format for Sevens {
        fn open(&self, _file: &Arc<FileProvenance>, at: RecordPosition) -> Result<Box<dyn Scan>> {
            let skipped = if self.is_compressed { at.record / RUN_RECORDS } else { 0 };
            self.num_reads.fetch_add(skipped as usize, Relaxed);
            let num_reads = Arc::clone(&self.num_reads);
            Ok(Box::new(SevensScan { next: at.record, is_compressed: self.is_compressed, num_reads }))
        }

        fn block_bytes(&self) -> usize {
            70
        }

        fn open_part(&self, _file: &Arc<FileProvenance>, _part: FilePart) -> Result<Box<dyn Scan>> {
            Err(Error::internal("not used"))
        }
    }

    impl Scan for SevensScan {
        fn position(&self) -> RecordPosition {
            RecordPosition { offset_bytes: 7 * self.next, record: self.next }
        }

        fn next(&mut self, _charge: Charge) -> Result<Option<Block>> {
            Ok(None)
        }

        fn rest_bytes(&self) -> Option<u64> {
            (!self.is_compressed).then_some(1)
        }

        fn locate(&mut self) -> Result<Vec<(u64, u64)>> {
            self.num_reads.fetch_add(1, Relaxed);
            let first = self.next;
            self.next = (first + RUN_RECORDS).min(NUM_RECORDS);
            Ok((first..self.next).map(|record| (record, 7 * record)).collect())
        }
    }

    /// Locates records in this order and returns how many times the file was read.
    fn num_reads(is_compressed: bool, records: impl Iterator<Item = u64>) -> usize {
        let num_reads = Arc::<AtomicUsize>::default();
        let locator = RecordLocator::new(Arc::new(Sevens { is_compressed, num_reads: Arc::clone(&num_reads) }));
        let file = Arc::new(FileProvenance::new(FileName::new("f"), Numbering::RECORDS, 0));
        let block = |record: u64| RecordPosition { offset_bytes: 7 * record, record };
        (0..NUM_RECORDS).step_by(RUN_RECORDS as usize).for_each(|record| locator.remember(block(record)));
        for record in records {
            assert_eq!(locator.offset(&file, record), Some(7 * record));
        }
        assert_eq!(locator.offset(&file, NUM_RECORDS), None);
        num_reads.load(Relaxed)
    }

    #[test]
    fn file_is_read_once_for_all_its_records() {
        let most = (NUM_RECORDS / RUN_RECORDS) as usize + 2;
        for is_compressed in [false, true] {
            let reads = num_reads(is_compressed, 0..NUM_RECORDS);
            assert!(reads <= most, "{reads}");
        }
        // As if several threads requested records of neighbouring blocks.
        let swapped = (0..NUM_RECORDS).map(|record| record ^ 16);
        let reads = num_reads(true, swapped.filter(|record| *record < NUM_RECORDS));
        assert!(reads <= 2 * most, "{reads}");
        // In reverse order, each block is read separately.
        let reads = num_reads(false, (0..NUM_RECORDS).rev());
        assert!(reads <= most, "{reads}");
    }
}
