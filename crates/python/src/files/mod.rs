//! Files: records, remote files, atomic replacement.

pub mod atomic_file;
pub mod records;
pub mod remote;
