//! Accesses files as bytes without copying them. The crate that links the engine may register a
//! function that maps files into memory. The engine itself has no unsafe code, so by default it
//! reads the file.

use crate::tensor::allocate::{self, Unread};
use bytes::Bytes;
use std::fs::File;
use std::io;
use std::sync::OnceLock;

/// Maps a file into memory.
pub type Map = fn(&File) -> io::Result<Bytes>;

static MAP: OnceLock<Map> = OnceLock::new();

/// Registers the function that maps files. Only the first call has an effect.
pub fn register(map: Map) {
    MAP.get_or_init(|| map);
}

/// Returns the content of a file. If it is mapped, its pages are shared with other processes. The
/// file must never be written in place or truncated, but it may be replaced.
pub fn map(file: &File) -> io::Result<Bytes> {
    if let Some(map) = MAP.get() {
        return map(file);
    }
    let mut bytes = Vec::new();
    match allocate::read_to_end(&mut &*file, &mut bytes) {
        Ok(()) => Ok(bytes.into()),
        Err(Unread::Failed(error)) => Err(error),
        Err(Unread::Refused(_)) => Err(io::ErrorKind::OutOfMemory.into()),
    }
}
