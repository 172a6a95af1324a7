//! An entry of a listing.

/// An entry of a storage: a file, or a directory that is implied by names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Its URL.
    pub url: String,
    /// The size in bytes. 0 for a directory, or [`UNKNOWN_SIZE`] if the server does not report it.
    pub len: u64,
    /// The time of the last write, in nanoseconds since 1970. 0 for a directory, or if the server
    /// does not report it.
    pub modified_ns: u64,
    /// True if other names begin with its name and a slash.
    pub is_directory: bool,
}
