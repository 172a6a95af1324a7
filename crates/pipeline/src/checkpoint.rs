//! Checkpoints: positions from which a node's rows can be resumed, even in another process.

use crate::function_states::FunctionStates;
use headrace_engine::error::{Error, Result};
use smallvec::SmallVec;
use std::sync::{Arc, OnceLock};

/// The maximum of any number in a checkpoint. All numbers are counts, and adding to larger ones
/// could overflow.
const MOST: u64 = i64::MAX as u64;

/// A position from which a node's rows can be resumed: a state of the node, and the number of rows
/// returned since.
///
/// A checkpoint without a state counts rows from the beginning of the node. So only a node that
/// returns one row per input row may pass on its input's checkpoints. All other nodes create
/// checkpoints with their own state.
#[derive(Clone, Debug, Default)]
pub struct Checkpoint {
    /// `None` for the beginning.
    state: Option<Arc<State>>,
    skip: u64,
    /// The states of Python functions for the nodes that start here. They are not part of the
    /// checkpoint; the node that runs passes saves them in its own checkpoints.
    states: Option<Arc<FunctionStates>>,
    /// The inputs from which a mixture took the rows after this checkpoint, if the mixture has just
    /// created it. They are not part of the checkpoint.
    choices: Option<Arc<Choices>>,
}

/// The inputs from which a mixture took rows.
#[derive(Debug)]
pub struct Choices {
    /// One choice per row after a checkpoint, in order.
    pub of_rows: Vec<Choice>,
    /// The checkpoint after these rows, once it exists. `None` at the end.
    pub next: OnceLock<Option<Checkpoint>>,
}

/// The input from which a mixture took one row.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The number of the input.
    pub input: usize,
    /// The size of the row, as the mixture measures it.
    pub size: u64,
    /// The number from which the mixture continues choosing after this row.
    pub number: u64,
    /// True if the count of sizes starts again after this row.
    pub is_border: bool,
}

impl PartialEq for Checkpoint {
    fn eq(&self, other: &Self) -> bool {
        (&self.state, self.skip) == (&other.state, other.skip)
    }
}

/// A state from which a node can continue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// Numbers that have a meaning only to the node.
    pub numbers: SmallVec<[u64; 5]>,
    /// The checkpoints of its inputs.
    pub inputs: SmallVec<[Checkpoint; 1]>,
    /// The state of a Python function as text, if the function keeps one.
    pub text: Option<Arc<str>>,
}

impl Checkpoint {
    /// Creates a checkpoint exactly at a state.
    pub fn new(numbers: impl IntoIterator<Item = u64>, inputs: impl IntoIterator<Item = Self>) -> Self {
        let (numbers, inputs) = (numbers.into_iter().collect(), inputs.into_iter().collect());
        Self::at(State { numbers, inputs, text: None }, 0)
    }

    /// Creates a checkpoint that only has the state of a Python function.
    pub fn of_text(text: Option<Arc<str>>) -> Self {
        Self::new([], []).with_text(text)
    }

    /// Sets the state of a Python function.
    pub fn with_text(self, text: Option<Arc<str>>) -> Self {
        match (text, self.state) {
            (Some(text), Some(state)) => {
                let state = Arc::unwrap_or_clone(state);
                Self {
                    states: self.states,
                    choices: self.choices,
                    ..Self::at(State { text: Some(text), ..state }, self.skip)
                }
            }
            (_, state) => Self { state, ..self },
        }
    }

    /// The state of a Python function.
    pub fn text(&self) -> Option<Arc<str>> {
        self.state.as_ref().and_then(|state| state.text.clone())
    }

    /// Creates a checkpoint `skip` rows after a state.
    pub fn at(state: State, skip: u64) -> Self {
        Self { state: Some(Arc::new(state)), skip, states: None, choices: None }
    }

    /// Sets the states of Python functions for the nodes that start here.
    pub fn with_states(self, states: Option<Arc<FunctionStates>>) -> Self {
        Self { states, ..self }
    }

    /// Sets the inputs of the rows after this checkpoint.
    pub fn with_choices(self, choices: Arc<Choices>) -> Self {
        Self { choices: Some(choices), ..self }
    }

    /// The inputs of the rows after this checkpoint, if known.
    pub fn choices(&self) -> Option<&Arc<Choices>> {
        self.choices.as_ref()
    }

    /// The states of Python functions for the nodes that start here.
    pub fn states(&self) -> Option<&Arc<FunctionStates>> {
        self.states.as_ref()
    }

    /// The beginning of the node, with the same states of Python functions.
    pub fn beginning(&self) -> Self {
        Self::default().with_states(self.states.clone())
    }

    /// The checkpoint `count` rows after this one.
    pub fn advanced_by(&self, count: u64) -> Self {
        Self { skip: self.skip.saturating_add(count), ..self.clone() }
    }

    /// The checkpoint exactly at the state, without rows after it.
    pub fn base(&self) -> Self {
        Self { skip: 0, ..self.clone() }
    }

    /// The state, or `None` at the beginning.
    pub fn state(&self) -> Option<&State> {
        self.state.as_deref()
    }

    /// The number of rows after the state.
    pub fn skip(&self) -> u64 {
        self.skip
    }

    /// Reads a node's `N` numbers. Returns `None` at the beginning. Fails if
    /// one exceeds `MOST`.
    pub fn numbers<const N: usize>(&self) -> Result<Option<[u64; N]>> {
        let Some(state) = &self.state else { return Ok(None) };
        if state.numbers.iter().any(|number| *number > MOST) {
            return Err(damaged());
        }
        <[u64; N]>::try_from(&state.numbers[..]).map(Some).map_err(|_| damaged())
    }

    /// The checkpoint of input `index`. At the node's beginning, this is the input's
    /// beginning.
    pub fn input(&self, index: usize) -> Result<Self> {
        match &self.state {
            None => Ok(self.beginning()),
            Some(state) => {
                state.inputs.get(index).map(|input| input.clone().with_states(self.states.clone())).ok_or_else(damaged)
            }
        }
    }
}

/// The error for a state that this kind of node cannot have.
pub fn damaged() -> Error {
    Error::invalid_argument("it was saved by a different pipeline")
}

/// The checkpoints of waiting rows. Row `i` after a checkpoint is `i` rows further on.
#[derive(Clone, Debug, Default)]
pub struct RowCheckpoints(SmallVec<[(Checkpoint, usize); 1]>);

impl RowCheckpoints {
    /// Creates the checkpoints of `num_rows` rows that begin at a checkpoint.
    pub fn of(checkpoint: Checkpoint, num_rows: usize) -> Self {
        Self(SmallVec::from_buf([(checkpoint, num_rows)]))
    }

    /// Iterates over the checkpoints, each with its number of rows.
    pub fn iter(&self) -> impl Iterator<Item = (&Checkpoint, usize)> {
        self.0.iter().map(|(checkpoint, num_rows)| (checkpoint, *num_rows))
    }

    /// Adds the checkpoints of later rows.
    pub fn append(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    /// The checkpoint of row `row`, or the one after the last row if there are fewer.
    pub fn get(&self, row: usize) -> Checkpoint {
        let mut rest = row;
        for (index, (checkpoint, num_rows)) in self.0.iter().enumerate() {
            if rest < *num_rows || index + 1 == self.0.len() {
                return checkpoint.advanced_by(rest as u64);
            }
            rest -= num_rows;
        }
        Checkpoint::default()
    }

    /// Removes and returns the checkpoints of the first `count` rows.
    pub fn take_front(&mut self, count: usize) -> Self {
        let (mut num_whole, mut rest) = (0, count);
        while self.0.get(num_whole).is_some_and(|(_, num_rows)| *num_rows <= rest) {
            rest -= self.0[num_whole].1;
            num_whole += 1;
        }
        let mut front: SmallVec<_> = self.0.drain(..num_whole).collect();
        if rest > 0
            && let Some((checkpoint, num_rows)) = self.0.first_mut()
        {
            front.push((checkpoint.clone(), rest));
            (*checkpoint, *num_rows) = (checkpoint.advanced_by(rest as u64), *num_rows - rest);
        }
        Self(front)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(number: u64) -> Checkpoint {
        Checkpoint::new([number], [])
    }

    #[test]
    fn each_row_has_its_checkpoint() {
        let mut checkpoints = RowCheckpoints::of(checkpoint(1), 3);
        checkpoints.append(&RowCheckpoints::of(checkpoint(2), 2));
        let front = checkpoints.take_front(2);
        assert_eq!(front.get(1), checkpoint(1).advanced_by(1));
        assert_eq!(
            [checkpoints.get(0), checkpoints.get(1), checkpoints.get(2)],
            [checkpoint(1).advanced_by(2), checkpoint(2), checkpoint(2).advanced_by(1)]
        );
        assert_eq!(checkpoints.get(9), checkpoint(2).advanced_by(8));
        assert_eq!(checkpoints.take_front(9).iter().count(), 2);
        assert_eq!(checkpoints.get(0), Checkpoint::default());
    }

    #[test]
    fn state_of_a_different_shape_is_rejected() {
        assert_eq!(checkpoint(7).numbers().unwrap(), Some([7]));
        assert!(checkpoint(7).numbers::<2>().is_err() && checkpoint(7).input(0).is_err());
        assert_eq!(Checkpoint::default().numbers::<2>().unwrap(), None);
        assert!(checkpoint(MOST).numbers::<1>().is_ok() && checkpoint(MOST + 1).numbers::<1>().is_err());
        assert_eq!(Checkpoint::default().input(3).unwrap(), Checkpoint::default());
    }
}
