//! The bytes of a video file, on storage or in memory.

use crate::damaged;
use bytes::Bytes;
use crc32c::{crc32c, crc32c_append};
use headrace_engine::error::{Error, Result};
use headrace_engine::files::name::FileName;
use headrace_engine::files::positioned::{OpeningFile, Positioned};
use headrace_engine::files::storage::Status;
use headrace_engine::tensor::allocate;
use std::io::ErrorKind;
use std::ops::Range;

/// How many of the first and of the last bytes of a file are in its fingerprint.
const FINGERPRINT_BYTES: u64 = 1 << 10;

/// The bytes of a video file. Several threads can read them at the same time.
#[derive(Debug)]
pub enum VideoData {
    /// A file of this length.
    File(Positioned, u64),
    /// The content of a file.
    Memory(Bytes),
}

impl VideoData {
    /// Opens a file. Returns it with its status.
    pub fn open(name: &FileName) -> Result<(Self, Status)> {
        let (file, status) = OpeningFile::new(name, None, None)?.wait()?;
        Ok((Self::File(file, status.len), status))
    }

    /// The length in bytes.
    pub fn num_bytes(&self) -> u64 {
        match self {
            Self::File(_, num_bytes) => *num_bytes,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// A checksum of the first and the last bytes, which differs between most files.
    pub fn fingerprint(&self) -> Result<u32> {
        let num_bytes = self.num_bytes();
        let start = self.read(0..num_bytes.min(FINGERPRINT_BYTES))?;
        let end = self.read(num_bytes.saturating_sub(FINGERPRINT_BYTES)..num_bytes)?;
        Ok(crc32c_append(crc32c(&start), &end))
    }

    /// Reads a range, which must not end after the file. Errors don't name the file.
    pub fn read(&self, range: Range<u64>) -> Result<Bytes> {
        let cut_short = || damaged(format_args!("the file ends before byte {}", range.end));
        match self {
            Self::Memory(bytes) => {
                let end = usize::try_from(range.end).ok().filter(|end| *end <= bytes.len()).ok_or_else(cut_short)?;
                Ok(bytes.slice(range.start as usize..end))
            }
            Self::File(_, num_bytes) if range.end > *num_bytes => Err(cut_short()),
            Self::File(file, _) => {
                let count = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
                let mut bytes = allocate::zeros(count).map_err(|refusal| refusal.at("the file's bytes"))?;
                file.read(&mut bytes, range.start).map_err(|error| match error.kind() {
                    ErrorKind::UnexpectedEof => cut_short(),
                    _ => Error::io("reading", &error),
                })?;
                Ok(bytes.into())
            }
        }
    }
}
