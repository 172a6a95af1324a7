//! Files: compression, and writing beside a name.

pub mod atomic_file;
pub mod compression;
pub mod output;
