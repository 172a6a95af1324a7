//! Locates a checkpoint in the global order, as counted by a digest.

use crate::checkpoint::Checkpoint;
use crate::plan::step::first_pass;
use crate::plan::{Plan, Step};
use headrace_engine::error::Result;

impl Plan {
    /// Returns the pass of a checkpoint and the number of rows before it in that pass, counted
    /// where the digest sees them. The number may be beyond the end of the pass. Returns `None` if
    /// no digest sees the rows, or if a later step may change their number.
    pub fn order_position(&self, pass: u64, from: &Checkpoint) -> Result<Option<(u64, u64)>> {
        let (input, step) = match self {
            Self::Meter { plan, .. } => return plan.order_position(pass, from),
            Self::Then(input, step) => (input, step),
            _ => return Ok(None),
        };
        let pass = match step {
            Step::Digest(_) => {
                let [first] = from.numbers()?.unwrap_or_default();
                return Ok(Some((pass, first.saturating_add(from.skip()))));
            }
            Step::Epochs(count) => {
                let number = from.state().and_then(|state| state.numbers.first().copied()).unwrap_or(0);
                first_pass(pass, *count).wrapping_add(number)
            }
            _ => pass,
        };
        step.input_at(from)?.map_or(Ok(None), |before| input.order_position(pass, &before))
    }
}
