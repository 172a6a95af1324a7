//! Interleaves several inputs in a given order.

use crate::blocks::rows::Rows;
use crate::checkpoint::{Checkpoint, Choice, Choices, damaged};
use crate::node::{Context, GROUP_ROWS, Node, Poll};
use crate::nodes::buffers::row_by_row::{Input, all_catch_up};
use crate::row_order::RowOrder;
use headrace_engine::error::{Error, Result};
use std::sync::{Arc, OnceLock};

/// The rule that chooses the input of the next row.
pub trait Choose: Send {
    /// The input of the next row, or `None` after the last row.
    fn next(&mut self) -> Option<usize>;

    /// Marks the most recently chosen input as ended. Returns whether any input remains.
    fn leave_out(&mut self, input: usize) -> Result<bool>;

    /// The number to pass to [`Choose::go_on`] to continue from here. It does not include which
    /// inputs have ended.
    fn number(&self) -> u64;

    /// Continues from a state in which [`Choose::number`] returned `number`.
    fn go_on(&mut self, number: u64);

    /// The column whose length is the size of a row, or `None` if every row has size 1.
    fn measured(&self) -> Option<usize> {
        None
    }

    /// Records that a row of this size was taken from an input. Returns true if the count of sizes
    /// was reset.
    fn took(&mut self, _input: usize, _size: u64) -> bool {
        false
    }

    /// How many rows a mixture has taken from each part, which checkpoints also store.
    fn shares(&self) -> Option<Shares> {
        None
    }

    /// Restores this additional state for inputs that haven't changed.
    fn go_on_with(&mut self, _shares: &Shares) -> Result<()> {
        Ok(())
    }
}

/// The rows that a mixture has taken from its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shares {
    /// The number of rows taken so far.
    pub position: u64,
    /// A unique number for each part.
    pub ids: Vec<u64>,
    /// For each part, the total size of the rows taken since counting began.
    pub taken: Vec<u64>,
}

/// The decoded numbers of a mixture's checkpoint.
struct Numbers<'a> {
    /// The input of the next row, if already chosen.
    chosen: Option<usize>,
    number: u64,
    /// 1 for each input that has ended.
    left_out: &'a [u64],
    shares: Option<Shares>,
}

impl<'a> Numbers<'a> {
    fn of(numbers: &'a [u64], num_inputs: usize) -> Result<Self> {
        let [chosen, number, rest @ ..] = numbers else { return Err(damaged()) };
        if rest.len() < num_inputs || *chosen > num_inputs as u64 {
            return Err(damaged());
        }
        let (left_out, more) = rest.split_at(num_inputs);
        let shares = match more {
            [] => None,
            [position, more @ ..] if more.len() == 2 * num_inputs => {
                let (ids, taken) = more.split_at(num_inputs);
                Some(Shares { position: *position, ids: ids.to_vec(), taken: taken.to_vec() })
            }
            _ => return Err(damaged()),
        };
        let chosen = chosen.checked_sub(1).map(|chosen| chosen as usize);
        Ok(Self { chosen, number: *number, left_out, shares })
    }

    fn written(
        chosen: Option<usize>,
        number: u64,
        left_out: impl IntoIterator<Item = u64>,
        shares: Option<Shares>,
    ) -> Vec<u64> {
        let chosen = chosen.map_or(0, |chosen| chosen as u64 + 1);
        let mut numbers: Vec<_> = [chosen, number].into_iter().chain(left_out).collect();
        if let Some(Shares { position, ids, taken }) = shares {
            numbers.push(position);
            numbers.extend(ids.into_iter().chain(taken));
        }
        numbers
    }
}

/// Maps each part of a mixture to its input at a checkpoint, or to `None` if the part is new. The
/// inputs only differ if the parts have names.
pub fn old_inputs(checkpoint: &Checkpoint, num_inputs: usize, ids: Option<&[u64]>) -> Result<Vec<Option<usize>>> {
    let same = || Ok((0..num_inputs).map(Some).collect());
    let (Some(state), Some(ids)) = (checkpoint.state(), ids) else { return same() };
    match Numbers::of(&state.numbers, state.inputs.len())?.shares {
        None => same(),
        Some(old) => Ok(ids.iter().map(|id| old.ids.iter().position(|other| other == id)).collect()),
    }
}

/// Returns the checkpoint of a mixture exactly at a row, if the rows up to it were recorded.
pub fn exact(from: &Checkpoint) -> Option<Checkpoint> {
    let (mut base, mut skip) = (from.clone(), from.skip());
    loop {
        let choices = Arc::clone(base.choices()?);
        let num_rows = choices.of_rows.len() as u64;
        if skip > num_rows {
            if let Some(next) = choices.next.get()? {
                (base, skip) = (next.clone(), skip - num_rows);
                continue;
            }
            // An incomplete last batch ends with the last row.
            skip = num_rows;
        }
        let state = base.state()?;
        let mut inputs = state.inputs.clone();
        let Numbers { mut chosen, mut number, left_out, mut shares } =
            Numbers::of(&state.numbers, inputs.len()).ok()?;
        for choice in &choices.of_rows[..skip as usize] {
            let input = inputs.get_mut(choice.input)?;
            *input = input.advanced_by(1);
            (chosen, number) = (None, choice.number);
            if let Some(Shares { position, taken, .. }) = &mut shares {
                *position += 1;
                *taken.get_mut(choice.input)? += choice.size;
                if choice.is_border {
                    taken.fill(0);
                }
            }
        }
        let numbers = Numbers::written(chosen, number, left_out.iter().copied(), shares);
        return Some(Checkpoint::new(numbers, inputs));
    }
}

/// A node that interleaves its inputs.
pub struct Interleave {
    inputs: Vec<Input>,
    choose: Box<dyn Choose>,
    /// The input of the next row, if it has been chosen but its row has not arrived.
    chosen: Option<usize>,
    is_over: bool,
    /// An error to return after the rows before it.
    error: Option<Error>,
    /// True if an input is only polled when its row is next.
    synchronous: bool,
    /// The choices made for the rows returned last.
    last: Option<Arc<Choices>>,
}

impl Interleave {
    /// Interleaves the rows of `inputs` in the order that `choose` determines.
    pub fn new(inputs: Vec<Box<dyn Node>>, choose: Box<dyn Choose>) -> Self {
        let inputs = inputs.into_iter().map(|node| Input::new(node, Checkpoint::default())).collect();
        Self { inputs, choose, chosen: None, is_over: false, error: None, synchronous: false, last: None }
    }

    /// If `are_exact`, the checkpoints of inputs point directly after the consumed rows.
    pub fn behind_last(mut self, are_exact: bool) -> Self {
        self.inputs.iter_mut().for_each(|input| input.is_behind_last = are_exact);
        self
    }

    /// If `synchronous`, returns one row at a time and only polls an input when its row is next.
    pub fn synchronous(mut self, synchronous: bool) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// Continues from the state of a checkpoint, which contains the inputs' checkpoints. The caller
    /// skips the rows that follow it.
    pub fn from_checkpoint(mut self, checkpoint: &Checkpoint) -> Result<Self> {
        let Some(state) = checkpoint.state() else { return Ok(self) };
        let ids = self.choose.shares().map(|shares| shares.ids);
        let old = old_inputs(checkpoint, self.inputs.len(), ids.as_deref())?;
        let Numbers { chosen, number, left_out, shares } = Numbers::of(&state.numbers, state.inputs.len())?;
        if ids.is_none() && state.inputs.len() != self.inputs.len() {
            return Err(damaged());
        }
        self.choose.go_on(number);
        if let Some(shares) = &shares {
            self.choose.go_on_with(shares)?;
        }
        self.chosen = chosen.and_then(|chosen| old.iter().position(|old| *old == Some(chosen)));
        for (index, (input, old)) in self.inputs.iter_mut().zip(old).enumerate() {
            let Some(old) = old else { continue };
            input.first = checkpoint.input(old)?;
            if left_out[old] > 0 {
                input.is_left_out = true;
                // Functions are called for all rows up to the end of the input.
                if !self.synchronous && !input.is_behind_last {
                    input.node = None;
                }
                self.choose.leave_out(index)?;
            }
        }
        Ok(self)
    }

    /// Returns the checkpoint of the next row.
    fn checkpoint(&self) -> Checkpoint {
        let left_out = self.inputs.iter().map(|input| u64::from(input.is_left_out));
        let numbers = Numbers::written(self.chosen, self.choose.number(), left_out, self.choose.shares());
        Checkpoint::new(numbers, self.inputs.iter().map(Input::checkpoint))
    }

    /// Takes rows while they are available.
    fn take(&mut self, rows: &mut Rows, choices: &mut Vec<Choice>, context: &mut Context) -> Result<()> {
        let measured = self.choose.measured();
        let most = if self.synchronous { 1 } else { GROUP_ROWS };
        while rows.len() < most && !self.is_over {
            let Some(chosen) = self.chosen.take().or_else(|| self.choose.next()) else {
                self.is_over = true;
                return Ok(());
            };
            let missing = || Error::internal(format!("input {chosen} does not exist"));
            let input = self.inputs.get_mut(chosen).ok_or_else(missing)?;
            if input.is_empty() {
                input.fill(context);
            }
            if let Some(size) = input.push_next(rows, measured) {
                let is_border = self.choose.took(chosen, size);
                choices.push(Choice { input: chosen, size, number: self.choose.number(), is_border });
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
            if !rows.is_empty() {
                // The next checkpoint records that the input has ended.
                return Ok(());
            }
        }
        Ok(())
    }
}

impl Node for Interleave {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if !self.synchronous {
            if !all_catch_up(self.inputs.iter_mut().filter(|input| input.is_left_out), context)? {
                return Ok(Poll::Pending);
            }
            // Let the other inputs work while this one is waiting.
            self.inputs.iter_mut().filter(|input| input.is_empty()).for_each(|input| input.fill(context));
        }
        self.inputs.iter_mut().for_each(Input::begin_group);
        let (mut rows, mut of_rows, checkpoint) = (Rows::new(), Vec::new(), self.checkpoint());
        match self.take(&mut rows, &mut of_rows, context) {
            Err(error) if !rows.is_empty() => self.error = Some(error),
            result => result?,
        }
        if rows.is_empty()
            && let Some(skip_event) = self.chosen.and_then(|chosen| self.inputs.get_mut(chosen)?.skip_event.take())
        {
            return Ok(Poll::SkipEvent(skip_event));
        }
        match (rows.is_empty(), self.is_over) {
            (false, _) => {
                let choices = Arc::new(Choices { of_rows, next: OnceLock::new() });
                let checkpoint = checkpoint.with_choices(Arc::clone(&choices));
                if let Some(last) = self.last.replace(choices) {
                    // It is only set once.
                    let _ = last.next.set(Some(checkpoint.clone()));
                }
                Ok(Poll::Ready(rows.with_checkpoint(checkpoint)))
            }
            (true, true) => {
                if let Some(last) = self.last.take() {
                    let _ = last.next.set(None);
                }
                Ok(Poll::End)
            }
            (true, false) => Ok(Poll::Pending),
        }
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        all_catch_up(self.inputs.iter_mut(), context)
    }
}

/// An order of all rows, in which each input owns a consecutive range.
pub struct Permuted {
    order: Arc<RowOrder>,
    next: u64,
    /// The position in the order of the first row.
    first: u64,
    /// For each input, the number after its last row.
    ends: Vec<u64>,
}

impl Permuted {
    /// Starts at row `first`. `ends` has the number after the last row of each input.
    pub fn new(order: Arc<RowOrder>, first: u64, ends: Vec<u64>) -> Self {
        Self { order, next: 0, first, ends }
    }
}

impl Choose for Permuted {
    fn next(&mut self) -> Option<usize> {
        let end = self.ends.last().copied().unwrap_or(self.first);
        loop {
            let position = self.next;
            let number = (position < self.order.len()).then(|| self.order.get(position))?;
            self.next += 1;
            if (self.first..end).contains(&number) {
                return Some(self.ends.partition_point(|end| *end <= number));
            }
        }
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
