//! Rows with lists in groups whose lists fill a given length.

use crate::error::{Error, Result};
use crate::pipeline::block::{Block, FileOrigin};
use crate::pipeline::budget::Budget;
use crate::pipeline::mark::{Mark, damaged};
use crate::pipeline::node::{Context, Node, Poll, Position};
use crate::pipeline::nodes::held::{Holding, Place};
use crate::pipeline::nodes::numbered::{Given, Numbered, Restart};
use crate::pipeline::nodes::waiting::{Marks, Waiting};
use crate::pipeline::rows::{Cursor, Rows};
use crate::pipeline::stages::pack::unequal;
use std::collections::VecDeque;
use std::sync::Arc;

/// How rows are packed.
#[derive(Clone, Debug)]
pub struct Packing {
    /// The columns with lists, which have equal lengths in a row.
    pub num_columns: usize,
    /// What the lists of a group have together, at most.
    pub length: usize,
    /// How many groups are open at the same time, at most.
    pub max_open: usize,
}

/// The node. Each row goes into the first group that has room for it (first fit). If none has, a new one is opened; if too
/// many are open, the fullest leaves.
///
/// Source: Johnson, "Near-Optimal Bin Packing Algorithms" (1973); for a bounded number of open bins, Csirik and Johnson,
/// "Bounded Space On-Line Bin Packing: Best Is Better Than First" (SODA 1991).
pub struct Pack {
    input: Numbered,
    packing: Packing,
    position: Position,
    open: VecDeque<Bin>,
    holding: Holding,
    incoming: Cursor,
    /// The number of the row that comes next.
    next_row: u64,
    /// Groups that are whole.
    ready: VecDeque<Bin>,
    is_over: bool,
    /// Comes after the groups that were whole before it.
    error: Option<Error>,
    /// Counts the groups.
    origin: Arc<FileOrigin>,
    next: u64,
    marks: Marks,
    /// So many groups are left out.
    skip: u64,
    /// After it was taken up again: the group of each row that comes next.
    recalled: VecDeque<usize>,
}

#[derive(Default)]
struct Bin {
    /// The number of each row, and where it waits.
    rows: Vec<(u64, Place)>,
    /// How many elements their lists have.
    used: usize,
}

impl Pack {
    /// Groups of the rows of `input`.
    pub fn new(input: Box<dyn Node>, packing: Packing, position: Position) -> Self {
        Self::with(Numbered::new(input), packing, position)
    }

    /// The same from a mark on, which counts groups.
    pub fn from_mark(mark: &Mark, restart: Restart, packing: Packing, position: Position) -> Result<Self> {
        let mut pack = match Waiting::of(mark)? {
            None => Self::new(restart(&Mark::default())?, packing, position),
            Some(Waiting { numbers: [next], rows, next_row, parts, notes }) => {
                let recalled: VecDeque<_> = notes.iter().map(|bin| *bin as usize).collect();
                let num_open = recalled.iter().max().map_or(0, |last| last + 1);
                if recalled.len() != rows.len() || num_open > packing.max_open {
                    return Err(damaged());
                }
                let input = Numbered::recalled(parts, &rows, next_row, restart)?;
                let open = (0..num_open).map(|_| Bin::default()).collect();
                Self { next, recalled, open, ..Self::with(input, packing, position) }
            }
        };
        pack.marks.set(mark.base());
        pack.skip = mark.skip();
        Ok(pack)
    }

    fn with(input: Numbered, packing: Packing, position: Position) -> Self {
        Self {
            input,
            packing,
            position,
            open: VecDeque::new(),
            holding: Holding::default(),
            incoming: Cursor::default(),
            next_row: 0,
            ready: VecDeque::new(),
            is_over: false,
            error: None,
            origin: FileOrigin::unnamed("packed row", position.pass),
            next: 0,
            marks: Marks::default(),
            skip: 0,
            recalled: VecDeque::new(),
        }
    }

    /// The state in which the rows wait that wait now.
    fn state(&mut self) -> Mark {
        let bins = self.open.iter().enumerate();
        let mut rows: Vec<_> =
            bins.flat_map(|(bin, open)| open.rows.iter().map(move |row| (row.0, bin as u64))).collect();
        rows.sort_unstable();
        let (rows, notes): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let next = (self.next_row, self.incoming.mark());
        Waiting::mark([self.next], &rows, &notes, next, self.holding.arrivals())
    }

    /// Puts the rows that came into groups, until one is whole.
    fn sort(&mut self, budget: &Arc<Budget>) -> Result<()> {
        while self.ready.is_empty()
            && let Some((block, row)) = self.incoming.next()
        {
            let length = self.packing.length_of(block, row)?;
            let number = self.next_row;
            self.next_row += 1;
            let bin = self.recalled.pop_front();
            if length == 0 {
                continue;
            }
            let place = (self.holding.add(block, row..row + 1, budget)?, row as u32);
            let bin = match bin {
                Some(bin) => bin,
                None => self.first_fit(length),
            };
            let open = &mut self.open[bin];
            open.rows.push((number, place));
            open.used += length;
            if open.used > self.packing.length {
                return Err(damaged());
            }
            if open.used == self.packing.length && self.recalled.is_empty() {
                self.ready.extend(self.open.remove(bin));
            }
        }
        Ok(())
    }

    /// The number of the open group that takes a row.
    fn first_fit(&mut self, length: usize) -> usize {
        let has_room = |bin: &Bin| bin.used + length <= self.packing.length;
        if let Some(bin) = self.open.iter().position(has_room) {
            return bin;
        }
        if self.open.len() >= self.packing.max_open {
            let fullest = (0..self.open.len()).rev().max_by_key(|bin| self.open[*bin].used);
            self.ready.extend(fullest.and_then(|bin| self.open.remove(bin)));
        }
        self.open.push_back(Bin::default());
        self.open.len() - 1
    }

    /// The rows of a group that is whole.
    fn give(&mut self, bin: Bin, context: &Context) -> Result<Rows> {
        let mut rows = Rows::new();
        self.holding.begin_group();
        for (_, place) in bin.rows {
            self.holding.give(place, &mut rows, context.budget)?;
        }
        if let Some(meter) = context.meters.stage(self.position.stage) {
            meter.note_padding(self.packing.length - bin.used, self.packing.length);
        }
        Ok(rows)
    }
}

impl Packing {
    /// How many elements each list of a row has.
    fn length_of(&self, block: &Block, row: usize) -> Result<usize> {
        let length = |column: usize| block.columns[column].row_length(row);
        let first = length(0);
        if let Some(other) = (1..self.num_columns).map(length).find(|other| *other != first) {
            return Err(at(unequal(first, other), block, row));
        }
        if first > self.length {
            let text = format!(
                "pack: an example has {first} elements, expected at most {}. Use split=True to cut it, or filter it out",
                self.length
            );
            return Err(at(Error::invalid_argument(text), block, row));
        }
        Ok(first)
    }
}

/// The error with the place at which the row was read.
#[cold]
fn at(error: Error, block: &Block, row: usize) -> Error {
    match block.origin(row) {
        Some(origin) => Error::new(error.code(), format!("{origin}: {}", error.message())),
        None => error,
    }
}

impl Node for Pack {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            if self.ready.is_empty() && self.marks.is_due(self.open.iter().map(|bin| bin.rows.len()).sum()) {
                let mark = self.state();
                self.marks.set(mark);
            }
            if self.error.is_none() {
                self.error = self.sort(context.budget).err();
            }
            if let Some(bin) = self.ready.pop_front() {
                let (number, mark) = (self.next, self.marks.next(bin.rows.len()));
                self.next += 1;
                let rows = self.give(bin, context)?;
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
                    let num_waiting: usize = self.open.iter().map(|bin| bin.rows.capacity()).sum();
                    self.holding.look_at(context.budget, num_waiting * size_of::<(u64, Place)>())?;
                    self.holding.begin_arrival(first, rows.mark(0));
                    self.next_row = first;
                    self.incoming = Cursor::new(rows);
                }
                Given::Pending => return Ok(Poll::Pending),
                Given::End => {
                    self.is_over = true;
                    let open = std::mem::take(&mut self.open);
                    self.ready.extend(open.into_iter().filter(|bin| !bin.rows.is_empty()));
                }
            }
        }
    }
}
