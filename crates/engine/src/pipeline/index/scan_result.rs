//! What a scan finds out about a file.

use crate::error::{Error, Result};
use crate::pipeline::blocks::file_provenance::Layout;
use crate::pipeline::formats::RecordPosition;
use crate::pipeline::index::Offsets;
use crate::pipeline::skip_event::Rest;
use std::cmp::Ordering;
use std::sync::Arc;

/// The records of a file.
#[derive(Debug, Default)]
pub struct ScanResult {
    /// Where they begin.
    pub offsets: Offsets,
    /// Their numbers.
    pub numbers: Numbers,
    /// Of a table: where the columns are in them.
    pub layout: Option<Arc<Layout>>,
    /// What cannot be read of it.
    pub faults: Vec<ScanFault>,
}

/// Damage that a scan has met.
#[derive(Debug)]
pub struct ScanFault {
    /// Where.
    pub at: RecordPosition,
    /// What it is.
    pub error: Error,
    /// What is behind it, if that cannot be read either.
    pub rest: Option<Rest>,
}

impl ScanFault {
    /// Damage behind which nothing can be read, in a file of `len` bytes.
    pub fn end(at: RecordPosition, error: Error, len: u64) -> Self {
        Self { at, error, rest: Some(Rest { num_bytes: len.checked_sub(at.offset_bytes) }) }
    }
}

impl From<Offsets> for ScanResult {
    /// Records that are numbered one after the other.
    fn from(offsets: Offsets) -> Self {
        Self { offsets, ..Self::default() }
    }
}

impl ScanResult {
    /// Adds a record. At last, the end of the last one is added to the offsets alone.
    pub fn push(&mut self, offset: u64, number: u64) -> Result<()> {
        // As many offsets as numbers were added: none of them is an end.
        let index = self.offsets.num_pushed();
        self.numbers.push(index, number)?;
        self.offsets.push(offset)
    }

    /// How many bytes of memory this takes.
    pub fn memory_bytes(&self) -> usize {
        let numbers = match &self.numbers {
            Numbers::From(_) => 0,
            Numbers::Each(numbers) => numbers.memory_bytes(),
        };
        self.offsets.memory_bytes() + numbers
    }
}

/// The numbers of records, which increase: lines may be left out, and a record may take several.
#[derive(Debug)]
pub enum Numbers {
    /// One after the other, from this one on: nothing a record.
    From(u64),
    /// That of each.
    Each(Offsets),
}

impl Default for Numbers {
    fn default() -> Self {
        Self::From(0)
    }
}

impl Numbers {
    /// Adds that of record `index`, the next one.
    fn push(&mut self, index: u64, number: u64) -> Result<()> {
        if let Self::From(first) = self {
            if index == 0 {
                *first = number;
            }
            if *first + index == number {
                return Ok(());
            }
            let mut each = Offsets::new();
            (*first..*first + index).try_for_each(|number| each.push(number))?;
            *self = Self::Each(each);
        }
        match self {
            Self::Each(each) => each.push(number),
            Self::From(_) => Ok(()),
        }
    }

    /// The index of record `number`, if that is one of the first `len`.
    pub fn find(&self, number: u64, len: u64) -> Option<u64> {
        let (mut first, mut end) = (0, len);
        while first < end {
            let middle = first + (end - first) / 2;
            match self.get(middle).cmp(&number) {
                Ordering::Less => first = middle + 1,
                Ordering::Equal => return Some(middle),
                Ordering::Greater => end = middle,
            }
        }
        None
    }

    /// That of record `index`.
    pub fn get(&self, index: u64) -> u64 {
        match self {
            Self::From(first) => first + index,
            Self::Each(each) => each.get(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_take_memory_only_where_some_are_left_out() {
        for (numbers, takes_memory) in [(&[4, 5, 6][..], false), (&[4, 5, 7, 8], true), (&[], false), (&[9, 8], true)] {
            let mut result = ScanResult::default();
            numbers.iter().for_each(|number| result.push(number * 10, *number).unwrap());
            let found: Vec<_> = (0..numbers.len() as u64).map(|index| result.numbers.get(index)).collect();
            assert_eq!(found, numbers);
            if numbers.is_sorted() {
                let len = numbers.len() as u64;
                assert!((0..len).all(|index| result.numbers.find(found[index as usize], len) == Some(index)));
                assert_eq!(result.numbers.find(99, len), None);
            }
            assert_eq!(matches!(result.numbers, Numbers::Each(_)), takes_memory);
        }
    }
}
