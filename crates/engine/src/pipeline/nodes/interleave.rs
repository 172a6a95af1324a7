//! Interleaves several inputs in a given order.

use crate::error::{Error, Result};
use crate::philox::Philox;
use crate::pipeline::blocks::rows::Rows;
use crate::pipeline::checkpoint::{Checkpoint, damaged};
use crate::pipeline::node::{Context, Node, Poll};
use crate::pipeline::nodes::buffers::row_by_row::Input;
use crate::pipeline::permutation::Permutation;
use std::sync::Arc;

/// Number of rows returned at a time.
const GROUP_ROWS: usize = 1024;

/// The rule that chooses the input of the next row.
pub trait Choose: Send {
    /// The number of the input of the next row; `None` after the last row.
    fn next(&mut self) -> Option<usize>;

    /// Marks the input chosen last as ended. Returns whether others continue.
    fn leave_out(&mut self, input: usize) -> Result<bool>;

    /// The number from which [`Choose::go_on`] can continue, apart from the ended inputs.
    fn number(&self) -> u64;

    /// Continues from a state in which `number` had this value.
    fn go_on(&mut self, number: u64);
}

/// A node that interleaves inputs.
pub struct Interleave {
    inputs: Vec<Input>,
    choose: Box<dyn Choose>,
    /// The input of the next row, if it is chosen and the row has not arrived.
    chosen: Option<usize>,
    is_over: bool,
    /// Returned after the rows before it.
    error: Option<Error>,
    /// True if an input is polled only for a row that is next.
    in_step: bool,
}

impl Interleave {
    /// The rows of `inputs` in the order of `choose`.
    pub fn new(inputs: Vec<Box<dyn Node>>, choose: Box<dyn Choose>) -> Self {
        let inputs = inputs.into_iter().map(|node| Input::new(node, Checkpoint::default())).collect();
        Self { inputs, choose, chosen: None, is_over: false, error: None, in_step: false }
    }

    /// With `in_step`, rows are returned one by one, and an input is polled only for a row that is
    /// next.
    pub fn in_step(mut self, in_step: bool) -> Self {
        self.in_step = in_step;
        self
    }

    /// Continues from a checkpoint, which has the checkpoints of the inputs; without the rows to be
    /// skipped after its state.
    pub fn from_checkpoint(mut self, checkpoint: &Checkpoint) -> Result<Self> {
        let Some(state) = checkpoint.state() else { return Ok(self) };
        let [chosen, number, left_out @ ..] = &state.numbers[..] else { return Err(damaged()) };
        if left_out.len() != self.inputs.len() || *chosen > self.inputs.len() as u64 {
            return Err(damaged());
        }
        self.choose.go_on(*number);
        self.chosen = chosen.checked_sub(1).map(|chosen| chosen as usize);
        for (index, (input, is_left_out)) in self.inputs.iter_mut().zip(left_out).enumerate() {
            input.first = checkpoint.input(index)?;
            if *is_left_out > 0 {
                (input.is_left_out, input.node) = (true, None);
                self.choose.leave_out(index)?;
            }
        }
        Ok(self)
    }

    /// The checkpoint of the next row.
    fn checkpoint(&self) -> Checkpoint {
        let chosen = self.chosen.map_or(0, |chosen| chosen as u64 + 1);
        let left_out = self.inputs.iter().map(|input| u64::from(input.is_left_out));
        let numbers = [chosen, self.choose.number()].into_iter().chain(left_out);
        Checkpoint::new(numbers, self.inputs.iter().map(Input::checkpoint))
    }

    /// Takes rows as long as they are available.
    fn take(&mut self, rows: &mut Rows, context: &mut Context) -> Result<()> {
        let most = if self.in_step { 1 } else { GROUP_ROWS };
        while rows.len() < most && !self.is_over {
            let Some(chosen) = self.chosen.take().or_else(|| self.choose.next()) else {
                self.is_over = true;
                return Ok(());
            };
            let missing = || Error::internal(format!("there is no input {chosen}"));
            let input = self.inputs.get_mut(chosen).ok_or_else(missing)?;
            if input.push_next(rows) {
                continue;
            }
            input.fill(context);
            if input.push_next(rows) {
                continue;
            }
            if input.skip_event.is_some() {
                self.chosen = Some(chosen);
                return Ok(());
            }
            if let Some(error) = input.error.take() {
                return Err(error);
            }
            if input.node.is_some() {
                self.chosen = Some(chosen);
                return Ok(());
            }
            input.is_left_out = true;
            self.is_over = !self.choose.leave_out(chosen)?;
        }
        Ok(())
    }
}

impl Node for Interleave {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        // The other inputs continue while one is waited for.
        if !self.in_step {
            self.inputs.iter_mut().filter(|input| input.is_empty()).for_each(|input| input.fill(context));
        }
        self.inputs.iter_mut().for_each(Input::begin_group);
        let (mut rows, checkpoint) = (Rows::new(), self.checkpoint());
        match self.take(&mut rows, context) {
            Err(error) if !rows.is_empty() => self.error = Some(error),
            result => result?,
        }
        if rows.is_empty()
            && let Some(skip_event) = self.chosen.and_then(|chosen| self.inputs.get_mut(chosen)?.skip_event.take())
        {
            return Ok(Poll::SkipEvent(skip_event));
        }
        match (rows.is_empty(), self.is_over) {
            (false, _) => Ok(Poll::Ready(rows.with_checkpoint(checkpoint))),
            (true, true) => Ok(Poll::End),
            (true, false) => Ok(Poll::Pending),
        }
    }
}

/// A permutation of all rows, each input having a consecutive part of them.
pub struct Permuted {
    order: Arc<Permutation>,
    next: u64,
    /// For each input, the number after its last row.
    ends: Vec<u64>,
}

impl Permuted {
    /// `ends` has the number after the last row of each input.
    pub fn new(order: Arc<Permutation>, ends: Vec<u64>) -> Self {
        Self { order, next: 0, ends }
    }
}

impl Choose for Permuted {
    fn next(&mut self) -> Option<usize> {
        let place = self.next;
        let number = (place < self.order.len()).then(|| self.order.get(place))?;
        self.next += 1;
        Some(self.ends.partition_point(|end| *end <= number))
    }

    fn leave_out(&mut self, input: usize) -> Result<bool> {
        Err(Error::internal(format!("part {input} of a full shuffle has fewer examples than its index")))
    }

    fn number(&self) -> u64 {
        self.next
    }

    fn go_on(&mut self, number: u64) {
        self.next = number;
    }
}

/// Draws the input of the next row.
pub struct Drawn {
    random: Philox,
    /// The weights; 0 for inputs that have ended.
    weights: Vec<f64>,
    goes_on: bool,
}

impl Drawn {
    /// If `goes_on`, continues until all inputs have ended, else until one has. The draws depend on
    /// the pair of seeds.
    pub fn new(weights: Vec<f64>, goes_on: bool, seed: u64, pass: u64) -> Self {
        Self { random: Philox::new(seed.cast_signed(), pass.cast_signed()), weights, goes_on }
    }

    /// A number in [0, 1).
    fn draw(&mut self) -> f64 {
        let bits = u64::from(self.random.next_u32()) << 32 | u64::from(self.random.next_u32());
        (bits >> 11) as f64 * (0.5_f64).powi(53)
    }
}

impl Choose for Drawn {
    fn next(&mut self) -> Option<usize> {
        let total: f64 = self.weights.iter().sum();
        let mut drawn = self.draw() * total;
        let last = self.weights.iter().rposition(|weight| *weight > 0.0)?;
        for (input, weight) in self.weights[..last].iter().enumerate() {
            if drawn < *weight {
                return Some(input);
            }
            drawn -= weight;
        }
        Some(last)
    }

    fn leave_out(&mut self, input: usize) -> Result<bool> {
        if let Some(weight) = self.weights.get_mut(input) {
            *weight = 0.0;
        }
        Ok(self.goes_on)
    }

    fn number(&self) -> u64 {
        self.random.position()
    }

    fn go_on(&mut self, number: u64) {
        self.random.move_to(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_drawn_in_proportion_to_their_weights() {
        let mut drawn = Drawn::new(vec![0.5, 0.25, 0.25], true, 7, 0);
        let mut counts = [0_u32; 3];
        (0..10_000).for_each(|_| counts[drawn.next().unwrap()] += 1);
        assert!((4800..5200).contains(&counts[0]) && (2300..2700).contains(&counts[1]), "{counts:?}");
        assert!(drawn.leave_out(0).unwrap());
        assert!((0..100).all(|_| drawn.next() != Some(0)));
        assert!(drawn.leave_out(2).unwrap());
        assert!((0..100).all(|_| drawn.next() == Some(1)));
        assert!(drawn.leave_out(1).unwrap());
        assert_eq!(drawn.next(), None);
    }
}
