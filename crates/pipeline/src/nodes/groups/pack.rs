//! Packs rows: groups them so that their lists fill a given length together.

use crate::blocks::block::Block;
use crate::checkpoint::damaged;
use crate::nodes::groups::balanced::{Balanced, CostTerm, row_cost};
use crate::nodes::groups::group_by::{Group, Grouping, Waits};
use crate::nodes::groups::sizes::Sizes;
use crate::nodes::step_facts::{BatchesOfInput, RowShards, StepFacts};
use crate::stages::packed_lists::{ListColumn, list_length, misfit, unequal};
use crate::tasks::meters::Meter;
use headrace_engine::error::Result;
use std::cmp::{Ordering, Reverse};
use std::collections::VecDeque;

/// The rules for packing rows.
#[derive(Clone, Debug)]
pub struct Packing {
    /// The first columns, whose lists have equal lengths within a row.
    pub lists: Vec<ListColumn>,
    /// The largest total length of the lists of a group.
    pub lengths: Sizes,
    /// The position of the first row. Positions of consecutive rows differ by the number of ranks.
    pub first: u64,
    /// The largest number of groups open at the same time.
    pub max_open: usize,
    /// The number of ranks that get groups of equal cost, at least 1.
    pub balance: usize,
    /// The parts of a row's cost.
    pub costs: Vec<CostTerm>,
}

impl Packing {
    /// The length of a group that begins with this row.
    pub(super) fn length_from(&self, number: u64) -> usize {
        self.lengths.at(number.saturating_mul(self.lengths.num_ranks()).saturating_add(self.first))
    }

    /// The length that a group has room for.
    pub(super) fn length_of(&self, group: &Group) -> usize {
        group.rows.first().map_or_else(|| self.lengths.largest(), |(number, _)| self.length_from(*number))
    }

    /// The length that is left in a group.
    pub(super) fn room(&self, group: &Group) -> usize {
        self.length_of(group).saturating_sub(group.length)
    }
}

/// Groups of rows. Each row goes into the first group that has room for it (first fit). Otherwise a
/// new group is opened; if too many are open, the fullest is returned. The length of a group is the
/// total length of its rows. To balance ranks, whole groups wait until there are some for each
/// rank.
///
/// Source: Johnson, "Near-Optimal Bin Packing Algorithms" (1973); for a bounded number of open
/// bins, Csirik and Johnson, "Bounded Space On-Line Bin Packing: Best Is Better Than First" (SODA
/// 1991).
pub struct FirstFit {
    packing: Packing,
    open: Vec<Group>,
    /// Whole groups that wait to be put in order.
    balanced: Balanced,
}

impl FirstFit {
    /// The properties of the step.
    pub const FACTS: StepFacts = StepFacts {
        is_one_to_one: false,
        is_row_wise: false,
        python_worker: None,
        keeps_pieces: false,
        is_cache: false,
        may_end_early: false,
        shards: RowShards::None,
        batches: BatchesOfInput::None,
    };

    /// No groups.
    pub fn new(packing: Packing) -> Self {
        let balanced = Balanced::new(packing.balance);
        Self { packing, open: Vec::new(), balanced }
    }

    /// The number of the open group for a row.
    fn first_fit(&mut self, length: usize, whole: &mut VecDeque<Group>) -> usize {
        if let Some(number) = self.open.iter().position(|group| length <= self.packing.room(group)) {
            return number;
        }
        if self.open.len() >= self.packing.max_open {
            let fullest =
                (0..self.open.len()).rev().max_by_key(|number| Reverse(self.packing.room(&self.open[*number])));
            let fullest = fullest.map(|number| self.open.remove(number));
            fullest.into_iter().for_each(|group| self.balanced.push(group, whole));
        }
        self.open.push(Group::default());
        self.open.len() - 1
    }

    /// The group in which a row was: an open one, or one that waited.
    fn recalled(&mut self, tag: u64) -> Result<&mut Group> {
        let number = usize::try_from(tag).map_err(|_| damaged())?;
        let (groups, number) = match number.checked_sub(self.packing.max_open) {
            None => (&mut self.open, number),
            Some(number) if number < self.balanced.num_waiting() => (&mut self.balanced.waiting, number),
            Some(_) => return Err(damaged()),
        };
        while groups.len() <= number {
            groups.push(Group::default());
        }
        Ok(&mut groups[number])
    }
}

impl Grouping for FirstFit {
    const WORD: &'static str = "packed row";

    /// The length of the lists, and their cost.
    type Size = (usize, f64);

    fn size(&self, block: &Block, row: usize, number: u64) -> Result<Option<(usize, f64)>> {
        let (mut first, most) = (None, self.packing.length_from(number));
        for (column, list) in block.columns.iter().zip(&self.packing.lists) {
            let length = list_length(column, row, list, block)?;
            if *first.get_or_insert(length) != length {
                return Err(unequal(first.unwrap_or(0), length, block.row_provenance(row)));
            }
        }
        let first = first.unwrap_or(0);
        if first > most {
            let cut =
                if self.packing.lengths.is_constant() { "Use split=True to cut it" } else { "Cut it before pack" };
            let text =
                format!("pack: an example has {first} elements, expected at most {most}. {cut}, or filter it out");
            return Err(misfit(text, block.row_provenance(row)));
        }
        let cost = row_cost(self.packing.costs.iter(), block, row)?;
        Ok((first > 0).then_some((first, cost)))
    }

    fn add(
        &mut self,
        row: Waits,
        (length, cost): Self::Size,
        tag: Option<u64>,
        whole: &mut VecDeque<Group>,
    ) -> Result<()> {
        if let Some(tag) = tag {
            // The open groups at the checkpoint were incomplete.
            let least_room = usize::from(tag < self.packing.max_open as u64);
            let first = self.recalled(tag)?.rows.first().map_or(row.0, |(number, _)| *number);
            let most = self.packing.length_from(first).saturating_sub(least_room);
            let group = self.recalled(tag)?;
            group.add(row, length, cost);
            return if group.length <= most { Ok(()) } else { Err(damaged()) };
        }
        let number = self.first_fit(length, whole);
        let group = &mut self.open[number];
        group.add(row, length, cost);
        match group.length.cmp(&self.packing.length_of(group)) {
            Ordering::Less => {}
            Ordering::Equal => {
                let group = self.open.remove(number);
                self.balanced.push(group, whole);
            }
            Ordering::Greater => return Err(damaged()),
        }
        Ok(())
    }

    fn open(&self) -> impl Iterator<Item = (u64, &Group)> {
        let waiting = (self.packing.max_open as u64..).zip(&self.balanced.waiting);
        (0..).zip(&self.open).chain(waiting)
    }

    fn size_of(&self, group: &Group) -> usize {
        self.packing.length_of(group)
    }

    fn finish(&mut self) -> Vec<Group> {
        let open = std::mem::take(&mut self.open);
        self.balanced.finish(open)
    }

    fn has_tags(&self) -> bool {
        true
    }

    fn count(&self, group: &Group, meter: &Meter) {
        meter.note_padding(self.packing.room(group), self.packing.length_of(group));
    }
}
