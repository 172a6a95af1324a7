//! States of Python functions that keep one, at the places of the rows that they made.

use crate::pipeline::mark::Mark;
use crate::sync::Mutex;
use std::fmt;
use std::sync::Arc;

/// What a function has said of its state; `None` if it keeps none.
pub type Text = Option<Arc<str>>;

/// The states of the functions of all lanes, for one run of the nodes of a pass. Written by whoever ends a task of a
/// lane, and by the node that runs passes; read by nodes as they begin, and at the end of a pass.
pub struct FunctionStates {
    /// What each function has at the beginning of an iteration.
    initial: Arc<[Text]>,
    /// What each has behind the last of its tasks that has ended.
    now: Mutex<Vec<Text>>,
}

impl FunctionStates {
    /// At the beginning of an iteration.
    pub fn new(initial: Vec<Text>) -> Arc<Self> {
        Arc::new(Self { now: Mutex::new(initial.clone()), initial: initial.into() })
    }

    /// Those of the beginning of the iteration, for another run.
    pub fn at_beginning(&self) -> Arc<Self> {
        Self::new(self.initial.to_vec())
    }

    /// Those of now, for another run.
    pub fn copy(&self) -> Arc<Self> {
        Arc::new(Self { initial: Arc::clone(&self.initial), now: Mutex::new(self.now.lock().clone()) })
    }

    /// Whether the function of a lane keeps a state.
    pub fn is_kept(&self, lane: usize) -> bool {
        self.initial.get(lane).is_some_and(Option::is_some)
    }

    /// The state of the function of a lane.
    pub fn get(&self, lane: usize) -> Text {
        self.now.lock().get(lane).cloned().flatten()
    }

    /// Notes the state of the function of a lane.
    pub fn set(&self, lane: usize, text: Text) {
        if let (Some(now), Some(_)) = (self.now.lock().get_mut(lane), &text) {
            *now = text;
        }
    }

    /// The states of some lanes, as marks that a mark can hold.
    pub fn marks(&self, lanes: &[usize]) -> impl Iterator<Item = Mark> {
        let now = self.now.lock();
        let texts: Vec<_> = lanes.iter().map(|lane| now.get(*lane).cloned().flatten()).collect();
        texts.into_iter().map(|text| Mark::new([], []).with_text(text))
    }
}

impl fmt::Debug for FunctionStates {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("FunctionStates").field(&*self.now.lock()).finish()
    }
}

/// The state of a function from one task of a node to the next. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct FunctionState {
    now: Arc<Mutex<Text>>,
    /// Where else it is noted: the states of all lanes, and the lane.
    noted: Option<(Arc<FunctionStates>, usize)>,
}

impl FunctionState {
    /// Before the first task of a node, which belongs to a lane of `noted`.
    pub fn new(text: Text, noted: Option<(Arc<FunctionStates>, usize)>) -> Self {
        Self { now: Arc::new(Mutex::new(text)), noted }
    }

    /// What the function has before the next task.
    pub fn get(&self) -> Text {
        self.now.lock().clone()
    }

    /// Notes what the function has behind a task.
    pub fn set(&self, text: Text) {
        if text.is_none() {
            return;
        }
        if let Some((states, lane)) = &self.noted {
            states.set(*lane, text.clone());
        }
        *self.now.lock() = text;
    }
}
