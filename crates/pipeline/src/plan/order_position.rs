//! The place of a checkpoint in the global order, as a digest counts it.

use crate::checkpoint::Checkpoint;
use crate::plan::settings::Settings;
use crate::plan::step::first_pass;
use crate::plan::{Plan, Step};
use headrace_engine::error::Result;

impl Plan {
    /// The pass, and the number of rows before it in that pass where a digest sees them, of a
    /// checkpoint of pass number `pass`. The number may lie beyond the end of the pass. `None` if no
    /// digest sees the rows, or a step after it may make more or fewer of them.
    pub fn order_position(&self, pass: u64, from: &Checkpoint) -> Result<Option<(u64, u64)>> {
        let (input, step) = match self {
            Self::Metered { plan, .. } => return plan.order_position(pass, from),
            Self::Then(input, step) => (input, step),
            _ => return Ok(None),
        };
        let skip = from.skip();
        match step {
            Step::Digest(_) => {
                let [first] = from.numbers()?.unwrap_or_default();
                Ok(Some((pass, first.saturating_add(skip))))
            }
            Step::Map(..) | Step::MapPython { .. } => {
                let before = step.before(from, Settings::new(1))?;
                let is_same = before == *from;
                input.order_position(pass, &if is_same { before } else { before.behind(skip) })
            }
            Step::Batch { size, .. } => {
                let [_, size] = from.numbers()?.unwrap_or([0, *size as u64]);
                input.order_position(pass, &from.input(0)?.behind(skip.saturating_mul(size)))
            }
            Step::Shard { count, .. } => {
                let [_, count] = from.numbers()?.unwrap_or([0, *count]);
                input.order_position(pass, &from.input(0)?.behind(skip.saturating_mul(count)))
            }
            Step::Take(_) => input.order_position(pass, &from.input(0)?.behind(skip)),
            Step::Skip(count) => {
                let num_skipped = if from.state().is_none() { *count } else { 0 };
                input.order_position(pass, &from.input(0)?.behind(num_skipped.saturating_add(skip)))
            }
            Step::Epochs(count) => {
                let number = from.state().and_then(|state| state.numbers.first().copied()).unwrap_or(0);
                let pass = first_pass(pass, *count).wrapping_add(number);
                input.order_position(pass, &from.input(0)?.behind(skip))
            }
            _ => Ok(None),
        }
    }
}
