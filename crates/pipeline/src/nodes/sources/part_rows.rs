//! Random access to some rows of a source: the first ones, or a selection.

use crate::blocks::block::{Block, RowProvenance};
use crate::blocks::indexed::Indexed;
use crate::nodes::zip::zip_of_unequal;
use headrace_engine::error::Result;
use headrace_engine::tensor::allocate;
use std::ops::Range;
use std::sync::Arc;

/// The number of words per stored count.
const WORDS_OF_A_COUNT: usize = 8;

/// A set of selected numbers: one bit per number, plus counts for finding the n-th selected one.
pub struct Selection {
    bits: Vec<u64>,
    /// The number of selected numbers before each group of eight words.
    counts: Vec<u64>,
    len: u64,
}

impl Selection {
    /// Selects the numbers below `count` for which `are_selected` returns true.
    pub fn new(count: u64, mut are_selected: impl FnMut(u64) -> Result<bool>) -> Result<Self> {
        let num_words = usize::try_from(count.div_ceil(u64::from(u64::BITS))).unwrap_or(usize::MAX);
        let room = |length| allocate::room(length).map_err(|refusal| refusal.at("the numbers of selected rows"));
        let (mut bits, mut counts) = (room(num_words)?, room(num_words.div_ceil(WORDS_OF_A_COUNT))?);
        let mut len = 0;
        for first in (0..count).step_by(u64::BITS as usize) {
            if bits.len() % WORDS_OF_A_COUNT == 0 {
                counts.push(len);
            }
            let mut word = 0;
            for bit in 0..(count - first).min(u64::from(u64::BITS)) {
                word |= u64::from(are_selected(first + bit)?) << bit;
            }
            len += u64::from(word.count_ones());
            bits.push(word);
        }
        Ok(Self { bits, counts, len })
    }

    /// The number of selected numbers.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if no rows are selected.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number of selected numbers below `number`.
    fn before(&self, number: u64) -> u64 {
        let word = (number / u64::from(u64::BITS)) as usize;
        let Some(last) = self.bits.get(word) else { return self.len };
        let below = last & ((1 << (number % u64::from(u64::BITS))) - 1);
        let group = word / WORDS_OF_A_COUNT;
        let whole = self.bits[group * WORDS_OF_A_COUNT..word].iter().chain([&below]);
        self.counts[group] + whole.map(|word| u64::from(word.count_ones())).sum::<u64>()
    }

    /// The selected number at `position`, which must be less than [`Selection::len`].
    fn get(&self, position: u64) -> u64 {
        let group = self.counts.partition_point(|count| *count <= position) - 1;
        let mut rest = position - self.counts[group];
        for (index, word) in self.bits.iter().enumerate().skip(group * WORDS_OF_A_COUNT) {
            let ones = u64::from(word.count_ones());
            if rest < ones {
                let word = (0..rest).fold(*word, |word, _| word & (word - 1));
                return index as u64 * u64::from(u64::BITS) + u64::from(word.trailing_zeros());
            }
            rest -= ones;
        }
        u64::MAX
    }
}

/// Rows with random access, from one source or from several pipelines side by side. Each pipeline
/// may have several sources.
pub enum Reached {
    /// The rows of one source.
    Rows(Arc<dyn Indexed>),
    /// The rows of pipelines side by side, which have the same number of rows.
    Zip(Vec<Vec<Reached>>),
}

impl Reached {
    /// Combines the rows of pipelines side by side. If `is_strict`, fails if their numbers of rows
    /// differ. Otherwise leaves out rows beyond the shortest pipeline.
    pub fn zip(parts: Vec<Vec<Self>>, is_strict: bool) -> Result<Self> {
        let lens: Vec<_> = parts.iter().map(|part| Self::len_of(part)).collect();
        let len = lens.iter().copied().min().unwrap_or(0);
        if let (true, Some(longer)) = (is_strict, lens.iter().position(|other| *other > len)) {
            let shortest = lens.iter().position(|other| *other == len).unwrap_or(0);
            return Err(zip_of_unequal(shortest, len, longer));
        }
        Ok(Self::Zip(parts.into_iter().map(|part| Self::first_of(part, len)).collect()))
    }

    /// The number of rows.
    pub fn len(&self) -> u64 {
        match self {
            Self::Rows(rows) => rows.len(),
            Self::Zip(parts) => parts.first().map_or(0, |part| Self::len_of(part)),
        }
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The total number of rows.
    pub fn len_of(reached: &[Self]) -> u64 {
        reached.iter().map(Self::len).sum()
    }

    /// Keeps the selected rows. The first row has number `first` in the selection.
    pub fn selected(self, selection: &Arc<Selection>, first: u64) -> Self {
        match self {
            Self::Rows(rows) => Self::Rows(Arc::new(PartRows::selected(rows, Arc::clone(selection), first))),
            Self::Zip(parts) => {
                let part = |part: Vec<Self>| {
                    let mut first = first;
                    let each = |reached: Self| {
                        let len = reached.len();
                        let selected = reached.selected(selection, first);
                        first += len;
                        selected
                    };
                    part.into_iter().map(each).collect()
                };
                Self::Zip(parts.into_iter().map(part).collect())
            }
        }
    }

    fn first_of(part: Vec<Self>, mut len: u64) -> Vec<Self> {
        let each = |reached: Self| {
            let num_kept = reached.len().min(len);
            len -= num_kept;
            reached.first(num_kept)
        };
        part.into_iter().map(each).collect()
    }

    fn first(self, len: u64) -> Self {
        match self {
            reached if reached.len() <= len => reached,
            Self::Rows(rows) => Self::Rows(Arc::new(PartRows::first(rows, len))),
            Self::Zip(parts) => Self::Zip(parts.into_iter().map(|part| Self::first_of(part, len)).collect()),
        }
    }
}

/// Some rows of a source.
pub struct PartRows {
    rows: Arc<dyn Indexed>,
    len: u64,
    selected: Option<Selected>,
}

/// The rows of a selection that may also cover other sources.
struct Selected {
    selection: Arc<Selection>,
    /// The number of the first row within the selection, and how many selected rows come before it.
    first: u64,
    num_before: u64,
}

impl PartRows {
    /// Keeps the first `len` rows, or all if there are fewer.
    pub fn first(rows: Arc<dyn Indexed>, len: u64) -> Self {
        Self { len: len.min(rows.len()), rows, selected: None }
    }

    /// Keeps the selected rows. The first row has number `first` in the selection.
    pub fn selected(rows: Arc<dyn Indexed>, selection: Arc<Selection>, first: u64) -> Self {
        let Range { start: num_before, end } = selection.before(first)..selection.before(first + rows.len());
        Self { len: end - num_before, rows, selected: Some(Selected { selection, first, num_before }) }
    }

    fn number(&self, number: u64) -> u64 {
        match &self.selected {
            Some(Selected { selection, first, num_before }) => selection.get(number + num_before) - first,
            None => number,
        }
    }
}

impl Indexed for PartRows {
    fn len(&self) -> u64 {
        self.len
    }

    fn read(&self, numbers: &[u64]) -> Result<Block> {
        let numbers: Vec<_> = numbers.iter().map(|number| self.number(*number)).collect();
        self.rows.read(&numbers)
    }

    fn row_provenance(&self, number: u64) -> Option<RowProvenance> {
        self.rows.row_provenance(self.number(number))
    }

    fn row_bytes(&self) -> usize {
        self.rows.row_bytes()
    }

    fn counted_bytes(&self, block: &Block) -> usize {
        self.rows.counted_bytes(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::row_numbers::RowNumbers;

    fn numbers_of(rows: &dyn Indexed) -> Vec<i64> {
        let numbers: Vec<_> = (0..rows.len()).collect();
        let (columns, _) = rows.read(&numbers).unwrap().into_columns();
        columns[0].to_tensor().unwrap().values::<i64>().unwrap().to_vec()
    }

    #[test]
    fn selection_maps_positions_to_row_numbers() {
        for (count, every) in [(0, 1), (1, 1), (64, 1), (65, 2), (5000, 1), (5000, 7), (5000, 700), (1000, 5000)] {
            let selection = Selection::new(count, |number| Ok(number % every == every / 2)).unwrap();
            let expected: Vec<_> = (0..count).filter(|number| number % every == every / 2).collect();
            assert_eq!(selection.len(), expected.len() as u64);
            let numbers: Vec<_> = (0..selection.len()).map(|position| selection.get(position)).collect();
            assert_eq!(numbers, expected);
            for number in 0..count {
                let before = expected.iter().filter(|other| **other < number).count();
                assert_eq!(selection.before(number), before as u64);
            }
        }
    }

    #[test]
    fn part_has_the_first_or_the_selected_rows() {
        let rows = || -> Arc<dyn Indexed> { Arc::new(RowNumbers::new(100)) };
        assert_eq!(numbers_of(&PartRows::first(rows(), 3)), [0, 1, 2]);
        assert_eq!(PartRows::first(rows(), 300).len(), 100);
        // These are the last 100 of 150 rows.
        let selection = Arc::new(Selection::new(150, |number| Ok(number % 40 == 0)).unwrap());
        assert_eq!(numbers_of(&PartRows::selected(rows(), selection, 50)), [30, 70]);
        assert_eq!(PartRows::selected(rows(), Arc::new(Selection::new(0, |_| Ok(true)).unwrap()), 0).len(), 0);
    }
}
