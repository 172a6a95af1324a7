//! A pipeline several times over, and pipelines one after the other.

use crate::error::Result;
use crate::pipeline::mark::Mark;
use crate::pipeline::node::{Context, Node, Poll};

/// Makes the node of pass number `n` from a mark on, or `None` if there are no more.
pub type NextPass = Box<dyn FnMut(u64, &Mark) -> Option<Result<Box<dyn Node>>> + Send>;

/// Gives the rows of one pass after the other. The next pass begins as soon as the last row of one is asked for.
pub struct Passes {
    next: NextPass,
    /// That of the pass that follows.
    number: u64,
    current: Option<Box<dyn Node>>,
    /// Where the pass that follows begins.
    first: Mark,
    /// Whether the current pass has given anything.
    has_rows: bool,
    ends_after_nothing: bool,
}

impl Passes {
    /// With `ends_after_nothing` a pass without a row is the last one: passes for ever over nothing would never end.
    pub fn new(next: NextPass, ends_after_nothing: bool) -> Self {
        Self { next, number: 0, current: None, first: Mark::default(), has_rows: true, ends_after_nothing }
    }

    /// From a mark on, without those that are to be left out behind its state.
    pub fn from_mark(mut self, mark: &Mark) -> Result<Self> {
        if let Some([number]) = mark.numbers()? {
            (self.number, self.first) = (number, mark.input(0)?);
        }
        Ok(self)
    }
}

impl Node for Passes {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            if let Some(current) = &mut self.current {
                match current.pull(context)? {
                    Poll::Ready(rows) => {
                        self.has_rows = true;
                        let mark = Mark::new([self.number - 1], [rows.mark(0)]);
                        return Ok(Poll::Ready(rows.marked(mark)));
                    }
                    Poll::Note(note) => return Ok(Poll::Note(note)),
                    Poll::Pending => return Ok(Poll::Pending),
                    Poll::End => self.current = None,
                }
                if self.ends_after_nothing && !self.has_rows {
                    return Ok(Poll::End);
                }
            }
            let first = std::mem::take(&mut self.first);
            let Some(node) = (self.next)(self.number, &first) else { return Ok(Poll::End) };
            self.number += 1;
            // What is taken up has given something before.
            self.has_rows = first != Mark::default();
            self.current = Some(node?);
        }
    }
}
