//! The states of stateful Python functions at the checkpoints of the rows they produced.

use headrace_engine::sync::Mutex;
use std::fmt;
use std::sync::Arc;

/// The state of a function as text, or `None` if it keeps no state.
pub type Text = Option<Arc<str>>;

/// The function states of all Python workers in one run of a pass's nodes. Written by the thread
/// that finishes a Python worker's task and by the node that runs passes; read by nodes when they
/// start, and at the end of a pass.
pub struct FunctionStates {
    /// Each function's state at the beginning of an iteration.
    initial: Arc<[Text]>,
    /// Each function's state after its most recently finished task.
    now: Mutex<Vec<Text>>,
}

impl FunctionStates {
    /// Starts with the states at the beginning of an iteration.
    pub fn new(initial: Vec<Text>) -> Arc<Self> {
        Arc::new(Self { now: Mutex::new(initial.clone()), initial: initial.into() })
    }

    /// A copy for another run, reset to the beginning of the iteration.
    pub fn at_beginning(&self) -> Arc<Self> {
        Self::new(self.initial.to_vec())
    }

    /// A copy of the current states for another run.
    pub fn copy(&self) -> Arc<Self> {
        Arc::new(Self { initial: Arc::clone(&self.initial), now: Mutex::new(self.now.lock().clone()) })
    }

    /// Returns true if any function keeps a state.
    pub fn has_any(&self) -> bool {
        self.initial.iter().any(Option::is_some)
    }

    /// Returns true if the function of a Python worker keeps a state.
    pub fn is_kept(&self, python_worker: usize) -> bool {
        self.initial.get(python_worker).is_some_and(Option::is_some)
    }

    /// The function state of a Python worker.
    pub fn get(&self, python_worker: usize) -> Text {
        self.now.lock().get(python_worker).cloned().flatten()
    }

    /// Sets the function state of a Python worker.
    pub fn set(&self, python_worker: usize, text: Text) {
        if let (Some(now), Some(_)) = (self.now.lock().get_mut(python_worker), &text) {
            *now = text;
        }
    }

    /// The function states of some Python workers.
    pub fn texts(&self, python_workers: &[usize]) -> Vec<Text> {
        let now = self.now.lock();
        python_workers.iter().map(|python_worker| now.get(*python_worker).cloned().flatten()).collect()
    }
}

impl fmt::Debug for FunctionStates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("FunctionStates").field(&*self.now.lock()).finish()
    }
}

/// The state of a function, passed from one task of a node to the next. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct FunctionState {
    now: Arc<Mutex<Text>>,
    /// The states of all Python workers and the number of this one, if its state is stored there
    /// too.
    noted: Option<(Arc<FunctionStates>, usize)>,
}

impl FunctionState {
    /// Creates the state before a node's first task. It belongs to a Python worker of `noted`.
    pub fn new(text: Text, noted: Option<(Arc<FunctionStates>, usize)>) -> Self {
        Self { now: Arc::new(Mutex::new(text)), noted }
    }

    /// Returns the state before the next task.
    pub fn get(&self) -> Text {
        self.now.lock().clone()
    }

    /// Sets the state after a task.
    pub fn set(&self, text: Text) {
        if text.is_none() {
            return;
        }
        if let Some((states, python_worker)) = &self.noted {
            states.set(*python_worker, text.clone());
        }
        *self.now.lock() = text;
    }
}
