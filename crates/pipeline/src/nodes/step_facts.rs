//! Attributes of steps that planning depends on.

use crate::nodes::sources::indexed::Batches;

/// The facts about a step. Its node states them, in its own file. There are no defaults: a new step
/// has to state each of them.
#[derive(Clone, Copy, Debug)]
pub struct StepFacts {
    /// True if each row, or skipped row, of the input becomes one.
    pub is_one_to_one: bool,
    /// True if it works on each row alone, unless its function keeps a state.
    pub is_row_wise: bool,
    /// The Python worker whose function may keep a state.
    pub python_worker: Option<usize>,
    /// True if the pieces of files before it may be reordered.
    pub keeps_pieces: bool,
    /// True if it returns rows that it has kept, and then needs no input.
    pub is_cache: bool,
    /// True if it may end before its input does.
    pub may_end_early: bool,
    /// The shards that its rows belong to.
    pub shards: RowShards,
    /// The batches that are made, one for one, from the rows of its input.
    pub batches: BatchesOfInput,
}

/// The shards that the rows of a step belong to.
#[derive(Clone, Copy, Debug)]
pub enum RowShards {
    /// None.
    None,
    /// Those of the input.
    OfInput,
    /// One of this many, which it selects.
    Selects(u64),
}

/// The batches that are built from the rows of a step's input.
#[derive(Clone, Copy, Debug)]
pub enum BatchesOfInput {
    /// None.
    None,
    /// Those of the rows of the step.
    OfOutput,
    /// The same, across the ends of passes.
    AcrossPasses,
    /// The batches of this size that it makes.
    Makes(usize),
}

impl RowShards {
    /// The number of shards, for those of the input.
    pub fn count(self, of_input: impl FnOnce() -> Option<u64>) -> Option<u64> {
        match self {
            Self::None => None,
            Self::OfInput => of_input(),
            Self::Selects(count) => Some(count),
        }
    }
}

impl BatchesOfInput {
    /// The batches, for those made of the rows of the step.
    pub fn of(self, of_output: Option<Batches>) -> Option<Batches> {
        match self {
            Self::None => None,
            Self::OfOutput => of_output,
            Self::AcrossPasses => of_output.map(|batches| Batches { are_across_passes: true, ..batches }),
            Self::Makes(size) => Some(Batches { size, are_across_passes: false }),
        }
    }
}
