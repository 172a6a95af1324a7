//! Locates a checkpoint among the rows of a mixture.

use crate::checkpoint::Checkpoint;
use crate::nodes::interleave::exact;
use crate::plan::Plan;
use headrace_engine::error::Result;

impl Plan {
    /// Returns the checkpoint of the rows' mixture at exactly the same row as `from`. Returns
    /// `None` if rows are waiting in a later step, or if the mixture has not recorded its choices
    /// that far back.
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
