//! Orders packed rows so that ranks get rows of equal cost.

use crate::blocks::block::Block;
use crate::nodes::groups::group_by::{Group, Waits};
use crate::stages::packed_lists::misfit;
use headrace_engine::error::Result;
use headrace_engine::kernels::math::cast::cast;
use headrace_engine::tensor::dtype::DType;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// How many rows per rank are sorted together.
const ROWS_OF_RANK: usize = 8;

/// A part of the cost of a row, which depends on one of its components.
#[derive(Clone, Copy, Debug)]
pub struct CostTerm {
    /// The number of the column.
    pub column: usize,
    /// How the column determines the cost.
    pub measure: CostMeasure,
    /// The cost of one unit of the measure.
    pub weight: f64,
}

/// How a component determines a cost.
#[derive(Clone, Copy, Debug)]
pub enum CostMeasure {
    /// The number of elements.
    Length,
    /// The square of the length.
    Square,
    /// The sum of the values.
    Sum,
}

impl CostTerm {
    /// The cost of a list of this length.
    pub(super) fn of(&self, length: usize) -> f64 {
        let length = length as f64;
        self.weight
            * match self.measure {
                CostMeasure::Length => length,
                // Sums don't depend on lengths: they are only for components that are carried along.
                CostMeasure::Square | CostMeasure::Sum => length.powi(2),
            }
    }

    /// The cost of a row. Fails if a value is negative or not finite.
    pub(super) fn of_row(&self, block: &Block, row: usize) -> Result<f64> {
        let column = &block.columns[self.column];
        let CostMeasure::Sum = self.measure else { return Ok(self.of(column.row_length(row))) };
        let values = cast(&column.row(row)?, DType::Float64)?;
        let values = values.values::<f64>()?;
        match values.iter().find(|value| !(value.is_finite() && **value >= 0.0)) {
            None => Ok(self.weight * values.iter().sum::<f64>()),
            Some(value) => {
                let text = format!(
                    "pack: a component in cost has the value {value}, expected finite numbers of at least 0 for 'sum'"
                );
                Err(misfit(text, block.row_provenance(row)))
            }
        }
    }
}

/// The cost of a row: the sum of some terms.
pub(super) fn row_cost<'a>(terms: impl Iterator<Item = &'a CostTerm>, block: &Block, row: usize) -> Result<f64> {
    terms.map(|term| term.of_row(block, row)).sum()
}

impl Group {
    /// Adds a row.
    pub(super) fn add(&mut self, row: Waits, length: usize, cost: f64) {
        self.rows.push(row);
        self.length += length;
        self.cost += cost;
    }
}

/// Complete groups that wait until there are enough of them.
///
/// They are returned in rounds of groups with similar costs, one group for each rank. Within a
/// round, the rank with the lowest cost so far gets the most expensive group. So any number of
/// rounds is balanced, whatever the size of batches.
pub struct Balanced {
    num_ranks: usize,
    /// In the order of their completion.
    pub waiting: Vec<Group>,
}

impl Balanced {
    /// With a single rank, groups are returned at once.
    pub fn new(num_ranks: usize) -> Self {
        Self { num_ranks: num_ranks.max(1), waiting: Vec::new() }
    }

    /// The largest number of groups that wait.
    pub fn num_waiting(&self) -> usize {
        if self.num_ranks == 1 { 0 } else { self.num_ranks.saturating_mul(ROWS_OF_RANK) }
    }

    /// Adds a group, and appends complete groups to `whole`.
    pub fn push(&mut self, group: Group, whole: &mut VecDeque<Group>) {
        self.waiting.push(group);
        if self.waiting.len() >= self.num_waiting() {
            whole.extend(in_rounds(std::mem::take(&mut self.waiting), self.num_ranks));
        }
    }

    /// The remaining groups at the end, and those that are still open.
    pub fn finish(&mut self, open: Vec<Group>) -> Vec<Group> {
        let mut whole = VecDeque::new();
        let open = open.into_iter().filter(|group| !group.rows.is_empty());
        open.for_each(|group| self.push(group, &mut whole));
        whole.extend(in_rounds(std::mem::take(&mut self.waiting), self.num_ranks));
        whole.into()
    }
}

/// Groups in rounds. Rounds come in the order of their first groups; an incomplete round is last.
fn in_rounds(groups: Vec<Group>, num_ranks: usize) -> Vec<Group> {
    if num_ranks == 1 {
        return groups;
    }
    // Fewer groups than ranks are one round.
    let num_ranks = num_ranks.min(groups.len());
    let mut positions: Vec<_> = groups.into_iter().enumerate().collect();
    positions.sort_by(|(one, a), (other, b)| b.cost.total_cmp(&a.cost).then(one.cmp(other)));
    let mut rounds: Vec<Vec<_>> = Vec::new();
    let mut positions = positions.into_iter().peekable();
    while positions.peek().is_some() {
        rounds.push(positions.by_ref().take(num_ranks).collect());
    }
    rounds.sort_by_key(|round| (Reverse(round.len()), round.iter().map(|(position, _)| *position).min()));
    let mut costs: Vec<_> = (0..num_ranks).map(|_| 0.0_f64).collect();
    let mut ordered = Vec::new();
    for round in rounds {
        // The groups have descending costs.
        let mut ranks: Vec<_> = (0..num_ranks).collect();
        ranks.sort_by(|one, other| costs[*one].total_cmp(&costs[*other]).then(one.cmp(other)));
        ranks.truncate(round.len());
        let mut of_ranks: Vec<_> = ranks.into_iter().zip(round).collect();
        of_ranks.iter().for_each(|(rank, (_, group))| costs[*rank] += group.cost);
        of_ranks.sort_by_key(|(rank, _)| *rank);
        ordered.extend(of_ranks.into_iter().map(|(_, (_, group))| group));
    }
    ordered
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(costs: &[f64]) -> Vec<Group> {
        costs.iter().map(|cost| Group { cost: *cost, ..Group::default() }).collect()
    }

    #[test]
    fn rounds_have_groups_of_similar_cost_and_ranks_alternate() {
        let ordered = in_rounds(groups(&[1.0, 9.0, 2.0, 8.0, 7.0, 3.0]), 2);
        let costs: Vec<_> = ordered.iter().map(|group| group.cost).collect();
        assert_eq!(costs, [2.0, 1.0, 8.0, 9.0, 7.0, 3.0]);
        let sum = |rank: usize| costs.iter().skip(rank).step_by(2).sum::<f64>();
        assert_eq!((sum(0), sum(1)), (17.0, 13.0));
    }

    #[test]
    fn incomplete_round_comes_last_and_no_row_is_lost() {
        let costs: Vec<f64> = (0..11).map(|number| f64::from(number * number % 7)).collect();
        let ordered = in_rounds(groups(&costs), 4);
        assert_eq!(ordered.len(), 11);
        let (mut ordered_costs, mut all_costs): (Vec<_>, _) = (ordered.iter().map(|group| group.cost).collect(), costs);
        assert!(ordered_costs[8..].iter().all(|cost| *cost <= ordered_costs[..8].iter().copied().fold(0.0, f64::max)));
        ordered_costs.sort_unstable_by(f64::total_cmp);
        all_costs.sort_unstable_by(f64::total_cmp);
        assert_eq!(ordered_costs, all_costs);
    }
}
