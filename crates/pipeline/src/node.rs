//! Nodes: the serial steps of a pipeline. They move rows by their numbers and start tasks, but
//! compute nothing.

use crate::blocks::block::Pass;
use crate::blocks::rows::Rows;
use crate::budget::{Budget, Charge};
use crate::skip_event::SkipEvent;
use crate::tasks::meters::Meters;
use crate::tasks::task::{PythonTask, Tasks, Work};
use headrace_engine::error::Result;
use std::cell::Cell;
use std::sync::Arc;

/// A serial step. Its rows do not depend on when it is polled or how fast its tasks end.
pub trait Node: Send {
    /// The next rows, in order. Must not be called after the end or an error.
    fn pull(&mut self, context: &mut Context) -> Result<Poll>;

    /// Catches up with its starting checkpoint synchronously: computes the rows to be skipped, so
    /// that functions are called for them even if no further row is requested. False until that is
    /// done.
    fn replay_skipped(&mut self, _context: &mut Context) -> Result<bool> {
        Ok(true)
    }

    /// After the end: the number of rows that each of several shards has returned, if this is one
    /// of them.
    fn ended(&self) -> Option<Ended> {
        None
    }
}

/// The number of rows that shards have returned up to their end, counted from where the node was
/// started.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// The rows of the shard with the fewest.
    pub fewest: u64,
    /// The rows of the shard with the most.
    pub most: u64,
    /// The rows of this shard.
    pub mine: u64,
    /// True if the end came among the rows to be skipped. Then these are counted, from the state of
    /// the checkpoint on, and the shards are the checkpoint's.
    pub is_within_skip: bool,
}

impl Ended {
    /// Applies `count` to each number, for the rows built from these rows.
    pub fn map(self, count: impl Fn(u64) -> u64) -> Self {
        let Self { fewest, most, mine, is_within_skip } = self;
        Self { fewest: count(fewest), most: count(most), mine: count(mine), is_within_skip }
    }
}

/// The position of a node in the pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// The pass that the node works for.
    pub pass: Pass,
    /// The number of steps between the node and the consumer.
    pub distance: usize,
    /// The number of its stage in the description.
    pub stage: usize,
    /// The number of the `skip_errors` stage that handles its failures, if there is one.
    pub skipper: Option<usize>,
    /// True if batches remember the records that they are built from.
    pub keeps_origins: bool,
    /// True if it polls for rows and begins tasks one at a time, only when their results are
    /// requested.
    pub synchronous: bool,
    /// True if the rows of its blocks are returned in another order by the next node.
    pub is_mixed: bool,
}

/// The result of polling a node.
pub enum Poll {
    /// At least one row.
    Ready(Rows),
    /// A report of skipped rows, after the rows returned before.
    SkipEvent(SkipEvent),
    /// Nothing until a task has ended.
    Pending,
    /// No more rows.
    End,
}

/// The context in which a node is polled.
pub struct Context<'a> {
    /// The new tasks that are not published yet.
    pub tasks: &'a mut Tasks,
    /// Publishes tasks to the workers, and removes them from the argument.
    pub publish: &'a dyn Fn(&mut Tasks),
    /// Set when a task was started.
    pub has_started: bool,
    /// The memory of the pipeline.
    pub budget: &'a Arc<Budget>,
    /// The measurements of the stages.
    pub meters: &'a Arc<Meters>,
    /// True if the consumer has no rows waiting: a finished result is returned before tasks are
    /// started.
    pub is_starving: bool,
    /// True if the consumer has no rows waiting, and no task was running when the nodes were
    /// polled.
    pub is_stuck: bool,
    /// Set when a charge did not fit into the budget.
    pub is_refused: Cell<bool>,
}

impl Context<'_> {
    /// Charges `num_bytes` to the budget; `None` if they do not fit. They are charged beyond the
    /// limit if the pipeline would otherwise stall: the node needs them to continue, the consumer
    /// has no rows waiting, and no task is running or was started. Even a needed charge may be
    /// `None`.
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

    /// Starts work on a worker; its result is `distance` steps away from the consumer. It may begin
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
