//! Detects a file's compression from its first bytes.
//!
//! Source: RFC 1950 (zlib), RFC 1952 (gzip), RFC 8878 (Zstandard), the .xz File Format 1.2.1, the
//! LZ4 Frame Format Description 1.6.4, and bzip2's manual.

use crate::records::lz4;
use flate2::{Decompress, FlushDecompress, Status};
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::files::content::{Content, RECORDS, content};

/// How files are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// Detected from the first bytes of each file.
    ByContent,
    /// The same for all files.
    Known(Compression),
    /// Zstandard frames (RFC 8878).
    Zstd,
    /// Streams of bzip2.
    Bzip2,
    /// Streams of xz.
    Xz,
    /// LZ4 frames.
    Lz4,
}

/// The number of bytes needed to detect a file's compression. Shorter files are examined as a
/// whole.
pub const MARK_BYTES: usize = 1024;

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
const XZ: &[u8] = b"\xfd7zXZ\0";
/// The bytes after the level in a bzip2 header: the start of the first block, or the end of the
/// stream.
const BZIP2: [&[u8]; 2] = [b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90"];
/// File name extensions, and the first bytes of files that have them.
const ENDINGS: [(&str, &[u8]); 5] =
    [(".gz", GZIP), (".bz2", b"BZh"), (".zst", ZSTD), (".xz", XZ), (".lz4", &lz4::MAGIC_BYTES)];
/// The minimum size of a bzip2 file.
const BZIP2_BYTES: usize = 14;

impl Codec {
    /// The compression with this name, if any.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "" => Self::Known(Compression::None),
            "auto" => Self::ByContent,
            "gzip" => Self::Known(Compression::Gzip),
            "zlib" => Self::Known(Compression::Zlib),
            "zstd" => Self::Zstd,
            "bzip2" => Self::Bzip2,
            "xz" => Self::Xz,
            "lz4" => Self::Lz4,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Known(Compression::None) => "",
            Self::ByContent => "auto",
            Self::Known(Compression::Gzip) => "gzip",
            Self::Known(Compression::Zlib) => "zlib",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Lz4 => "lz4",
        }
    }

    /// Detects the compression of a file from its first [`MARK_BYTES`] bytes, or from all of them.
    /// A file that ends within its magic bytes counts as compressed.
    ///
    /// zlib has no reliable magic bytes, so a file counts as zlib if these bytes can be inflated.
    pub fn of(start: &[u8]) -> Self {
        Self::detected(start, content(start))
    }

    /// Like [`Codec::of`], for a file of this type.
    fn detected(start: &[u8], content: Option<Content>) -> Self {
        let is_whole = start.len() < MARK_BYTES;
        // Except for bzip2's, magic bytes contain bytes that never occur in text, so text cannot
        // start like them.
        let begins = |mark: &[u8]| start.starts_with(mark) || (is_whole && start.len() > 1 && mark.starts_with(start));
        if content == Some(RECORDS) {
            return Self::Known(Compression::None);
        }
        if begins(GZIP) {
            return Self::Known(Compression::Gzip);
        }
        if let Some((magic, rest)) = start.split_first_chunk::<4>()
            && lz4::is_skippable(*magic)
        {
            return Self::behind_skippable(rest);
        }
        match start {
            _ if begins(ZSTD) => Self::Zstd,
            _ if begins(XZ) => Self::Xz,
            _ if begins(&lz4::MAGIC_BYTES) || begins(&lz4::LEGACY_MAGIC_BYTES) => Self::Lz4,
            [b'B', b'Z', b'h', b'1'..=b'9', rest @ ..]
                if BZIP2.iter().any(|mark| begins_bzip2(rest, mark, is_whole)) =>
            {
                Self::Bzip2
            }
            _ if begins_zlib(start, is_whole) => Self::Known(Compression::Zlib),
            _ => Self::Known(Compression::None),
        }
    }

    /// The compression after a skippable frame, whose length is at the beginning of `rest`. Assumes
    /// Zstandard if the next frame is too far away.
    fn behind_skippable(rest: &[u8]) -> Self {
        let behind = rest.split_first_chunk::<4>().and_then(|(length, rest)| {
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            rest.get(length..).and_then(|behind| behind.first_chunk::<4>().map(|magic| (*magic, behind)))
        });
        match behind {
            Some((magic, _)) if [lz4::MAGIC_BYTES, lz4::LEGACY_MAGIC_BYTES].contains(&magic) => Self::Lz4,
            Some((magic, behind)) if lz4::is_skippable(magic) => Self::behind_skippable(&behind[4..]),
            _ => Self::Zstd,
        }
    }

    /// Like [`Codec::of`], for a file with this name. Fails if the compression is unsupported, or
    /// if the file ends within the magic bytes that its name implies.
    pub fn of_file(start: &[u8], name: &str) -> Result<Self> {
        let content = content(start);
        if let Some(detected) = content.filter(|content| content.kind.is_never_data()) {
            return Err(unreadable(name, detected));
        }
        let codec = Self::detected(start, content);
        if codec != Self::Known(Compression::None) {
            return Ok(codec);
        }
        let is_cut = |mark: &[u8]| {
            mark.starts_with(start) || (mark == b"BZh" && start.starts_with(mark) && start.len() < BZIP2_BYTES)
        };
        if ENDINGS.iter().any(|(ending, mark)| name.ends_with(ending) && is_cut(mark)) {
            return Err(Error::data_loss(format!(
                "{name}: the file has {} bytes, expected compressed data, according to its name. It is cut short; \
                 copy it again.",
                start.len()
            )));
        }
        match Content::by_name(name).filter(|_| !headrace_engine::files::content::is_text(start)) {
            Some(detected) if !start.is_empty() => Err(unreadable(name, detected)),
            _ => Ok(codec),
        }
    }
}

/// Returns true if both the name and the first bytes show that the file is compressed.
pub fn is_named_compressed(start: &[u8], name: &str) -> bool {
    ENDINGS.iter().any(|(ending, mark)| name.ends_with(ending) && start.starts_with(mark))
}

fn unreadable(name: &str, detected: Content) -> Error {
    Error::invalid_argument(format!("{name}: the file is {detected}. {}", detected.remedy()))
}

fn begins_bzip2(rest: &[u8], mark: &[u8], is_whole: bool) -> bool {
    // `BZh9` followed by a digit may be text. Anything longer is a truncated bzip2 file.
    rest.starts_with(mark) || (is_whole && rest.len() > 1 && mark.starts_with(rest))
}

fn begins_zlib(start: &[u8], is_whole: bool) -> bool {
    let [method, flags, rest @ ..] = start else { return false };
    let is_header = method & 0x0f == 8 && method >> 4 < 8 && u16::from_be_bytes([*method, *flags]).is_multiple_of(31);
    if !is_header || flags & 0x20 != 0 {
        return false;
    }
    if rest.is_empty() {
        // Either truncated within its header, or a text of two letters.
        return !flags.is_ascii();
    }
    let mut stream = Decompress::new(true);
    let mut output = [0; 4096];
    loop {
        let used = stream.total_in() as usize;
        match stream.decompress(&start[used..], &mut output, FlushDecompress::None) {
            // The checksum is correct.
            Ok(Status::StreamEnd) => return true,
            Ok(_) if (stream.total_in() as usize) < start.len() && stream.total_in() as usize > used => {}
            // All of the bytes can be inflated. That may also be true of a short text.
            Ok(_) => {
                let is_text = headrace_engine::files::content::is_text(start);
                return !is_whole || std::str::from_utf8(start).is_err() || (start.len() > 16 && !is_text);
            }
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn zlib_is_detected_at_all_levels() {
        let text: Vec<_> = (0..5000_u32).flat_map(u32::to_le_bytes).collect();
        for level in 0..=9 {
            let mut output = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(level));
            output.write_all(&text).unwrap();
            let bytes = output.finish().unwrap();
            assert_eq!(Codec::of(&bytes[..MARK_BYTES]), Codec::Known(Compression::Zlib), "{:02x?}", &bytes[..2]);
            assert_eq!(Codec::of(&bytes[..40]), Codec::Known(Compression::Zlib), "{:02x?}", &bytes[..2]);
        }
    }

    #[test]
    fn text_and_records_that_look_compressed_are_not_mistaken_for_compressed_data() {
        let mut record = 0x8b1f_u64.to_le_bytes().to_vec();
        record[2] = 8;
        let checksum = headrace_engine::checksum::masked_crc32c(&record).to_le_bytes();
        record.extend_from_slice(&checksum);
        for start in [
            b"x^2 + y^2 = z^2\n".repeat(10).as_slice(),
            b"HK is a text",
            b"XG",
            b"x\x01\n",
            b"x\x9c\xff\xff\xff\n",
            b"BZh9 is how bzip2 begins",
            b"BZh91",
            b"BZh",
            b"\x1f",
            b"",
            &record,
        ] {
            assert_eq!(Codec::of(start), Codec::Known(Compression::None), "{start:?}");
        }
    }

    #[test]
    fn truncated_magic_bytes_are_detected() {
        for (mark, codec) in [
            (GZIP, Codec::Known(Compression::Gzip)),
            (ZSTD, Codec::Zstd),
            (XZ, Codec::Xz),
            (&lz4::MAGIC_BYTES, Codec::Lz4),
            (&lz4::LEGACY_MAGIC_BYTES, Codec::Lz4),
        ] {
            assert!((2..=mark.len()).all(|length| Codec::of(&mark[..length]) == codec), "{mark:?}");
        }
        assert_eq!(Codec::of(b"BZh91AY"), Codec::Bzip2);
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::new(6));
        zlib.write_all(&b"one line\nand another line\n".repeat(9)).unwrap();
        let zlib = zlib.finish().unwrap();
        for length in 2..zlib.len() {
            assert_eq!(Codec::of(&zlib[..length]), Codec::Known(Compression::Zlib), "{length}");
        }
    }

    #[test]
    fn frame_after_a_skippable_one_determines_the_format() {
        let skippable = b"\x51\x2a\x4d\x18\x03\0\0\0abc";
        for (behind, codec) in [(ZSTD, Codec::Zstd), (&lz4::MAGIC_BYTES[..], Codec::Lz4), (b"", Codec::Zstd)] {
            assert_eq!(Codec::of(&[&skippable.repeat(2)[..], behind].concat()), codec);
        }
    }
}
