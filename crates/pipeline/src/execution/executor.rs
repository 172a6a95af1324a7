//! Runs a pipeline with a pool of workers, while one thread at a time polls the nodes.
//!
//! When a task ends or the consumer takes rows, the executor is marked as changed and the nodes
//! have to be polled again. A thread that would otherwise idle does this: a worker between two
//! tasks, or a thread that would wait. So no thread directs the others, and a consumer that finds
//! rows ready never works for the pool. The lock is only held briefly, and never while nodes move
//! row numbers or anything is read, decoded or computed.

use crate::blocks::block::Block;
use crate::blocks::rows::Rows;
use crate::budget::Budget;
use crate::checkpoint::Checkpoint;
use crate::execution::snapshot::{Activity, Snapshot, Worker};
use crate::node::{Context, LaneEnd, Node, Poll};
use crate::skip_event::SkipEvent;
use crate::tasks::meters::Meters;
use crate::tasks::task::{PythonTask, Tasks};
use headrace_engine::error::{Error, Result};
use headrace_engine::sync::{Condvar, Mutex, MutexGuard};
use smallvec::SmallVec;
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The state of one iteration over a pipeline, shared by its threads.
pub struct Executor {
    state: Mutex<State>,
    /// Idle workers wait here until they are called.
    has_work: Condvar,
    /// The threads of each Python worker wait here for tasks.
    has_python: Vec<Condvar>,
    /// Threads that check on the pipeline from time to time wait here for its end.
    has_closed: Condvar,
    /// The consumer waits here for rows.
    has_output: Condvar,
    budget: Arc<Budget>,
    meters: Arc<Meters>,
    max_outputs: usize,
}

struct State {
    nodes: Nodes,
    /// True if polling the nodes may yield something new.
    is_changed: bool,
    tasks: Tasks,
    /// The current activity of each worker.
    workers: Vec<Worker>,
    /// For each Python worker, the number of tasks that its threads have taken.
    num_taken: Vec<u64>,
    /// The number of tasks in progress.
    num_running: usize,
    /// The number of idle workers that have not been called.
    num_idle: usize,
    /// The number of workers that have been called but have not woken up yet.
    num_called: usize,
    /// Each with its lane.
    outputs: VecDeque<(usize, ReadyOutput)>,
    is_consumer_waiting: bool,
    /// The number of outputs that the consumer needs: one to consume, and more if it looks ahead. 0
    /// between two requests if nothing is computed in advance.
    num_awaited: usize,
    /// An error to return after the outputs.
    error: Option<Error>,
    is_closed: bool,
    /// True if a charge did not fit into the budget when the nodes were last polled.
    is_refused: bool,
    /// Since when all available work has been too large for the budget.
    refused_since: Option<Instant>,
}

/// An output that is waiting for the consumer.
enum ReadyOutput {
    Rows(Rows),
    SkipEvent(SkipEvent),
    LaneEnd(Option<Error>),
}

/// The threads to wake.
enum Wake {
    Nobody,
    /// The number of workers that were woken.
    Workers(usize),
    Consumer,
}

/// Where the nodes are.
enum Nodes {
    /// Available. No thread is polling them.
    Here(Box<dyn Node>),
    /// A thread is polling them.
    Asked,
    /// Gone, because they ended, failed, or the pipeline was closed.
    Ended,
}

type Guard<'a> = MutexGuard<'a, State>;

impl State {
    /// Returns true if the nodes should be polled and no thread is doing it.
    fn must_ask(&self, max_outputs: usize) -> bool {
        let enough = max_outputs.max(self.num_awaited);
        self.is_changed && matches!(self.nodes, Nodes::Here(_)) && self.outputs.len() < enough
    }

    fn is_over(&self) -> bool {
        matches!(self.nodes, Nodes::Ended)
    }
}

/// An output for the consumer.
pub enum Output {
    /// Some rows, and the checkpoint of the first one.
    Block(Arc<Block>, Checkpoint),
    /// A report of rows that were skipped after the previous rows.
    SkipEvent(SkipEvent),
    /// The end of one of several lanes, with its error.
    LaneEnd(Option<Error>),
    /// Nothing arrived in time.
    Timeout,
    /// The end.
    End,
}

impl Executor {
    /// Prepares to run `root`. Rows are returned as whole blocks. Up to `max_outputs` of them wait
    /// for the consumer. If it is 0, the nodes are polled only while the consumer waits.
    pub fn new(root: Box<dyn Node>, num_python_workers: usize, budget: Arc<Budget>, max_outputs: usize) -> Self {
        let state = State {
            nodes: Nodes::Here(root),
            is_changed: false,
            tasks: Tasks::new(num_python_workers),
            workers: Vec::new(),
            num_taken: std::iter::repeat_n(0, num_python_workers).collect(),
            num_running: 0,
            num_idle: 0,
            num_called: 0,
            outputs: VecDeque::new(),
            is_consumer_waiting: false,
            num_awaited: max_outputs.min(1),
            error: None,
            is_closed: false,
            is_refused: false,
            refused_since: None,
        };
        Self {
            state: Mutex::new(state),
            has_work: Condvar::new(),
            has_python: (0..num_python_workers).map(|_| Condvar::new()).collect(),
            has_closed: Condvar::new(),
            has_output: Condvar::new(),
            budget,
            meters: Arc::new(Meters::new(0)),
            max_outputs,
        }
    }

    /// Sets up measurements for `num_stages` stages.
    pub fn metered(self, num_stages: usize) -> Self {
        Self { meters: Arc::new(Meters::new(num_stages)), ..self }
    }

    /// The measurements of the stages so far.
    pub fn meters(&self) -> &Meters {
        &self.meters
    }

    /// The memory budget of the pipeline.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Lets the workers begin.
    pub fn start(&self) {
        let wake = self.note_change(&mut self.state.lock());
        self.wake(wake);
    }

    /// Runs tasks until the pipeline is closed. Each worker is a thread that calls this.
    pub fn work(&self) {
        let mut state = self.state.lock();
        let me = state.workers.len();
        state.workers.push(Worker::of_this_thread());
        while !state.is_closed {
            if state.must_ask(self.max_outputs) {
                state.workers[me].begin(Activity::Asking);
                state = self.ask(state, self.max_outputs);
            } else if let Some(work) = state.tasks.pop() {
                state.workers[me].begin(Activity::Task);
                state.num_running += 1;
                drop(state);
                work();
                state = self.state.lock();
                state.num_running -= 1;
                state.is_changed = true;
            } else {
                state.workers[me].begin(Activity::Nothing);
                state = self.idle(state);
            }
        }
        state.workers[me].begin(Activity::Ended);
    }

    /// The current state, for finding out why no rows arrive.
    pub fn snapshot(&self) -> Snapshot {
        let state = self.state.lock();
        Snapshot {
            workers: state.workers.clone(),
            num_tasks: state.tasks.num_native(),
            num_python: (0..self.has_python.len()).map(|python_worker| state.tasks.num_python(python_worker)).collect(),
            num_ready: state.outputs.len(),
            max_ready: self.max_outputs,
            is_consumer_waiting: state.is_consumer_waiting,
            is_refused: state.is_refused,
            is_asked: matches!(state.nodes, Nodes::Asked),
            is_over: state.is_over(),
            is_closed: state.is_closed,
        }
    }

    /// Waits until this worker is called.
    fn idle<'a>(&'a self, mut state: Guard<'a>) -> Guard<'a> {
        state.num_idle += 1;
        self.note_refusal(&mut state);
        let since = Instant::now();
        while state.num_called == 0 && !state.is_closed {
            state = self.has_work.wait(state);
        }
        self.meters.idle.add(since.elapsed());
        state.num_called = state.num_called.saturating_sub(1);
        self.note_refusal(&mut state);
        state
    }

    /// Marks up to `count` idle workers as called. Returns the number of threads to wake.
    #[must_use]
    fn call(state: &mut State, count: usize) -> usize {
        let count = count.min(state.num_idle);
        state.num_idle -= count;
        state.num_called += count;
        count
    }

    /// Marks the nodes as changed, so that they are polled. This is done by an idle worker, by the
    /// consumer if it is waiting, or by the first worker to finish its task.
    #[must_use]
    fn note_change(&self, state: &mut State) -> Wake {
        state.is_changed = true;
        if !state.must_ask(self.max_outputs) || state.num_called > 0 {
            return Wake::Nobody;
        }
        match state.num_idle {
            0 if state.is_consumer_waiting => Wake::Consumer,
            _ => Wake::Workers(Self::call(state, 1)),
        }
    }

    /// Marks that the consumer has taken an output. While enough outputs are left, no thread is
    /// woken: a worker that finishes a task polls the nodes anyway, and waking a worker for each
    /// batch costs as much as a small batch.
    #[must_use]
    fn note_taken(&self, state: &mut State) -> Wake {
        if 2 * state.outputs.len() < self.max_outputs || state.num_running == 0 && state.is_refused {
            return self.note_change(state);
        }
        state.is_changed = true;
        Wake::Nobody
    }

    /// Wakes other threads. The lock and the nodes must be free, because a woken thread may run at
    /// once and would have to wait for them.
    fn wake(&self, wake: Wake) {
        match wake {
            Wake::Nobody => {}
            Wake::Workers(count) => (0..count).for_each(|_| self.has_work.notify_one()),
            Wake::Consumer => self.has_output.notify_one(),
        }
    }

    /// Waits for the next task of a Python worker. Returns it with the number of tasks taken
    /// before, or `None` once the pipeline is closed. [`Executor::end_python`] must be called
    /// afterwards.
    pub fn take_python(&self, python_worker: usize) -> Option<(PythonTask, u64)> {
        let mut state = self.state.lock();
        loop {
            if state.is_closed {
                return None;
            }
            // The dropped tasks have freed their charges, but nobody will report their end, so the
            // nodes must be polled again.
            state.is_changed |= state.tasks.drop_unwanted(python_worker);
            if let Some(task) = state.tasks.pop_python(python_worker) {
                state.num_running += 1;
                let num_taken = state.num_taken.get_mut(python_worker)?;
                *num_taken += 1;
                return Some((task, *num_taken - 1));
            }
            state = match state.must_ask(self.max_outputs) {
                true => self.ask(state, self.max_outputs),
                false => self.has_python.get(python_worker)?.wait(state),
            };
        }
    }

    /// Marks a task of a Python worker as finished, after its slot was set.
    pub fn end_python(&self) {
        let mut state = self.state.lock();
        state.num_running -= 1;
        let wake = self.note_change(&mut state);
        drop(state);
        self.wake(wake);
    }

    /// Returns the next rows as a block. Waits up to `timeout`, or longer while it polls the nodes.
    pub fn next(&self, timeout: Duration) -> Result<Output> {
        self.next_of_lane(timeout).map(|(_, output)| output)
    }

    /// Like [`Executor::next`], with the lane of the rows.
    pub fn next_of_lane(&self, timeout: Duration) -> Result<(usize, Output)> {
        let mut state = self.state.lock();
        if state.outputs.is_empty() && !state.is_over() {
            let since = Instant::now();
            state.num_awaited = state.num_awaited.max(1);
            state = self.wait_for_outputs(state, 1, since.checked_add(timeout));
            self.meters.consumer_waiting.add(since.elapsed());
        }
        if let Some((lane, output)) = state.outputs.pop_front() {
            state.num_awaited = self.max_outputs.min(1);
            // The rows that the consumer holds are not charged, so there is room for more.
            let wake = self.note_taken(&mut state);
            drop(state);
            self.wake(wake);
            let output = match output {
                ReadyOutput::Rows(rows) => {
                    let checkpoint = rows.checkpoint(0);
                    rows.gather().map(|block| Output::Block(block, checkpoint)).inspect_err(|_| self.close())?
                }
                ReadyOutput::SkipEvent(skip_event) => Output::SkipEvent(skip_event),
                ReadyOutput::LaneEnd(error) => Output::LaneEnd(error),
            };
            return Ok((lane, output));
        }
        match (state.error.take(), state.is_over()) {
            // The rows before the error have been returned.
            _ if state.is_closed => Ok((0, Output::End)),
            (Some(error), _) => Err(error),
            (None, false) => Ok((0, Output::Timeout)),
            (None, true) => Ok((0, Output::End)),
        }
    }

    /// Records time during which the consumer could not use finished rows because it was waiting
    /// for the Python interpreter.
    pub fn waited_behind_next(&self, time: Duration) {
        self.meters.consumer_waiting.add(time);
    }

    /// Marks that the consumer has released charged memory.
    pub fn note_room(&self) {
        let mut state = self.state.lock();
        // A thread that is polling the nodes may have checked before.
        if state.is_refused || matches!(state.nodes, Nodes::Asked) {
            let wake = self.note_change(&mut state);
            drop(state);
            self.wake(wake);
        }
    }

    /// Marks that the consumer has closed a lane, so the nodes must be polled again.
    pub fn note_closed_lane(&self) {
        let mut state = self.state.lock();
        let wake = self.note_change(&mut state);
        drop(state);
        self.wake(wake);
    }

    /// Waits until `enough` outputs are ready, the pipeline is over, or the deadline has passed.
    /// Polls the nodes if no other thread does.
    fn wait_for_outputs<'a>(&'a self, mut state: Guard<'a>, enough: usize, deadline: Option<Instant>) -> Guard<'a> {
        while state.outputs.len() < enough && !state.is_over() {
            if state.must_ask(self.max_outputs) {
                state = self.ask(state, enough);
                continue;
            }
            let rest = deadline.map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()));
            if rest.is_zero() {
                break;
            }
            state.is_consumer_waiting = true;
            state = self.has_output.wait_timeout(state, rest);
            state.is_consumer_waiting = false;
        }
        state
    }

    /// Waits until one more output is ready, for at most `timeout`, or longer while it polls the
    /// nodes. That output may be computed even if there is no room in the budget, as if no output
    /// were ready. Returns false if there is nothing more to come.
    pub fn look_ahead(&self, timeout: Duration) -> bool {
        let mut state = self.state.lock();
        let enough = state.outputs.len() + 1;
        state.num_awaited = enough;
        state.is_changed = true;
        state = self.wait_for_outputs(state, enough, Instant::now().checked_add(timeout));
        !state.is_over()
    }

    /// Waits up to `timeout` for the pipeline to be closed. Returns true if it was.
    pub fn wait_until_closed(&self, timeout: Duration) -> bool {
        let since = Instant::now();
        let mut state = self.state.lock();
        loop {
            let rest = timeout.saturating_sub(since.elapsed());
            if state.is_closed || rest.is_zero() {
                return state.is_closed;
            }
            state = self.has_closed.wait_timeout(state, rest);
        }
    }

    /// Closes the pipeline: no new tasks begin and waiting threads return. Does not wait for
    /// running tasks.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let nodes = std::mem::replace(&mut state.nodes, Nodes::Ended);
        let outputs = std::mem::take(&mut state.outputs);
        let tasks = std::mem::replace(&mut state.tasks, Tasks::new(0));
        self.has_work.notify_all();
        self.has_python.iter().for_each(Condvar::notify_all);
        self.has_closed.notify_all();
        self.has_output.notify_all();
        // Dropping them may free a lot of memory, so don't do it while holding the lock.
        drop(state);
        drop((nodes, outputs, tasks));
    }

    /// Polls the nodes for all available work until `enough` outputs are ready, including those
    /// that the consumer looks ahead for. Meanwhile no other thread polls them.
    fn ask<'a>(&'a self, mut state: Guard<'a>, enough: usize) -> Guard<'a> {
        let Nodes::Here(mut root) = std::mem::replace(&mut state.nodes, Nodes::Asked) else { return state };
        let mut tasks = Tasks::new(self.has_python.len());
        // The same condition as in `must_ask`: otherwise a thread that has to poll would do nothing
        // here and try again forever.
        while !state.is_closed && state.is_changed && state.outputs.len() < enough.max(state.num_awaited) {
            state.is_changed = false;
            let is_starving = state.outputs.len() < state.num_awaited;
            let is_stuck = is_starving && state.num_running == 0 && state.tasks.is_empty();
            drop(state);
            let is_refused = Cell::new(false);
            let (budget, meters) = (&self.budget, &self.meters);
            let publish = |tasks: &mut Tasks| self.publish(tasks);
            let mut context = Context {
                tasks: &mut tasks,
                publish: &publish,
                has_started: false,
                budget,
                meters,
                is_starving,
                is_stuck,
                is_refused,
            };
            let poll = root.pull(&mut context);
            let (lane, lane_end) = (root.lane(), root.take_lane_end());
            let is_refused = context.is_refused.get();
            state = self.state.lock();
            state.is_refused = is_refused;
            if let Some(LaneEnd { lane, error }) = lane_end {
                self.give(&mut state, lane, ReadyOutput::LaneEnd(error));
            }
            let is_over = match poll {
                Ok(Poll::Ready(rows)) => {
                    self.give(&mut state, lane, ReadyOutput::Rows(rows));
                    false
                }
                Ok(Poll::SkipEvent(skip_event)) => {
                    self.give(&mut state, lane, ReadyOutput::SkipEvent(skip_event));
                    false
                }
                Ok(Poll::Pending) => {
                    let is_idle = state.num_running == 0 && state.tasks.is_empty();
                    // While outputs are waiting, room will be made when the consumer takes them.
                    if is_idle && state.outputs.is_empty() && !state.is_changed && !state.is_closed {
                        state.error = Some(Error::internal("a pipeline waits for tasks that were never started"));
                    }
                    state.error.is_some()
                }
                Ok(Poll::End) => true,
                Err(error) => {
                    state.error = Some(error);
                    true
                }
            };
            if is_over {
                return self.end(state, root);
            }
            if state.is_consumer_waiting && state.outputs.len() >= state.num_awaited && !state.is_closed {
                // It runs at once, perhaps on this thread's CPU core. Another worker may poll the
                // nodes meanwhile.
                state.is_consumer_waiting = false;
                state.nodes = Nodes::Here(root);
                self.note_refusal(&mut state);
                drop(state);
                self.wake(Wake::Consumer);
                return self.state.lock();
            }
        }
        if state.is_closed {
            // Dropping it may free a lot of memory, so don't do it while holding the lock.
            drop(state);
            drop(root);
            return self.state.lock();
        }
        state.nodes = Nodes::Here(root);
        self.note_refusal(&mut state);
        state
    }

    /// Queues an output for the consumer. The nodes may have more.
    fn give(&self, state: &mut State, lane: usize, output: ReadyOutput) {
        state.is_changed = true;
        if !state.is_closed {
            state.outputs.push_back((lane, output));
        }
    }

    /// Makes tasks visible to other threads.
    fn publish(&self, tasks: &mut Tasks) {
        let mut state = self.state.lock();
        if state.is_closed {
            return;
        }
        let num_called = Self::call(&mut state, tasks.num_native());
        let num_python: SmallVec<[usize; 4]> =
            (0..self.has_python.len()).map(|python_worker| tasks.num_python(python_worker)).collect();
        state.tasks.append(tasks);
        drop(state);
        self.wake(Wake::Workers(num_called));
        for (has_python, count) in self.has_python.iter().zip(num_python) {
            (0..count).for_each(|_| has_python.notify_one());
        }
    }

    /// Called after the last rows or an error. Drops the tasks that have not started, because
    /// nobody needs their results.
    fn end<'a>(&'a self, mut state: Guard<'a>, root: Box<dyn Node>) -> Guard<'a> {
        let tasks = std::mem::replace(&mut state.tasks, Tasks::new(self.has_python.len()));
        state.nodes = Nodes::Ended;
        state.is_refused = false;
        self.note_refusal(&mut state);
        self.has_output.notify_one();
        // Dropping them may free a lot of memory, so don't do it while holding the lock.
        drop(state);
        drop((root, tasks));
        self.state.lock()
    }

    /// Measures how long workers idle because work does not fit into the budget.
    fn note_refusal(&self, state: &mut State) {
        match (state.is_refused && state.num_idle > 0, state.refused_since) {
            (true, None) => state.refused_since = Some(Instant::now()),
            (false, Some(since)) => {
                self.meters.budget_waiting.add(since.elapsed());
                state.refused_since = None;
            }
            _ => {}
        }
    }
}
