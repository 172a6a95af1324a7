//! Nodes: the serial steps of a pipeline. They move rows by their numbers and start tasks; they compute nothing.

use crate::error::Result;
use crate::pipeline::blocks::block::Pass;
use crate::pipeline::blocks::rows::Rows;
use crate::pipeline::execution::budget::{Budget, Charge};
use crate::pipeline::execution::meters::Meters;
use crate::pipeline::execution::task::{PythonTask, Tasks, Work};
use crate::pipeline::skip_event::SkipEvent;
use std::cell::Cell;
use std::sync::Arc;

/// A serial step. What it gives is the same whenever it is asked, and however fast its tasks end.
pub trait Node: Send {
    /// The next rows, in order. Not called again after the end or an error.
    fn pull(&mut self, context: &mut Context) -> Result<Poll>;

    /// Behind the end: how many rows each of several shards has given, if these are the rows of one.
    fn ended(&self) -> Option<Ended> {
        None
    }
}

/// How many rows shards have given up to their end, counted from where the node was started.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Those of the shard that gave the fewest.
    pub fewest: u64,
    /// Those of the shard that gave the most.
    pub most: u64,
    /// Those of this shard.
    pub mine: u64,
    /// The end came among the rows that were to be skipped. Then these are counted, from the state of the checkpoint on, and
    /// the shards are those of the checkpoint.
    pub is_within_skip: bool,
}

impl Ended {
    /// The same of what is made of the rows.
    pub fn map(self, count: impl Fn(u64) -> u64) -> Self {
        let Self { fewest, most, mine, is_within_skip } = self;
        Self { fewest: count(fewest), most: count(most), mine: count(mine), is_within_skip }
    }
}

/// Where a node stands.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    /// The pass that it works for.
    pub pass: Pass,
    /// How many steps it is away from the consumer.
    pub distance: usize,
    /// The number of its stage in the description.
    pub stage: usize,
    /// The number of the stage that lets its failures be left out, if there is one.
    pub skipper: Option<usize>,
    /// Whether it asks for rows, and begins tasks, only when their results are wanted, one at a time.
    pub in_step: bool,
}

/// What a node has.
pub enum Poll {
    /// At least one row.
    Ready(Rows),
    /// Word of what was left out behind the rows that were given.
    SkipEvent(SkipEvent),
    /// Nothing before a task has ended.
    Pending,
    /// No more rows.
    End,
}

/// What nodes may use while they are asked.
pub struct Context<'a> {
    /// The tasks that are to be done and were not published.
    pub tasks: &'a mut Tasks,
    /// Lets workers see tasks, which it takes out.
    pub publish: &'a dyn Fn(&mut Tasks),
    /// Set when a task was started.
    pub has_started: bool,
    /// The memory of the pipeline.
    pub budget: &'a Arc<Budget>,
    /// What the stages have done.
    pub meters: &'a Arc<Meters>,
    /// Nothing waits for the consumer: a result that is there is given before tasks are started.
    pub is_starving: bool,
    /// Nothing waits for the consumer, and no task was under way when the nodes were asked.
    pub is_stuck: bool,
    /// Set when something did not fit into the budget.
    pub is_refused: Cell<bool>,
}

impl Context<'_> {
    /// Charges `num_bytes` to the budget; `None` if they do not fit, unless the node cannot go on without them, nothing
    /// waits for the consumer, who would make room otherwise, and there is no task whose end would bring the pipeline on.
    /// So it may be `None` in any case.
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

    /// Lets a worker do something whose result is `distance` steps away from the consumer. It may begin at once, while the
    /// nodes are still being asked.
    pub fn start(&mut self, distance: usize, work: Work) {
        self.tasks.push(distance, work);
        self.publish();
    }

    /// Lets the thread of a Python worker do something.
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
