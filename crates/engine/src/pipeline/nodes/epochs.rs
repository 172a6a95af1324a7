//! A pipeline several times over, and pipelines one after the other.

use crate::error::Result;
use crate::pipeline::node::{Context, Node, Poll};

/// Makes the node of pass number `n`, or `None` if there are no more.
pub type NextPass = Box<dyn FnMut(u64) -> Option<Box<dyn Node>> + Send>;

/// Gives the rows of one pass after the other. The next pass begins as soon as the last row of one is asked for.
pub struct Passes {
    next: NextPass,
    number: u64,
    current: Option<Box<dyn Node>>,
    /// Whether the current pass has given anything.
    has_rows: bool,
    ends_after_nothing: bool,
}

impl Passes {
    /// With `ends_after_nothing` a pass without a row is the last one: passes for ever over nothing would never end.
    pub fn new(next: NextPass, ends_after_nothing: bool) -> Self {
        Self { next, number: 0, current: None, has_rows: true, ends_after_nothing }
    }
}

impl Node for Passes {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            if let Some(current) = &mut self.current {
                let poll = current.pull(context)?;
                self.has_rows |= matches!(poll, Poll::Ready(_));
                if !matches!(poll, Poll::End) {
                    return Ok(poll);
                }
                self.current = None;
                if self.ends_after_nothing && !self.has_rows {
                    return Ok(Poll::End);
                }
            }
            let Some(node) = (self.next)(self.number) else { return Ok(Poll::End) };
            self.number += 1;
            self.has_rows = false;
            self.current = Some(node);
        }
    }
}
