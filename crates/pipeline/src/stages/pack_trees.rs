//! Packs the rows of a group as prefix trees, after splitting groups into rows.

use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::Column;
use crate::blocks::gather::gather;
use crate::blocks::rows::Rows;
use crate::stages::Stage;
use crate::stages::carried::{Along, carried, one_row};
use crate::stages::collate::unstacked;
use crate::stages::pack::all_lists;
use crate::stages::packed_lists::{ListColumn, PackedLists, misfit};
use crate::stages::prefix_tree::{Key, OrderedNode, PrefixTree};
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use std::sync::Arc;

/// Makes one row of a group of rows: the values of their prefix tree, node by node. The lengths of
/// the nodes follow, their parents (-1 for a root), the position of each value in its lists, and
/// the last node of each list. Other values are last.
pub struct PackTrees {
    /// The first columns, with lists.
    pub lists: Vec<ListColumn>,
    /// The number of the first column after them whose values are collected in the row.
    pub first_along: usize,
    /// These columns.
    pub along: Vec<Along>,
}

impl Stage for PackTrees {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let lists = all_lists(&rows, &self.lists)?;
        let Some(first) = lists.first() else { return Err(Error::internal("no lists to pack")) };
        let mut tree = PrefixTree::default();
        for row in 0..first.len() {
            tree.add(&Key::of(&lists, row), first.range(row).start);
        }
        let (nodes, leaves) = tree.ordered();
        let mut columns = lists.iter().map(|lists| values(lists, &nodes, tree.len())).collect::<Result<Vec<_>>>()?;
        columns.push(numbers(nodes.iter().map(|node| node.source.len()))?);
        columns.push(integers(nodes.iter().map(|node| node.parent.map_or(-1, |parent| parent as i32)))?);
        columns.push(numbers(nodes.iter().flat_map(|node| node.depth..node.depth + node.source.len()))?);
        columns.push(numbers(leaves.into_iter())?);
        columns.extend(carried(&rows, self.first_along, &self.along)?);
        let provenance =
            rows.group().map_or(Provenance::Unknown, |group| Provenance::Run(Arc::clone(&group.file), group.number));
        Block::new(columns, 1, provenance).map(Rows::all)
    }

    fn is_row_wise(&self) -> bool {
        false
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}

/// The values of all nodes.
fn values(lists: &PackedLists, nodes: &[OrderedNode], length: usize) -> Result<Column> {
    let (shape, dtype) = (lists.shape(length), lists.values().dtype());
    let mut bytes: Vec<u8> = allocate::elements(dtype, &shape).room()?;
    nodes.iter().for_each(|node| bytes.extend_from_slice(lists.bytes(node.source.clone())));
    Tensor::from_bytes(dtype, shape.clone(), bytes.into()).map(one_row)
}

fn numbers(values: impl Iterator<Item = usize>) -> Result<Column> {
    integers(values.map(|value| value as i32))
}

fn integers(values: impl Iterator<Item = i32>) -> Result<Column> {
    let values = allocate::gathered(values).map_err(|refusal| refusal.at("a packed row"))?;
    Tensor::from_values(Shape::new(&[values.len()]), values).map(one_row)
}

/// Splits groups, whose columns have a leading axis, into rows. A column is added that marks the
/// last row of each group. Rows with empty lists are dropped.
pub struct SplitGroups {
    /// The names of the columns. The first one has lists.
    pub names: Vec<String>,
    /// The number of the added column.
    pub marks: usize,
}

impl Stage for SplitGroups {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let block = rows.gather()?;
        let mut split = Rows::new();
        for group in 0..block.num_rows() {
            let columns = block.columns.iter().map(|column| unstacked(column, group)).collect::<Result<Vec<_>>>()?;
            let num_rows = columns.first().map_or(0, Column::len);
            if let Some((name, other)) = self.names.iter().zip(&columns).find(|(_, column)| column.len() != num_rows) {
                let text = format!(
                    "pack: the component '{}' of a group has {num_rows} rows, '{name}' has {}, expected equal numbers. \
                     Correct the group, or filter it out",
                    self.names[0],
                    other.len()
                );
                return Err(misfit(text, block.row_provenance(group)));
            }
            let kept: Vec<_> = (0..num_rows).filter(|row| columns[0].row_length(*row) > 0).collect();
            let Some(last) = kept.last() else { continue };
            let marks = kept.iter().map(|row| u8::from(row == last)).collect();
            let marks = Tensor::from_values(Shape::new(&[kept.len()]), marks)?.with_dtype(DType::Bool)?;
            let mut columns = columns
                .iter()
                .map(|column| gather(&[column], kept.iter().map(|row| (0, *row))))
                .collect::<Result<Vec<_>>>()?;
            columns.insert(self.marks, Column::Dense(marks));
            let provenance = block.provenance().made_of(kept.iter().map(|row| (group, *row as u64)));
            split.append(&Rows::all(Block::new(columns, kept.len(), provenance)?));
        }
        Ok(split)
    }
}
