//! Runs a pipeline: a pool of workers, and the nodes, which are asked under one lock.
//!
//! The lock is held while nodes move row numbers, never while anything is read, decoded or computed, nor in Python. A task
//! that has ended asks the nodes for what can be done next; so there is no thread that directs the others.

use super::block::{Block, Rows};
use super::budget::Budget;
use super::meters::Meters;
use super::node::{Context, Node, Poll};
use super::task::{HostTask, Tasks};
use crate::error::{Error, Result};
use crate::sync::{Condvar, Mutex, MutexGuard};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The running state of one iteration over a pipeline, shared by its threads.
pub struct Executor {
    state: Mutex<State>,
    /// Workers wait here for tasks.
    has_work: Condvar,
    /// For each lane, its thread waits here for tasks.
    has_hosted: Vec<Condvar>,
    /// The consumer waits here for rows.
    has_output: Condvar,
    budget: Arc<Budget>,
    meters: Arc<Meters>,
    max_outputs: usize,
}

struct State {
    /// `None` after the end, an error, or [`Executor::close`].
    root: Option<Box<dyn Node>>,
    tasks: Tasks,
    /// Tasks that were begun and have not ended.
    num_running: usize,
    num_idle: usize,
    outputs: VecDeque<Rows>,
    /// Comes after the outputs.
    error: Option<Error>,
    is_closed: bool,
    /// Since when workers have nothing to do but what does not fit into the budget.
    refused_since: Option<Instant>,
}

/// What the consumer gets.
pub enum Output {
    /// Some rows.
    Block(Arc<Block>),
    /// Nothing came in time.
    Timeout,
    /// There is no more.
    End,
}

impl Executor {
    /// Prepares to run `root`, whose rows leave as whole blocks; up to `max_outputs` of them wait for the consumer.
    pub fn new(root: Box<dyn Node>, num_lanes: usize, budget: Arc<Budget>, max_outputs: usize) -> Self {
        let state = State {
            root: Some(root),
            tasks: Tasks::new(num_lanes),
            num_running: 0,
            num_idle: 0,
            outputs: VecDeque::new(),
            error: None,
            is_closed: false,
            refused_since: None,
        };
        Self {
            state: Mutex::new(state),
            has_work: Condvar::new(),
            has_hosted: (0..num_lanes).map(|_| Condvar::new()).collect(),
            has_output: Condvar::new(),
            budget,
            meters: Arc::new(Meters::new(0)),
            max_outputs,
        }
    }

    /// Counts what so many stages do.
    pub fn metered(self, num_stages: usize) -> Self {
        Self { meters: Arc::new(Meters::new(num_stages)), ..self }
    }

    /// What the stages have done so far.
    pub fn meters(&self) -> &Meters {
        &self.meters
    }

    /// Starts the first tasks.
    pub fn start(&self) {
        drop(self.advance(self.state.lock()));
    }

    /// Works until the pipeline is closed. Each worker is a thread that calls this.
    pub fn work(&self) {
        let mut state = self.state.lock();
        while !state.is_closed {
            match state.tasks.pop() {
                Some(work) => {
                    state.num_running += 1;
                    drop(state);
                    work();
                    state = self.state.lock();
                    state.num_running -= 1;
                    state = self.advance(state);
                }
                None => {
                    state.num_idle += 1;
                    let since = Instant::now();
                    state = self.has_work.wait(state);
                    self.meters.idle.add(since.elapsed());
                    state.num_idle -= 1;
                }
            }
        }
    }

    /// The next task of a lane, or `None` once the pipeline is closed. Waits. [`Executor::end_hosted`] must follow.
    pub fn take_hosted(&self, lane: usize) -> Option<HostTask> {
        let mut state = self.state.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(task) = state.tasks.pop_hosted(lane) {
                state.num_running += 1;
                return Some(task);
            }
            state = self.has_hosted.get(lane)?.wait(state);
        }
    }

    /// Says that a task of a lane has ended and its slot is set.
    pub fn end_hosted(&self) {
        let mut state = self.state.lock();
        state.num_running -= 1;
        drop(self.advance(state));
    }

    /// The next rows, as a block. Waits for at most `timeout`.
    pub fn next(&self, timeout: Duration) -> Result<Output> {
        let mut state = self.state.lock();
        if state.outputs.is_empty() && state.root.is_some() {
            let since = Instant::now();
            state = self.has_output.wait_timeout(state, timeout);
            self.meters.consumer_waiting.add(since.elapsed());
        }
        if let Some(rows) = state.outputs.pop_front() {
            // What the consumer has is charged to nobody: there is room for the next.
            drop(self.advance(state));
            return rows.gather().map(Output::Block).inspect_err(|_| self.close());
        }
        match (state.error.take(), state.root.is_some()) {
            (Some(error), _) => Err(error),
            (None, true) => Ok(Output::Timeout),
            (None, false) => Ok(Output::End),
        }
    }

    /// Ends the pipeline: nothing new is begun, and those who wait return. What runs is not waited for.
    pub fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        let root = state.root.take();
        let outputs = std::mem::take(&mut state.outputs);
        let tasks = std::mem::replace(&mut state.tasks, Tasks::new(0));
        self.has_work.notify_all();
        self.has_hosted.iter().for_each(Condvar::notify_all);
        self.has_output.notify_all();
        // They may free much memory, so not under the lock.
        drop(state);
        drop((root, outputs, tasks));
    }

    /// Asks the nodes for all that can be done now.
    fn advance<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let had_outputs = !state.outputs.is_empty();
        let before = state.tasks.num_native();
        let ended = self.pull(&mut state);
        let num_new = state.tasks.num_native().saturating_sub(before);
        (0..num_new.min(state.num_idle)).for_each(|_| self.has_work.notify_one());
        for (lane, has_hosted) in self.has_hosted.iter().enumerate() {
            (0..state.tasks.num_hosted(lane)).for_each(|_| has_hosted.notify_one());
        }
        if state.root.is_none() || (!had_outputs && !state.outputs.is_empty()) {
            self.has_output.notify_one();
        }
        match ended {
            None => state,
            // They may free much memory, so not under the lock.
            Some(ended) => {
                drop(state);
                drop(ended);
                self.state.lock()
            }
        }
    }

    /// Takes rows from the root. After the last ones, or an error, returns the root, and the tasks that were not begun:
    /// nobody waits for them.
    fn pull(&self, state: &mut State) -> Option<(Box<dyn Node>, Tasks)> {
        let mut is_refused = false;
        while state.outputs.len() < self.max_outputs
            && let Some(root) = &mut state.root
        {
            let mut context = Context {
                tasks: &mut state.tasks,
                budget: &self.budget,
                meters: &self.meters,
                is_refused: Cell::new(false),
            };
            let poll = root.pull(&mut context);
            is_refused = context.is_refused.get();
            match poll {
                Ok(Poll::Ready(rows)) => {
                    state.outputs.push_back(rows);
                    continue;
                }
                Ok(Poll::Pending) if state.num_running == 0 && state.tasks.is_empty() => {
                    state.error = Some(Error::internal("a pipeline waits for tasks that nobody has started"));
                }
                Ok(Poll::Pending) => break,
                Ok(Poll::End) => {}
                Err(error) => state.error = Some(error),
            }
            let tasks = std::mem::replace(&mut state.tasks, Tasks::new(self.has_hosted.len()));
            self.note_refusal(state, false);
            return state.root.take().map(|root| (root, tasks));
        }
        self.note_refusal(state, is_refused);
        None
    }

    /// Measures how long workers are idle since something does not fit into the budget.
    fn note_refusal(&self, state: &mut State, is_refused: bool) {
        // Idle workers that are left when each task has one.
        let is_waiting = is_refused && state.num_idle > 0 && state.num_idle >= state.tasks.num_native();
        match (is_waiting, state.refused_since) {
            (true, None) => state.refused_since = Some(Instant::now()),
            (false, Some(since)) => {
                self.meters.budget_waiting.add(since.elapsed());
                state.refused_since = None;
            }
            _ => {}
        }
    }
}
