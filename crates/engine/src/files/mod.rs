//! Local and remote files: their names, their compression, their contents, zip archives, and
//! replacing whole files.

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
pub mod zip;
