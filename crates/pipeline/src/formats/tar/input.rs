//! The inputs from which tar archives are read.

use crate::blocks::file_provenance::FileProvenance;
use crate::records::{HeaderScan, Source};
use headrace_engine::error::Error;
use std::io::{self, Read};

/// Sequential access to the bytes of an archive.
pub(super) trait Input: Read + Sized {
    /// Skips `count` bytes, or fewer at the end of the archive. Returns how many were skipped.
    fn skip(&mut self, count: u64) -> io::Result<u64> {
        io::copy(&mut self.by_ref().take(count), &mut io::sink())
    }

    /// Reads the bytes after the end of the archive, so that a checksum among them is verified.
    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Returns true if it includes the end of the archive.
    fn has_end(&self) -> bool {
        true
    }

    /// Returns true if its positions are positions in the file.
    fn is_as_in_file(&self) -> bool {
        false
    }

    /// The error for a read that failed at this position.
    fn error(&self, file: &FileProvenance, error: &io::Error, _at: &str) -> Error {
        Error::io(file.name.text(), error)
    }
}

impl Input for Source {
    fn finish(&mut self) -> io::Result<()> {
        match self.is_compressed() {
            true => io::copy(self, &mut io::sink()).map(drop),
            false => Ok(()),
        }
    }

    fn is_as_in_file(&self) -> bool {
        !self.is_compressed()
    }

    fn error(&self, file: &FileProvenance, error: &io::Error, at: &str) -> Error {
        Self::error(self, file, error, at)
    }
}

/// A part of an archive in memory.
impl Input for &[u8] {
    fn has_end(&self) -> bool {
        false
    }
}

/// An archive whose bytes are mostly skipped.
pub(super) struct HeaderScanInput<'a> {
    header_scan: &'a mut HeaderScan,
    at: u64,
}

impl<'a> HeaderScanInput<'a> {
    /// Begins at the first byte.
    pub fn new(header_scan: &'a mut HeaderScan) -> Self {
        Self { header_scan, at: 0 }
    }
}

impl Read for HeaderScanInput<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.header_scan.at(self.at, 1).map_err(io::Error::other)?;
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Input for HeaderScanInput<'_> {
    fn skip(&mut self, count: u64) -> io::Result<u64> {
        let count = count.min(self.header_scan.len() - self.at);
        self.at += count;
        Ok(count)
    }

    fn error(&self, file: &FileProvenance, error: &io::Error, _at: &str) -> Error {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
        inner.cloned().unwrap_or_else(|| Error::io(file.name.text(), error))
    }
}
