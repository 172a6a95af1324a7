//! Splits the examples by the identities of their records: for training and validation.

use crate::blocks::row_id::RowId;
use crate::blocks::rows::Rows;
use crate::nodes::map::Stage;
use headrace_engine::error::{Error, Result};
use headrace_engine::philox::mix;
use std::ops::RangeInclusive;

/// Keeps the rows whose records have a key in a range. Other ranges of the same seed keep the
/// others.
pub struct Split {
    /// The seed of the keys.
    pub seed: u64,
    /// The keys to keep.
    pub kept: RangeInclusive<u64>,
    /// The number of combinations around this stage. The rows to keep do not depend on them.
    pub depth: u32,
}

impl Stage for Split {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let mut kept = Rows::new();
        for (block, row) in rows.iter() {
            let unknown = || Error::internal("split: the record of a row is not known");
            let row_id = block.row_id(row)?.ok_or_else(unknown)?;
            if self.kept.contains(&key(self.seed, self.depth, &row_id)) {
                kept.push(block, row, 1);
            }
        }
        Ok(kept)
    }
}

/// The key of a record. It is the same in all passes, and for all rows made of the record.
fn key(seed: u64, depth: u32, row_id: &RowId) -> u64 {
    row_id.record_within(depth).into_iter().fold(seed, mix)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::row_id::{Pass, Path};

    fn row_id(epoch: u64, file: u64, record: u64, sub: u64) -> RowId {
        RowId { pass: Pass { number: epoch, ..Pass::default() }, file, record, sub }
    }

    #[test]
    fn the_key_of_a_record_is_the_same_in_all_passes_and_for_all_rows_made_of_it() {
        let first = key(7, 0, &row_id(0, 2, 3, 0));
        assert_eq!(first, key(7, 0, &row_id(5, 2, 3, 11)));
        for other in [key(8, 0, &row_id(0, 2, 3, 0)), key(7, 0, &row_id(0, 3, 2, 0)), key(7, 0, &row_id(0, 2, 4, 0))] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn the_key_of_a_record_does_not_depend_on_the_combinations_around_the_split() {
        let within = |path: &[usize]| {
            let path = path.iter().fold(Path::default(), |path, part| path.part(*part));
            let branch = path.behind(0);
            RowId { pass: Pass { number: 0, branch, path }, file: 2, record: 3, sub: 0 }
        };
        assert_eq!(key(7, 0, &within(&[])), key(7, 1, &within(&[0])));
        assert_eq!(key(7, 0, &within(&[])), key(7, 3, &within(&[4, 0, 2])));
        assert_eq!(key(7, 0, &within(&[1, 2])), key(7, 2, &within(&[0, 5, 1, 2])));
        assert_ne!(key(7, 0, &within(&[0])), key(7, 0, &within(&[1])));
        assert_ne!(key(7, 1, &within(&[0, 0])), key(7, 0, &within(&[])));
        let cached = Path::default().part(3).then(Path::default().part(1).part(0));
        assert_eq!(cached, Path::default().part(3).part(1).part(0));
    }

    #[test]
    fn keys_are_spread_evenly() {
        let below = (0..100_000).filter(|record| key(1, 0, &row_id(0, 0, *record, 0)) < u64::MAX / 10).count();
        assert!((9_700..10_300).contains(&below), "{below}");
    }
}
