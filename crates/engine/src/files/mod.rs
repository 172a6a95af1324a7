//! Files, on this machine and elsewhere: their names, compression, contents, and replacing one as a
//! whole.

pub mod atomic_file;
pub mod compression;
pub mod content;
pub mod encoder;
pub mod input;
pub mod mapping;
pub mod name;
pub mod output;
pub mod positioned;
pub mod ranged;
pub mod storage;
pub mod whole;
