//! States of stateful Python functions, at the checkpoints of the rows that they made.

use headrace_engine::sync::Mutex;
use std::fmt;
use std::sync::Arc;

/// The state of a function, as text; `None` if it is stateless.
pub type Text = Option<Arc<str>>;

/// The states of the functions of all Python workers, for one run of the nodes of a pass. Written
/// by the thread that ends a Python worker's task, and by the node that runs passes; read by nodes
/// as they begin, and at the end of a pass.
pub struct FunctionStates {
    /// The state of each function at the beginning of an iteration.
    initial: Arc<[Text]>,
    /// The state of each function after its latest finished task.
    now: Mutex<Vec<Text>>,
}

impl FunctionStates {
    /// The states at the beginning of an iteration.
    pub fn new(initial: Vec<Text>) -> Arc<Self> {
        Arc::new(Self { now: Mutex::new(initial.clone()), initial: initial.into() })
    }

    /// The states at the beginning of the iteration, for another run.
    pub fn at_beginning(&self) -> Arc<Self> {
        Self::new(self.initial.to_vec())
    }

    /// The current states, for another run.
    pub fn copy(&self) -> Arc<Self> {
        Arc::new(Self { initial: Arc::clone(&self.initial), now: Mutex::new(self.now.lock().clone()) })
    }

    /// True if any function keeps a state.
    pub fn has_any(&self) -> bool {
        self.initial.iter().any(Option::is_some)
    }

    /// True if the function of a Python worker keeps a state.
    pub fn is_kept(&self, python_worker: usize) -> bool {
        self.initial.get(python_worker).is_some_and(Option::is_some)
    }

    /// The state of the function of a Python worker.
    pub fn get(&self, python_worker: usize) -> Text {
        self.now.lock().get(python_worker).cloned().flatten()
    }

    /// Sets the state of the function of a Python worker.
    pub fn set(&self, python_worker: usize, text: Text) {
        if let (Some(now), Some(_)) = (self.now.lock().get_mut(python_worker), &text) {
            *now = text;
        }
    }

    /// The states of the functions of some Python workers.
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

/// The state of a function from one task of a node to the next. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct FunctionState {
    now: Arc<Mutex<Text>>,
    /// The states of all Python workers, and the number of this one, whose state is stored too.
    noted: Option<(Arc<FunctionStates>, usize)>,
}

impl FunctionState {
    /// The state before the first task of a node, which belongs to a Python worker of `noted`.
    pub fn new(text: Text, noted: Option<(Arc<FunctionStates>, usize)>) -> Self {
        Self { now: Arc::new(Mutex::new(text)), noted }
    }

    /// The state before the next task.
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
