//! Annotations of batches: how many rows come from each part of a mixture, and from which
//! records.

use crate::blocks::block::Block;
use crate::blocks::file_provenance::{FileProvenance, Origin};
use crate::blocks::rows::Rows;
use std::sync::Arc;

/// Adds the rows that row `row` was built from to the counts of their mixture parts.
pub fn add_part(block: &Block, row: usize, counts: &mut [u64]) {
    let Some(file) = block.provenance().file(row) else { return };
    match &file.parts {
        Some(parts) => counts.iter_mut().zip(parts.iter()).for_each(|(count, part)| *count += part),
        None => {
            if let Some(count) = file.pass.path.first().and_then(|part| counts.get_mut(part)) {
                *count += 1;
            }
        }
    }
}

/// Adds the records that row `row` was built from, if they were recorded.
pub fn add_origins(block: &Block, row: usize, origins: &mut Vec<Origin>) {
    let Some(origin) = block.row_provenance(row) else { return };
    match &origin.file.made_of {
        Some(made_of) => origins.extend(made_of.iter().cloned()),
        None => origins.push((origin.file, origin.record)),
    }
}

/// The information to record about the rows that another row is built from.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowAnnotations {
    /// The number of mixture parts to count rows for.
    pub num_parts: usize,
    /// True if the records of the rows are recorded.
    pub keeps_origins: bool,
}

impl RowAnnotations {
    /// Returns the provenance of a row built from `rows`.
    pub fn of(self, file: &Arc<FileProvenance>, rows: &Rows) -> Arc<FileProvenance> {
        if self.num_parts == 0 && !self.keeps_origins {
            return Arc::clone(file);
        }
        let (mut counts, mut origins): (Vec<_>, Vec<_>) = ((0..self.num_parts).map(|_| 0).collect(), Vec::new());
        for (block, row) in rows.iter() {
            add_part(block, row, &mut counts);
            if self.keeps_origins {
                add_origins(block, row, &mut origins);
            }
        }
        let parts = (self.num_parts > 0).then(|| counts.into());
        let made_of = self.keeps_origins.then(|| origins.into());
        Arc::new(FileProvenance { parts, made_of, ..FileProvenance::clone(file) })
    }
}
