//! Nodes: the serial steps of a pipeline. They move rows by number and start tasks, but do no
//! heavy computation themselves.

use crate::blocks::block::Pass;
use crate::blocks::rows::Rows;
use crate::budget::{Budget, Charge};
use crate::skip_event::SkipEvent;
use crate::tasks::meters::Meters;
use crate::tasks::task::{PythonTask, Tasks, Work};
use headrace_engine::error::{Error, Result};
use std::cell::Cell;
use std::sync::Arc;

/// The number of rows that a node returns at a time, unless functions must be called row by row.
pub const GROUP_ROWS: usize = 1024;

/// A serial step. Its rows do not depend on when it is polled or on how fast its tasks finish.
pub trait Node: Send {
    /// Returns the next rows, in order. Must not be called after the end or an error.
    fn pull(&mut self, context: &mut Context) -> Result<Poll>;

    /// Catches up with the starting checkpoint synchronously, by computing the rows that are to be
    /// skipped. This ensures that functions are called for them even if no further row is
    /// requested. Returns false until it is done.
    fn replay_skipped(&mut self, _context: &mut Context) -> Result<bool> {
        Ok(true)
    }

    /// After the end of one of several shards: the number of rows that each shard has returned.
    fn ended(&self) -> Option<Ended> {
        None
    }

    /// The lane of the rows returned last, if this is the root of several lanes.
    fn lane(&self) -> usize {
        0
    }

    /// The lane that has ended since the last call, if this is the root of several lanes.
    fn take_lane_end(&mut self) -> Option<LaneEnd> {
        None
    }
}

/// The end of one of several lanes. The others continue.
#[derive(Debug)]
pub struct LaneEnd {
    /// The number of the lane.
    pub lane: usize,
    /// Set if it has failed.
    pub error: Option<Error>,
}

/// The number of rows that shards returned before they ended, counted from where the node started.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The number of rows in the shortest shard.
    pub fewest: u64,
    /// The number of rows in the longest shard.
    pub most: u64,
    /// The number of rows of this shard.
    pub mine: u64,
    /// True if the end was reached while skipping rows. The numbers then count from the state of
    /// the checkpoint, for the shards of the checkpoint.
    pub is_within_skip: bool,
}

impl Ended {
    /// Converts each number with `count`, for a step that builds other rows from these.
    pub fn map(self, count: impl Fn(u64) -> u64) -> Self {
        let Self { fewest, most, mine, is_within_skip } = self;
        Self { fewest: count(fewest), most: count(most), mine: count(mine), is_within_skip }
    }
}

/// The position of a node in the pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// The pass that the node belongs to.
    pub pass: Pass,
    /// The number of steps between the node and the consumer.
    pub distance: usize,
    /// The number of its stage in the description.
    pub stage: usize,
    /// The number of the `skip_errors` stage that handles its failures, if any.
    pub skipper: Option<usize>,
    /// True if batches record which records they are built from.
    pub keeps_origins: bool,
    /// True if the node polls for rows and begins tasks one at a time, only when their results are
    /// requested.
    pub synchronous: bool,
    /// True if the next node returns the rows of its blocks in a different order.
    pub is_mixed: bool,
}

/// The result of polling a node.
pub enum Poll {
    /// At least one row.
    Ready(Rows),
    /// A report of rows that were skipped after the previous rows.
    SkipEvent(SkipEvent),
    /// Nothing is available until a task finishes.
    Pending,
    /// No more rows.
    End,
}

/// The context in which a node is polled.
pub struct Context<'a> {
    /// New tasks that have not been published yet.
    pub tasks: &'a mut Tasks,
    /// Publishes tasks to the workers and removes them from the argument.
    pub publish: &'a dyn Fn(&mut Tasks),
    /// Set when a task was started.
    pub has_started: bool,
    /// The memory budget of the pipeline.
    pub budget: &'a Arc<Budget>,
    /// The measurements of the stages.
    pub meters: &'a Arc<Meters>,
    /// True if the consumer has no rows waiting. Finished results are then returned before new
    /// tasks are started.
    pub is_starving: bool,
    /// True if the consumer has no rows waiting and no task was running when the nodes were polled.
    pub is_stuck: bool,
    /// Set when a charge does not fit into the budget.
    pub is_refused: Cell<bool>,
}

impl Context<'_> {
    /// Charges `num_bytes` to the budget, or returns `None` if they don't fit. The charge may
    /// exceed the limit if the pipeline would otherwise stall. That is the case if the node cannot
    /// continue without it, the consumer has no rows waiting, and no task is running or was just
    /// started. Even a needed charge may return `None`.
    pub fn charge(&self, num_bytes: usize, is_needed: bool) -> Option<Charge> {
        match is_needed && self.is_stuck && !self.has_started {
            true => Some(self.budget.charge(num_bytes)),
            false => {
                let charge = self.budget.try_charge(num_bytes);
                self.is_refused.set(self.is_refused.get() || charge.is_none());
                charge
            }
        }
    }

    /// Starts work on a worker. Its result is `distance` steps away from the consumer. It may begin
    /// at once, while the nodes are still being polled.
    pub fn start(&mut self, distance: usize, work: Work) {
        self.tasks.push(distance, work);
        self.publish();
    }

    /// Starts a task on the thread of a Python worker.
    pub fn start_python(&mut self, python_worker: usize, task: PythonTask) -> Result<()> {
        self.tasks.push_python(python_worker, task)?;
        self.publish();
        Ok(())
    }

    fn publish(&mut self) {
        self.has_started = true;
        (self.publish)(self.tasks);
    }
}
