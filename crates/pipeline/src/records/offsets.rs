//! Stores record offsets compactly.

use headrace_engine::error::Result;
use headrace_engine::tensor::allocate;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Records of equal length, possibly with gaps between them.
pub trait EqualRecords: fmt::Debug + Send + Sync {
    /// The number of records.
    fn len(&self) -> u64;

    /// True if it is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offset of record `index`.
    fn offset(&self, index: u64) -> u64;

    /// The length of each record in bytes.
    fn record_bytes(&self) -> u64;

    /// The memory that the records use, in bytes.
    fn memory_bytes(&self) -> usize;
}

/// The offset of each record in a file, and the end of the last one.
#[derive(Debug)]
pub enum Offsets {
    /// Contiguous records of equal length, which need no memory per record.
    Even {
        /// The offset of the first record.
        first: u64,
        /// The length of each record in bytes.
        length: u64,
        /// The number of records.
        count: u64,
    },
    /// Records of equal length that may overlap or have gaps between them.
    Spread(Arc<dyn EqualRecords>),
    /// Four bytes per record, for files below 4 GiB.
    Small(Vec<u32>),
    /// Eight bytes per record.
    Large(Vec<u64>),
}

impl Default for Offsets {
    fn default() -> Self {
        Self::new()
    }
}

impl Offsets {
    /// No offsets.
    pub fn new() -> Self {
        Self::Small(Vec::new())
    }

    /// Adds the offset of a record or, at the end, the end of the last record.
    pub fn push(&mut self, offset: u64) -> Result<()> {
        let refused = |refusal: allocate::Refusal| refusal.at("the index of a shuffle of all examples");
        if let Self::Small(offsets) = self {
            if let Ok(offset) = u32::try_from(offset) {
                allocate::grow(offsets, 1).map_err(refused)?;
                offsets.push(offset);
                return Ok(());
            }
            let offsets = offsets.iter().map(|offset| u64::from(*offset)).collect();
            *self = Self::Large(offsets);
        }
        if let Self::Large(offsets) = self {
            allocate::grow(offsets, 1).map_err(refused)?;
            offsets.push(offset);
        }
        Ok(())
    }

    /// The number of records.
    pub fn len(&self) -> u64 {
        match self {
            Self::Even { count, .. } => *count,
            Self::Spread(records) => records.len(),
            Self::Small(offsets) => offsets.len().saturating_sub(1) as u64,
            Self::Large(offsets) => offsets.len().saturating_sub(1) as u64,
        }
    }

    /// True if it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of added offsets; 0 for records of equal length.
    pub fn num_pushed(&self) -> u64 {
        match self {
            Self::Even { .. } | Self::Spread(_) => 0,
            Self::Small(offsets) => offsets.len() as u64,
            Self::Large(offsets) => offsets.len() as u64,
        }
    }

    /// The added offset at `index`.
    pub fn get(&self, index: u64) -> u64 {
        match self {
            Self::Even { first, length, .. } => first + index * length,
            Self::Spread(records) => records.offset(index),
            Self::Small(offsets) => u64::from(offsets[index as usize]),
            Self::Large(offsets) => offsets[index as usize],
        }
    }

    /// The byte range of record `record` in its file.
    pub fn range(&self, record: u64) -> Range<u64> {
        let start = self.get(record);
        match self {
            Self::Spread(records) => start..start + records.record_bytes(),
            _ => start..self.get(record + 1),
        }
    }

    /// The total number of bytes of all records.
    pub fn total_bytes(&self) -> u64 {
        match (self.len(), self) {
            (0, _) => 0,
            (count, Self::Spread(records)) => count.saturating_mul(records.record_bytes()),
            (count, _) => self.range(count - 1).end - self.range(0).start,
        }
    }

    /// The memory that the offsets use, in bytes.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Even { .. } => 0,
            Self::Spread(records) => records.memory_bytes(),
            Self::Small(offsets) => offsets.capacity() * size_of::<u32>(),
            Self::Large(offsets) => offsets.capacity() * size_of::<u64>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_beyond_four_gibibytes_are_kept() {
        let mut offsets = Offsets::new();
        let records = [0, 7, (1 << 32) - 1, 1 << 32, (1 << 33) + 5];
        records.iter().for_each(|position| offsets.push(*position).unwrap());
        assert_eq!(offsets.len(), 4);
        let ranges: Vec<_> = (0..4).map(|record| offsets.range(record)).collect();
        assert_eq!(ranges, records.windows(2).map(|pair| pair[0]..pair[1]).collect::<Vec<_>>());
        assert_eq!(offsets.total_bytes(), (1 << 33) + 5);
    }

    #[test]
    fn records_of_equal_length_use_no_memory() {
        let offsets = Offsets::Even { first: 3, length: 10, count: 1 << 40 };
        assert_eq!((offsets.len(), offsets.range(2), offsets.memory_bytes()), (1 << 40, 23..33, 0));
        assert!(Offsets::new().is_empty());
    }
}
