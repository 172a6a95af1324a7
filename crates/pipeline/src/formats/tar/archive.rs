//! Iterates over the files of a tar archive that belong to samples.

use crate::blocks::block::FileProvenance;
use crate::blocks::column::Span;
use crate::formats::tar::input::Input;
use crate::records::{Codec, Source};
use headrace_engine::error::{Error, Lost, Result};
use headrace_engine::files::content::content_or_text;
use headrace_engine::tensor::allocate::{self, Unread};
use headrace_engine::text::excerpt::excerpt;
use std::io::Read;
use std::sync::Arc;

const HEADER_BYTES: usize = 512;
/// The maximum length of a name.
const MAX_NAME_BYTES: u64 = 1 << 20;

/// A file in an archive. Its contents come next.
pub(super) struct Member {
    pub key: Vec<u8>,
    pub extension: String,
    pub num_bytes: u64,
    /// If the entry has no contents: a description of it.
    pub stranger: Option<String>,
}

/// Iterates over the files of an archive that belong to samples.
pub(super) struct Archive<I> {
    pub file: Arc<FileProvenance>,
    source: I,
    /// The number of bytes read.
    offset_bytes: u64,
    /// The remaining bytes of the current file, including padding.
    rest: u64,
    /// The position of the current file's headers or, at the end, the position after the last file.
    pub begin: u64,
    /// True if the last block belongs to the end of an archive.
    has_ended: bool,
}

/// Values from extended headers, for the file that follows.
#[derive(Default)]
struct Long {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
}

fn until_zero(mut name: Vec<u8>) -> Vec<u8> {
    name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
    name
}

/// Describes an entry without contents.
fn stranger(kind: tar::EntryType, link: Vec<u8>) -> Option<String> {
    let link = || format!("to '{}'", excerpt(&link));
    match kind.as_byte() {
        0 | b'0' | b'7' => None,
        b'1' => Some(format!("a hard link {}", link())),
        b'2' => Some(format!("a symbolic link {}", link())),
        b'3' | b'4' => Some("a device".to_owned()),
        b'6' => Some("a pipe".to_owned()),
        other => Some(format!("of unknown type '{}'", other.escape_ascii())),
    }
}

impl Archive<Source> {
    /// Opens a file and moves to byte `offset_bytes` of the archive.
    pub fn open(file: &Arc<FileProvenance>, codec: Codec, offset_bytes: u64) -> Result<Self> {
        let mut source = Source::open(file, codec)?;
        source.skip_to(file, offset_bytes)?;
        Ok(Self::new(file, source, offset_bytes))
    }
}

impl<I: Input> Archive<I> {
    /// `source` begins at byte `offset_bytes` of the archive.
    pub fn new(file: &Arc<FileProvenance>, source: I, offset_bytes: u64) -> Self {
        Self { file: Arc::clone(file), source, offset_bytes, rest: 0, begin: offset_bytes, has_ended: false }
    }

    /// The size of the file in bytes, if the archive is not compressed.
    pub fn size(&self) -> Option<u64> {
        self.source.is_as_in_file().then(|| self.file.size()).flatten()
    }

    /// Returns the next file that belongs to a sample. Skips the rest of the current file.
    pub fn next(&mut self) -> Result<Option<Member>> {
        let mut long = Long::default();
        self.skip()?;
        self.begin = self.offset_bytes;
        loop {
            self.skip()?;
            let start = self.offset_bytes;
            let mut bytes = Vec::new();
            self.read(HEADER_BYTES as u64, &mut bytes)?;
            if bytes.iter().all(|byte| *byte == 0) {
                if bytes.len() < HEADER_BYTES {
                    return self.finish().map(|()| None);
                }
                // Another archive may follow the end of this one.
                self.has_ended = true;
                continue;
            }
            self.has_ended = false;
            let header = self.checked(&bytes, start)?;
            let kind = header.entry_type();
            // Volume labels have no contents.
            let has_size = header.as_old().size.iter().any(|byte| !matches!(byte, 0 | b' '));
            let size = if has_size { header.entry_size().map_err(|_| self.no_header(start, &bytes))? } else { 0 };
            let is_about_next = kind.is_pax_local_extensions() || kind.is_gnu_longname() || kind.is_gnu_longlink();
            let size = long.size.filter(|_| !is_about_next).unwrap_or(size);
            // This is independent of their size field.
            let has_contents = !(kind.is_hard_link()
                || kind.is_symlink()
                || kind.is_dir()
                || kind.is_block_special()
                || kind.is_character_special()
                || kind.is_fifo());
            let size = if has_contents { size } else { 0 };
            self.rest =
                size.checked_next_multiple_of(HEADER_BYTES as u64).ok_or_else(|| self.no_header(start, &bytes))?;
            if kind.is_gnu_longname() {
                long.name = Some(until_zero(self.extension_header(size, start)?));
            } else if kind.is_gnu_longlink() {
                long.link = Some(until_zero(self.extension_header(size, start)?));
            } else if kind.is_pax_local_extensions() {
                let pairs = self.extension_header(size, start)?;
                self.see(&pairs, start, &mut long)?;
            } else if kind.is_gnu_sparse() {
                return Err(self.sparse(start));
            } else if kind == tar::EntryType::new(b'M') {
                return Err(self
                    .damage(start, "the archive begins in the middle of a file")
                    .with_remedy("It is one volume of a multi-volume archive. Join the volumes with tar first."));
            } else if !kind.is_pax_global_extensions() {
                let Long { name, link, .. } = std::mem::take(&mut long);
                let name = name.unwrap_or_else(|| header.path_bytes().into_owned());
                let link = link.or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned));
                let stranger = stranger(kind, link.unwrap_or_default());
                // Directories and volume labels contain no data.
                let is_named = !kind.is_dir() && ![b'V', b'D'].map(tar::EntryType::new).contains(&kind);
                if let Some((key, extension)) = key_and_extension(&name).filter(|_| is_named) {
                    return Ok(Some(Member { key, extension, num_bytes: size, stranger }));
                }
            }
        }
    }

    /// Stores the values of a pax header for the file that follows.
    fn see(&self, pairs: &[u8], start: u64, long: &mut Long) -> Result<()> {
        for pair in tar::PaxExtensions::new(pairs) {
            let pair = pair.map_err(|_| self.no_header(start, &[]))?;
            match pair.key_bytes() {
                b"path" => long.name = Some(pair.value_bytes().to_vec()),
                b"linkpath" => long.link = Some(pair.value_bytes().to_vec()),
                b"size" => {
                    let size = pair.value().ok().and_then(|size| size.parse().ok());
                    long.size = Some(size.ok_or_else(|| self.no_header(start, &[]))?);
                }
                key if key.starts_with(b"GNU.sparse.") => return Err(self.sparse(start)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads the bytes after the last whole block, so that the checksum of compressed data is
    /// verified. Fails if the archive has no end.
    fn finish(&mut self) -> Result<()> {
        let position = format!("byte {} of the archive", self.offset_bytes);
        self.source.finish().map_err(|error| self.source.error(&self.file, &error, &position))?;
        match self.has_ended || !self.source.has_end() {
            true => Ok(()),
            false => Err(self.damage(self.offset_bytes, "the archive has no end marker (a block of zeros)").with_remedy(
                "It is cut short; copy it again. If its writer omits the end marker, add it: truncate -s +1024 FILE.",
            )),
        }
    }

    /// Parses a header after verifying its checksum.
    fn checked(&self, bytes: &[u8], start: u64) -> Result<tar::Header> {
        if bytes.len() < HEADER_BYTES {
            let is_archive = start > 0 || begins_like_header(bytes);
            return Err(if is_archive { self.cut_short(start) } else { self.no_header(start, bytes) });
        }
        let mut header = tar::Header::new_old();
        header.as_mut_bytes().copy_from_slice(bytes);
        let (before, behind) = (&bytes[..148], &bytes[156..]);
        let sum = before.iter().chain(behind).map(|byte| u32::from(*byte)).sum::<u32>() + 8 * u32::from(b' ');
        match header.cksum() {
            Ok(expected) if expected == sum => Ok(header),
            _ => Err(self.no_header(start, bytes)),
        }
    }

    /// Reads `count` bytes, or up to the end of the archive.
    fn read(&mut self, count: u64, bytes: &mut Vec<u8>) -> Result<()> {
        let before = bytes.len();
        let position = format!("byte {} of the archive", self.offset_bytes);
        let read = allocate::read_to_end(&mut self.source.by_ref().take(count), bytes);
        let length = (bytes.len() - before) as u64;
        self.offset_bytes += length;
        self.rest = self.rest.saturating_sub(length);
        read.map_err(|unread| match unread {
            Unread::Refused(refusal) => refusal.at(format_args!("{}: {position}", self.file.name.text())),
            Unread::Failed(error) => self.source.error(&self.file, &error, &position),
        })
    }

    /// Reads the contents of a file.
    pub fn contents(&mut self, num_bytes: u64, bytes: &mut Vec<u8>) -> Result<Span> {
        let (start, offset_bytes) = (bytes.len(), self.offset_bytes);
        self.read(num_bytes, bytes)?;
        let length = bytes.len() - start;
        match length as u64 == num_bytes {
            true => Ok(Span { start, length }),
            false => Err(self.cut_short(offset_bytes)),
        }
    }

    fn extension_header(&mut self, num_bytes: u64, start: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match num_bytes > MAX_NAME_BYTES {
            true => Err(self.no_header(start, &[])),
            false => self.contents(num_bytes, &mut bytes).map(|_| bytes),
        }
    }

    /// Skips the rest of a file.
    fn skip(&mut self) -> Result<()> {
        let (rest, start) = (std::mem::take(&mut self.rest), self.offset_bytes);
        let position = format!("byte {start} of the archive");
        let skipped = self.source.skip(rest).map_err(|error| self.source.error(&self.file, &error, &position))?;
        self.offset_bytes += skipped;
        match skipped == rest {
            true => Ok(()),
            false => Err(self.cut_short(start)),
        }
    }

    #[cold]
    fn damage(&self, start: u64, text: &str) -> Error {
        Error::data_loss(format!("{}: {text} at byte {start} of the archive", self.file.name.text()))
    }

    #[cold]
    fn cut_short(&self, start: u64) -> Error {
        // The sample that this file belongs to is the last one.
        let error = self.damage(start, "the archive ends within a file").with_lost(Lost::Records(1));
        error.with_remedy("It is cut short; copy it again.")
    }

    #[cold]
    fn no_header(&self, start: u64, bytes: &[u8]) -> Error {
        let error = self.damage(start, "there is no tar header");
        match (start, content_or_text(bytes)) {
            (0, Some(detected)) => error.with_remedy(&format!("It is {detected}. {}", detected.remedy())),
            (0, None) => error.with_remedy("Is it a tar archive? If it is, copy it again."),
            _ => error.with_remedy("It is damaged; copy it again."),
        }
    }

    #[cold]
    fn sparse(&self, start: u64) -> Error {
        self.damage(start, "there is a sparse file").with_remedy("Write the archive without --sparse.")
    }
}

/// Returns true if these bytes may be the start of a header, which has a name and then a mode in
/// octal digits.
fn begins_like_header(bytes: &[u8]) -> bool {
    let mode = bytes.get(100..107);
    mode.is_some_and(|mode| mode.iter().all(|byte| matches!(byte, b'0'..=b'7' | b' ' | 0)))
}

/// Splits a name at the first dot of its last part. Returns `None` if the file is not part of a
/// sample: if it is a directory, is hidden, has no extension, or has a name like `__NAME__`, which
/// describes an archive.
fn key_and_extension(name: &[u8]) -> Option<(Vec<u8>, String)> {
    let first = name.split(|byte| *byte == b'/').next()?;
    if first.len() >= 4 && first.starts_with(b"__") && first.ends_with(b"__") {
        return None;
    }
    let base = name.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let point = base + name[base..].iter().position(|byte| *byte == b'.').filter(|point| *point > 0)?;
    let extension = String::from_utf8_lossy(&name[point + 1..]).to_lowercase();
    (!extension.is_empty()).then(|| (name[..point].to_vec(), extension))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_the_first_dot_of_their_last_part() {
        for (name, parts) in [
            ("a.jpg", Some(("a", "jpg"))),
            ("x.y/a.seg.PNG", Some(("x.y/a", "seg.png"))),
            ("./a.cls", Some(("./a", "cls"))),
            ("x/a", None),
            ("x.y/a", None),
            (".a.jpg", None),
            ("x/._a.jpg", None),
            ("a.", None),
            ("x/", None),
            ("__meta__.json", Some(("__meta__", "json"))),
            ("__meta__/a.json", None),
        ] {
            let parts = parts.map(|(key, extension)| (key.as_bytes().to_vec(), extension.to_owned()));
            assert_eq!(key_and_extension(name.as_bytes()), parts, "{name}");
        }
    }
}
