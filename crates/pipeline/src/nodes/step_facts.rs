//! Properties of steps that planning depends on.

use crate::nodes::sources::indexed::Batches;

/// The properties of a step. Each node defines them in its own file. There are no defaults, so that
/// a new step has to define every one of them.
#[derive(Clone, Copy, Debug)]
pub struct StepFacts {
    /// True if each input row becomes exactly one row, which may be skipped.
    pub is_one_to_one: bool,
    /// True if each row is processed on its own, unless the step's function keeps a state.
    pub is_row_wise: bool,
    /// The Python worker, if its function may keep a state.
    pub python_worker: Option<usize>,
    /// True if the pieces of the files before it may be reordered.
    pub keeps_pieces: bool,
    /// True if it can return rows that it stored earlier, without its input.
    pub is_cache: bool,
    /// True if it may end before its input does.
    pub may_end_early: bool,
    /// Which shard its rows belong to.
    pub shards: RowShards,
    /// Which batches are built one-to-one from its input rows.
    pub batches: BatchesOfInput,
}

/// The shard to which the rows of a step belong.
#[derive(Clone, Copy, Debug)]
pub enum RowShards {
    /// None.
    None,
    /// The same as for the input.
    OfInput,
    /// The step selects one of this many shards.
    Selects(u64),
}

/// The batches that are built from a step's input rows.
#[derive(Clone, Copy, Debug)]
pub enum BatchesOfInput {
    /// None.
    None,
    /// The same batches as those built from its output rows.
    OfOutput,
    /// The same batches as those built from its output rows, continuing across passes.
    AcrossPasses,
    /// The step itself builds batches of this size.
    Makes(usize),
}

impl RowShards {
    /// Returns the number of shards. Calls `of_input` if it is the same as for the input.
    pub fn count(self, of_input: impl FnOnce() -> Option<u64>) -> Option<u64> {
        match self {
            Self::None => None,
            Self::OfInput => of_input(),
            Self::Selects(count) => Some(count),
        }
    }
}

impl BatchesOfInput {
    /// Returns the batches, given those built from the output rows.
    pub fn of(self, of_output: Option<Batches>) -> Option<Batches> {
        match self {
            Self::None => None,
            Self::OfOutput => of_output,
            Self::AcrossPasses => of_output.map(|batches| Batches { are_across_passes: true, ..batches }),
            Self::Makes(size) => Some(Batches { size, are_across_passes: false }),
        }
    }
}
