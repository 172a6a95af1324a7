//! The place of a checkpoint in the rows of a mixture.

use crate::checkpoint::Checkpoint;
use crate::nodes::interleave::exact;
use crate::plan::settings::Settings;
use crate::plan::{Plan, Step};
use headrace_engine::error::Result;

impl Plan {
    /// The checkpoint of the mixture that the rows come from, directly at the row where a checkpoint
    /// of all steps is. `None` if rows wait in a step after it, or the mixture does not remember
    /// its choices since.
    pub fn mix_checkpoint(&self, from: &Checkpoint) -> Result<Option<Checkpoint>> {
        let (input, step) = match self {
            Self::Metered { plan, .. } => return plan.mix_checkpoint(from),
            Self::Mix(..) => return Ok(exact(from)),
            Self::Then(input, step) => (input, step),
            _ => return Ok(None),
        };
        let skip = from.skip();
        match step {
            Step::Map(..) | Step::MapPython { .. } => {
                let before = step.before(from, Settings::new(1))?;
                let is_same = before == *from;
                input.mix_checkpoint(&if is_same { before } else { before.behind(skip) })
            }
            Step::Batch { size, .. } => {
                let [_, size] = from.numbers()?.unwrap_or([0, *size as u64]);
                input.mix_checkpoint(&from.input(0)?.behind(skip.saturating_mul(size)))
            }
            Step::Shard { count, .. } => {
                let [_, count] = from.numbers()?.unwrap_or([0, *count]);
                input.mix_checkpoint(&from.input(0)?.behind(skip.saturating_mul(count)))
            }
            Step::Skip(count) => {
                let num_skipped = if from.state().is_none() { *count } else { 0 };
                input.mix_checkpoint(&from.input(0)?.behind(num_skipped.saturating_add(skip)))
            }
            Step::Take(_) | Step::Digest(_) | Step::Epochs(_) => input.mix_checkpoint(&from.input(0)?.behind(skip)),
            _ => Ok(None),
        }
    }
}
