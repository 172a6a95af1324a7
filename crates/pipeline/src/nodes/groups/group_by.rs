//! Groups rows while several groups are being filled at the same time, by similar lengths or up
//! to a total length.

use crate::blocks::block::{Block, FileProvenance};
use crate::blocks::part_counts::RowAnnotations;
use crate::blocks::rows::{self, Cursor, Rows};
use crate::budget::Budget;
use crate::checkpoint::{Checkpoint, damaged};
use crate::node::{Context, Node, Poll, Position};
use crate::nodes::buffers::buffered_checkpoint::{BatchCheckpoints, BufferedCheckpoint};
use crate::nodes::buffers::pending_rows::{PendingRow, PendingRows};
use crate::nodes::buffers::replay::{Replay, ReplayPoll, Restart};
use crate::tasks::meters::Meter;
use headrace_engine::error::{Error, Result};
use headrace_engine::order;
use std::collections::VecDeque;
use std::sync::Arc;

/// The rule by which rows are grouped.
pub trait Grouping: Send {
    /// The term for groups in messages.
    const WORD: &'static str;

    /// The size of a row, which determines its group.
    type Size;

    /// The size of a row, or `None` if the row is dropped.
    fn size(&self, block: &Block, row: usize, number: u64) -> Result<Option<Self::Size>>;

    /// Puts a row of this size into a group. After a resume, `tag` is the tag that the row's group
    /// had at the checkpoint. Complete groups are appended to `whole`.
    fn add(&mut self, row: Waits, size: Self::Size, tag: Option<u64>, whole: &mut VecDeque<Group>) -> Result<()>;

    /// The groups that are waiting, each with its tag.
    fn open(&self) -> impl Iterator<Item = (u64, &Group)>;

    /// Takes the remaining groups at the end.
    fn finish(&mut self) -> Vec<Group>;

    /// Returns true if [`Grouping::add`] needs to know which open group a row was in.
    fn has_tags(&self) -> bool {
        false
    }

    /// The number of rows, or of elements, that a group has room for.
    fn size_of(&self, group: &Group) -> usize;

    /// The memory that it uses, without the rows.
    fn held_bytes(&self) -> usize {
        0
    }

    /// The number of rows that were dropped at the end.
    fn num_left_out(&self) -> usize {
        0
    }

    /// Returns true if the rule changes once all groups are skipped, after a resume.
    fn is_changing(&self) -> bool {
        false
    }

    /// Changes the rule. Groups that are complete now are appended to `whole`.
    fn change(&mut self, _whole: &mut VecDeque<Group>) -> Result<()> {
        Ok(())
    }

    /// Counts a complete group in a meter.
    fn count(&self, _group: &Group, _meter: &Meter) {}
}

/// A buffered row: its row number, and its position in the buffer.
pub type Waits = (u64, PendingRow);

/// Rows that belong together.
#[derive(Debug, Default)]
pub struct Group {
    /// The rows in order of arrival.
    pub rows: Vec<Waits>,
    /// The length of the group, as defined by the grouping.
    pub length: usize,
    /// The total cost of its rows, as defined by the grouping.
    pub cost: f64,
}

/// A node that groups rows.
pub struct GroupBy<G> {
    input: Replay,
    grouping: G,
    stage: usize,
    pending: PendingRows,
    incoming: Cursor,
    /// The number of the next row.
    next_row: u64,
    /// Complete groups.
    whole: VecDeque<Group>,
    is_over: bool,
    /// An error to return after the groups completed before it.
    error: Option<Error>,
    /// The provenance that numbers the groups.
    file_provenance: Arc<FileProvenance>,
    next: u64,
    checkpoints: BatchCheckpoints,
    /// The number of groups to skip.
    skip: u64,
    /// The information that a group records about its rows.
    annotations: RowAnnotations,
    /// The tags of the rows that were buffered at the checkpoint, in the order in which they arrive
    /// again.
    tags: VecDeque<u64>,
}

impl<G: Grouping> GroupBy<G> {
    /// Continues from a checkpoint whose skip counts groups.
    pub fn from_checkpoint(checkpoint: &Checkpoint, restart: Restart, grouping: G, position: Position) -> Result<Self> {
        let (input, next, tags) = match BufferedCheckpoint::of(checkpoint)? {
            None => (Replay::new(restart(&checkpoint.beginning())?), 0, Vec::new()),
            Some(BufferedCheckpoint { numbers: [next], rows, tags, next_row, parts }) => {
                if grouping.has_tags() && tags.len() != rows.len() {
                    return Err(damaged());
                }
                let states = checkpoint.states();
                let within = |(first, part): (u64, Checkpoint)| (first, part.with_states(states.cloned()));
                let parts = parts.into_iter().map(within).collect();
                (Replay::recalled(parts, &rows, next_row, restart)?, next, tags)
            }
        };
        let mut checkpoints = BatchCheckpoints::default();
        checkpoints.set(checkpoint.base());
        Ok(Self {
            input,
            grouping,
            stage: position.stage,
            pending: PendingRows::default(),
            incoming: Cursor::default(),
            next_row: 0,
            whole: VecDeque::new(),
            is_over: false,
            error: None,
            file_provenance: FileProvenance::unnamed(G::WORD, position.pass),
            next,
            checkpoints,
            skip: checkpoint.skip(),
            annotations: RowAnnotations::default(),
            tags: tags.into(),
        })
    }

    /// Sets the information that a group records about its rows.
    pub fn with_annotations(self, annotations: RowAnnotations) -> Self {
        Self { annotations, ..self }
    }

    fn num_waiting(&self) -> usize {
        self.grouping.open().map(|(_, group)| group.rows.len()).sum()
    }

    /// Returns a state with the currently buffered rows.
    fn state(&mut self) -> Checkpoint {
        let groups = self.grouping.open();
        let rows: Vec<_> = groups.flat_map(|(tag, group)| group.rows.iter().map(move |row| (row.0, tag))).collect();
        let positions = order::by_key(rows.len(), |index| rows[index]);
        let (rows, mut tags): (Vec<_>, Vec<_>) = positions.into_iter().map(|index| rows[index]).unzip();
        if !self.grouping.has_tags() {
            tags.clear();
        }
        let next = (self.next_row, self.incoming.checkpoint());
        BufferedCheckpoint::checkpoint([self.next], &rows, &tags, next, self.pending.arrivals())
    }

    /// Assigns the arrived rows to groups until one of them is complete.
    fn sort(&mut self, budget: &Arc<Budget>) -> Result<()> {
        while self.whole.is_empty()
            && let Some((block, row)) = self.incoming.next_run(1)
        {
            let size = self.grouping.size(block, row, self.next_row)?;
            let (number, tag) = (self.next_row, self.tags.pop_front());
            self.next_row += 1;
            if let Some(size) = size {
                let slot = (self.pending.add(block, row..row + 1, budget)?, row as u32);
                self.grouping.add((number, slot), size, tag, &mut self.whole)?;
            }
        }
        Ok(())
    }

    /// Returns the rows of a complete group.
    fn give(&mut self, group: Group, context: &Context) -> Result<Rows> {
        if let Some(meter) = context.meters.stage(self.stage) {
            self.grouping.count(&group, meter);
        }
        let mut rows = Rows::new();
        self.pending.begin_group();
        let positions: Vec<_> = group.rows.iter().map(|(_, position)| *position).collect();
        self.pending.give_all(&positions, &mut rows, context.budget)?;
        Ok(rows)
    }
}

impl<G: Grouping> GroupBy<G> {
    /// Makes one step towards the next result. Returns `None` if another step is needed.
    fn step(&mut self, context: &mut Context) -> Result<Option<Poll>> {
        if self.skip == 0 && self.grouping.is_changing() {
            // At this position, the rows of groups that become complete now are still waiting.
            let checkpoint = self.state();
            self.checkpoints.set(checkpoint);
            self.grouping.change(&mut self.whole)?;
        }
        if self.whole.is_empty() && self.checkpoints.is_due(self.num_waiting()) {
            let checkpoint = self.state();
            self.checkpoints.set(checkpoint);
        }
        if self.error.is_none() {
            self.error = self.sort(context.budget).err();
        }
        if let Some(group) = self.whole.pop_front() {
            let (number, checkpoint) = (self.next, self.checkpoints.next(group.rows.len()));
            self.next += 1;
            let size = self.grouping.size_of(&group);
            let rows = self.give(group, context)?;
            if self.skip > 0 {
                self.skip -= 1;
                return Ok(None);
            }
            let file = self.annotations.of(&self.file_provenance, &rows);
            let group = rows::Group { file, number, size };
            return Ok(Some(Poll::Ready(rows.in_group(Some(group)).with_checkpoint(checkpoint))));
        }
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        if self.is_over {
            return Ok(Some(Poll::End));
        }
        match self.input.pull(context)? {
            ReplayPoll::Rows(first, rows) => {
                let num_waiting: usize = self.grouping.open().map(|(_, group)| group.rows.capacity()).sum();
                let num_bytes = num_waiting * size_of::<Waits>() + self.grouping.held_bytes();
                self.pending.look_at(context.budget, num_bytes)?;
                self.pending.begin_arrival(first, rows.checkpoint(0));
                self.next_row = first;
                self.incoming = Cursor::new(rows);
            }
            ReplayPoll::SkipEvent(skip_event) => return Ok(Some(Poll::SkipEvent(skip_event))),
            ReplayPoll::Pending => return Ok(Some(Poll::Pending)),
            ReplayPoll::End => {
                self.is_over = true;
                let left = self.grouping.finish();
                if let Some(meter) = context.meters.stage(self.stage) {
                    meter.leave_out(self.grouping.num_left_out());
                }
                self.whole.extend(left.into_iter().filter(|group| !group.rows.is_empty()));
            }
        }
        Ok(None)
    }
}

impl<G: Grouping> Node for GroupBy<G> {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        loop {
            if let Some(poll) = self.step(context)? {
                return Ok(poll);
            }
        }
    }

    fn replay_skipped(&mut self, context: &mut Context) -> Result<bool> {
        if !self.input.replay_skipped(context)? {
            return Ok(false);
        }
        while self.skip > 0 {
            match self.step(context)? {
                // A skip event was returned before the checkpoint.
                None | Some(Poll::SkipEvent(_) | Poll::Ready(_)) => {}
                Some(Poll::Pending) => return Ok(false),
                Some(Poll::End) => return Ok(true),
            }
        }
        Ok(true)
    }
}
