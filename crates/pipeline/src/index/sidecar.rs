//! Index files, `NAME.hrindex`, which hold a file's record positions and are memory-mapped.
//!
//! An index file has a header, the offset of each record and the end of the last one, the record
//! numbers if some are skipped, and a checksum for each 4 KiB of these tables. All numbers are
//! little-endian. The header has the kind of the records and the identity of the file. It is
//! checked when the index is opened; each part of the tables is checked when it is first used.
//!
//! The index of a file without records, such as a video, has the same header. After it come tables
//! that another module defines, with a checksum that is checked when the index is opened.

use crate::records::{Numbers, ScanResult};
use bytes::Bytes;
use crc32c::{crc32c, crc32c_append};
use headrace_engine::files::storage::{Status, Version};
use headrace_engine::tensor::allocate;
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The file name extension of index files.
pub const SUFFIX: &str = ".hrindex";

const MAGIC: [u8; 8] = *b"\x89HRINDEX";
const VERSION: u32 = 1;
/// The length of the header without its texts.
const FIXED_BYTES: usize = 96;
/// The position of the header's checksum.
const SUM: Range<usize> = 16..20;
/// The maximum length of a header. A file with a longer header is not an index.
const MOST_HEADER_BYTES: usize = 64 << 10;
/// The number of table bytes per checksum.
const RUN_BYTES: usize = 4096;
/// The widths in the header of an index that holds tables other than the positions of records.
const NO_POSITIONS: (usize, usize) = (0, 0);

/// The identity of a file's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The length in bytes.
    pub len: u64,
    /// A stamp that changes with the content.
    pub stamp: Stamp,
}

/// A value that changes whenever the content of a file changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// The time of the last write, since 1970.
    Modified {
        /// The whole seconds.
        seconds: i64,
        /// The remaining nanoseconds.
        nanos: u32,
    },
    /// The storage's own tag for this content.
    Tag(Arc<str>),
}

impl Identity {
    /// The identity of a file with this status, or `None` if changes of the file cannot be
    /// detected.
    pub fn of(status: &Status) -> Option<Self> {
        let stamp = match status.version.as_ref()? {
            Version::Modified(modified) | Version::Local { modified, .. } => Stamp::modified(*modified),
            Version::Tag(tag) => Stamp::Tag(Arc::clone(tag)),
        };
        status.is_regular.then_some(Self { len: status.len, stamp })
    }
}

impl Stamp {
    fn modified(at: SystemTime) -> Self {
        let (seconds, nanos) = match at.duration_since(UNIX_EPOCH) {
            Ok(since) => (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), since.subsec_nanos()),
            // The nanoseconds are counted forwards, even before 1970.
            Err(before) => {
                let before = before.duration();
                let seconds = i64::try_from(before.as_secs()).unwrap_or(i64::MAX);
                match before.subsec_nanos() {
                    0 => (-seconds, 0),
                    nanos => (-seconds - 1, 1_000_000_000 - nanos),
                }
            }
        };
        Self::Modified { seconds, nanos }
    }
}

/// An index's information about its file, apart from the positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The format of the records, and everything else that affects their positions.
    pub kind: String,
    /// The file.
    pub identity: Identity,
    /// The number of records.
    pub count: u64,
    /// For tables: the number of fields in a record.
    pub num_fields: u64,
}

/// An open index.
#[derive(Debug)]
pub struct Sidecar {
    header: Header,
    /// The number of the first record, if the numbers are consecutive.
    first_number: u64,
    /// The number of bytes per offset, and per record number; the latter is 0 if the numbers are
    /// consecutive.
    widths: (usize, usize),
    /// The tables, followed by the checksums.
    tables: Bytes,
    sums: Bytes,
    /// The position of the record numbers within the tables.
    numbers: usize,
    /// One bit for each run that was checked, and one for each that is damaged.
    checked: Box<[AtomicU64]>,
}

/// The position of a record, according to an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordSpan {
    /// The range of bytes in the file, including the framing.
    pub range: Range<u64>,
    /// Its number.
    pub number: u64,
}

/// The sizes of the parts of an index file.
struct Sizes {
    numbers: usize,
    tables: usize,
    runs: usize,
}

impl Sizes {
    /// Returns `None` if no file can be that large.
    fn of(count: u64, (offset, number): (usize, usize)) -> Option<Self> {
        let count = usize::try_from(count).ok()?;
        let numbers = count.checked_add(1)?.checked_mul(offset)?.checked_next_multiple_of(8)?;
        let tables = count.checked_mul(number)?.checked_add(numbers)?;
        Some(Self { numbers, tables, runs: tables.div_ceil(RUN_BYTES) })
    }
}

/// The header of an index file, and the layout of its tables.
struct Begin {
    header: Header,
    bytes: usize,
    widths: (usize, usize),
    first_number: u64,
}

impl Begin {
    fn of(bytes: &[u8]) -> Result<Self, &'static str> {
        let fixed = bytes.get(..FIXED_BYTES).ok_or("the file is cut short")?;
        if fixed[..8] != MAGIC {
            return Err("the file does not start like an index");
        }
        if word(fixed, 8) != VERSION {
            return Err("a different version of headrace wrote it");
        }
        let header_bytes = word(fixed, 12) as usize;
        let header = bytes.get(..header_bytes).filter(|header| header.len() <= MOST_HEADER_BYTES);
        let header = header.filter(|header| header.len() >= FIXED_BYTES).ok_or("the header is damaged")?;
        if header_sum(header) != word(header, SUM.start) {
            return Err("the header is damaged");
        }
        let widths = (usize::from(header[20]), usize::from(header[21]));
        if !matches!(widths, (4 | 8, 0 | 4 | 8) | NO_POSITIONS) {
            return Err("the header is damaged");
        }
        let text = |start: usize, len: usize| -> Option<&str> {
            str::from_utf8(header.get(start..start.checked_add(len)?)?).ok()
        };
        let (kind_bytes, tag_bytes) = (word(header, 68) as usize, word(header, 72) as usize);
        let kind = text(FIXED_BYTES, kind_bytes).ok_or("the header is damaged")?;
        let stamp = match header[22] {
            0 => Stamp::Modified { seconds: long(header, 56).cast_signed(), nanos: word(header, 64) },
            _ => Stamp::Tag(text(FIXED_BYTES + kind_bytes, tag_bytes).ok_or("the header is damaged")?.into()),
        };
        let header = Header {
            kind: kind.to_owned(),
            identity: Identity { len: long(header, 24), stamp },
            count: long(header, 32),
            num_fields: long(header, 48),
        };
        Ok(Self { header, bytes: header_bytes, widths, first_number: long(bytes, 40) })
    }
}

/// Parses the header of an index that begins with these bytes. Fails with a description of the
/// defect.
pub fn header_of(start: &[u8]) -> Result<Header, &'static str> {
    Begin::of(start).map(|begin| begin.header)
}

/// Opens an index that holds tables other than the positions of records. Returns its header and the
/// tables, or a description of what is wrong.
pub fn open_tables(bytes: &Bytes) -> Result<(Header, Bytes), &'static str> {
    let Begin { header, bytes: header_bytes, widths, .. } = Begin::of(bytes)?;
    if widths != NO_POSITIONS {
        return Err("the index holds the positions of records");
    }
    let sum_at = bytes.len().checked_sub(4).filter(|at| *at >= header_bytes).ok_or("the file is cut short")?;
    let tables = bytes.slice(header_bytes..sum_at);
    match crc32c(&tables) == word(bytes, sum_at) {
        true => Ok((header, tables)),
        false => Err("the tables are damaged"),
    }
}

/// Writes an index that holds the tables of another module. `count` is for display.
pub fn write_tables(to: &mut impl Write, kind: &str, identity: &Identity, count: u64, tables: &[u8]) -> io::Result<()> {
    let header = header(kind, identity, count, NO_POSITIONS, 0, 0);
    to.write_all(&header.ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?)?;
    to.write_all(tables)?;
    to.write_all(&crc32c(tables).to_le_bytes())
}

impl Sidecar {
    /// Opens the index in these bytes. Fails with a description of the defect.
    pub fn open(bytes: &Bytes) -> Result<Self, &'static str> {
        let Begin { header, bytes: header_bytes, widths, first_number } = Begin::of(bytes)?;
        if widths == NO_POSITIONS {
            return Err("the index does not hold the positions of records");
        }
        let count = header.count;
        let sizes = Sizes::of(count, widths).ok_or("the record count is invalid")?;
        let rest = bytes.slice(header_bytes..);
        if sizes.runs.checked_mul(4).and_then(|sums| sums.checked_add(sizes.tables)) != Some(rest.len()) {
            return Err("the length does not match the record count");
        }
        let words = 2 * sizes.runs.div_ceil(64);
        let checked = (0..words).map(|_| AtomicU64::new(0)).collect();
        let this = Self {
            header,
            first_number,
            widths,
            tables: rest.slice(..sizes.tables),
            sums: rest.slice(sizes.tables..),
            numbers: sizes.numbers,
            checked,
        };
        match this.offset(0).zip(this.offset(count)) {
            Some((first, end)) if first <= end && end <= this.header.identity.len => Ok(this),
            Some(_) => Err("the offsets are outside the file"),
            None => Err("the positions are damaged"),
        }
    }

    /// The index's information about its file.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The position of record `index`, or `None` if that part of the index is damaged.
    pub fn span(&self, index: u64) -> Option<RecordSpan> {
        let range = self.offset(index)?..self.offset(index.checked_add(1)?)?;
        let number = match self.widths.1 {
            0 => self.first_number.checked_add(index)?,
            width => self.entry(self.numbers, width, index)?,
        };
        (index < self.header.count && range.start < range.end).then_some(RecordSpan { range, number })
    }

    /// The end of the last record.
    pub fn end(&self) -> Option<u64> {
        self.offset(self.header.count)
    }

    /// The index of record `number`, if it exists.
    pub fn find(&self, number: u64) -> Option<u64> {
        let (mut first, mut end) = (0, self.header.count);
        while first < end {
            let middle = first + (end - first) / 2;
            let span_number = self.span(middle)?.number;
            match span_number.cmp(&number) {
                std::cmp::Ordering::Less => first = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => end = middle,
            }
        }
        None
    }

    /// Returns true if records are numbered from 0 and the first one begins at one of these
    /// positions, if there are any records.
    pub fn is_dense(&self, first: &[u64]) -> bool {
        let begin = self.offset(0);
        let is_first = self.header.count == 0 || begin.is_some_and(|begin| first.contains(&begin));
        is_first && self.first_number == 0 && self.widths.1 == 0
    }

    /// The total number of bytes of all records.
    pub fn total_bytes(&self) -> u64 {
        self.end().zip(self.offset(0)).map_or(0, |(end, first)| end - first)
    }

    /// The private memory that it uses, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.checked) + size_of::<Self>()
    }

    /// Checks the whole index. Returns false if any part is damaged.
    pub fn is_whole(&self) -> bool {
        (0..self.header.count).all(|index| self.span(index).is_some())
    }

    fn offset(&self, index: u64) -> Option<u64> {
        self.entry(0, self.widths.0, index)
    }

    /// Entry `index` of a table that begins at `start`.
    fn entry(&self, start: usize, width: usize, index: u64) -> Option<u64> {
        let at = usize::try_from(index).ok()?.checked_mul(width)?.checked_add(start)?;
        self.is_good(at / RUN_BYTES).then(|| entry(self.tables.get(at..at + width)?))?
    }

    /// Returns true if this run is not damaged. Two threads that check it at the same time get the
    /// same result.
    fn is_good(&self, run: usize) -> bool {
        let (word, bit) = (2 * (run / 64), 1 << (run % 64));
        let Some(checked) = self.checked.get(word..word + 2) else { return false };
        if checked[0].load(Ordering::Acquire) & bit == 0 {
            if !self.check(run) {
                checked[1].fetch_or(bit, Ordering::Relaxed);
            }
            checked[0].fetch_or(bit, Ordering::Release);
        }
        checked[1].load(Ordering::Relaxed) & bit == 0
    }

    fn check(&self, run: usize) -> bool {
        let begin = run * RUN_BYTES;
        let bytes = &self.tables[begin..self.tables.len().min(begin + RUN_BYTES)];
        if self.sums.get(4 * run..4 * run + 4).map(|sum| word(sum, 0)) != Some(crc32c(bytes)) {
            return false;
        }
        // The positions of records must be in ascending order.
        let width = self.widths.0;
        let end = (self.header.count as usize + 1) * width;
        let offsets = &bytes[..bytes.len().min(end.saturating_sub(begin))];
        offsets.chunks_exact(width).filter_map(entry).is_sorted_by(|one, next| one < next)
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn long(bytes: &[u8], at: usize) -> u64 {
    let mut long = [0; 8];
    long.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(long)
}

fn entry(bytes: &[u8]) -> Option<u64> {
    match bytes.len() {
        4 => Some(u64::from(word(bytes, 0))),
        8 => Some(long(bytes, 0)),
        _ => None,
    }
}

fn header_sum(header: &[u8]) -> u32 {
    crc32c_append(crc32c(&header[..SUM.start]), &header[SUM.end..])
}

/// Writes the index of a file, which a scan found to be undamaged.
pub fn write(to: &mut impl Write, kind: &str, identity: &Identity, scan: &ScanResult) -> io::Result<()> {
    let unwritable = || io::Error::from(ErrorKind::InvalidInput);
    let count = scan.offsets.len();
    if scan.offsets.num_pushed() != count + 1 {
        return Err(unwritable());
    }
    let end = scan.offsets.get(count);
    let width = |most: u64| if u32::try_from(most).is_ok() { 4 } else { 8 };
    let (first_number, number_width) = match &scan.numbers {
        Numbers::From(first) => (*first, 0),
        numbers => (0, width(count.checked_sub(1).map_or(0, |last| numbers.get(last)))),
    };
    let widths = (width(end), number_width);
    let sizes = Sizes::of(count, widths).ok_or_else(unwritable)?;
    let num_fields = scan.layout.as_ref().map_or(0, |layout| layout.num_fields as u64);
    to.write_all(&header(kind, identity, count, widths, first_number, num_fields).ok_or_else(unwritable)?)?;
    let mut runs = Runs { to, run: Vec::new(), sums: Vec::new() };
    (0..count).try_for_each(|index| runs.push(scan.offsets.range(index).start, widths.0))?;
    runs.push(end, widths.0)?;
    if !(count as usize + 1).saturating_mul(widths.0).is_multiple_of(8) {
        runs.push(0, 4)?;
    }
    if number_width > 0 {
        (0..count).try_for_each(|index| runs.push(scan.numbers.get(index), number_width))?;
    }
    runs.end()?;
    let sums = std::mem::take(&mut runs.sums);
    debug_assert_eq!(sums.len(), 4 * sizes.runs);
    to.write_all(&sums)
}

fn header(
    kind: &str,
    identity: &Identity,
    count: u64,
    widths: (usize, usize),
    first_number: u64,
    num_fields: u64,
) -> Option<Vec<u8>> {
    let (stamp, seconds, nanos, tag) = match &identity.stamp {
        Stamp::Modified { seconds, nanos } => (0, *seconds, *nanos, ""),
        Stamp::Tag(tag) => (1, 0, 0, &**tag),
    };
    let len = (FIXED_BYTES + kind.len() + tag.len()).next_multiple_of(8);
    if len > MOST_HEADER_BYTES {
        return None;
    }
    let mut header = allocate::zeros::<u8>(len).ok()?;
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &MAGIC);
    put(8, &VERSION.to_le_bytes());
    put(12, &u32::try_from(len).ok()?.to_le_bytes());
    put(20, &[widths.0 as u8, widths.1 as u8, stamp]);
    put(24, &identity.len.to_le_bytes());
    put(32, &count.to_le_bytes());
    put(40, &first_number.to_le_bytes());
    put(48, &num_fields.to_le_bytes());
    put(56, &seconds.to_le_bytes());
    put(64, &nanos.to_le_bytes());
    put(68, &u32::try_from(kind.len()).ok()?.to_le_bytes());
    put(72, &u32::try_from(tag.len()).ok()?.to_le_bytes());
    put(FIXED_BYTES, kind.as_bytes());
    put(FIXED_BYTES + kind.len(), tag.as_bytes());
    let sum = header_sum(&header);
    header[SUM].copy_from_slice(&sum.to_le_bytes());
    Some(header)
}

/// Writes tables in runs and keeps the checksum of each run.
struct Runs<'a, W> {
    to: &'a mut W,
    run: Vec<u8>,
    sums: Vec<u8>,
}

impl<W: Write> Runs<'_, W> {
    fn push(&mut self, value: u64, width: usize) -> io::Result<()> {
        self.run.extend_from_slice(&value.to_le_bytes()[..width]);
        if self.run.len() == RUN_BYTES { self.end() } else { Ok(()) }
    }

    fn end(&mut self) -> io::Result<()> {
        if !self.run.is_empty() {
            self.sums.extend_from_slice(&crc32c(&self.run).to_le_bytes());
            self.to.write_all(&self.run)?;
            self.run.clear();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(len: u64) -> Identity {
        Identity { len, stamp: Stamp::Modified { seconds: -3, nanos: 7 } }
    }

    fn written(offsets: &[u64], numbers: &[u64], identity: &Identity) -> Vec<u8> {
        let mut scan = ScanResult::default();
        offsets.iter().zip(numbers).for_each(|(offset, number)| scan.push(*offset, *number).unwrap());
        scan.offsets.push(offsets[offsets.len() - 1]).unwrap();
        let mut bytes = Vec::new();
        write(&mut bytes, "lines", identity, &scan).unwrap();
        bytes
    }

    /// The offsets of `count` records, with consecutive numbers and with gaps.
    fn cases() -> Vec<(Vec<u64>, Vec<u64>)> {
        let mut cases = Vec::new();
        for count in [1, 2, 511, 512, 513, 1023, 1024, 3000] {
            for step in [1, 10, 1 << 33] {
                let offsets: Vec<u64> = (0..=count).map(|index| 3 + index * step).collect();
                cases.push((offsets.clone(), (1..=count).collect()));
                cases.push((offsets, (0..count).map(|index| 2 * index + step).collect()));
            }
        }
        cases
    }

    #[test]
    fn tables_of_other_kinds_round_trip_and_are_verified() {
        let mut bytes = Vec::new();
        write_tables(&mut bytes, "video", &identity(9), 3, b"tables").unwrap();
        let (header, tables) = open_tables(&bytes.clone().into()).unwrap();
        let expected = Header { kind: "video".to_owned(), identity: identity(9), count: 3, num_fields: 0 };
        assert_eq!((header, &tables[..]), (expected, &b"tables"[..]));
        assert_eq!(
            Sidecar::open(&bytes.clone().into()).unwrap_err(),
            "the index does not hold the positions of records"
        );
        for length in 0..bytes.len() {
            assert!(open_tables(&bytes[..length].to_vec().into()).is_err());
            let mut damaged = bytes.clone();
            damaged[length] ^= 1;
            assert!(open_tables(&damaged.into()).is_err(), "byte {length}");
        }
        let positions = written(&[0, 9], &[0], &identity(9));
        assert_eq!(open_tables(&positions.into()).unwrap_err(), "the index holds the positions of records");
    }

    #[test]
    fn positions_and_numbers_of_any_size_round_trip() {
        for (offsets, numbers) in cases() {
            let end = offsets[offsets.len() - 1];
            let sidecar = Sidecar::open(&written(&offsets, &numbers, &identity(end)).into()).unwrap();
            assert_eq!(sidecar.header().identity, identity(end));
            assert_eq!(sidecar.header().count, numbers.len() as u64);
            for (index, number) in numbers.iter().enumerate() {
                let span = RecordSpan { range: offsets[index]..offsets[index + 1], number: *number };
                assert_eq!(sidecar.span(index as u64), Some(span));
                assert_eq!(sidecar.find(*number), Some(index as u64));
            }
            assert_eq!(sidecar.span(numbers.len() as u64), None);
            assert_eq!(sidecar.find(numbers[numbers.len() - 1] + 1), None);
            assert!(sidecar.is_whole());
        }
    }

    #[test]
    fn every_changed_byte_and_every_truncation_is_detected() {
        let (offsets, numbers): (Vec<u64>, Vec<u64>) = ((0..700).collect(), (5..704).collect());
        let bytes = written(&offsets, &numbers, &identity(999));
        let is_whole = |bytes: Vec<u8>| Sidecar::open(&bytes.into()).is_ok_and(|sidecar| sidecar.is_whole());
        assert!(is_whole(bytes.clone()));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(!is_whole(damaged), "byte {at}");
            assert!(!is_whole(bytes[..at].to_vec()), "cut at {at}");
        }
        assert!(!is_whole([&bytes[..], &[0]].concat()));
    }

    #[test]
    fn invalid_positions_are_rejected_despite_valid_checksums() {
        let beyond = written(&[0, 5, 90], &[0, 1], &identity(89));
        assert_eq!(Sidecar::open(&beyond.into()).unwrap_err(), "the offsets are outside the file");
        for offsets in [[0, 9, 5, 20], [0, 5, 5, 20], [0, 40, 5, 20]] {
            let sidecar = Sidecar::open(&written(&offsets, &[0, 1, 2], &identity(50)).into());
            assert!(sidecar.is_err() || !sidecar.unwrap().is_whole());
        }
        let mut absurd = written(&[0, 5, 90], &[0, 1], &identity(99));
        absurd[32..40].copy_from_slice(&u64::MAX.to_le_bytes());
        let header_bytes = word(&absurd, 12) as usize;
        let sum = header_sum(&absurd[..header_bytes]);
        absurd[SUM].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(Sidecar::open(&absurd.into()).unwrap_err(), "the record count is invalid");
    }

    #[test]
    fn times_before_1970_and_tags_are_distinguished() {
        let times = [-1_500_000_000_i64, -1_000_000_000, -1, 0, 1, 1_999_999_999];
        let stamps: Vec<_> = times
            .iter()
            .map(|nanos| match *nanos < 0 {
                true => UNIX_EPOCH - std::time::Duration::from_nanos(nanos.unsigned_abs()),
                false => UNIX_EPOCH + std::time::Duration::from_nanos(nanos.unsigned_abs()),
            })
            .map(Stamp::modified)
            .collect();
        for (nanos, stamp) in times.iter().zip(&stamps) {
            let expected = Stamp::Modified {
                seconds: nanos.div_euclid(1_000_000_000),
                nanos: nanos.rem_euclid(1_000_000_000) as u32,
            };
            assert_eq!(*stamp, expected);
        }
        let tagged = Identity { len: 50, stamp: Stamp::Tag("\"a-1\"".into()) };
        let sidecar = Sidecar::open(&written(&[0, 5, 50], &[0, 1], &tagged).into()).unwrap();
        assert_eq!(sidecar.header().identity, tagged);
    }
}
