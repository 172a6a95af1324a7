//! Parses the central directory of a zip archive.

use crate::error::{Error, Result};
use crate::tensor::allocate::{self, Refusal};
use crate::text::excerpt::excerpt;
use std::borrow::Cow;

/// The size of the record at the end of an archive, without its comment.
pub(super) const END_BYTES: usize = 22;
/// The maximum number of bytes from the beginning of the records at the end of an archive to its
/// end: a comment, the end record, the locator, and the zip64 end record.
pub(super) const MAX_TAIL_BYTES: usize = u16::MAX as usize + END_BYTES + LOCATOR_BYTES + END64_BYTES;
/// The size of a local header, without its variable fields.
pub(super) const LOCAL_BYTES: usize = 30;
const LOCATOR_BYTES: usize = 20;
const END64_BYTES: usize = 56;
const ENTRY_BYTES: usize = 46;
const END: [u8; 4] = *b"PK\x05\x06";
const END64: [u8; 4] = *b"PK\x06\x06";
const LOCATOR: [u8; 4] = *b"PK\x06\x07";
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// The extra field with sizes of more than 32 bits.
const ZIP64: u16 = 1;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const UNIX: u8 = 3;
const NO_END64: &str = "the zip64 end record is missing";
/// The flag of names in UTF-8.
const UTF8: u16 = 1 << 11;
/// The bits of a Unix mode with the file type, and their value for a symbolic link.
const FILE_TYPE: u32 = 0o170_000;
const LINK: u32 = 0o120_000;

/// The reason why an archive is invalid, and a remedy.
#[derive(Debug)]
pub(super) enum Damage {
    /// The end of the archive is missing.
    NoEnd,
    /// A part of it is invalid.
    Invalid(String),
    /// It has something that is not supported, followed by a remedy.
    Unsupported(String),
    /// There is not enough memory.
    Refused(Refusal),
}

impl From<Refusal> for Damage {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

type Parsed<T> = std::result::Result<T, Damage>;

fn invalid<T>(text: impl Into<String>) -> Parsed<T> {
    Err(Damage::Invalid(text.into()))
}

/// Where the central directory is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Directory {
    pub offset: u64,
    pub num_bytes: u64,
    pub num_entries: u64,
    /// The number of bytes before the archive, for example of a program that unpacks it.
    pub num_bytes_before: u64,
    /// True if some of these numbers may be in a zip64 end record that is missing.
    pub may_lack_end64: bool,
}

/// A member, as the central directory describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub name: Vec<u8>,
    /// The name as stored.
    pub stored_name_bytes: usize,
    pub offset: u64,
    pub packed_bytes: u64,
    pub num_bytes: u64,
    pub crc: u32,
    pub method: u16,
    /// If it cannot be read: why not.
    pub obstacle: Option<String>,
}

impl Entry {
    pub fn is_deflated(&self) -> bool {
        self.method == DEFLATED
    }

    /// The least offset after its data.
    pub fn least_end(&self) -> Option<u64> {
        self.offset.checked_add((LOCAL_BYTES + self.stored_name_bytes) as u64)?.checked_add(self.packed_bytes)
    }
}

/// Reads little-endian numbers from the beginning of some bytes.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

/// Finds the central directory. `tail` is the end of an archive of `len` bytes: all of it, or
/// [`MAX_TAIL_BYTES`].
pub(super) fn locate(tail: &[u8], len: u64) -> Parsed<Directory> {
    let tail_offset = len - tail.len() as u64;
    let is_end = |at: &usize| {
        let comment = u16::from_le_bytes([tail[at + 20], tail[at + 21]]);
        tail[*at..].starts_with(&END) && at + END_BYTES + usize::from(comment) == tail.len()
    };
    let last = tail.len().checked_sub(END_BYTES).ok_or(Damage::NoEnd)?;
    let end = (0..=last).rev().take(usize::from(u16::MAX) + 1).find(is_end).ok_or(Damage::NoEnd)?;
    let short = || Damage::Invalid("the end record is incomplete".to_owned());
    let mut fields = Fields(&tail[end + END.len()..]);
    let mut small = || Some((fields.u16()?, fields.u16()?, fields.u16()?, fields.u16()?, fields.u32()?, fields.u32()?));
    let (disk, first_disk, num_here, num_entries, num_bytes, offset) = small().ok_or_else(short)?;
    let end_offset = tail_offset + end as u64;
    let locator = end.checked_sub(LOCATOR_BYTES).filter(|at| tail[*at..].starts_with(&LOCATOR));
    let Some(locator) = locator else {
        if disk != 0 || first_disk != 0 || num_here != num_entries {
            return Err(several_disks());
        }
        // The largest numbers may be meant, or replace numbers in a lost zip64 end record.
        let may_be_lost = num_entries == u16::MAX || num_bytes == u32::MAX || offset == u32::MAX;
        return directory(end_offset, u64::from(num_entries), u64::from(num_bytes), u64::from(offset))
            .map(|directory| Directory { may_lack_end64: may_be_lost, ..directory })
            .or_else(|damage| if may_be_lost { invalid(NO_END64) } else { Err(damage) });
    };
    let at = locator.checked_sub(END64_BYTES).filter(|at| tail[*at..].starts_with(&END64));
    let at = at.ok_or_else(|| Damage::Invalid("the zip64 end record is not directly before its locator".to_owned()))?;
    let mut fields = Fields(&tail[at + END64.len() + 12..]);
    let mut large = || {
        let disks = (fields.u32()?, fields.u32()?);
        Some((disks, fields.u64()?, fields.u64()?, fields.u64()?, fields.u64()?))
    };
    let (disks, num_here, num_entries64, num_bytes64, offset64) = large().ok_or_else(short)?;
    if disks != (0, 0) || num_here != num_entries64 {
        return Err(several_disks());
    }
    let agrees = |small: u64, most: u64, large: u64| small == most || small == large;
    if !agrees(num_entries.into(), u16::MAX.into(), num_entries64)
        || !agrees(num_bytes.into(), u32::MAX.into(), num_bytes64)
        || !agrees(offset.into(), u32::MAX.into(), offset64)
    {
        return invalid("the end record and the zip64 end record contradict each other");
    }
    directory(tail_offset + at as u64, num_entries64, num_bytes64, offset64)
}

fn several_disks() -> Damage {
    Damage::Unsupported("the file is one part of a split archive. Join the parts with `zip -s 0` first".to_owned())
}

/// The directory that ends at `end`.
fn directory(end: u64, num_entries: u64, num_bytes: u64, stated_offset: u64) -> Parsed<Directory> {
    let offset = end.checked_sub(num_bytes);
    let before = offset.and_then(|offset| Some((offset, offset.checked_sub(stated_offset)?)));
    match before {
        Some((offset, num_bytes_before)) if num_entries <= num_bytes / ENTRY_BYTES as u64 => {
            Ok(Directory { offset, num_bytes, num_entries, num_bytes_before, may_lack_end64: false })
        }
        _ => invalid(format!("the central directory of {num_entries} members in {num_bytes} bytes does not fit")),
    }
}

/// Parses the central directory. Returns the files in it, sorted by their offsets.
pub(super) fn entries(mut bytes: &[u8], directory: &Directory) -> Parsed<Vec<Entry>> {
    let mut entries = Vec::new();
    for number in 0..directory.num_entries {
        let (entry, rest) = entry(bytes, directory)
            .transpose()
            .ok_or_else(|| Damage::Invalid(format!("entry {number} of the central directory is cut short")))??;
        bytes = rest;
        if !entry.name.ends_with(b"/") {
            allocate::grow(&mut entries, 1)?;
            entries.push(entry);
        }
    }
    if !bytes.is_empty() && directory.may_lack_end64 {
        return invalid(NO_END64);
    }
    if !bytes.is_empty() {
        return invalid(format!("the central directory has {} extra bytes after the last member", bytes.len()));
    }
    check_names(&entries)?;
    entries.sort_by_key(|entry| entry.offset);
    check_overlaps(&entries, directory)?;
    Ok(entries)
}

fn check_names(entries: &[Entry]) -> Parsed<()> {
    for entry in entries {
        let shown = excerpt(&entry.name);
        let is_drive = matches!(entry.name[..], [letter, b':', ..] if letter.is_ascii_alphabetic());
        if entry.name.starts_with(b"/") || is_drive {
            return unsafe_name(format!("the name of member '{shown}' is an absolute path"));
        }
        if entry.name.contains(&b'\\') || entry.name.contains(&0) {
            return unsafe_name(format!("the name of member '{shown}' has a backslash or a zero byte"));
        }
        if entry.name.split(|byte| *byte == b'/').any(|part| matches!(part, b"" | b"." | b"..")) {
            return unsafe_name(format!("the name of member '{shown}' has a part that is empty, '.' or '..'"));
        }
    }
    let mut names = allocate::collected(entries.len(), entries.iter().map(|entry| &entry.name[..]))?;
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let shown = excerpt(pair[0]);
            unsafe_name(format!("several members are named '{shown}'"))
        }
        None => Ok(()),
    }
}

fn unsafe_name(text: String) -> Parsed<()> {
    Err(Damage::Unsupported(format!("{text}. Create the archive again with other names")))
}

fn check_overlaps(entries: &[Entry], directory: &Directory) -> Parsed<()> {
    let ends = entries.iter().skip(1).map(|entry| entry.offset).chain([directory.offset]);
    for (entry, end) in entries.iter().zip(ends) {
        if entry.least_end().is_none_or(|least_end| least_end > end) {
            let shown = excerpt(&entry.name);
            return invalid(format!("member '{shown}' overlaps the next member or the directory"));
        }
    }
    Ok(())
}

/// The first entry and the bytes after it, or `None` if there is no complete one.
fn entry<'a>(bytes: &'a [u8], directory: &Directory) -> Parsed<Option<(Entry, &'a [u8])>> {
    let mut fields = Fields(bytes);
    let mut read = || {
        let signature = fields.array::<4>()?;
        let made_by = fields.array::<2>()?;
        let _version = fields.u16()?;
        let (flags, method) = (fields.u16()?, fields.u16()?);
        let _time = fields.u32()?;
        let (crc, packed_bytes, num_bytes) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let lengths = [fields.u16()?, fields.u16()?, fields.u16()?];
        let (disk, _attributes, mode, offset) = (fields.u16()?, fields.u16()?, fields.u32()?, fields.u32()?);
        let [name, extra, _comment] = lengths.map(|length| fields.bytes(usize::from(length)));
        Some((
            signature,
            made_by,
            flags,
            method,
            crc,
            packed_bytes,
            num_bytes,
            disk,
            mode,
            offset,
            name?,
            extra?,
            _comment?,
        ))
    };
    let Some((signature, made_by, flags, method, crc, packed, unpacked, disk, mode, offset, name, extra, _)) = read()
    else {
        return Ok(None);
    };
    if signature != ENTRY {
        return invalid("the central directory is damaged");
    }
    let shown = || excerpt(name);
    let sizes = zip64_sizes(extra, [unpacked, packed, offset])
        .ok_or_else(|| Damage::Invalid(format!("the sizes of member '{}' are incomplete", shown())))?;
    let [num_bytes, packed_bytes, offset] = sizes;
    if disk != 0 && disk != u16::MAX {
        return Err(several_disks());
    }
    let offset = offset
        .checked_add(directory.num_bytes_before)
        .ok_or_else(|| Damage::Invalid(format!("the position of member '{}' is too large", shown())))?;
    let is_link = made_by[1] == UNIX && (mode >> 16) & FILE_TYPE == LINK;
    let obstacle = if flags & 1 != 0 {
        Some("the member is encrypted. Decrypt the archive first".to_owned())
    } else if method != STORED && method != DEFLATED {
        let name = method_name(method);
        Some(format!(
            "the member is compressed with {name}, but only stored and deflated members can be read. Use `zip` to create the archive again"
        ))
    } else if is_link {
        Some(
            "the member is a symbolic link. Create the archive with the file itself, which `zip` does by default"
                .to_owned(),
        )
    } else if method == STORED && packed_bytes != num_bytes {
        return invalid(format!("member '{}' is stored in {packed_bytes} bytes, expected {num_bytes}", shown()));
    } else {
        None
    };
    let name_text = text_of(name, flags & UTF8 != 0);
    let entry = Entry {
        name: name_text.into_owned(),
        stored_name_bytes: name.len(),
        offset,
        packed_bytes,
        num_bytes,
        crc,
        method,
        obstacle,
    };
    Ok(Some((entry, fields.0)))
}

/// The size, the packed size and the offset of a member. Those that do not fit into 32 bits are in
/// the extra fields.
fn zip64_sizes(extra: &[u8], small: [u32; 3]) -> Option<[u64; 3]> {
    let mut sizes = small.map(u64::from);
    if small.iter().all(|size| *size != u32::MAX) {
        return Some(sizes);
    }
    let mut fields = Fields(extra);
    let mut large = loop {
        // Without large sizes, the small ones are meant, even if they are the largest ones.
        let (Some(kind), Some(length)) = (fields.u16(), fields.u16()) else { return Some(sizes) };
        let content = fields.bytes(usize::from(length))?;
        if kind == ZIP64 {
            break Fields(content);
        }
    };
    for (size, small) in sizes.iter_mut().zip(small) {
        if small == u32::MAX {
            *size = large.u64()?;
        }
    }
    Some(sizes)
}

/// A name in UTF-8. Names that are not UTF-8 are in code page 437.
fn text_of(name: &[u8], is_utf8: bool) -> Cow<'_, [u8]> {
    if is_utf8 || str::from_utf8(name).is_ok() {
        return Cow::Borrowed(name);
    }
    let letter = |byte: &u8| match byte.checked_sub(0x80) {
        None => char::from(*byte),
        Some(index) => CODE_PAGE_437.chars().nth(usize::from(index)).unwrap_or(char::REPLACEMENT_CHARACTER),
    };
    Cow::Owned(name.iter().map(letter).collect::<String>().into_bytes())
}

/// The upper half of code page 437.
const CODE_PAGE_437: &str = "\
ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";

fn method_name(method: u16) -> String {
    match method {
        9 => "Deflate64".to_owned(),
        12 => "bzip2".to_owned(),
        14 => "LZMA".to_owned(),
        93 => "Zstandard".to_owned(),
        95 => "xz".to_owned(),
        99 => "AES encryption".to_owned(),
        other => format!("method {other}"),
    }
}

/// Where the data of a member begin within its frame, which begins with its local header. Fails if
/// the header does not belong to the member.
pub(super) fn data_start(frame: &[u8], entry: &Entry) -> std::result::Result<usize, &'static str> {
    let mut fields = Fields(frame);
    let mut read = || {
        let signature = fields.array::<4>()?;
        let _version = fields.u16()?;
        let (flags, method) = (fields.u16()?, fields.u16()?);
        let _ = fields.bytes(16)?;
        let (name_bytes, extra_bytes) = (usize::from(fields.u16()?), usize::from(fields.u16()?));
        let name = fields.bytes(name_bytes)?;
        let _ = fields.bytes(extra_bytes)?;
        Some((signature, flags, method, name, LOCAL_BYTES + name_bytes + extra_bytes))
    };
    match read() {
        None => Err("the local header is cut short"),
        Some((signature, ..)) if signature != LOCAL => Err("the local header is missing"),
        Some((_, flags, method, name, _))
            if method != entry.method || *text_of(name, flags & UTF8 != 0) != entry.name[..] =>
        {
            Err("the local header contradicts the central directory")
        }
        Some((.., start)) => Ok(start),
    }
}

/// Converts the reason to an error.
pub(super) fn checked<T>(archive: &str, parsed: Parsed<T>) -> Result<T> {
    parsed.map_err(|damage| match damage {
        Damage::NoEnd => Error::data_loss(format!(
            "{archive}: the archive has no central directory at its end. Either it is cut short, or it is not a zip \
             archive; copy it again."
        )),
        Damage::Invalid(text) => Error::data_loss(format!("{archive}: {text}. The archive is damaged; copy it again.")),
        Damage::Unsupported(text) => Error::invalid_argument(format!("{archive}: {text}.")),
        Damage::Refused(refusal) => refusal.at(archive),
    })
}
