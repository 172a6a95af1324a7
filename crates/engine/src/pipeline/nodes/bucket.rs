//! Rows of similar lengths in groups.

use crate::error::Result;
use crate::pipeline::block::{FileOrigin, Pass};
use crate::pipeline::budget::Budget;
use crate::pipeline::mark::Mark;
use crate::pipeline::node::{Context, Node, Poll};
use crate::pipeline::nodes::held::{Holding, Place};
use crate::pipeline::nodes::numbered::{Given, Numbered, Restart};
use crate::pipeline::nodes::waiting::{Marks, Waiting};
use crate::pipeline::rows::{Cursor, Rows};
use std::collections::VecDeque;
use std::sync::Arc;

/// Which rows go together, and how many.
#[derive(Clone, Debug)]
pub struct Buckets {
    /// The column whose lengths are looked at.
    pub column: usize,
    /// The longest length of each bucket but the last, rising.
    pub boundaries: Vec<usize>,
    /// So many rows are a batch.
    pub size: Option<usize>,
    /// A batch has at most so many elements in the column once it is padded, unless it is one row.
    pub max_elements: Option<usize>,
    /// Whether rows are padded to the boundary of their bucket, not to the longest of their batch.
    pub pads_to_boundary: bool,
    /// Whether rows that are too few for a batch at the end are left out.
    pub drops_remainder: bool,
}

impl Buckets {
    /// The number of the bucket for rows of this length.
    fn of(&self, length: usize) -> usize {
        self.boundaries.partition_point(|boundary| *boundary < length)
    }

    /// How long rows of this bucket are, once they are padded as its longest, `longest`, needs it.
    fn width(&self, bucket: usize, longest: usize) -> usize {
        match self.boundaries.get(bucket) {
            Some(boundary) if self.pads_to_boundary => *boundary,
            _ => longest,
        }
    }

    /// Whether so many rows, as long as `longest`, have too many elements.
    fn are_too_many(&self, bucket: usize, longest: usize, num_rows: usize) -> bool {
        let elements = self.width(bucket, longest).saturating_mul(num_rows);
        self.max_elements.is_some_and(|most| elements > most)
    }

    /// Whether no row can be added.
    fn are_full(&self, bucket: usize, filling: &Filling) -> bool {
        let num_rows = filling.rows.len();
        self.size == Some(num_rows) || self.are_too_many(bucket, filling.longest, num_rows + 1)
    }
}

/// The node.
pub struct Bucket {
    input: Numbered,
    buckets: Buckets,
    filling: Vec<Filling>,
    holding: Holding,
    incoming: Cursor,
    /// The number of the row that comes next.
    next_row: u64,
    /// Batches that are whole.
    ready: VecDeque<Rows>,
    is_over: bool,
    /// Counts the batches.
    origin: Arc<FileOrigin>,
    next: u64,
    marks: Marks,
    /// So many batches are left out.
    skip: u64,
}

#[derive(Default)]
struct Filling {
    /// The number of each row, and where it waits.
    rows: Vec<(u64, Place)>,
    longest: usize,
}

impl Bucket {
    /// Batches of the rows of `input`.
    pub fn new(input: Box<dyn Node>, buckets: Buckets, pass: Pass) -> Self {
        Self::with(Numbered::new(input), buckets, pass)
    }

    /// The same from a mark on, which counts batches.
    pub fn from_mark(mark: &Mark, restart: Restart, buckets: Buckets, pass: Pass) -> Result<Self> {
        let mut bucket = match Waiting::of(mark)? {
            None => Self::new(restart(&Mark::default())?, buckets, pass),
            Some(Waiting { numbers: [next], rows, next_row, parts, .. }) => {
                let input = Numbered::recalled(parts, &rows, next_row, restart)?;
                Self { next, ..Self::with(input, buckets, pass) }
            }
        };
        bucket.marks.set(mark.base());
        bucket.skip = mark.skip();
        Ok(bucket)
    }

    fn with(input: Numbered, buckets: Buckets, pass: Pass) -> Self {
        let filling = (0..=buckets.boundaries.len()).map(|_| Filling::default()).collect();
        let origin = FileOrigin::unnamed("batch", pass);
        let (holding, incoming, ready) = (Holding::default(), Cursor::default(), VecDeque::new());
        let (marks, next_row) = (Marks::default(), 0);
        Self {
            input,
            buckets,
            filling,
            holding,
            incoming,
            next_row,
            ready,
            is_over: false,
            origin,
            next: 0,
            marks,
            skip: 0,
        }
    }

    /// The state in which the rows wait that wait now.
    fn state(&mut self) -> Mark {
        let mut rows: Vec<_> = self.filling.iter().flat_map(|filling| filling.rows.iter().map(|row| row.0)).collect();
        rows.sort_unstable();
        let next = (self.next_row, self.incoming.mark());
        Waiting::mark([self.next], &rows, &[], next, self.holding.arrivals())
    }

    /// Puts the rows that came into their buckets, until a batch is whole.
    fn sort(&mut self, budget: &Arc<Budget>) -> Result<()> {
        while self.ready.is_empty()
            && let Some((block, row)) = self.incoming.next()
        {
            let length = block.columns[self.buckets.column].row_length(row);
            let place = (self.holding.add(block, row..row + 1, budget)?, row as u32);
            let number = self.next_row;
            self.next_row += 1;
            let bucket = self.buckets.of(length);
            let filling = &mut self.filling[bucket];
            let longest = filling.longest.max(length);
            let is_whole =
                !filling.rows.is_empty() && self.buckets.are_too_many(bucket, longest, filling.rows.len() + 1);
            if is_whole {
                self.ready.push_back(filling.take(&mut self.holding, budget)?);
            }
            filling.longest = filling.longest.max(length);
            filling.rows.push((number, place));
            if self.buckets.are_full(bucket, filling) {
                self.ready.push_back(filling.take(&mut self.holding, budget)?);
            }
        }
        Ok(())
    }
}

impl Filling {
    fn take(&mut self, holding: &mut Holding, budget: &Arc<Budget>) -> Result<Rows> {
        let mut rows = Rows::new();
        holding.begin_group();
        let places = std::mem::take(self).rows;
        places.into_iter().try_for_each(|(_, place)| holding.give(place, &mut rows, budget))?;
        Ok(rows)
    }
}

impl Node for Bucket {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            if self.ready.is_empty() && self.marks.is_due(self.filling.iter().map(|filling| filling.rows.len()).sum()) {
                let mark = self.state();
                self.marks.set(mark);
            }
            self.sort(context.budget)?;
            if let Some(rows) = self.ready.pop_front() {
                let (number, mark) = (self.next, self.marks.next(rows.len()));
                self.next += 1;
                if self.skip > 0 {
                    self.skip -= 1;
                    continue;
                }
                return Ok(Poll::Ready(rows.in_group(Some((Arc::clone(&self.origin), number))).marked(mark)));
            }
            if self.is_over {
                return Ok(Poll::End);
            }
            match self.input.pull(context)? {
                Given::Rows(first, rows) => {
                    let num_waiting: usize = self.filling.iter().map(|filling| filling.rows.capacity()).sum();
                    self.holding.look_at(context.budget, num_waiting * size_of::<(u64, Place)>())?;
                    self.holding.begin_arrival(first, rows.mark(0));
                    self.next_row = first;
                    self.incoming = Cursor::new(rows);
                }
                Given::Pending => return Ok(Poll::Pending),
                Given::End => {
                    self.is_over = true;
                    for filling in self.filling.iter_mut().filter(|filling| !filling.rows.is_empty()) {
                        self.ready.push_back(filling.take(&mut self.holding, context.budget)?);
                    }
                    if self.buckets.drops_remainder {
                        self.ready.clear();
                    }
                }
            }
        }
    }
}
