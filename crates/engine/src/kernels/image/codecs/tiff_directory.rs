//! Reads the first directory of a TIFF or BigTIFF directly from its bytes.
//!
//! Source: TIFF 6.0, section 2; the BigTIFF file format.

/// The number after the byte order, for TIFF and for BigTIFF.
const MARK: usize = 42;
const BIG_MARK: usize = 43;

/// The first directory of a file.
pub struct Directory<'a> {
    contents: &'a [u8],
    is_big: bool,
    /// The offset of its first entry.
    first: usize,
    num_entries: usize,
}

impl<'a> Directory<'a> {
    /// Returns the first directory, if there is one.
    pub fn of(contents: &'a [u8]) -> Option<Self> {
        let mut directory = Self { contents, is_big: false, first: 0, num_entries: 0 };
        directory.is_big = match directory.number(2, 2)? {
            MARK => false,
            BIG_MARK => true,
            _ => return None,
        };
        let (offset, count_bytes) = if directory.is_big { (8, 8) } else { (4, 2) };
        let start = directory.number(offset, directory.offset_bytes())?;
        directory.num_entries = directory.number(start, count_bytes)?;
        directory.first = start.checked_add(count_bytes)?;
        Some(directory)
    }

    /// Returns true if there are more entries, or more values in an entry, than the file has bytes.
    /// Each takes at least one byte.
    pub fn has_too_many_values(&self) -> bool {
        let entry_bytes = 4 + 2 * self.offset_bytes();
        self.num_entries > self.contents.len()
            || (0..self.num_entries).any(|number| {
                let entry = self.first.saturating_add(entry_bytes * number);
                let count = self.number(entry.saturating_add(4), self.offset_bytes());
                count.is_some_and(|count| count > self.contents.len())
            })
    }

    /// The size of an offset, and of a number of values, in bytes.
    fn offset_bytes(&self) -> usize {
        if self.is_big { 8 } else { 4 }
    }

    /// Reads a number. If it doesn't fit into a `usize`, returns the largest one.
    fn number(&self, at: usize, num_bytes: usize) -> Option<usize> {
        let bytes = self.contents.get(at..at.checked_add(num_bytes)?)?;
        let shifted = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        let number = match self.contents.starts_with(b"II") {
            true => bytes.iter().rev().fold(0, shifted),
            false => bytes.iter().fold(0, shifted),
        };
        Some(usize::try_from(number).unwrap_or(usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_count_beyond_the_file_is_detected() {
        let file =
            |count: u8| [b"II*\0\x08\0\0\0\x01\0\x01\x01\x03\0".as_slice(), &[count, 0, 0, 0, 0, 0, 0, 0]].concat();
        assert!(!Directory::of(&file(22)).unwrap().has_too_many_values());
        assert!(Directory::of(&file(23)).unwrap().has_too_many_values());
        let big = |count: u8| {
            [&b"II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x01\x01\x03\0"[..], &[count, 0, 0, 0], &[0; 12]]
                .concat()
        };
        assert!(!Directory::of(&big(44)).unwrap().has_too_many_values());
        assert!(Directory::of(&big(45)).unwrap().has_too_many_values());
        let entries = [&b"II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0"[..], &[0xff; 8]].concat();
        assert!(Directory::of(&entries).unwrap().has_too_many_values());
        assert!(Directory::of(b"II+\0\x08\0\0\0").is_none());
        assert!(Directory::of(b"II*\0\xff\xff\xff\xff").is_none());
    }
}
