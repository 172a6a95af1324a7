//! The position of a record in its file.

/// A position in the uncompressed bytes of a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct RecordPosition {
    /// Its offset.
    pub offset_bytes: u64,
    /// The number of the record that begins there.
    pub record: u64,
}
