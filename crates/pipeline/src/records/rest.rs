//! The unreadable rest of a damaged file.

use crate::records::RecordPosition;
use headrace_engine::error::Lost;

/// The rest of a file after damage, which cannot be read.
#[derive(Clone, Copy, Debug)]
pub struct Rest {
    /// The number of bytes, if known.
    pub num_bytes: Option<u64>,
}

impl Rest {
    /// Estimates the number of lost records, assuming that they are as long as the average record
    /// before them.
    pub fn lost(self, at: RecordPosition) -> Lost {
        let RecordPosition { offset_bytes, record } = at;
        match self.num_bytes {
            Some(num_bytes) if offset_bytes > 0 && record > 0 => {
                let (offset_bytes, record) = (u128::from(offset_bytes), u128::from(record));
                let count = (u128::from(num_bytes) * record + offset_bytes / 2) / offset_bytes;
                Lost::Records(u64::try_from(count).unwrap_or(u64::MAX).max(1))
            }
            _ => Lost::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remaining_records_are_estimated_from_the_length_of_preceding_ones() {
        let at = |offset_bytes, record| RecordPosition { offset_bytes, record };
        let lost = |num_bytes, at| Rest { num_bytes }.lost(at);
        assert_eq!(lost(Some(1000), at(100, 10)), Lost::Records(100));
        assert_eq!(lost(Some(14), at(100, 10)), Lost::Records(1));
        assert_eq!(lost(Some(15), at(100, 10)), Lost::Records(2));
        assert_eq!(lost(Some(0), at(100, 10)), Lost::Records(1));
        assert_eq!(lost(Some(u64::MAX), at(1, u64::MAX)), Lost::Records(u64::MAX));
        assert_eq!(lost(None, at(100, 10)), Lost::Unknown);
        assert_eq!(lost(Some(1000), at(100, 0)), Lost::Unknown);
    }
}
