//! Splits episodes into their steps.

use super::convert::REMEDY;
use super::stored::{StoredFeature, sum_of};
use super::{Encoding, column};
use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::{Column, Ragged};
use crate::blocks::rows::Rows;
use crate::stages::text;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::shape::Shape;
use std::sync::Arc;

/// Splits episodes into steps, and numbers the episodes.
pub struct Episodes {
    /// The number of the first episode of each file. It is negative if the first episodes are left
    /// out and the next one is number 0.
    firsts: Vec<i64>,
}

/// The parsed columns of a feature, with one row per step.
struct StepColumns {
    columns: Vec<Column>,
    feature: StoredFeature,
    /// The number of steps in each episode.
    num_steps: Vec<usize>,
}

impl Episodes {
    /// `firsts` has the number of the first episode of each file.
    pub fn new(firsts: Vec<i64>) -> Self {
        Self { firsts }
    }

    /// Returns one row per step: the features, and the number of the episode.
    pub(super) fn apply(&self, features: &[StoredFeature], rows: &Rows) -> Result<Rows> {
        let inputs = rows.gather()?;
        let of_steps = features.iter().filter(|feature| feature.is_of_steps);
        let split =
            of_steps.map(|feature| StepColumns::of(feature, &inputs.columns, rows)).collect::<Result<Vec<_>>>()?;
        let Some(first) = split.first() else { return Err(Error::internal("episodes have no features with steps")) };
        let num_steps = first.num_steps.clone();
        for other in &split {
            let uneven = num_steps.iter().zip(&other.num_steps).position(|(one, other)| one != other);
            if let Some(row) = uneven {
                return Err(uneven_steps(rows, row, first, other));
            }
        }
        // A row per step that refers to its episode.
        let mut steps = Rows::new();
        let mut ids = Vec::new();
        for (row, count) in num_steps.iter().enumerate() {
            let id = self.number(rows, row)?;
            for _ in 0..*count {
                steps.push(&inputs, row, 1);
                ids.push(id);
            }
        }
        if steps.is_empty() {
            return Ok(Rows::new());
        }
        let mut split = split.into_iter();
        let columns = features.iter().map(|feature| match feature.is_of_steps {
            true => {
                let step = split.next().ok_or_else(|| Error::internal("a feature of steps is missing"))?;
                step.feature.restored(&step.columns, &steps)
            }
            false => repeated(&feature.restored(&inputs.columns, rows)?, &num_steps),
        });
        let mut columns = columns.collect::<Result<Vec<_>>>()?;
        columns.push(Column::Dense(Tensor::from_values(Shape::new(&[ids.len()]), ids)?));
        let of_episodes = num_steps.iter().enumerate();
        let numbers = of_episodes.flat_map(|(row, count)| (0..*count as u64).map(move |number| (row, number)));
        let provenance = inputs.provenance().made_of(numbers);
        Block::new(columns, steps.len(), provenance).map(Rows::all)
    }

    /// The number of an episode, counted over all files.
    fn number(&self, rows: &Rows, row: usize) -> Result<i64> {
        let unknown = || Error::internal("the record of an episode is unknown");
        let row_id = rows.row_provenance(row).ok_or_else(unknown)?.row_id()?;
        let first = usize::try_from(row_id.file).ok().and_then(|file| self.firsts.get(file)).ok_or_else(unknown)?;
        first.checked_add_unsigned(row_id.record).ok_or_else(unknown)
    }
}

impl StepColumns {
    /// Splits the columns of a feature. Nothing is copied, because the values of consecutive steps
    /// are contiguous.
    fn of(feature: &StoredFeature, columns: &[Column], rows: &Rows) -> Result<Self> {
        let lists = |number| match column(columns, number)? {
            Column::Ragged(lists) => Ok(lists),
            _ => Err(Error::internal("the feature of a step is not a list")),
        };
        let values = lists(feature.values)?;
        let shape = feature.shape.get(1..).unwrap_or_default().to_vec();
        let num_sequences = feature.num_sequences.saturating_sub(1);
        let step =
            StoredFeature { shape, num_sequences, values: 0, lengths: Vec::new(), sizes: None, ..feature.clone() };
        let Some((outer, inner)) = feature.lengths.split_first() else {
            let length: usize = match feature.encoding {
                Encoding::Values => step.shape.iter().flatten().product(),
                Encoding::Bytes | Encoding::Zlib => 1,
            };
            let num_steps = evenly_split(feature, values, length, rows)?;
            let total: usize = num_steps.iter().sum();
            let shape = match feature.encoding {
                Encoding::Values => step.shape.iter().map(|size| size.unwrap_or(0)).collect(),
                Encoding::Bytes | Encoding::Zlib => Shape::scalar(),
            };
            let mut columns = vec![Column::Dense(values.values().clone().reshaped(shape.batched(total))?)];
            let sizes = match feature.sizes {
                Some(number) => {
                    let sizes = lists(number)?;
                    let of_sizes = evenly_split(feature, sizes, step.shape.len(), rows)?;
                    if let Some(row) = num_steps.iter().zip(&of_sizes).position(|(one, other)| one != other) {
                        return Err(misfit(feature, rows, row, sizes.row_length(row)));
                    }
                    let shape = Shape::new(&[total, step.shape.len()]);
                    columns.push(Column::Dense(sizes.values().clone().reshaped(shape)?));
                    Some(1)
                }
                None => None,
            };
            return Ok(Self { columns, feature: StoredFeature { sizes, ..step }, num_steps });
        };
        let outer = lists(*outer)?;
        let num_steps = (0..outer.len()).map(|row| outer.row_length(row)).collect();
        // The number of items at the current depth, of each step.
        let mut counts =
            (0..outer.len()).map(|row| counts(feature, outer, rows, row)).collect::<Result<Vec<_>>>()?.concat();
        let mut split = Vec::new();
        for number in inner {
            let lengths = lists(*number)?;
            check_total(feature, lengths, outer, &counts, rows)?;
            let ends = ends(&counts);
            let lengths = Ragged::new(lengths.values().clone(), ends);
            counts = (0..lengths.len())
                .map(|step| sum_of(&lengths, step).ok_or_else(|| misfit(feature, rows, 0, lengths.row_length(step))))
                .collect::<Result<_>>()?;
            split.push(Column::Ragged(lengths));
        }
        let item_length: usize = step.shape[num_sequences.min(step.shape.len())..].iter().flatten().product();
        for count in &mut counts {
            *count = count.checked_mul(item_length).ok_or_else(|| misfit(feature, rows, 0, *count))?;
        }
        check_total(feature, values, outer, &counts, rows)?;
        let mut columns = vec![Column::Ragged(Ragged::new(values.values().clone(), ends(&counts)))];
        let lengths = (1..=split.len()).collect();
        columns.extend(split);
        Ok(Self { columns, feature: StoredFeature { lengths, ..step }, num_steps })
    }
}

/// The number of steps in each episode, if each step has `length` values.
fn evenly_split(feature: &StoredFeature, values: &Ragged, length: usize, rows: &Rows) -> Result<Vec<usize>> {
    let count = |row| match values.row_length(row).checked_rem(length) {
        Some(0) => Ok(values.row_length(row) / length),
        _ => Err(misfit(feature, rows, row, values.row_length(row))),
    };
    (0..values.len()).map(count).collect()
}

/// The lengths in a row.
fn counts(feature: &StoredFeature, lengths: &Ragged, rows: &Rows, row: usize) -> Result<Vec<usize>> {
    let count =
        |length: &i64| usize::try_from(*length).map_err(|_| misfit(feature, rows, row, lengths.row_length(row)));
    lengths.values().values::<i64>()?[lengths.range(row)].iter().map(count).collect()
}

/// Fails unless the steps of each episode have as many values together as the episode.
fn check_total(feature: &StoredFeature, values: &Ragged, outer: &Ragged, counts: &[usize], rows: &Rows) -> Result<()> {
    for row in 0..values.len() {
        let of_steps = &counts[outer.range(row)];
        let total = of_steps.iter().try_fold(0_usize, |total, count| total.checked_add(*count));
        if total != Some(values.row_length(row)) {
            return Err(misfit(feature, rows, row, values.row_length(row)));
        }
    }
    Ok(())
}

fn ends(counts: &[usize]) -> Vec<usize> {
    let mut end = 0;
    let next = |count: &usize| {
        end += count;
        end
    };
    counts.iter().map(next).collect()
}

/// Repeats row `i` of a column `counts[i]` times.
fn repeated(column: &Column, counts: &[usize]) -> Result<Column> {
    if let Column::Text(text) = column {
        // The strings share their bytes.
        let strings =
            counts.iter().enumerate().flat_map(|(row, count)| std::iter::repeat_n(text.shared_row(row), *count));
        let strings: Vec<_> = strings.collect();
        return Tensor::strings(Shape::new(&[strings.len()]), strings).map(Column::Dense);
    }
    let block = Arc::new(Block::new(vec![column.clone()], counts.len(), Provenance::Unknown)?);
    let mut rows = Rows::new();
    for (row, count) in counts.iter().enumerate() {
        (0..*count).for_each(|_| rows.push(&block, row, 1));
    }
    rows.gather_column(0)
}

#[cold]
fn misfit(feature: &StoredFeature, rows: &Rows, row: usize, length: usize) -> Error {
    let shape = super::stored::shown(&feature.shape);
    let text = format!(
        "the feature '{}' has {length} values, expected the shape {shape} with one item for each step. {REMEDY}",
        feature.name
    );
    text::at(rows, row, &Error::data_loss(text))
}

#[cold]
fn uneven_steps(rows: &Rows, row: usize, one: &StepColumns, other: &StepColumns) -> Error {
    let text = format!(
        "the feature '{}' has {} steps, but '{}' has {}, expected the same number. {REMEDY}",
        one.feature.name, one.num_steps[row], other.feature.name, other.num_steps[row]
    );
    text::at(rows, row, &Error::data_loss(text))
}
