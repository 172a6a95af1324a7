//! The result of scanning a file.

use crate::blocks::file_provenance::Layout;
use crate::records::{Offsets, RecordPosition, Rest};
use headrace_engine::error::{Error, Result};
use std::cmp::Ordering;
use std::sync::Arc;

/// The records of a file.
#[derive(Debug, Default)]
pub struct ScanResult {
    /// The offsets of the records.
    pub offsets: Offsets,
    /// Their numbers.
    pub numbers: Numbers,
    /// For tables: the columns of the records.
    pub layout: Option<Arc<Layout>>,
    /// The parts of the file that cannot be read.
    pub faults: Vec<ScanFault>,
}

/// Damage found by a scan.
#[derive(Debug)]
pub struct ScanFault {
    /// The position.
    pub at: RecordPosition,
    /// The error.
    pub error: Error,
    /// The rest of the file, if it cannot be read either.
    pub rest: Option<Rest>,
}

impl ScanFault {
    /// Damage after which nothing more can be read, in a file of `len` bytes.
    pub fn end(at: RecordPosition, error: Error, len: u64) -> Self {
        Self { at, error, rest: Some(Rest { num_bytes: len.checked_sub(at.offset_bytes) }) }
    }
}

impl From<Offsets> for ScanResult {
    /// Numbers the records consecutively.
    fn from(offsets: Offsets) -> Self {
        Self { offsets, ..Self::default() }
    }
}

impl ScanResult {
    /// Adds a record. At the end of the scan, only the end of the last record is added to the
    /// offsets.
    pub fn push(&mut self, offset: u64, number: u64) -> Result<()> {
        // So far there is one offset per number, so no offset is an end.
        let index = self.offsets.num_pushed();
        self.numbers.push(index, number)?;
        self.offsets.push(offset)
    }

    /// The memory that the result uses, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let numbers = match &self.numbers {
            Numbers::From(_) => 0,
            Numbers::Each(numbers) => numbers.memory_bytes(),
        };
        self.offsets.memory_bytes() + numbers
    }
}

/// The numbers of records in ascending order. Lines may be skipped, and a record may span several.
#[derive(Debug)]
pub enum Numbers {
    /// Consecutive numbers starting with this one, which need no memory per record.
    From(u64),
    /// One number per record.
    Each(Offsets),
}

impl Default for Numbers {
    fn default() -> Self {
        Self::From(0)
    }
}

impl Numbers {
    /// Adds the number of the next record, which has index `index`.
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

    /// The index of record `number`, if it is among the first `len` records.
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

    /// The number of record `index`.
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
    fn numbers_use_memory_only_if_some_are_skipped() {
        for (numbers, takes_memory) in [(&[4, 5, 6][..], false), (&[4, 5, 7, 8], true), (&[], false), (&[9, 8], true)] {
            let mut result = ScanResult::default();
            numbers.iter().for_each(|number| result.push(number * 10, *number).unwrap());
            let listed: Vec<_> = (0..numbers.len() as u64).map(|index| result.numbers.get(index)).collect();
            assert_eq!(listed, numbers);
            if numbers.is_sorted() {
                let len = numbers.len() as u64;
                assert!((0..len).all(|index| result.numbers.find(listed[index as usize], len) == Some(index)));
                assert_eq!(result.numbers.find(99, len), None);
            }
            assert_eq!(matches!(result.numbers, Numbers::Each(_)), takes_memory);
        }
    }
}
