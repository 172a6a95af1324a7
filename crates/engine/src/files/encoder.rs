//! Deflates a stream and flushes it at intervals.
//!
//! Source: `deflateInit2`, `deflate` and their constants in zlib's manual; the intervals of
//! `ZlibOutputBuffer` in TensorFlow 1.15.

use crate::error::{Error, Result};
use std::io::{self, Write};
use zlib_rs::{Deflate, DeflateConfig, DeflateFlush, Status, Strategy};

/// Deflated bytes are written in blocks of this size.
const OUTPUT_BYTES: usize = 32 * 1024;
/// The default number of bytes between two flushes.
const FLUSH_BYTES: u64 = 256 * 1024;
/// zlib's number for its only method, deflate.
const METHOD: i64 = 8;
/// zlib adds this to the window bits for a gzip file.
const GZIP_BITS: i64 = 16;

/// How to deflate: the arguments of zlib's `deflateInit2`, and when to flush. `None` means the
/// default.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeflateOptions {
    /// From 0 (none) to 9 (smallest), or -1 for zlib's default.
    pub level: Option<i64>,
    /// Must be 8, which means deflate.
    pub method: Option<i64>,
    /// The base-2 logarithm of the window size: 8 to 15, or 25 to 31 for a gzip file.
    pub window_bits: Option<i64>,
    /// From 1 to 9: how much memory to use for matches and blocks.
    pub mem_level: Option<i64>,
    /// zlib's number for a strategy, from 0 (default) to 4 (fixed codes).
    pub strategy: Option<i64>,
    /// zlib's number for a flush mode: 0 (no flush), 1 (partial), 2 (sync), 3 (full), 5 (block).
    pub flush_mode: Option<i64>,
    /// The number of bytes to deflate between two flushes; 0 means 256 KiB.
    pub flush_bytes: Option<i64>,
}

impl DeflateOptions {
    fn config(self, is_gzip: bool) -> Result<DeflateConfig> {
        in_range("compression_method", self.method, METHOD, METHOD)?;
        let mut config = DeflateConfig::default();
        if let Some(level) = in_range("compression_level", self.level, -1, 9)? {
            config.level = level;
        }
        if let Some(mem_level) = in_range("mem_level", self.mem_level, 1, 9)? {
            config.mem_level = mem_level;
        }
        config.window_bits = self.window_bits(is_gzip)?;
        config.strategy = match in_range("compression_strategy", self.strategy, 0, 4)? {
            None | Some(0) => Strategy::Default,
            Some(1) => Strategy::Filtered,
            Some(2) => Strategy::HuffmanOnly,
            Some(3) => Strategy::Rle,
            Some(_) => Strategy::Fixed,
        };
        Ok(config)
    }

    /// A window for the other format would create a file that no program can read under its name.
    fn window_bits(self, is_gzip: bool) -> Result<i32> {
        let (name, least, most) = if is_gzip { ("GZIP", 9 + GZIP_BITS, 15 + GZIP_BITS) } else { ("ZLIB", 8, 15) };
        match self.window_bits {
            None => Ok(most as i32),
            Some(bits) if (least..=most).contains(&bits) => Ok(bits as i32),
            Some(bits) => {
                Err(Error::invalid_argument(format!("window_bits is {bits}, expected {least} to {most} for {name}"))
                    .with_remedy("zlib adds 16 to window_bits for gzip files."))
            }
        }
    }

    fn interval(self) -> Result<Option<(DeflateFlush, u64)>> {
        let bytes = self.flush_bytes.unwrap_or(0);
        let bytes = u64::try_from(bytes)
            .map_err(|_| Error::invalid_argument(format!("input_buffer_size is {bytes}, expected at least 0")))?;
        let mode = match self.flush_mode {
            None | Some(0) => return Ok(None),
            Some(1) => DeflateFlush::PartialFlush,
            Some(2) => DeflateFlush::SyncFlush,
            Some(3) => DeflateFlush::FullFlush,
            Some(5) => DeflateFlush::Block,
            Some(mode) => {
                return Err(Error::invalid_argument(format!(
                    "flush_mode is {mode}, expected 0 to 3 or 5: zlib.Z_NO_FLUSH, Z_PARTIAL_FLUSH, Z_SYNC_FLUSH, \
                     Z_FULL_FLUSH or Z_BLOCK"
                ))
                .with_remedy("Other modes end the stream, so later records would be lost."));
            }
        };
        Ok(Some((mode, if bytes == 0 { FLUSH_BYTES } else { bytes })))
    }
}

/// Checks the range of an option and converts it for zlib. The error mentions the option.
fn in_range(name: &str, value: Option<i64>, least: i64, most: i64) -> Result<Option<i32>> {
    match value {
        Some(value) if !(least..=most).contains(&value) => {
            let range = if least == most { least.to_string() } else { format!("{least} to {most}") };
            Err(Error::invalid_argument(format!("{name} is {value}, expected {range}")))
        }
        value => Ok(value.map(|value| value as i32)),
    }
}

/// An output that is deflated.
pub struct Encoder<W: Write> {
    output: W,
    stream: Deflate,
    /// The flush mode, and the number of bytes between two flushes.
    interval: Option<(DeflateFlush, u64)>,
    /// The number of bytes since the last flush.
    since: u64,
    deflated: Box<[u8; OUTPUT_BYTES]>,
    is_finished: bool,
}

impl<W: Write> Encoder<W> {
    pub(super) fn new(output: W, is_gzip: bool, options: DeflateOptions) -> Result<Self> {
        let stream = Deflate::new_with_config(options.config(is_gzip)?);
        let interval = options.interval()?;
        Ok(Self { output, stream, interval, since: 0, deflated: Box::new([0; OUTPUT_BYTES]), is_finished: false })
    }

    /// Writes the end of the stream. Only the first call has an effect.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if !self.is_finished {
            self.deflate(&[], DeflateFlush::Finish)?;
            self.is_finished = true;
        }
        self.output.flush()
    }

    fn deflate(&mut self, mut bytes: &[u8], flush: DeflateFlush) -> io::Result<()> {
        loop {
            let (total_in, total_out) = (self.stream.total_in(), self.stream.total_out());
            let status = self
                .stream
                .compress(bytes, &mut self.deflated[..], flush)
                .map_err(|error| io::Error::other(error.as_str()))?;
            bytes = &bytes[(self.stream.total_in() - total_in) as usize..];
            let size = (self.stream.total_out() - total_out) as usize;
            self.output.write_all(&self.deflated[..size])?;
            // If the output was full, there may be more.
            let is_room_left = size < OUTPUT_BYTES;
            if status == Status::StreamEnd || (bytes.is_empty() && is_room_left) {
                return Ok(());
            }
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some((mode, interval)) = self.interval else {
            self.deflate(bytes, DeflateFlush::NoFlush)?;
            return Ok(bytes.len());
        };
        let room = usize::try_from(interval - self.since).unwrap_or(usize::MAX);
        let part = &bytes[..bytes.len().min(room)];
        self.since += part.len() as u64;
        if self.since == interval {
            self.since = 0;
            self.deflate(part, mode)?;
        } else {
            self.deflate(part, DeflateFlush::NoFlush)?;
        }
        Ok(part.len())
    }

    /// Flushes the data written so far, so that it can be inflated.
    fn flush(&mut self) -> io::Result<()> {
        self.deflate(&[], DeflateFlush::SyncFlush)?;
        self.output.flush()
    }
}
