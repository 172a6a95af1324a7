//! Returns rows from a cache file, which is read by tasks.

use crate::blocks::block::Block;
use crate::blocks::rows::Rows;
use crate::checkpoint::Checkpoint;
use crate::node::{Context, Node, Poll, Position};
use crate::nodes::buffers::replay::Restart;
use crate::nodes::cache::UncachedTail;
use crate::nodes::disk_cache::entry::Entry;
use crate::nodes::disk_cache::store::DiskStore;
use crate::skip_event::is_damage;
use crate::tasks::meters::{Stopwatch, enter_stage};
use crate::tasks::task::Ring;
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::run::catch_panic;
use std::collections::VecDeque;
use std::sync::Arc;

/// Returns the rows of a cache file. If a group is damaged, returns the rows of the input from
/// there on.
pub struct Read {
    entry: Arc<Entry>,
    store: Arc<DiskStore>,
    restart: Restart,
    /// True if the rows were written in any order, so that the input cannot continue from a given
    /// row.
    in_any_order: bool,
    rest: Option<UncachedTail>,
    ring: Ring<Rows>,
    /// The number of groups to read before they are requested.
    ahead: usize,
    /// The group that the next task reads.
    next: usize,
    /// The number of the next group to return.
    returned: usize,
    /// The number of the next skip event.
    next_event: usize,
    /// The number of rows to skip in the next group.
    skip: usize,
    ready: VecDeque<Poll>,
    position: Position,
}

impl Read {
    /// Starts with row `first`. `restart` creates the cache's input node. Reads up to
    /// `ahead` groups before they are requested.
    pub fn new(
        entry: Arc<Entry>,
        store: Arc<DiskStore>,
        restart: Restart,
        first: u64,
        ahead: usize,
        position: Position,
    ) -> Self {
        let next = entry.group_of(first);
        let skip = (first - entry.first(next)) as usize;
        let next_event = entry.skip_events().partition_point(|(num_groups, _)| *num_groups < next);
        let in_any_order = false;
        let (ring, ready, ahead) = (Ring::new(), VecDeque::new(), if position.synchronous { 1 } else { ahead.max(1) });
        Self {
            entry,
            store,
            restart,
            in_any_order,
            rest: None,
            ring,
            ahead,
            next,
            returned: next,
            next_event,
            skip,
            ready,
            position,
        }
    }

    /// Sets whether the rows may have been written out of order.
    pub fn in_any_order(mut self, in_any_order: bool) -> Self {
        self.in_any_order = in_any_order;
        self
    }

    fn start_tasks(&mut self, context: &mut Context) {
        while self.next < self.entry.num_groups() && self.ring.len() < self.ahead {
            let (entry, group, position) = (Arc::clone(&self.entry), self.next, self.position);
            let num_bytes = entry.group_bytes(group).min(context.budget.room_bytes());
            let Some(mut charge) = context.charge(num_bytes, self.ring.is_empty()) else { return };
            self.next += 1;
            let slot = self.ring.start(Checkpoint::new([entry.first(group)], [entry.checkpoint(group).clone()]));
            let meters = Arc::clone(context.meters);
            let in_pass = move |block: Block| {
                let provenance = block.provenance().in_pass(position.pass);
                block.with_provenance(provenance)
            };
            let work = move || {
                let watch = Stopwatch::start_with_processor(meters.stage(position.stage));
                enter_stage(position.stage);
                let rows = catch_panic(|| entry.read(group, &charge, in_pass));
                charge.correct(0);
                drop(watch);
                slot.set(rows);
            };
            context.start(position.distance, Box::new(work));
        }
    }

    /// Adds the skip events that come before the next group to return.
    fn add_events(&mut self) {
        while let Some((num_groups, event)) = self.entry.skip_events().get(self.next_event)
            && *num_groups == self.returned
        {
            self.next_event += 1;
            self.ready.push_back(Poll::SkipEvent(event.clone()));
        }
    }

    /// Continues with the input, because the file cannot be read.
    fn without_file(&mut self, error: Error, context: &mut Context) -> Result<Poll> {
        if error.is_interrupting() || matches!(error.code(), Code::ResourceExhausted | Code::Internal) {
            return Err(error);
        }
        let reason = if is_damage(&error) { "a block is damaged or cut short" } else { error.message() };
        self.store.forget(self.entry.path(), reason);
        let (skip, first) = (self.skip as u64, self.entry.first(self.returned));
        if self.in_any_order && first + skip > 0 {
            return Err(error);
        }
        let input = (self.restart)(&self.entry.restart(self.returned).advanced_by(skip))?;
        self.ring = Ring::new();
        self.rest.insert(UncachedTail::new(input, first + skip, self.position.pass)).pull(context)
    }
}

impl Node for Read {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            if let Some(rest) = &mut self.rest {
                return rest.pull(context);
            }
            if let Some(poll) = self.ready.pop_front() {
                return Ok(poll);
            }
            self.start_tasks(context);
            match self.ring.pop() {
                Some((checkpoint, Ok(rows))) => {
                    self.add_events();
                    self.returned += 1;
                    let mut rows = rows.with_checkpoint(checkpoint);
                    rows.take_front(std::mem::take(&mut self.skip));
                    self.ready.push_back(Poll::Ready(rows));
                }
                Some((_, Err(error))) => return self.without_file(error, context),
                None if self.ring.is_empty() && self.next == self.entry.num_groups() => {
                    self.add_events();
                    if self.ready.is_empty() {
                        return Ok(Poll::End);
                    }
                }
                None => return Ok(Poll::Pending),
            }
        }
    }
}
