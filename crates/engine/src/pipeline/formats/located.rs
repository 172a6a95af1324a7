//! Where records begin that are asked for after their file was read: for reports of what was left out.

use super::format::{Format, Place};
use crate::pipeline::file_origin::{FileOrigin, Locate};
use crate::sync::Mutex;
use std::fmt;
use std::sync::Arc;

/// So many places of a file are remembered at most.
const MOST_PLACES: usize = 1024;

/// Remembers where some blocks of a file begin, and reads on from there.
pub struct Located {
    format: Arc<dyn Format>,
    known: Mutex<Known>,
}

/// Places in rising order, none of them less than `step` records behind the one before.
struct Known {
    places: Vec<Place>,
    step: u64,
}

impl Located {
    /// Nothing is known of the file.
    pub fn new(format: Arc<dyn Format>) -> Self {
        Self { format, known: Mutex::new(Known { places: Vec::new(), step: 1 }) }
    }

    /// Remembers where a block begins.
    pub fn note(&self, place: Place) {
        self.known.lock().note(place);
    }
}

impl Known {
    fn note(&mut self, place: Place) {
        if self.places.last().is_some_and(|last| place.record < last.record.saturating_add(self.step)) {
            return;
        }
        if self.places.len() == MOST_PLACES {
            let mut number = 0;
            self.places.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.step = self.step.saturating_mul(2);
        }
        self.places.push(place);
    }

    /// The last place that is not behind a record.
    fn before(&self, record: u64) -> Place {
        let behind = self.places.partition_point(|place| place.record <= record);
        behind.checked_sub(1).map_or_else(Place::default, |last| self.places[last])
    }
}

impl Locate for Located {
    /// `None` if the file cannot be read any more as it was.
    fn offset(&self, file: &Arc<FileOrigin>, record: u64) -> Option<u64> {
        let before = self.known.lock().before(record);
        self.format.open(&file.reopened(), before).and_then(|mut scan| scan.find(record)).ok().flatten()
    }
}

impl fmt::Debug for Located {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Located")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_place_before_a_record_is_found_also_if_some_are_forgotten() {
        let mut known = Known { places: Vec::new(), step: 1 };
        let places = 3 * MOST_PLACES as u64;
        (0..places).for_each(|record| known.note(Place { offset_bytes: 10 * record, record }));
        assert!(known.places.len() <= MOST_PLACES && known.places.is_sorted_by_key(|place| place.record));
        assert_eq!(known.before(0).record, 0);
        for record in [1, 77, places / 2, places - 1] {
            let before = known.before(record);
            assert!(before.record <= record && record - before.record < 8, "{before:?}");
            assert_eq!(before.offset_bytes, 10 * before.record);
        }
    }
}
