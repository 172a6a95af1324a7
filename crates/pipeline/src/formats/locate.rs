//! Finds the offsets of records after their file was read, for reports of skipped records.

use crate::blocks::file_provenance::{FileProvenance, KnownOffset, Locate};
use crate::formats::{Format, RecordPosition};
use headrace_engine::sync::Mutex;
use std::fmt;
use std::sync::Arc;

/// The largest number of remembered positions of a file.
const MOST_PLACES: usize = 1024;

/// Remembers the positions of some blocks of a file, and reads on from there.
pub struct RecordLocator {
    format: Arc<dyn Format>,
    known: Mutex<Known>,
}

/// Positions in ascending order, each at least `step` records after the one before.
struct Known {
    positions: Vec<RecordPosition>,
    step: u64,
}

impl RecordLocator {
    /// No positions are remembered yet.
    pub fn new(format: Arc<dyn Format>) -> Self {
        Self { format, known: Mutex::new(Known { positions: Vec::new(), step: 1 }) }
    }

    /// Remembers the position of a block.
    pub fn remember(&self, position: RecordPosition) {
        self.known.lock().remember(position);
    }
}

impl Known {
    fn remember(&mut self, position: RecordPosition) {
        if self.positions.last().is_some_and(|last| position.record < last.record.saturating_add(self.step)) {
            return;
        }
        if self.positions.len() == MOST_PLACES {
            let mut number = 0;
            self.positions.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.step = self.step.saturating_mul(2);
        }
        self.positions.push(position);
    }

    /// The last position that is not after a record.
    fn before(&self, record: u64) -> RecordPosition {
        let behind = self.positions.partition_point(|position| position.record <= record);
        behind.checked_sub(1).map_or_else(RecordPosition::default, |last| self.positions[last])
    }
}

impl Locate for RecordLocator {
    /// `None` if the file has changed or cannot be read any more.
    fn offset(&self, file: &Arc<FileProvenance>, record: u64) -> Option<u64> {
        let before = self.known.lock().before(record);
        self.format.open(&file.reopened(), before).and_then(|mut scan| scan.find(record)).ok().flatten()
    }

    fn known(&self, _file: &Arc<FileProvenance>, record: u64) -> Option<KnownOffset> {
        let RecordPosition { offset_bytes, record } = self.known.lock().before(record);
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

    #[test]
    fn the_nearest_position_before_a_record_is_found_even_if_some_are_forgotten() {
        let mut known = Known { positions: Vec::new(), step: 1 };
        let positions = 3 * MOST_PLACES as u64;
        (0..positions).for_each(|record| known.remember(RecordPosition { offset_bytes: 10 * record, record }));
        assert!(known.positions.len() <= MOST_PLACES && known.positions.is_sorted_by_key(|position| position.record));
        assert_eq!(known.before(0).record, 0);
        for record in [1, 77, positions / 2, positions - 1] {
            let before = known.before(record);
            assert!(before.record <= record && record - before.record < 8, "{before:?}");
            assert_eq!(before.offset_bytes, 10 * before.record);
        }
    }
}
