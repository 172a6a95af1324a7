//! Reads the pieces of a source in shuffled order, taking turns with one row from each open piece.

use crate::blocks::rows::Rows;
use crate::budget::Charge;
use crate::checkpoint::{Checkpoint, damaged};
use crate::index::KeptBorders;
use crate::node::{Context, GROUP_ROWS, Node, Poll};
use crate::nodes::buffers::row_by_row::{Input, all_catch_up};
use crate::permutation::Permutation;
use headrace_engine::error::{Error, Result};
use smallvec::SmallVec;
use std::collections::VecDeque;
use std::sync::Arc;

/// How many upcoming pieces are polled each time. The others are counted when they begin.
const MOST_POLLED: usize = 4;

/// Creates the node of a piece at a checkpoint. The piece is passed by number.
pub type StartPiece = Box<dyn Fn(u64, &Checkpoint) -> Result<Box<dyn Node>> + Send>;

/// Returns true if functions keep state for the rows of a piece, which is passed by number.
pub type KeepsStates = Box<dyn Fn(u64) -> bool + Send>;

/// Returns how many pieces to read ahead with this much memory in bytes.
pub type NumUpcoming = Box<dyn Fn(usize) -> usize + Send>;

/// The order in which pieces are read.
pub enum PieceOrder {
    /// In ascending order. The number is the total number of pieces.
    Natural(u64),
    /// Another one.
    Permuted(Permutation),
    /// Every `count`-th piece in another order, starting at an index.
    Shard(Box<Self>, u64, u64),
}

impl PieceOrder {
    fn len(&self) -> u64 {
        match self {
            Self::Natural(len) => *len,
            Self::Permuted(permutation) => permutation.len(),
            Self::Shard(order, index, count) => order.len().saturating_sub(*index).div_ceil(*count),
        }
    }

    fn get(&self, position: u64) -> u64 {
        match self {
            Self::Natural(_) => position,
            Self::Permuted(permutation) => permutation.get(position),
            Self::Shard(order, index, count) => order.get(index + position * count),
        }
    }
}

/// A node that reads pieces. Several pieces are open at the same time and return one row each in
/// turn. When a piece ends, the next one takes its place.
pub struct Pieces {
    start: StartPiece,
    order: PieceOrder,
    /// The checkpoint at which a piece begins.
    beginning: Checkpoint,
    /// The number of pieces begun so far, which is also the position of the next one.
    num_begun: u64,
    /// The number of pieces that have ended since this node was created.
    num_ended: u64,
    slots: Vec<Option<Piece>>,
    /// Ended pieces whose functions keep state. Checkpoints include them.
    ended: Vec<Piece>,
    keeps_states: KeepsStates,
    /// The slot that returns the next row.
    turn: usize,
    /// The next pieces, which are read ahead, and whether the first task of each has started.
    upcoming: VecDeque<(Input, bool)>,
    num_upcoming: NumUpcoming,
    /// An error to return after the rows before it.
    error: Option<Error>,
    synchronous: bool,
    /// The boundaries of pieces, and the charge for their memory.
    borders: Option<(Arc<KeptBorders>, Option<Charge>)>,
}

struct Piece {
    position: u64,
    input: Input,
}

impl Pieces {
    /// Opens up to `num_open` pieces at once and reads `num_upcoming` more ahead. Continues from a
    /// checkpoint's state; the caller skips the rows that follow it.
    pub fn new(
        start: StartPiece,
        keeps_states: KeepsStates,
        order: PieceOrder,
        num_open: usize,
        num_upcoming: NumUpcoming,
        checkpoint: &Checkpoint,
    ) -> Result<Self> {
        let num_open = usize::try_from(order.len()).map_or(num_open, |len| num_open.min(len)).max(1);
        let mut pieces = Self {
            start,
            order,
            beginning: checkpoint.beginning(),
            num_begun: 0,
            num_ended: 0,
            slots: Vec::new(),
            ended: Vec::new(),
            keeps_states,
            turn: 0,
            upcoming: VecDeque::new(),
            num_upcoming,
            error: None,
            synchronous: false,
            borders: None,
        };
        match checkpoint.state() {
            None => {
                for _ in 0..num_open {
                    let piece = pieces.next_piece()?;
                    pieces.slots.push(piece);
                }
            }
            Some(state) => pieces.restore(&state.numbers, checkpoint, num_open)?,
        }
        Ok(pieces)
    }

    /// Sets the boundaries of pieces, whose memory is charged too.
    pub fn with_borders(self, borders: Option<Arc<KeptBorders>>) -> Self {
        Self { borders: borders.map(|borders| (borders, None)), ..self }
    }

    /// Updates the charge for the boundaries' memory.
    fn charge_borders(&mut self, context: &Context) {
        if let Some((borders, charge)) = &mut self.borders {
            let num_bytes = borders.held_bytes();
            let charge = charge.get_or_insert_with(|| context.budget.charge(0));
            if charge.num_bytes() != num_bytes {
                charge.correct(num_bytes);
            }
        }
    }

    /// If `synchronous`, returns one row at a time and only polls a piece when its row is next.
    pub fn synchronous(mut self, synchronous: bool) -> Self {
        self.synchronous = synchronous;
        self
    }

    fn restore(&mut self, numbers: &[u64], checkpoint: &Checkpoint, num_open: usize) -> Result<()> {
        let [num_begun, turn, positions @ ..] = numbers else { return Err(damaged()) };
        let most = (*num_begun).min(self.order.len());
        if positions.len() < num_open || *num_begun != most || *turn >= num_open as u64 {
            return Err(damaged());
        }
        if positions.iter().any(|position| *position > most) {
            return Err(damaged());
        }
        (self.num_begun, self.turn) = (*num_begun, *turn as usize);
        let mut num_inputs = 0;
        for (slot, position) in positions.iter().enumerate() {
            let piece = match position.checked_sub(1) {
                None => None,
                Some(position) => {
                    let first = checkpoint.input(num_inputs)?;
                    num_inputs += 1;
                    Some(Piece { position, input: self.input(position, first)? })
                }
            };
            if slot < num_open {
                self.slots.push(piece);
                continue;
            }
            let mut piece = piece.ok_or_else(damaged)?;
            piece.input.is_left_out = true;
            self.ended.push(piece);
        }
        Ok(())
    }

    fn input(&self, position: u64, first: Checkpoint) -> Result<Input> {
        let mut input = Input::new((self.start)(self.order.get(position), &first)?, first);
        input.is_behind_last = self.beginning.states().is_some_and(|states| states.has_any());
        Ok(input)
    }

    /// Returns the next piece in order, or `None` after the last one.
    fn next_piece(&mut self) -> Result<Option<Piece>> {
        let position = self.num_begun;
        if position >= self.order.len() {
            return Ok(None);
        }
        let input = match self.upcoming.pop_front() {
            Some((input, _)) => input,
            None => self.input(position, self.beginning.clone())?,
        };
        self.num_begun += 1;
        Ok(Some(Piece { position, input }))
    }

    /// Returns the checkpoint of the next row.
    fn checkpoint(&self) -> Checkpoint {
        let positions = self.slots.iter().map(|slot| slot.as_ref().map_or(0, |piece| piece.position + 1));
        let ended = self.ended.iter().map(|piece| piece.position + 1);
        let numbers = [self.num_begun, self.turn as u64].into_iter().chain(positions).chain(ended);
        let pieces = self.slots.iter().flatten().chain(&self.ended);
        Checkpoint::new(numbers, pieces.map(|piece| piece.input.checkpoint()))
    }

    /// Lets all open and upcoming pieces read ahead, starting with the piece of the next row. Only
    /// that piece may exceed the budget.
    fn read_ahead(&mut self, context: &mut Context) -> Result<()> {
        let (later, first) = self.slots.split_at_mut(self.turn);
        let mut open = first.iter_mut().chain(later).flatten().map(|piece| &mut piece.input);
        if let Some(next) = open.next().filter(|input| input.is_empty()) {
            next.fill(context);
        }
        let is_stuck = std::mem::take(&mut context.is_stuck);
        open.filter(|input| input.is_empty()).for_each(|input| input.fill(context));
        // Until a piece has ended, reading more than the minimum would only delay the first rows.
        let limit_bytes = if self.num_ended == 0 { 0 } else { context.budget.limit_bytes() };
        let num_upcoming = (self.num_upcoming)(limit_bytes);
        while self.upcoming.len() < num_upcoming {
            let position = self.num_begun + self.upcoming.len() as u64;
            if position >= self.order.len() {
                break;
            }
            let input = self.input(position, self.beginning.clone())?;
            self.upcoming.push_back((input, false));
        }
        let mut have_started = std::mem::take(&mut context.has_started);
        for (index, (input, has_begun)) in self.upcoming.iter_mut().enumerate() {
            if !input.is_empty() || (*has_begun && index >= MOST_POLLED) {
                continue;
            }
            input.fill(context);
            let has_started = std::mem::take(&mut context.has_started);
            *has_begun |= has_started || !input.is_pending();
            have_started |= has_started;
        }
        context.has_started = have_started;
        context.is_stuck = is_stuck;
        Ok(())
    }

    /// Collects rows while they are available. Returns true if none are left. Stores the first
    /// row's checkpoint in `checkpoint`.
    fn take(&mut self, rows: &mut Rows, checkpoint: &mut Checkpoint, context: &mut Context) -> Result<bool> {
        let most = if self.synchronous { 1 } else { GROUP_ROWS };
        let mut num_closed = 0;
        while rows.len() < most {
            let num_slots = self.slots.len();
            let Some(piece) = self.slots.get_mut(self.turn) else { return Ok(true) };
            let Some(Piece { input, .. }) = piece else {
                num_closed += 1;
                if num_closed == num_slots {
                    return Ok(true);
                }
                self.turn = (self.turn + 1) % num_slots;
                continue;
            };
            num_closed = 0;
            if input.is_empty() {
                input.fill(context);
            }
            if !input.is_empty() {
                if rows.is_empty() {
                    *checkpoint = self.checkpoint();
                }
                self.take_rounds(rows, most);
                continue;
            }
            if input.skip_event.is_some() {
                return Ok(false);
            }
            if let Some(error) = input.error.take() {
                return Err(error);
            }
            if input.node.is_some() {
                return Ok(false);
            }
            let next = self.next_piece()?;
            let ended = std::mem::replace(&mut self.slots[self.turn], next);
            self.num_ended += 1;
            self.ended.extend(ended.filter(|piece| (self.keeps_states)(self.order.get(piece.position))));
        }
        Ok(false)
    }
}

impl Pieces {
    /// Collects the same number of rows from each open piece, as many as every piece has, up to
    /// `most` in total. If that isn't possible, collects one row from the piece whose turn it is.
    fn take_rounds(&mut self, rows: &mut Rows, most: usize) {
        let num_slots = self.slots.len();
        let (later, first) = self.slots.split_at_mut(self.turn);
        let mut inputs: SmallVec<[&mut Input; 16]> =
            first.iter_mut().chain(later).flatten().map(|piece| &mut piece.input).collect();
        let most = (most - rows.len()) / inputs.len();
        let num_rounds = inputs.iter().map(|input| input.run_length()).min().unwrap_or(0).min(most);
        if num_rounds == 0 {
            inputs[0].push_next(rows, None);
            self.turn = (self.turn + 1) % num_slots;
            return;
        }
        let runs: SmallVec<[_; 16]> = inputs.iter_mut().map(|input| input.take_run(rows, num_rounds)).collect();
        if let [(block, start)] = runs[..] {
            rows.push_run(block, start, num_rounds);
            return;
        }
        for round in 0..num_rounds {
            runs.iter().for_each(|(block, start)| rows.push_run(*block, start + round, 1));
        }
    }
}

impl Node for Pieces {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        self.charge_borders(context);
        if !all_catch_up(self.ended.iter_mut().map(|piece| &mut piece.input), context)? {
            return Ok(Poll::Pending);
        }
        if !self.synchronous {
            self.read_ahead(context)?;
        }
        self.slots.iter_mut().flatten().for_each(|piece| piece.input.begin_group());
        self.upcoming.iter_mut().for_each(|(input, _)| input.begin_group());
        let (mut rows, mut checkpoint) = (Rows::new(), Checkpoint::default());
        let is_over = match self.take(&mut rows, &mut checkpoint, context) {
            Err(error) if !rows.is_empty() => {
                self.error = Some(error);
                false
            }
            result => result?,
        };
        if !rows.is_empty() {
            return Ok(Poll::Ready(rows.with_checkpoint(checkpoint)));
        }
        let next = self.slots.get_mut(self.turn).and_then(Option::as_mut);
        if let Some(skip_event) = next.and_then(|piece| piece.input.skip_event.take()) {
            return Ok(Poll::SkipEvent(skip_event));
        }
        Ok(if is_over { Poll::End } else { Poll::Pending })
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        all_catch_up(self.slots.iter_mut().flatten().chain(&mut self.ended).map(|piece| &mut piece.input), context)
    }
}
