//! Packs the rows of a group, such as the answers to one prompt, into prefix trees.

use crate::blocks::block::Block;
use crate::blocks::gather::gather;
use crate::checkpoint::damaged;
use crate::nodes::groups::balanced::{Balanced, row_cost};
use crate::nodes::groups::group_by::{Group, Grouping, Waits};
use crate::nodes::groups::pack::Packing;
use crate::stages::packed_lists::{PackedLists, misfit, unequal};
use crate::stages::prefix_tree::{Key, PrefixTree};
use headrace_engine::error::Result;
use headrace_engine::tensor::dtype::DType;
use std::collections::VecDeque;

/// The rules for packing rows into trees.
#[derive(Clone, Debug)]
pub struct TreePacking {
    /// The rules for rows. The length of a group is the number of positions in its tree.
    pub packing: Packing,
    /// The number of the column that identifies a row's group.
    pub id: usize,
    /// The number of the column that marks the last row of each group, if there is one.
    pub marks: Option<usize>,
}

/// Groups rows with the same id. A tree is returned once its last row has arrived, if the next row
/// doesn't fit, or if too many trees are open and it is the oldest.
pub struct TreeFit {
    packing: TreePacking,
    open: Vec<OpenTree>,
    /// Whole groups that wait to be put in order.
    balanced: Balanced,
    /// The trees of whole groups, while their rows arrive again after a resume.
    recalled: Vec<PrefixTree>,
}

/// A row of a tree.
pub struct TreeRow {
    id: Vec<u8>,
    key: Key,
    /// The cost of the columns that are not lists of the tree.
    cost: f64,
    is_last: bool,
}

#[derive(Default)]
struct OpenTree {
    id: Vec<u8>,
    tree: PrefixTree,
    group: Group,
}

impl TreeFit {
    /// No trees.
    pub fn new(packing: TreePacking) -> Self {
        let balanced = Balanced::new(packing.packing.balance);
        Self { packing, open: Vec::new(), balanced, recalled: Vec::new() }
    }

    /// The number of the open tree for a row.
    fn tree_for(&mut self, row: &TreeRow, whole: &mut VecDeque<Group>) -> usize {
        let number = self.open.iter().position(|open| open.id == row.id);
        if let Some(number) = number.filter(|number| self.fits(row, &self.open[*number])) {
            return number;
        }
        let closed = number.or_else(|| (self.open.len() >= self.packing.packing.max_open).then_some(0));
        if let Some(number) = closed {
            self.close(number, whole);
        }
        self.open.push(OpenTree { id: row.id.clone(), ..OpenTree::default() });
        self.open.len() - 1
    }

    fn fits(&self, row: &TreeRow, open: &OpenTree) -> bool {
        open.tree.is_like(&row.key)
            && row.key.len() - open.tree.num_shared(&row.key) <= self.packing.packing.room(&open.group)
    }

    fn close(&mut self, number: usize, whole: &mut VecDeque<Group>) {
        let open = self.open.remove(number);
        self.balanced.push(open.group, whole);
    }

    /// Puts a row back into the tree that held it at the checkpoint.
    fn recall(&mut self, row: Waits, of: &TreeRow, tag: u64) -> Result<()> {
        let number = usize::try_from(tag).map_err(|_| damaged())?;
        let packing = &self.packing.packing;
        let (group, tree) = match number.checked_sub(packing.max_open) {
            None => {
                let missing = (number + 1).saturating_sub(self.open.len());
                self.open.extend(std::iter::repeat_with(OpenTree::default).take(missing));
                let open = &mut self.open[number];
                open.id.clone_from(&of.id);
                (&mut open.group, &mut open.tree)
            }
            Some(number) if number < self.balanced.num_waiting() => {
                let groups = &mut self.balanced.waiting;
                let missing = (number + 1).saturating_sub(groups.len());
                groups.extend(std::iter::repeat_with(Group::default).take(missing));
                let missing = (number + 1).saturating_sub(self.recalled.len());
                self.recalled.extend(std::iter::repeat_with(PrefixTree::default).take(missing));
                (&mut groups[number], &mut self.recalled[number])
            }
            Some(_) => return Err(damaged()),
        };
        if !tree.is_like(&of.key) {
            return Err(damaged());
        }
        add_to(group, tree, row, of, packing);
        if group.length > packing.length_of(group) { Err(damaged()) } else { Ok(()) }
    }
}

fn add_to(group: &mut Group, tree: &mut PrefixTree, row: Waits, of: &TreeRow, packing: &Packing) {
    // The stage that makes the tree looks up the values, so their place is not needed here.
    let num_shared = tree.add(&of.key, 0);
    let terms = packing.costs.iter().filter(|term| term.column < packing.lists.len());
    let cost: f64 = terms.map(|term| term.of(of.key.len()) - term.of(num_shared)).sum();
    group.add(row, of.key.len() - num_shared, of.cost + cost);
}

impl Grouping for TreeFit {
    const WORD: &'static str = "packed row";

    type Size = TreeRow;

    fn size(&self, block: &Block, row: usize, number: u64) -> Result<Option<TreeRow>> {
        let TreePacking { packing, id, marks } = &self.packing;
        let lists = block.columns.iter().zip(&packing.lists).map(|(column, list)| {
            let column = gather(&[column], std::iter::once((0, row)))?;
            PackedLists::of(&column, list, |_| block.row_provenance(row))
        });
        let lists = lists.collect::<Result<Vec<_>>>()?;
        let length = lists.first().map_or(0, |list| list.row_length(0));
        if let Some(other) = lists.iter().find(|list| list.row_length(0) != length) {
            return Err(unequal(length, other.row_length(0), block.row_provenance(row)));
        }
        let most = packing.length_from(number);
        if length > most {
            let text = format!(
                "pack: an example has {length} elements, expected at most {most}. Cut it before pack, or filter it out"
            );
            return Err(misfit(text, block.row_provenance(row)));
        }
        let id = block.columns[*id].row(row)?;
        let id = match id.dtype() {
            DType::String => id.string_scalar("the id of a group")?.to_vec(),
            _ => id.bytes().to_vec(),
        };
        let is_last = match marks {
            Some(marks) => block.columns[*marks].row(row)?.bool_scalar("the mark of a row")?,
            None => false,
        };
        let others = packing.costs.iter().filter(|term| term.column >= packing.lists.len());
        let cost = row_cost(others, block, row)?;
        Ok((length > 0).then(|| TreeRow { id, key: Key::of(&lists, 0), cost, is_last }))
    }

    fn add(&mut self, row: Waits, of: TreeRow, tag: Option<u64>, whole: &mut VecDeque<Group>) -> Result<()> {
        if let Some(tag) = tag {
            return self.recall(row, &of, tag);
        }
        self.recalled.clear();
        let number = self.tree_for(&of, whole);
        let open = &mut self.open[number];
        add_to(&mut open.group, &mut open.tree, row, &of, &self.packing.packing);
        if of.is_last {
            self.close(number, whole);
        }
        Ok(())
    }

    fn open(&self) -> impl Iterator<Item = (u64, &Group)> {
        let waiting = (self.packing.packing.max_open as u64..).zip(&self.balanced.waiting);
        (0..).zip(self.open.iter().map(|open| &open.group)).chain(waiting)
    }

    fn size_of(&self, group: &Group) -> usize {
        group.length
    }

    fn finish(&mut self) -> Vec<Group> {
        let open = std::mem::take(&mut self.open);
        self.balanced.finish(open.into_iter().map(|open| open.group).collect())
    }

    fn has_tags(&self) -> bool {
        true
    }

    fn held_bytes(&self) -> usize {
        self.open.iter().map(|open| open.tree.held_bytes()).sum()
    }
}
