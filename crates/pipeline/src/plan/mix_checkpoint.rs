//! Finds the position of a checkpoint among the rows of a mixture.

use crate::checkpoint::Checkpoint;
use crate::nodes::interleave::exact;
use crate::plan::Plan;
use headrace_engine::error::Result;

impl Plan {
    /// The checkpoint of the mixture that the rows come from, directly at the row where a
    /// checkpoint of all steps is. `None` if rows wait in a later step, or the mixture does not
    /// remember its choices since then.
    pub fn mix_checkpoint(&self, from: &Checkpoint) -> Result<Option<Checkpoint>> {
        let (input, step) = match self {
            Self::Meter { plan, .. } => return plan.mix_checkpoint(from),
            Self::Mix(..) => return Ok(exact(from)),
            Self::Then(input, step) => (input, step),
            _ => return Ok(None),
        };
        step.input_at(from)?.map_or(Ok(None), |before| input.mix_checkpoint(&before))
    }
}
