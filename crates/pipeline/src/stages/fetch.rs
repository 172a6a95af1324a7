//! Passes row numbers through a pipeline and only reads the rows that are needed in the end.

use crate::blocks::block::{Block, FileProvenance, Pass, Provenance};
use crate::blocks::column::Column;
use crate::blocks::indexed::Indexed;
use crate::blocks::provenance::ProvenanceBuilder;
use crate::blocks::rows::Rows;
use crate::stages::Stage;
use headrace_engine::error::{Error, Result};
use headrace_engine::sync::Mutex;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::shape::Shape;
use std::sync::Arc;

/// The rows with random access. The node that returns their numbers sets them.
#[derive(Default)]
pub struct SharedLookup(Mutex<Option<Arc<dyn Indexed>>>);

impl SharedLookup {
    /// Sets the rows and returns their numbers, as rows.
    pub fn set(&self, rows: Arc<dyn Indexed>) -> Numbers {
        let file_provenance = FileProvenance::unnamed("example", Pass::default());
        *self.0.lock() = Some(Arc::clone(&rows));
        Numbers { rows, file_provenance }
    }

    fn get(&self) -> Result<Arc<dyn Indexed>> {
        self.0.lock().clone().ok_or_else(|| Error::internal("rows were read before their index was ready"))
    }
}

/// Row numbers in place of rows.
pub struct Numbers {
    rows: Arc<dyn Indexed>,
    /// The provenance of row numbers whose records are unknown.
    file_provenance: Arc<FileProvenance>,
}

impl Numbers {
    /// The provenance of the actual rows, so that rows have the same identity before and after they
    /// are read.
    fn provenance(&self, numbers: &[u64]) -> Provenance {
        let mut provenance = ProvenanceBuilder::with_room(numbers.len());
        for number in numbers {
            match self.rows.row_provenance(*number) {
                Some(row) => provenance.push_row(&row),
                None => return Provenance::records(&self.file_provenance, numbers.iter().copied()),
            }
        }
        provenance.finish()
    }
}

impl Indexed for Numbers {
    fn len(&self) -> u64 {
        self.rows.len()
    }

    fn read(&self, numbers: &[u64]) -> Result<Block> {
        let column = Tensor::from_values(Shape::new(&[numbers.len()]), numbers.to_vec())?;
        Block::new(vec![Column::Dense(column)], numbers.len(), self.provenance(numbers))
    }

    fn row_bytes(&self) -> usize {
        size_of::<u64>()
    }

    /// Nothing has been read so far.
    fn counted_bytes(&self, _block: &Block) -> usize {
        0
    }
}

/// Replaces row numbers with the rows themselves.
pub struct Fetch(pub Arc<SharedLookup>);

impl Stage for Fetch {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let lookup = self.0.get()?;
        let numbers = rows.gather_column(0)?.to_tensor()?;
        let mut numbers: &[u64] = numbers.values()?;
        let lost = || Error::internal("the pass of a row is unknown");
        let passes = rows.iter().map(|(block, row)| {
            block.provenance().file(row).map(|file| (file.pass, file.is_repeated)).ok_or_else(lost)
        });
        let passes = passes.collect::<Result<Vec<_>>>()?;
        let mut fetched = Rows::new();
        let subs: Vec<_> =
            rows.iter().map(|(block, row)| block.provenance().identity(row).map_or(0, |(.., sub)| sub)).collect();
        let mut subs = &subs[..];
        for run in passes.chunk_by(|one, other| one == other) {
            let (here, rest) = numbers.split_at(run.len());
            let (subs_here, later_subs) = subs.split_at(run.len());
            subs = later_subs;
            let block = lookup.read(here)?;
            let (pass, is_repeated) = run[0];
            let mut provenance = block.provenance().in_pass(pass);
            if subs_here.iter().any(|sub| *sub != 0) {
                // Each draw of a row has its own identity.
                provenance = provenance.with_subs(subs_here);
            }
            if is_repeated {
                provenance = provenance.repeated();
            }
            fetched.append(&Rows::all(block.with_provenance(provenance)));
            numbers = rest;
        }
        Ok(fetched)
    }

    fn is_one_to_one(&self) -> bool {
        true
    }

    fn waits_for_storage(&self) -> bool {
        true
    }
}
