//! Files: records, remote files, and atomic replacement.

pub mod atomic_file;
pub mod records;
pub mod remote;
