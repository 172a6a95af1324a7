//! A row's unique identity, the key of random draws for it.

use crate::philox::{Philox, mix};

/// One pass over a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// The epoch, from 0.
    pub number: u64,
    /// Tells pipelines apart that were combined, by `concat` for example; 0 if there is only one.
    pub branch: u64,
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
        let file = match self.pass.branch {
            0 => self.file,
            branch => mix(branch, self.file),
        };
        [self.pass.number, self.record, file, self.sub]
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
