//! The first directory of a TIFF, as its bytes say.
//!
//! Source: TIFF 6.0, section 2.

/// The bytes of an entry of a directory.
pub const ENTRY_BYTES: usize = 12;
/// The number after the byte order; BigTIFF has another one.
const MARK: u16 = 42;

/// The first directory of a file.
pub struct Directory<'a> {
    contents: &'a [u8],
    start: usize,
    num_entries: usize,
}

impl<'a> Directory<'a> {
    /// The first directory; `None` if there is none.
    pub fn of(contents: &'a [u8]) -> Option<Self> {
        let mut directory = Self { contents, start: 4, num_entries: 0 };
        if directory.short(2)? != MARK {
            return None;
        }
        directory.start = directory.long(4)?;
        directory.num_entries = directory.short(directory.start)?.into();
        Some(directory)
    }

    /// The offsets of its entries.
    pub fn entries(&self) -> impl Iterator<Item = usize> {
        let first = self.start + 2;
        (0..self.num_entries).map(move |number| first + ENTRY_BYTES * number)
    }

    /// True if an entry has more values than the file has bytes, of which each takes one or more.
    pub fn has_too_many_values(&self) -> bool {
        self.entries().any(|entry| self.long(entry + 4).is_some_and(|count| count > self.contents.len()))
    }

    /// A number of 16 bits.
    pub fn short(&self, at: usize) -> Option<u16> {
        let bytes = self.contents.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if self.is_little() { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    }

    fn long(&self, at: usize) -> Option<usize> {
        let bytes = self.contents.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if self.is_little() { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) } as usize)
    }

    fn is_little(&self) -> bool {
        self.contents.starts_with(b"II")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_values_than_bytes_are_found() {
        let file =
            |count: u8| [b"II*\0\x08\0\0\0\x01\0\x01\x01\x03\0".as_slice(), &[count, 0, 0, 0, 0, 0, 0, 0]].concat();
        assert!(!Directory::of(&file(22)).unwrap().has_too_many_values());
        assert!(Directory::of(&file(23)).unwrap().has_too_many_values());
        assert!(Directory::of(b"II+\0\x08\0\0\0").is_none());
        assert!(Directory::of(b"II*\0\xff\xff\xff\xff").is_none());
    }
}
