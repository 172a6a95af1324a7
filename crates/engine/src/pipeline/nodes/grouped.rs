//! Rows in groups that fill up side by side: those of similar lengths, or those that fill a length together.

use crate::error::{Error, Result};
use crate::order;
use crate::pipeline::block::{Block, FileOrigin};
use crate::pipeline::budget::Budget;
use crate::pipeline::mark::{Mark, damaged};
use crate::pipeline::meters::Meter;
use crate::pipeline::node::{Context, Node, Poll, Position};
use crate::pipeline::nodes::held::{Holding, Place};
use crate::pipeline::nodes::numbered::{Given, Numbered, Restart};
use crate::pipeline::nodes::waiting::{Marks, Waiting};
use crate::pipeline::rows::{Cursor, Rows};
use std::collections::VecDeque;
use std::sync::Arc;

/// Says which rows go together.
pub trait Grouping: Send {
    /// What groups are called in messages.
    const WORD: &'static str;

    /// How long a row is; `None` if it is left out.
    fn length(&self, block: &Block, row: usize) -> Result<Option<usize>>;

    /// Puts a row of this length into a group. `note` is what [`Grouping::notes`] said of it, if the group was left and is taken up
    /// again. Groups that are whole go to the end of `whole`.
    fn add(&mut self, row: Waits, length: usize, note: Option<u64>, whole: &mut VecDeque<Group>) -> Result<()>;

    /// The groups that are not whole.
    fn open(&self) -> &[Group];

    /// Takes the groups that are left at the end.
    fn finish(&mut self) -> Vec<Group>;

    /// Whether [`Grouping::add`] needs to know in which of the open groups a row was.
    fn has_notes(&self) -> bool {
        false
    }

    /// Counts a group that is whole.
    fn count(&self, _group: &Group, _meter: &Meter) {}
}

/// A row that waits: its number, and where it is.
pub type Waits = (u64, Place);

/// Rows that go together.
#[derive(Debug, Default)]
pub struct Group {
    /// In the order in which they came.
    pub rows: Vec<Waits>,
    /// What the grouping counts of their lengths.
    pub length: usize,
}

/// The node.
pub struct Grouped<G> {
    input: Numbered,
    grouping: G,
    stage: usize,
    holding: Holding,
    incoming: Cursor,
    /// The number of the row that comes next.
    next_row: u64,
    /// Groups that are whole.
    whole: VecDeque<Group>,
    is_over: bool,
    /// Comes after the groups that were whole before it.
    error: Option<Error>,
    /// Counts the groups.
    origin: Arc<FileOrigin>,
    next: u64,
    marks: Marks,
    /// So many groups are left out.
    skip: u64,
    /// What was noted of the rows that come next, which waited before.
    notes: VecDeque<u64>,
}

impl<G: Grouping> Grouped<G> {
    /// Groups of the rows of an input, from a mark on, which counts groups.
    pub fn from_mark(mark: &Mark, restart: Restart, grouping: G, position: Position) -> Result<Self> {
        let (input, next, notes) = match Waiting::of(mark)? {
            None => (Numbered::new(restart(&mark.beginning())?), 0, Vec::new()),
            Some(Waiting { numbers: [next], rows, notes, next_row, parts }) => {
                if grouping.has_notes() && notes.len() != rows.len() {
                    return Err(damaged());
                }
                let states = mark.states();
                let within = |(first, part): (u64, Mark)| (first, part.with_states(states.cloned()));
                let parts = parts.into_iter().map(within).collect();
                (Numbered::recalled(parts, &rows, next_row, restart)?, next, notes)
            }
        };
        let mut marks = Marks::default();
        marks.set(mark.base());
        Ok(Self {
            input,
            grouping,
            stage: position.stage,
            holding: Holding::default(),
            incoming: Cursor::default(),
            next_row: 0,
            whole: VecDeque::new(),
            is_over: false,
            error: None,
            origin: FileOrigin::unnamed(G::WORD, position.pass),
            next,
            marks,
            skip: mark.skip(),
            notes: notes.into(),
        })
    }

    fn num_waiting(&self) -> usize {
        self.grouping.open().iter().map(|group| group.rows.len()).sum()
    }

    /// The state in which the rows wait that wait now.
    fn state(&mut self) -> Mark {
        let groups = self.grouping.open().iter().enumerate();
        let rows: Vec<_> =
            groups.flat_map(|(number, group)| group.rows.iter().map(move |row| (row.0, number as u64))).collect();
        let places = order::by_key(rows.len(), |place| rows[place]);
        let (rows, mut notes): (Vec<_>, Vec<_>) = places.into_iter().map(|place| rows[place]).unzip();
        if !self.grouping.has_notes() {
            notes.clear();
        }
        let next = (self.next_row, self.incoming.mark());
        Waiting::mark([self.next], &rows, &notes, next, self.holding.arrivals())
    }

    /// Puts the rows that came into groups, until one is whole.
    fn sort(&mut self, budget: &Arc<Budget>) -> Result<()> {
        while self.whole.is_empty()
            && let Some((block, row)) = self.incoming.next()
        {
            let length = self.grouping.length(block, row)?;
            let (number, note) = (self.next_row, self.notes.pop_front());
            self.next_row += 1;
            if let Some(length) = length {
                let place = (self.holding.add(block, row..row + 1, budget)?, row as u32);
                self.grouping.add((number, place), length, note, &mut self.whole)?;
            }
        }
        Ok(())
    }

    /// The rows of a group that is whole.
    fn give(&mut self, group: Group, context: &Context) -> Result<Rows> {
        if let Some(meter) = context.meters.stage(self.stage) {
            self.grouping.count(&group, meter);
        }
        let mut rows = Rows::new();
        self.holding.begin_group();
        group.rows.into_iter().try_for_each(|(_, place)| self.holding.give(place, &mut rows, context.budget))?;
        Ok(rows)
    }
}

impl<G: Grouping> Node for Grouped<G> {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            if self.whole.is_empty() && self.marks.is_due(self.num_waiting()) {
                let mark = self.state();
                self.marks.set(mark);
            }
            if self.error.is_none() {
                self.error = self.sort(context.budget).err();
            }
            if let Some(group) = self.whole.pop_front() {
                let (number, mark) = (self.next, self.marks.next(group.rows.len()));
                self.next += 1;
                let rows = self.give(group, context)?;
                if self.skip > 0 {
                    self.skip -= 1;
                    continue;
                }
                return Ok(Poll::Ready(rows.in_group(Some((Arc::clone(&self.origin), number))).marked(mark)));
            }
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if self.is_over {
                return Ok(Poll::End);
            }
            match self.input.pull(context)? {
                Given::Rows(first, rows) => {
                    let num_waiting: usize = self.grouping.open().iter().map(|group| group.rows.capacity()).sum();
                    self.holding.look_at(context.budget, num_waiting * size_of::<Waits>())?;
                    self.holding.begin_arrival(first, rows.mark(0));
                    self.next_row = first;
                    self.incoming = Cursor::new(rows);
                }
                Given::Note(note) => return Ok(Poll::Note(note)),
                Given::Pending => return Ok(Poll::Pending),
                Given::End => {
                    self.is_over = true;
                    let left = self.grouping.finish();
                    self.whole.extend(left.into_iter().filter(|group| !group.rows.is_empty()));
                }
            }
        }
    }
}
