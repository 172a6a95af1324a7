//! Files that several threads read at the same time, each where it wants to.

use crate::error::{Error, Result};
use crate::files::name::FileName;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind};

/// An open file without a place where the next read begins.
#[derive(Debug)]
pub struct Positioned(File);

impl Positioned {
    /// Opens a file, which must be a regular one: others have no places.
    pub fn open(name: &FileName) -> Result<(Self, Metadata)> {
        let (input, metadata) = name.open()?;
        let irregular = || {
            let text = "it is no regular file, so its records cannot be reached one by one. Use shuffle(window=...)";
            Error::invalid_argument(format!("{}: {text}", name.text()))
        };
        let file = input.into_regular().ok_or_else(irregular)?;
        Ok((Self(file), metadata))
    }

    /// Fills `buffer` with the bytes from `offset` on; returns how many there were before the end of the file.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match read_at(&self.0, &mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}
