//! The unique identity of a row, which determines its random draws and its part of a split.

use headrace_engine::philox::{Philox, mix};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// One pass over a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// The epoch, counting from 0.
    pub number: u64,
    /// Distinguishes combined pipelines, for example in `concat`. 0 if there is only one.
    pub branch: u64,
    /// The position of the source within nested combinations of pipelines.
    pub path: Path,
}

/// The position of a source within nested combinations of pipelines, outermost first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// The number of the part at each level, counting from 1. The outermost level is in the lowest
    /// bits.
    parts: u128,
    depth: u32,
}

impl Path {
    /// The maximum nesting depth of combinations that a path can represent.
    pub const MAX_DEPTH: u32 = 8;
    const BITS: u32 = u128::BITS / Self::MAX_DEPTH;

    /// The path to part `index` of the combination at this path.
    pub fn part(self, index: usize) -> Self {
        self.then(Self { parts: (index as u128 + 1) & ((1 << Self::BITS) - 1), depth: 1 })
    }

    /// The index of the outermost part, if any.
    pub fn first(self) -> Option<usize> {
        (self.parts as usize & ((1 << Self::BITS) - 1)).checked_sub(1)
    }

    /// Encodes the path as numbers for [`Path::of_numbers`].
    pub fn numbers(self) -> (u128, u32) {
        (self.parts, self.depth)
    }

    /// Decodes a path from [`Path::numbers`].
    pub fn of_numbers(parts: u128, depth: u32) -> Self {
        Self { parts, depth }
    }

    /// Appends an inner path to this one.
    pub fn then(self, inner: Self) -> Self {
        let shifted = inner.parts.checked_shl(self.depth * Self::BITS).unwrap_or(0);
        Self { parts: self.parts | shifted, depth: self.depth.saturating_add(inner.depth) }
    }

    /// Combines the path after its first `depth` parts into one number; 0 if nothing is left.
    pub fn behind(self, depth: u32) -> u64 {
        let part = |level| (self.parts >> (level * Self::BITS)) as u64 & ((1 << Self::BITS) - 1);
        (depth..self.depth.min(Self::MAX_DEPTH)).map(part).fold(0, mix)
    }
}

/// The identity of a row, unique across all passes. It does not depend on the order or the number
/// of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowId {
    /// The pass.
    pub pass: Pass,
    /// The number of the file within its source.
    pub file: u64,
    /// The number of the record in the file.
    pub record: u64,
    /// 0 for the record itself, other numbers for rows built from it.
    pub sub: u64,
}

impl RowId {
    /// Returns numbers that together are unique to the row: the epoch, the record, the file
    /// combined with the branch, and the number among the rows built from the record.
    pub fn words(&self) -> [u64; 4] {
        [self.pass.number, self.record, self.file_in(self.pass.branch), self.sub]
    }

    /// Returns two numbers that identify the record within a pipeline nested in `depth`
    /// combinations. They are the same as without the combinations.
    pub fn record_within(&self, depth: u32) -> [u64; 2] {
        [self.record, self.file_in(self.pass.path.behind(depth))]
    }

    fn file_in(&self, branch: u64) -> u64 {
        match branch {
            0 => self.file,
            branch => mix(branch, self.file),
        }
    }

    /// A hash of the identity.
    pub fn key(&self) -> u64 {
        self.words().into_iter().fold(0, mix)
    }

    /// Returns the random generator for this row and `seed`.
    pub fn random(&self, seed: u64) -> Philox {
        Philox::of_row(seed, self.key())
    }
}

/// The records that one part of the data has.
#[derive(Clone, Debug)]
pub enum KeptRecords {
    /// Keeps the records with these keys.
    Keys(RecordKeys),
    /// Keeps the records at these indices in each file of the source.
    Numbers(Arc<[Range<u64>]>),
}

impl KeptRecords {
    /// Returns true if the row's record is in the part. The answer is the same in all passes and
    /// for all rows built from the record.
    pub fn contain(&self, row_id: &RowId) -> bool {
        match self {
            Self::Keys(keys) => keys.contain(row_id),
            Self::Numbers(ranges) => {
                let range = usize::try_from(row_id.file).ok().and_then(|file| ranges.get(file));
                range.is_some_and(|range| range.contains(&row_id.record))
            }
        }
    }
}

/// A range of record keys, which selects the records of one part of a split. Other ranges with the
/// same seed select the other parts.
#[derive(Clone, Debug)]
pub struct RecordKeys {
    /// The seed of the keys.
    pub seed: u64,
    /// The range of keys that belong to the part.
    pub kept: RangeInclusive<u64>,
    /// The number of combinations around the split. They do not change which records the part has.
    pub depth: u32,
}

impl RecordKeys {
    fn contain(&self, row_id: &RowId) -> bool {
        self.kept.contains(&self.key(row_id))
    }

    fn key(&self, row_id: &RowId) -> u64 {
        row_id.record_within(self.depth).into_iter().fold(self.seed, mix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_id(epoch: u64, file: u64, record: u64, sub: u64) -> RowId {
        RowId { pass: Pass { number: epoch, ..Pass::default() }, file, record, sub }
    }

    fn key(seed: u64, depth: u32, row_id: &RowId) -> u64 {
        RecordKeys { seed, kept: 0..=0, depth }.key(row_id)
    }

    #[test]
    fn record_key_is_the_same_in_all_passes_and_derived_rows() {
        let first = key(7, 0, &row_id(0, 2, 3, 0));
        assert_eq!(first, key(7, 0, &row_id(5, 2, 3, 11)));
        for other in [key(8, 0, &row_id(0, 2, 3, 0)), key(7, 0, &row_id(0, 3, 2, 0)), key(7, 0, &row_id(0, 2, 4, 0))] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn record_numbers_are_kept_per_file() {
        let kept = KeptRecords::Numbers(Arc::new([2..4, 0..0]));
        for (file, record, is_kept) in [(0, 1, false), (0, 2, true), (0, 3, true), (0, 4, false), (1, 0, false)] {
            assert_eq!(kept.contain(&row_id(3, file, record, 9)), is_kept);
        }
        assert!(!kept.contain(&row_id(0, 2, 2, 0)));
    }

    #[test]
    fn record_key_does_not_depend_on_combinations_around_the_split() {
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
