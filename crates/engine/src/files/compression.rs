//! Compressed files, which are inflated while reading and deflated while writing.
//!
//! Source: RFC 1950 (zlib) and RFC 1952 (gzip).

use crate::error::Result;
use crate::files::encoder::{DeflateOptions, Encoder};
use crate::files::output::retried;
use flate2::{Decompress, FlushDecompress, Status};
use smallvec::SmallVec;
use std::io::{self, ErrorKind, Read, Write};

/// Compressed bytes are read in blocks of this size.
const BLOCK_BYTES: usize = 128 * 1024;
/// The largest window size. It can also read data written with a smaller one.
const WINDOW_BITS: u8 = 15;

/// How a whole file is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// Not compressed.
    #[default]
    None,
    /// A zlib stream (RFC 1950).
    Zlib,
    /// A gzip file (RFC 1952).
    Gzip,
}

impl Compression {
    /// The compression with TensorFlow's name `name`, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "" => Some(Self::None),
            "ZLIB" => Some(Self::Zlib),
            "GZIP" => Some(Self::Gzip),
            _ => None,
        }
    }

    /// Guesses the compression of a file from its first bytes.
    pub fn guess(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, 8, ..] => Self::Gzip,
            [method, flags, ..] if method & 0x8f == 8 && u16::from_be_bytes([*method, *flags]).is_multiple_of(31) => {
                Self::Zlib
            }
            _ => Self::None,
        }
    }

    /// How to fix a file that begins with these bytes and cannot be read with this compression.
    pub fn remedy(self, start: &[u8]) -> &'static str {
        match Self::guess(start) {
            guess if guess == self => "It is damaged; copy it again.",
            Self::Gzip => "It looks like GZIP; set the compression to GZIP.",
            Self::Zlib => "It looks like ZLIB; set the compression to ZLIB.",
            Self::None => "It does not look compressed; read it without compression.",
        }
    }
}

/// Inflates a compressed input.
///
/// All members of a gzip file are read. A zlib stream ends at its own end, whatever follows. A
/// truncated input ends where it was cut. Damage is an error of kind `InvalidData`, worded as in
/// TensorFlow.
///
/// [`Inflate::whole`] is stricter: it reads to the end of the input.
pub struct Inflate<R> {
    input: R,
    compression: Compression,
    /// True if the whole input is read, so that a truncated input is an error.
    is_whole: bool,
    /// True once a member has ended.
    has_member: bool,
    /// `None` between members.
    stream: Option<Decompress>,
    block: Vec<u8>,
    /// `block[start..end]` has been read but not used yet.
    start: usize,
    end: usize,
    /// The first bytes of the input.
    first: SmallVec<[u8; 4]>,
    is_over: bool,
}

impl<R: Read> Inflate<R> {
    /// Reads from `input`, which has this compression.
    pub fn new(input: R, compression: Compression) -> Self {
        Self {
            input,
            compression,
            is_whole: false,
            has_member: false,
            stream: None,
            block: Vec::new(),
            start: 0,
            end: 0,
            first: SmallVec::new(),
            is_over: false,
        }
    }

    /// Reads `input` to its end. Consecutive zlib streams are read like the members of a gzip file.
    /// Zeros after the last gzip member are skipped, as `gzip` does. Any other bytes after the end
    /// are an error, and so is a truncated input.
    pub fn whole(input: R, compression: Compression) -> Self {
        Self { is_whole: true, ..Self::new(input, compression) }
    }

    /// How to fix an error.
    pub fn remedy(&self) -> &'static str {
        self.compression.remedy(&self.first)
    }

    /// Returns true if the input has ended within a gzip member or a zlib stream.
    pub fn is_cut_short(&self) -> bool {
        self.stream.is_some()
    }

    /// Looks for another member at the next byte. Skips zeros after a gzip member.
    fn begins_member(&mut self) -> io::Result<bool> {
        let is_gzip = self.compression == Compression::Gzip;
        while is_gzip && self.start < self.end && self.block[self.start] == 0 {
            self.start += 1;
        }
        match self.block[self.start..self.end].first() {
            None => Ok(false),
            Some(0x1f) if is_gzip => Ok(true),
            Some(method) if !is_gzip && method & 0x8f == 8 => Ok(true),
            _ => Err(io::Error::new(ErrorKind::InvalidData, "there are extra bytes after the compressed data")),
        }
    }

    /// Reads another block. Returns whether there was one.
    fn read_block(&mut self) -> io::Result<bool> {
        #[expect(clippy::disallowed_methods, reason = "a block")]
        self.block.resize(BLOCK_BYTES, 0);
        // The old block is dropped even if this fails.
        (self.start, self.end) = (0, 0);
        self.end = retried(|| self.input.read(&mut self.block))?;
        let missing = self.first.inline_size() - self.first.len();
        self.first.extend_from_slice(&self.block[..self.end.min(missing)]);
        Ok(self.end > 0)
    }
}

impl<R: Read> Read for Inflate<R> {
    fn read(&mut self, output: &mut [u8]) -> io::Result<usize> {
        while !self.is_over && !output.is_empty() {
            let has_input = self.start < self.end || self.read_block()?;
            if !has_input && self.stream.is_none() {
                if self.is_whole && !self.has_member {
                    return Err(cut_short());
                }
                break;
            }
            if self.is_whole && self.has_member && self.stream.is_none() && !self.begins_member()? {
                continue;
            }
            let stream = self.stream.get_or_insert_with(|| match self.compression {
                Compression::Gzip => Decompress::new_gzip(WINDOW_BITS),
                _ => Decompress::new(true),
            });
            let (used, num_produced) = (stream.total_in(), stream.total_out());
            let status = stream.decompress(&self.block[self.start..self.end], output, FlushDecompress::None);
            let status = status.map_err(|error| damage(&error))?;
            self.start += (stream.total_in() - used) as usize;
            let num_produced = (stream.total_out() - num_produced) as usize;
            if status == Status::StreamEnd {
                self.stream = None;
                self.has_member = true;
                self.is_over = self.compression != Compression::Gzip && !self.is_whole;
            }
            if num_produced == 0 && !has_input && self.is_whole && self.stream.is_some() {
                return Err(cut_short());
            }
            if num_produced > 0 || !has_input {
                return Ok(num_produced);
            }
        }
        Ok(0)
    }
}

fn cut_short() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the compressed data ends too early")
}

fn damage(error: &flate2::DecompressError) -> io::Error {
    let text = match error.needs_dictionary() {
        Some(_) => "inflate() failed with error 2: need dictionary".to_owned(),
        None => format!("inflate() failed with error -3: {}", error.message().unwrap_or("invalid data")),
    };
    io::Error::new(ErrorKind::InvalidData, text)
}

/// An output that is deflated or written unchanged.
pub enum Deflate<W: Write> {
    /// Writes the bytes unchanged.
    Plain(W),
    /// Writes a compressed stream.
    Compressed(Encoder<W>),
}

impl<W: Write> Deflate<W> {
    /// Writes to `output`.
    pub fn new(output: W, compression: Compression, options: DeflateOptions) -> Result<Self> {
        match compression {
            Compression::None => Ok(Self::Plain(output)),
            Compression::Zlib => Ok(Self::Compressed(Encoder::new(output, false, options)?)),
            Compression::Gzip => Ok(Self::Compressed(Encoder::new(output, true, options)?)),
        }
    }

    /// Writes the end of the stream. Nothing may be written after that.
    pub fn finish(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(output) => output.flush(),
            Self::Compressed(output) => output.finish(),
        }
    }
}

impl<W: Write> Write for Deflate<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(output) => output.write(bytes),
            Self::Compressed(output) => output.write(bytes),
        }
    }

    /// Flushes the data written so far, so that it can be inflated.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(output) => output.flush(),
            Self::Compressed(output) => output.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"the quick brown fox jumps over the lazy dog";

    fn at_level(level: i64) -> DeflateOptions {
        DeflateOptions { level: Some(level), ..DeflateOptions::default() }
    }

    fn deflated(compression: Compression, level: i64) -> Vec<u8> {
        deflated_with(compression, at_level(level), TEXT)
    }

    fn deflated_with(compression: Compression, options: DeflateOptions, data: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut output = Deflate::new(&mut bytes, compression, options).unwrap();
        output.write_all(data).unwrap();
        output.finish().unwrap();
        drop(output);
        bytes
    }

    fn inflated(compression: Compression, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut output = Vec::new();
        Inflate::new(bytes, compression).read_to_end(&mut output)?;
        Ok(output)
    }

    #[test]
    fn deflated_data_is_detected_and_inflates_to_the_original() {
        for compression in [Compression::Zlib, Compression::Gzip] {
            for level in -1..=9 {
                let bytes = deflated(compression, level);
                assert_eq!(inflated(compression, &bytes).unwrap(), TEXT);
                assert_eq!(Compression::guess(&bytes), compression);
            }
        }
        let error = Deflate::new(io::sink(), Compression::Zlib, at_level(10)).map(drop).unwrap_err();
        assert_eq!(error.message(), "compression_level is 10, expected -1 to 9");
    }

    #[test]
    fn all_gzip_members_are_read_and_a_zlib_stream_stops_at_its_end() {
        let twice = |compression| inflated(compression, &deflated(compression, 6).repeat(2)).unwrap();
        assert_eq!(twice(Compression::Gzip), TEXT.repeat(2));
        assert_eq!(twice(Compression::Zlib), TEXT);
    }

    fn whole(compression: Compression, bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut output = Vec::new();
        Inflate::whole(bytes, compression).read_to_end(&mut output)?;
        Ok(output)
    }

    #[test]
    fn input_is_read_to_its_end() {
        for compression in [Compression::Zlib, Compression::Gzip] {
            let bytes = deflated(compression, 6);
            assert_eq!(whole(compression, &bytes.repeat(3)).unwrap(), TEXT.repeat(3));
            for length in 0..bytes.len() {
                let error = whole(compression, &bytes[..length]).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::UnexpectedEof, "{length}");
                let second = [&bytes[..], &bytes[..length]].concat();
                assert_eq!(whole(compression, &second).is_ok(), length == 0, "{length}");
            }
            let error = whole(compression, &[&bytes[..], b"more"].concat()).unwrap_err();
            assert_eq!(error.to_string(), "there are extra bytes after the compressed data");
        }
    }

    #[test]
    fn zeros_are_padding_after_gzip_and_an_error_after_zlib() {
        let padded = |compression, behind: &[u8]| {
            whole(compression, &[&deflated(compression, 6)[..], &[0; 200_000], behind].concat())
        };
        assert_eq!(padded(Compression::Gzip, b"").unwrap(), TEXT);
        assert_eq!(padded(Compression::Gzip, &deflated(Compression::Gzip, 6)).unwrap(), TEXT.repeat(2));
        assert!(padded(Compression::Gzip, b"x").is_err());
        assert!(padded(Compression::Zlib, b"").is_err());
    }

    #[test]
    fn truncated_input_yields_the_bytes_before_the_end() {
        for compression in [Compression::Zlib, Compression::Gzip] {
            let bytes = deflated(compression, 0);
            for length in 0..bytes.len() {
                assert!(TEXT.starts_with(&inflated(compression, &bytes[..length]).unwrap()));
            }
        }
    }

    #[test]
    fn truncated_input_is_detected() {
        for compression in [Compression::Zlib, Compression::Gzip] {
            let bytes = deflated(compression, 6);
            for length in 1..=bytes.len() {
                let mut inflate = Inflate::new(&bytes[..length], compression);
                std::io::copy(&mut inflate, &mut io::sink()).unwrap();
                assert_eq!(inflate.is_cut_short(), length < bytes.len(), "{length}");
            }
        }
    }

    #[test]
    fn damaged_data_is_reported_with_zlib_messages() {
        let mut bytes = deflated(Compression::Gzip, 6);
        let end = bytes.len();
        let text = |bytes: &[u8]| inflated(Compression::Gzip, bytes).unwrap_err().to_string();
        bytes[end - 1] ^= 1;
        assert_eq!(text(&bytes), "inflate() failed with error -3: incorrect length check");
        bytes[end - 6] ^= 1;
        assert_eq!(text(&bytes), "inflate() failed with error -3: incorrect data check");
        assert_eq!(text(TEXT), "inflate() failed with error -3: incorrect header check");
        let dictionary = inflated(Compression::Zlib, b"\x78\xbb\0\0\0\0").unwrap_err();
        assert_eq!(dictionary.to_string(), "inflate() failed with error 2: need dictionary");
    }

    #[test]
    fn output_larger_than_every_buffer_is_inflated_completely() {
        let zeros = vec![0; 3_000_000];
        let mut bytes = Vec::new();
        let mut output = Deflate::new(&mut bytes, Compression::Gzip, DeflateOptions::default()).unwrap();
        output.write_all(&zeros).unwrap();
        output.finish().unwrap();
        drop(output);
        assert!(inflated(Compression::Gzip, &bytes).unwrap() == zeros);
    }

    #[test]
    fn flush_mode_flushes_at_intervals_and_the_stream_stays_valid() {
        let numbers: Vec<u8> =
            (0..100_000_u32).flat_map(|n| (n.wrapping_mul(2_654_435_761) >> 20).to_le_bytes()).collect();
        for compression in [Compression::Zlib, Compression::Gzip] {
            let sizes = [None, Some(0), Some(1), Some(2), Some(3), Some(5)].map(|flush_mode| {
                let mut bytes = Vec::new();
                let options = DeflateOptions { flush_mode, flush_bytes: Some(1000), ..DeflateOptions::default() };
                let mut output = Deflate::new(&mut bytes, compression, options).unwrap();
                output.write_all(&numbers[..1999]).unwrap();
                output.write_all(&numbers[1999..]).unwrap();
                output.finish().unwrap();
                drop(output);
                assert!(whole(compression, &bytes).unwrap() == numbers);
                bytes.len()
            });
            assert_eq!(sizes[0], sizes[1]);
            assert!(sizes[2..].iter().all(|&size| size > sizes[1]), "{sizes:?}");
            assert!(sizes[2] != sizes[3] && sizes[3] != sizes[4], "{sizes:?}");
        }
    }

    #[test]
    fn bytes_can_be_inflated_up_to_the_last_interval() {
        let mut bytes = Vec::new();
        let options = DeflateOptions { flush_mode: Some(2), flush_bytes: Some(10), ..DeflateOptions::default() };
        let mut output = Deflate::new(&mut bytes, Compression::Zlib, options).unwrap();
        output.write_all(&TEXT[..25]).unwrap();
        drop(output);
        assert_eq!(inflated(Compression::Zlib, &bytes).unwrap(), &TEXT[..20]);
    }

    #[test]
    fn flush_modes_that_end_the_stream_are_rejected() {
        for flush_mode in [-1, 4, 6] {
            let options = DeflateOptions { flush_mode: Some(flush_mode), ..DeflateOptions::default() };
            let error = Deflate::new(io::sink(), Compression::Zlib, options).map(drop).unwrap_err();
            assert!(
                error.message().starts_with(&format!("flush_mode is {flush_mode}, expected 0 to 3 or 5")),
                "{error}"
            );
            assert!(Deflate::new(io::sink(), Compression::None, options).is_ok());
        }
    }

    #[test]
    fn smaller_window_is_in_the_header_and_compresses_less() {
        let far: Vec<u8> =
            (0..2000_u32).flat_map(|n| (n.wrapping_mul(2_654_435_761)).to_le_bytes()).collect::<Vec<_>>().repeat(2);
        let sizes = [9, 12, 15].map(|bits| {
            let options = DeflateOptions { window_bits: Some(bits), ..DeflateOptions::default() };
            let bytes = deflated_with(Compression::Zlib, options, &far);
            assert_eq!(i64::from(bytes[0] >> 4) + 8, bits);
            assert!(whole(Compression::Zlib, &bytes).unwrap() == far);
            bytes.len()
        });
        assert!(sizes[2] < sizes[0] * 3 / 4 && sizes[0] == sizes[1], "{sizes:?}");
    }

    #[test]
    fn strategy_and_memory_level_change_the_bytes_but_not_the_data() {
        let text = TEXT.repeat(1000);
        for compression in [Compression::Zlib, Compression::Gzip] {
            let size = |options| {
                let bytes = deflated_with(compression, options, &text);
                assert!(whole(compression, &bytes).unwrap() == text);
                bytes.len()
            };
            let strategy = |number| size(DeflateOptions { strategy: Some(number), ..DeflateOptions::default() });
            // Without matches, each byte needs its own code.
            assert_eq!(strategy(0), size(DeflateOptions::default()));
            assert!(strategy(2) > text.len() / 2 && strategy(3) > text.len() / 2);
            assert!(strategy(1) < text.len() / 10 && strategy(4) < text.len() / 10);
            let memory =
                |level| size(DeflateOptions { mem_level: Some(level), strategy: Some(2), ..DeflateOptions::default() });
            assert!(memory(1) > memory(9), "smaller blocks need more headers");
        }
    }

    #[test]
    fn error_names_an_option_out_of_range() {
        let default = DeflateOptions::default();
        let text =
            |compression, options| Deflate::new(io::sink(), compression, options).map(drop).unwrap_err().to_string();
        for (compression, range, wrong) in [
            (Compression::Zlib, "8 to 15 for ZLIB", [7, 16, -15, 31]),
            (Compression::Gzip, "25 to 31 for GZIP", [24, 32, 15, -9]),
        ] {
            for bits in wrong {
                let error = text(compression, DeflateOptions { window_bits: Some(bits), ..default });
                assert!(error.contains(&format!("window_bits is {bits}, expected {range}")), "{error}");
            }
        }
        for (options, expected) in [
            (DeflateOptions { mem_level: Some(0), ..default }, "mem_level is 0, expected 1 to 9"),
            (DeflateOptions { mem_level: Some(10), ..default }, "mem_level is 10, expected 1 to 9"),
            (DeflateOptions { strategy: Some(5), ..default }, "compression_strategy is 5, expected 0 to 4"),
            (DeflateOptions { strategy: Some(-1), ..default }, "compression_strategy is -1, expected 0 to 4"),
            (DeflateOptions { method: Some(0), ..default }, "compression_method is 0, expected 8"),
            (DeflateOptions { flush_bytes: Some(-1), ..default }, "input_buffer_size is -1, expected at least 0"),
        ] {
            assert!(text(Compression::Gzip, options).contains(expected), "{expected}");
            assert!(Deflate::new(io::sink(), Compression::None, options).is_ok());
        }
    }
}
