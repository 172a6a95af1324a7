//! A row's unique identity, the key of random draws for it.

use headrace_engine::philox::{Philox, mix};

/// One pass over a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// The epoch, from 0.
    pub number: u64,
    /// Tells pipelines apart that were combined, by `concat` for example; 0 if there is only one.
    pub branch: u64,
    /// The parts of combinations that the source stands in.
    pub path: Path,
}

/// The parts of combinations that lead to a source, the outermost first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// The number of each part, from 1; the outermost in the lowest bits.
    parts: u128,
    depth: u32,
}

impl Path {
    /// The largest number of nested combinations that a path can name.
    pub const MAX_DEPTH: u32 = 8;
    const BITS: u32 = u128::BITS / Self::MAX_DEPTH;

    /// The path to part `index` of the combination at this path.
    pub fn part(self, index: usize) -> Self {
        self.then(Self { parts: (index as u128 + 1) & ((1 << Self::BITS) - 1), depth: 1 })
    }

    /// The index of the outermost part, if there is one.
    pub fn first(self) -> Option<usize> {
        (self.parts as usize & ((1 << Self::BITS) - 1)).checked_sub(1)
    }

    /// The path as numbers, for [`Path::of_numbers`].
    pub fn numbers(self) -> (u128, u32) {
        (self.parts, self.depth)
    }

    /// The path of these numbers.
    pub fn of_numbers(parts: u128, depth: u32) -> Self {
        Self { parts, depth }
    }

    /// This path continued by an inner one.
    pub fn then(self, inner: Self) -> Self {
        let shifted = inner.parts.checked_shl(self.depth * Self::BITS).unwrap_or(0);
        Self { parts: self.parts | shifted, depth: self.depth.saturating_add(inner.depth) }
    }

    /// One number for the path after its first `depth` parts; 0 if it ends there.
    pub fn behind(self, depth: u32) -> u64 {
        let part = |level| (self.parts >> (level * Self::BITS)) as u64 & ((1 << Self::BITS) - 1);
        (depth..self.depth.min(Self::MAX_DEPTH)).map(part).fold(0, mix)
    }
}

/// A row's unique identity over all passes. It does not depend on the number of threads or the
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowId {
    /// The pass.
    pub pass: Pass,
    /// The number of the file among those of its source.
    pub file: u64,
    /// The number of the record in the file.
    pub record: u64,
    /// 0 for the record itself; other numbers for rows made of it.
    pub sub: u64,
}

impl RowId {
    /// Numbers that are unique to the row: the epoch, the record, the file and the branch (folded
    /// into one), and the number among the rows made of the record.
    pub fn words(&self) -> [u64; 4] {
        [self.pass.number, self.record, self.file_in(self.pass.branch), self.sub]
    }

    /// Two numbers for the record in a pipeline that stands within `depth` parts of combinations: the same as if that pipeline
    /// stood alone.
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

    /// The random draws for this row that belong to `seed`.
    pub fn random(&self, seed: u64) -> Philox {
        Philox::of_row(seed, self.key())
    }
}
