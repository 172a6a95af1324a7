//! Deflates a stream, and flushes it at intervals.
//!
//! Source: `deflate` and its flush modes of zlib's manual; the intervals of `ZlibOutputBuffer` of
//! TensorFlow 1.15.

use crate::error::{Error, Result};
use flate2::{Compress, FlushCompress, Status};
use std::io::{self, Write};

/// Deflated bytes are written in blocks of this size.
const OUTPUT_BYTES: usize = 32 * 1024;
/// The bytes between two flushes, unless the options say another number.
const FLUSH_BYTES: u64 = 256 * 1024;
const DEFAULT_LEVEL: u32 = 6;

/// The way to deflate.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeflateOptions {
    /// 0 (none) to 9 (smallest); -1 or `None` for zlib's default.
    pub level: Option<i64>,
    /// zlib's number of a flush mode: 0 or `None` (no flush), 1 (partial), 2 (sync), 3 (full).
    pub flush_mode: Option<i64>,
    /// The bytes to deflate between two flushes; `None` for 256 KiB.
    pub flush_bytes: Option<i64>,
}

impl DeflateOptions {
    pub(super) fn level(self) -> Result<flate2::Compression> {
        match self.level {
            None | Some(-1) => Ok(flate2::Compression::new(DEFAULT_LEVEL)),
            Some(level @ 0..=9) => Ok(flate2::Compression::new(level as u32)),
            Some(level) => Err(Error::invalid_argument(format!("compression_level {level}, expected -1 to 9"))),
        }
    }

    fn interval(self) -> Result<Option<(FlushCompress, u64)>> {
        let mode = match self.flush_mode {
            None | Some(0) => return Ok(None),
            Some(1) => FlushCompress::Partial,
            Some(2) => FlushCompress::Sync,
            Some(3) => FlushCompress::Full,
            Some(mode) => {
                return Err(Error::invalid_argument(format!(
                    "flush_mode {mode}, expected 0 to 3: zlib.Z_NO_FLUSH, Z_PARTIAL_FLUSH, Z_SYNC_FLUSH or Z_FULL_FLUSH"
                ))
                .with_remedy("Other modes end the stream, and lose the records after it."));
            }
        };
        let bytes = self.flush_bytes.and_then(|bytes| u64::try_from(bytes).ok()).filter(|&bytes| bytes > 0);
        Ok(Some((mode, bytes.unwrap_or(FLUSH_BYTES))))
    }
}

/// An output that is deflated.
pub struct Encoder<W: Write> {
    output: W,
    stream: Compress,
    /// The mode of the flushes, and the bytes between two of them.
    interval: Option<(FlushCompress, u64)>,
    /// The bytes since the last flush.
    since: u64,
    deflated: Vec<u8>,
    is_finished: bool,
}

impl<W: Write> Encoder<W> {
    #[expect(clippy::disallowed_methods, reason = "a block")]
    pub(super) fn new(output: W, stream: Compress, options: DeflateOptions) -> Result<Self> {
        let interval = options.interval()?;
        Ok(Self { output, stream, interval, since: 0, deflated: Vec::with_capacity(OUTPUT_BYTES), is_finished: false })
    }

    /// Writes the end of the stream, once.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if !self.is_finished {
            self.deflate(&[], FlushCompress::Finish)?;
            self.is_finished = true;
        }
        self.output.flush()
    }

    fn deflate(&mut self, mut bytes: &[u8], flush: FlushCompress) -> io::Result<()> {
        loop {
            self.deflated.clear();
            let used = self.stream.total_in();
            let status = self.stream.compress_vec(bytes, &mut self.deflated, flush)?;
            bytes = &bytes[(self.stream.total_in() - used) as usize..];
            self.output.write_all(&self.deflated)?;
            // More may be waiting if all the room was needed.
            let is_room_left = self.deflated.len() < self.deflated.capacity();
            if status == Status::StreamEnd || (bytes.is_empty() && is_room_left) {
                return Ok(());
            }
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some((mode, interval)) = self.interval else {
            self.deflate(bytes, FlushCompress::None)?;
            return Ok(bytes.len());
        };
        let room = usize::try_from(interval - self.since).unwrap_or(usize::MAX);
        let part = &bytes[..bytes.len().min(room)];
        self.since += part.len() as u64;
        if self.since == interval {
            self.since = 0;
            self.deflate(part, mode)?;
        } else {
            self.deflate(part, FlushCompress::None)?;
        }
        Ok(part.len())
    }

    /// Flushes what was written so far, so that it can be inflated.
    fn flush(&mut self) -> io::Result<()> {
        self.deflate(&[], FlushCompress::Sync)?;
        self.output.flush()
    }
}
