//! Zip archives, whose members are read like files.
//!
//! The central directory at the end of an archive lists its members. Each member is read with one
//! request for a range of bytes, so an archive can be remote.
//!
//! Source: APPNOTE.TXT 6.3.10 of PKWARE.

mod archive;
mod directory;
mod member;

pub use archive::{Archive, Member};
