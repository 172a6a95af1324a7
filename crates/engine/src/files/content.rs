//! Guesses the type of a file from its first bytes, for error messages about files passed to the
//! wrong reader.

use crate::checksum::masked_crc32c;
use std::fmt;

/// The number of bytes at the start of a file to examine.
pub const START_BYTES: usize = 1024;

/// The type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// The class of the type.
    pub kind: Kind,
    /// A description, such as "a zip archive".
    what: &'static str,
}

/// Classes of file types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An archive or a compression that headrace cannot read.
    Unread,
    /// A compression that headrace can read.
    Compressed,
    /// A placeholder for a file that was not downloaded.
    Pointer,
    /// Text in an encoding with two or four bytes per letter.
    WideText,
    /// An HTML page that a web server sent instead of the file.
    Page,
    /// A file that a different headrace source can read. The text mentions that source.
    Source(&'static str),
    /// Any other file that isn't text.
    Binary,
}

impl Kind {
    /// Returns true if no reader accepts such a file as data.
    pub fn is_never_data(self) -> bool {
        matches!(self, Self::Unread | Self::Pointer)
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

const fn of(kind: Kind, what: &'static str) -> Content {
    Content { kind, what }
}

const IMAGE: Kind =
    Kind::Source("Read it with headrace.files and decode_image, or its folder with headrace.image_folder.");
const SOUND: Kind =
    Kind::Source("Read it with headrace.files and decode_audio, or its folder with headrace.audio_folder.");
const ARROW: Kind = Kind::Source("Read it with headrace.arrow.");
const PARQUET: Kind = Kind::Source("Read it with headrace.parquet.");

const UTF_32: Content = of(Kind::WideText, "UTF-32 text, according to its byte order mark");
const UTF_16: Content = of(Kind::WideText, "UTF-16 text, according to its byte order mark");
const PAGE: Content = of(Kind::Page, "an HTML page");
const XML: Content = of(Kind::Page, "an XML document");
const POINTER: Content = of(Kind::Pointer, "a Git LFS pointer, not the file itself");
/// A file of TFRecords.
pub const RECORDS: Content = of(Kind::Source("Read it with headrace.tfrecords."), "a TFRecord file");
const TAR: Content = of(Kind::Source("Read it with headrace.webdataset."), "a tar archive");
const JSON_ARRAY: Content = of(Kind::Source("Read it with headrace.json_array."), "a JSON array");
const JSON_OBJECTS: Content = of(Kind::Source("If each line is an object, read it with headrace.json_lines."), "JSON");
const TEXT: Content = of(Kind::Source("Read it with headrace.csv or headrace.text_lines."), "text");
const PICKLE: Content = of(Kind::Binary, "a pickle");
const LZMA: Content = of(Kind::Unread, "compressed with lzma (.lzma, the predecessor of .xz)");

/// Magic bytes that never occur in text.
const MARKS: &[(&[u8], Content)] = &[
    (b"PK\x03\x04", of(Kind::Unread, "a zip archive, such as an .npz, a .docx or a PyTorch checkpoint")),
    (b"PK\x05\x06", of(Kind::Unread, "an empty zip archive")),
    (b"PK\x07\x08", of(Kind::Unread, "part of a zip archive")),
    (b"7z\xbc\xaf\x27\x1c", of(Kind::Unread, "a 7z archive")),
    (b"Rar!\x1a\x07", of(Kind::Unread, "a rar archive")),
    (b"\xff\x06\0\0sNaPpY", of(Kind::Unread, "compressed with snappy")),
    (b"\x82SNAPPY\0", of(Kind::Unread, "compressed with snappy (Java's framing)")),
    (b"\x1f\x9d", of(Kind::Unread, "compressed with compress (.Z)")),
    (b"\x1f\xa0", of(Kind::Unread, "compressed with compress (LZH)")),
    (b"\x1f\x1e", of(Kind::Unread, "compressed with pack (.z)")),
    (b"LZIP\x01", of(Kind::Unread, "compressed with lzip")),
    (b"\x89LZO\0\r\n\x1a\n", of(Kind::Unread, "compressed with lzop")),
    (b"LRZI\0", of(Kind::Unread, "compressed with lrzip")),
    (b"MSCF\0\0\0\0", of(Kind::Unread, "a cabinet archive (.cab)")),
    (b"\x1f\x8b\x08", of(Kind::Compressed, "compressed with gzip")),
    (b"\x28\xb5\x2f\xfd", of(Kind::Compressed, "compressed with zstd")),
    (b"\xfd7zXZ\0", of(Kind::Compressed, "compressed with xz")),
    (b"\x04\x22\x4d\x18", of(Kind::Compressed, "compressed with lz4")),
    (b"\x02\x21\x4c\x18", of(Kind::Compressed, "compressed with lz4")),
    (b"\x89PNG\r\n\x1a\n", of(IMAGE, "a PNG image")),
    (b"\xff\xd8\xff", of(IMAGE, "a JPEG image")),
    (b"II*\0", of(IMAGE, "a TIFF image")),
    (b"MM\0*", of(IMAGE, "a TIFF image")),
    (b"II+\0", of(IMAGE, "a TIFF image")),
    (b"MM\0+", of(IMAGE, "a TIFF image")),
    (b"\x93NUMPY", of(Kind::Source("Load it with numpy.load and pass the array to headrace.arrays."), "a NumPy array")),
    (b"\x89HDF\r\n\x1a\n", of(Kind::Binary, "an HDF5 file")),
    (b"ARROW1\0\0", of(ARROW, "an Arrow file")),
    (b"\xff\xff\xff\xff", of(ARROW, "an Arrow stream or another binary file")),
    (b"Obj\x01", of(Kind::Binary, "an Avro file")),
    (b"SQLite format 3\0", of(Kind::Binary, "a SQLite database")),
    (b"\x7fELF", of(Kind::Binary, "a program (ELF)")),
    (b"\0\0\xfe\xff", UTF_32),
    (b"\xff\xfe\0\0", UTF_32),
    (b"\xff\xfe", UTF_16),
    (b"\xfe\xff", UTF_16),
];

/// Magic bytes that text may begin with, too.
const WORDS: &[(&[u8], Content)] = &[
    (b"PAR1", of(PARQUET, "a Parquet file")),
    (b"PARE", of(Kind::Binary, "an encrypted Parquet file")),
    (b"ORC", of(Kind::Binary, "an ORC file")),
    (b"GIF87a", of(IMAGE, "a GIF image")),
    (b"GIF89a", of(IMAGE, "a GIF image")),
    (b"BM", of(IMAGE, "a BMP image")),
    (b"BZh", of(Kind::Compressed, "compressed with bzip2")),
    (b"%PDF-", of(Kind::Binary, "a PDF")),
    (b"fLaC", of(SOUND, "a FLAC audio file")),
    (b"OggS", of(SOUND, "an Ogg file")),
    (b"ID3", of(SOUND, "an MP3 audio file")),
    (b"SEQ", of(Kind::Binary, "a Hadoop sequence file")),
    (b"fea1", of(Kind::Binary, "a Feather file")),
];

/// File name extensions of formats without magic bytes.
const ENDINGS: &[(&str, Content)] = &[
    (".br", of(Kind::Unread, "compressed with Brotli, according to its name")),
    (".snappy", of(Kind::Unread, "compressed with snappy, according to its name")),
    (".sz", of(Kind::Unread, "compressed with snappy, according to its name")),
    (".lzo_deflate", of(Kind::Unread, "compressed with LZO, according to its name")),
    (".lzma", of(Kind::Unread, "compressed with lzma, according to its name")),
];

impl Content {
    /// The type of a file with this name, if the name is sufficient.
    pub fn by_name(name: &str) -> Option<Self> {
        let has = |ending: &str| {
            let start = name.len().checked_sub(ending.len());
            start.is_some_and(|start| name.as_bytes()[start..].eq_ignore_ascii_case(ending.as_bytes()))
        };
        ENDINGS.iter().find(|(ending, _)| has(ending)).map(|(_, content)| *content)
    }

    /// The remedy if files are not decompressed.
    pub fn unpacked_remedy(self) -> &'static str {
        if self.kind == Kind::Compressed { "Decompress it first." } else { self.remedy() }
    }

    /// The remedy for the user.
    pub fn remedy(self) -> &'static str {
        match self.kind {
            Kind::Unread => {
                "headrace cannot read this format. Unpack the file, or compress it with gzip, zstd, \
                             bzip2, xz or lz4."
            }
            Kind::Compressed => "Set compression=\"auto\", or name the compression.",
            Kind::Pointer => "Fetch the file: git lfs pull.",
            Kind::WideText => "Convert it to UTF-8, for example with iconv.",
            Kind::Page => "A server sent this page instead of the data; download the file again.",
            Kind::Source(remedy) => remedy,
            Kind::Binary => "headrace has no source for this format; headrace.files yields whole files.",
        }
    }
}

/// Detects the type of a file with these first bytes. Returns `None` if it is unknown, as for most
/// text.
pub fn content(start: &[u8]) -> Option<Content> {
    let start = &start[..start.len().min(START_BYTES)];
    if is_record(start) {
        return Some(RECORDS);
    }
    let of_marks = |marks: &[(&[u8], Content)]| {
        // Most marks differ in their first byte, which costs less than comparing slices.
        let mut marks = marks.iter().filter(|(mark, _)| mark.first() == start.first());
        marks.find(|(mark, _)| start.starts_with(mark)).map(|(_, content)| *content)
    };
    if start.starts_with(b"version https://git-lfs.github.com/spec/") {
        return Some(POINTER);
    }
    if let Some(detected) = of_marks(MARKS) {
        return Some(detected);
    }
    match start {
        // The size of the dictionary is a power of two here, and the data's size is unknown or less
        // than 256 GiB.
        [0x5d, 0, 0, _, _, size @ ..] if size.first_chunk::<8>().is_some_and(|size| is_lzma_size(*size)) => Some(LZMA),
        [0x80, 2..=5, b'c' | b'}' | b']' | b')' | b'(' | b'X' | b'K' | b'G' | b'J' | b'N' | 0x8a | 0x95, ..] => {
            Some(PICKLE)
        }
        _ if start.get(257..262) == Some(b"ustar") => Some(TAR),
        _ if is_text(start) => page(start),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(of(IMAGE, "a WebP image")),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', ..] => Some(of(SOUND, "a WAV audio file")),
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => Some(of(Kind::Binary, "an MP4 file or a related image format")),
        _ => of_marks(WORDS),
    }
}

/// Detects the type of a file that should not be text. Unlike with [`content`], text is a type, too.
pub fn content_or_text(start: &[u8]) -> Option<Content> {
    content(start).or_else(|| text(start))
}

fn text(start: &[u8]) -> Option<Content> {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    match text.trim_ascii_start() {
        _ if !is_text(start) => None,
        [b'[', rest @ ..] if rest.trim_ascii_start().starts_with(b"{") => Some(JSON_ARRAY),
        [b'{', rest @ ..] if rest.trim_ascii_start().starts_with(b"\"") => Some(JSON_OBJECTS),
        // One word could also be a name at the start of a binary file.
        rest => rest.contains(&b'\n').then_some(TEXT),
    }
}

fn is_lzma_size(size: [u8; 8]) -> bool {
    size == [0xff; 8] || u64::from_le_bytes(size) < 1 << 38
}

fn page(start: &[u8]) -> Option<Content> {
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start).trim_ascii_start();
    let begins = |word: &[u8]| text.get(..word.len()).is_some_and(|text| text.eq_ignore_ascii_case(word));
    match () {
        () if begins(b"<!doctype html") || begins(b"<html") => Some(PAGE),
        () if begins(b"<?xml") => Some(XML),
        () => None,
    }
}

fn is_record(start: &[u8]) -> bool {
    let Some((length, rest)) = start.split_first_chunk::<8>() else { return false };
    rest.first_chunk::<4>().is_some_and(|checksum| masked_crc32c(length).to_le_bytes() == *checksum)
}

/// Guesses whether the bytes are text in an encoding with one or more bytes per letter. Text has
/// almost no control characters.
pub fn is_text(start: &[u8]) -> bool {
    let start = &start[..start.len().min(START_BYTES)];
    // Without an early exit, so that it is vectorised.
    start.iter().fold(true, |is_text, byte| is_text & is_of_text(*byte))
}

/// Returns true for all bytes but control characters that text doesn't have.
fn is_of_text(byte: u8) -> bool {
    (byte >= b' ') | (byte.wrapping_sub(b'\x08') <= b'\r' - b'\x08') | (byte == b'\x1b')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(start: &[u8]) -> String {
        content(start).map_or(String::new(), |content| content.to_string())
    }

    #[test]
    fn file_types_are_detected_by_their_first_bytes() {
        for (start, what) in [
            (&b"PK\x03\x04abc"[..], "a zip archive, such as an .npz, a .docx or a PyTorch checkpoint"),
            (b"7z\xbc\xaf\x27\x1c\0", "a 7z archive"),
            (b"\xff\x06\0\0sNaPpY", "compressed with snappy"),
            (b"\x1f\x9d\x90", "compressed with compress (.Z)"),
            (b"\x5d\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff", "compressed with lzma (.lzma, the predecessor of .xz)"),
            (b"\x89PNG\r\n\x1a\n", "a PNG image"),
            (b"PAR1\x15\0", "a Parquet file"),
            (b"\x80\x04\x95\0", "a pickle"),
            (b"\xff\xfea\0", "UTF-16 text, according to its byte order mark"),
            (b"\xff\xfe\0\0a\0\0\0", "UTF-32 text, according to its byte order mark"),
            (b"\xef\xbb\xbf \n<!DOCTYPE HTML>", "an HTML page"),
            (b"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer, not the file itself"),
            (b"\0\0\0\0\0\0\0\0", ""),
            (b"", ""),
        ] {
            assert_eq!(shown(start), what, "{start:?}");
        }
    }

    #[test]
    fn text_that_starts_with_magic_bytes_is_still_text() {
        for text in ["GIF89a is a format", "BM", "ORC and elf", "PAR1", "RIFF____WEBP", "ID3", "a<html>", "BZh9"] {
            assert_eq!(content(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn text_is_detected_if_a_binary_file_is_expected() {
        for (start, what) in [
            (&b"{\"a\": 1}\n"[..], "JSON"),
            (b"\xef\xbb\xbf { \"a", "JSON"),
            (b"[\n{}]", "a JSON array"),
            (b"a,b\n1,2\n", "text"),
            (b"<html>", "an HTML page"),
            (b"PAR1\x15\0", "a Parquet file"),
            (b"{x", ""),
            (b"word", ""),
            (b"\n", ""),
            (b"a,b\n\0", ""),
        ] {
            assert_eq!(content_or_text(start).map_or(String::new(), |content| content.to_string()), what, "{start:?}");
        }
    }

    #[test]
    fn text_has_few_control_characters() {
        let letters: Vec<_> = (0..b' ').filter(|byte| is_text(&[b'a', *byte])).collect();
        assert_eq!(letters, b"\x08\t\n\x0b\x0c\r\x1b");
        assert!(is_text(&(b' '..=u8::MAX).collect::<Vec<_>>()) && is_text(b""));
    }

    #[test]
    fn names_are_compared_without_case() {
        let shown = |name| Content::by_name(name).map(|content| content.to_string());
        assert_eq!(shown("a/B.SZ").as_deref(), Some("compressed with snappy, according to its name"));
        assert_eq!((shown("\u{e4}sz"), shown("z"), shown("a.br.txt")), (None, None, None));
    }

    #[test]
    fn tfrecords_are_detected_by_their_checksum() {
        let length = 3_u64.to_le_bytes();
        let mut start = [&length[..], &masked_crc32c(&length).to_le_bytes()].concat();
        assert_eq!(shown(&start), "a TFRecord file");
        start[11] ^= 1;
        assert_eq!(shown(&start), "");
    }
}
