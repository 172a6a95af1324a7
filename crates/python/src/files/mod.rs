//! Files: records, remote files, videos, and atomic replacement.

pub mod atomic_file;
pub mod records;
pub mod remote;
pub mod video;
