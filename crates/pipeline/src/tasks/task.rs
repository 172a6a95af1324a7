//! Tasks, which run in parallel on workers and Python threads, and the slots for their results.

use crate::blocks::rows::Rows;
use crate::budget::Charge;
use crate::checkpoint::Checkpoint;
use crate::function_states::FunctionState;
use crate::skip_event::{SkipEvent, SkipEvents};
use crate::tasks::size_estimate::SizeEstimate;
use headrace_engine::error::{Error, Result};
use headrace_engine::sync::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Work for the worker pool. It puts its result into a [`Slot`] and must not panic.
pub type Work = Box<dyn FnOnce() + Send>;

/// Work for a Python thread: the input rows, and the slot for the result.
pub struct PythonTask {
    /// The rows to work on.
    pub rows: Rows,
    /// For sources: the number of the pass.
    pub pass: u64,
    /// For sources: the number of rows of the pass to skip.
    pub first: u64,
    /// The state of the function before and after the task.
    pub state: FunctionState,
    /// The number of the stage that the task belongs to.
    pub stage: usize,
    /// The estimated size of the result, plus `scratch_bytes`.
    pub charge: Charge,
    /// The memory that the function needs only while it runs, besides its rows and results.
    pub scratch_bytes: usize,
    /// For sources: the target size of the result in bytes.
    pub target_bytes: usize,
    /// Records the actual size of the result.
    pub size_estimate: SizeEstimate,
    /// The number of the `skip_errors` stage that handles its failures, if any.
    pub skipper: Option<usize>,
    /// The slot for the result.
    pub slot: Slot<Outcome>,
}

/// The result of processing rows.
pub struct Outcome {
    /// The computed rows.
    pub rows: Rows,
    /// The error of the row after these.
    pub error: Option<Error>,
    /// The state of the Python function before the task.
    pub state: Option<Arc<str>>,
    /// Reports of skipped rows.
    pub skip_events: SkipEvents,
}

impl Outcome {
    /// Creates the outcome of stateless work.
    pub fn new(rows: Rows, error: Option<Error>) -> Self {
        Self { rows, error, state: None, skip_events: Vec::new() }
    }

    /// Creates an outcome without rows, only with a report for the following nodes.
    pub fn of_skip_event(skip_event: SkipEvent) -> Self {
        Self { skip_events: vec![(0, skip_event)], ..Self::from(Rows::new()) }
    }
}

impl From<Rows> for Outcome {
    fn from(rows: Rows) -> Self {
        Self::new(rows, None)
    }
}

/// A pending result.
pub struct Slot<T>(Arc<Mutex<Option<Result<T>>>>);

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Slot<T> {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(None)))
    }

    /// Sets the result.
    pub fn set(&self, result: Result<T>) {
        *self.0.lock() = Some(result);
    }

    /// Returns true if somebody still awaits the result.
    pub fn is_wanted(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    fn take(&self) -> Option<Result<T>> {
        self.0.lock().take()
    }
}

/// Results in the order in which their tasks were started, no matter which finished first. Each has
/// the checkpoint of its first row.
pub struct Ring<T> {
    slots: VecDeque<(Slot<T>, Checkpoint)>,
    /// True if results are returned in the order in which tasks finish.
    in_any_order: bool,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Ring<T> {
    /// No tasks.
    pub fn new() -> Self {
        Self { slots: VecDeque::new(), in_any_order: false }
    }

    /// Creates an empty ring. If `in_any_order`, results are returned as soon as they are finished.
    pub fn in_any_order(in_any_order: bool) -> Self {
        Self { slots: VecDeque::new(), in_any_order }
    }

    /// Returns true if results are returned as soon as they are finished.
    pub fn is_in_any_order(&self) -> bool {
        self.in_any_order
    }

    /// The number of tasks whose result has not been taken.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Adds a task and returns the slot for its result.
    pub fn start(&mut self, checkpoint: Checkpoint) -> Slot<T> {
        let slot = Slot::new();
        self.slots.push_back((slot.clone(), checkpoint));
        slot
    }

    /// Takes the result of the oldest task if it has finished. In any-order mode, takes the result
    /// of any finished task.
    pub fn pop(&mut self) -> Option<(Checkpoint, Result<T>)> {
        let looked_at = if self.in_any_order { self.slots.len() } else { 1 };
        let mut slots = self.slots.iter().take(looked_at).enumerate();
        let (index, result) = slots.find_map(|(index, (slot, _))| slot.take().map(|result| (index, result)))?;
        let (_, checkpoint) = self.slots.remove(index)?;
        Some((checkpoint, result))
    }
}

/// Tasks not begun.
pub struct Tasks {
    /// Tasks for the workers, by the distance of their results from the consumer. The closest run
    /// first.
    native: BTreeMap<usize, VecDeque<Work>>,
    /// Tasks for each Python worker.
    python: Vec<VecDeque<PythonTask>>,
    num_native: usize,
}

impl Tasks {
    /// Creates an empty queue for `num_python_workers` Python workers.
    pub fn new(num_python_workers: usize) -> Self {
        Self {
            native: BTreeMap::new(),
            python: (0..num_python_workers).map(|_| VecDeque::new()).collect(),
            num_native: 0,
        }
    }

    /// Adds a task for a worker.
    pub fn push(&mut self, distance: usize, work: Work) {
        self.native.entry(distance).or_default().push_back(work);
        self.num_native += 1;
    }

    /// Adds a task for the threads of a Python worker. Fails if there is no such Python worker.
    pub fn push_python(&mut self, python_worker: usize, task: PythonTask) -> Result<()> {
        let no_python_worker = || Error::internal(format!("Python worker {python_worker} does not exist"));
        self.python.get_mut(python_worker).ok_or_else(no_python_worker)?.push_back(task);
        Ok(())
    }

    /// Takes all tasks of `other`.
    pub fn append(&mut self, other: &mut Self) {
        while let Some((distance, mut works)) = other.native.pop_first() {
            self.native.entry(distance).or_default().append(&mut works);
        }
        self.num_native += std::mem::take(&mut other.num_native);
        self.python.iter_mut().zip(&mut other.python).for_each(|(python_worker, more)| python_worker.append(more));
    }

    /// The next task.
    pub fn pop(&mut self) -> Option<Work> {
        let work = self.native.values_mut().find_map(VecDeque::pop_front)?;
        self.num_native -= 1;
        Some(work)
    }

    /// Drops the next tasks of a Python worker if their pass was cut short and nobody awaits their
    /// results, so that functions are not called for them. Returns whether there were any.
    pub fn drop_unwanted(&mut self, python_worker: usize) -> bool {
        let Some(tasks) = self.python.get_mut(python_worker) else { return false };
        let num_before = tasks.len();
        while tasks.front().is_some_and(|task| !task.slot.is_wanted()) {
            tasks.pop_front();
        }
        tasks.len() < num_before
    }

    /// Takes the next task of a Python worker.
    pub fn pop_python(&mut self, python_worker: usize) -> Option<PythonTask> {
        self.python.get_mut(python_worker)?.pop_front()
    }

    /// The number of tasks for workers.
    pub fn num_native(&self) -> usize {
        self.num_native
    }

    /// The number of tasks for a Python worker.
    pub fn num_python(&self, python_worker: usize) -> usize {
        self.python.get(python_worker).map_or(0, VecDeque::len)
    }

    /// True if there are no tasks at all.
    pub fn is_empty(&self) -> bool {
        self.num_native == 0 && self.python.iter().all(VecDeque::is_empty)
    }
}
