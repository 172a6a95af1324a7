//! TFRecord files. All checksums are verified; see [`headrace_engine::tfrecord`].

use crate::blocks::block::FileProvenance;
use crate::blocks::column::Span;
use crate::formats::chunks::{CHUNK_BYTES, ChunkRecords, Chunks, Extent, Fault, Split};
use crate::records::{
    Codec, FilePart, Format, HeaderScan, Offsets, RandomAccess, RecordPosition, Scan, ScanFault, ScanResult,
};
use headrace_engine::checksum::masked_crc32c;
use headrace_engine::error::{Error, Lost, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::files::content::{RECORDS, content_or_text};
use headrace_engine::tfrecord::{FOOTER_BYTES, HEADER_BYTES};
use std::sync::Arc;

/// TFRecord files.
pub struct TfRecords {
    /// The compression of the files.
    pub codec: Codec,
    /// The number of records that each file must have, if it is listed elsewhere.
    pub counts: Option<RecordCounts>,
}

/// The number of records in each file, as listed in another file.
#[derive(Clone)]
pub struct RecordCounts {
    /// The number for each file of the source.
    pub of_files: Arc<[u64]>,
    /// The name of the file that lists them, for messages.
    pub listed_in: Arc<str>,
}

impl RecordCounts {
    fn of(&self, file: &FileProvenance) -> Option<u64> {
        usize::try_from(file.number).ok().and_then(|number| self.of_files.get(number)).copied()
    }

    /// The error for a file with the wrong number of records. `has` describes its number.
    fn differ(&self, file: &FileProvenance, has: &str) -> Error {
        let Self { listed_in, .. } = self;
        let expected = self.of(file).unwrap_or_default();
        Error::data_loss(format!(
            "{}: the file has {has}, expected {expected} records, according to {listed_in}. Copy all files of the data \
             set again.",
            file.name.text()
        ))
    }
}

impl Format for TfRecords {
    fn open(&self, file: &Arc<FileProvenance>, at: RecordPosition) -> Result<Box<dyn Scan>> {
        let splitter = Splitter { counts: self.counts.clone(), ..self.splitter(file) };
        Ok(Box::new(Chunks::open(file, self.codec, splitter, at)?))
    }

    fn block_bytes(&self) -> usize {
        CHUNK_BYTES
    }

    fn open_part(&self, file: &Arc<FileProvenance>, part: FilePart) -> Result<Box<dyn Scan>> {
        Ok(Box::new(Chunks::of_part(file, self.splitter(file), part)?))
    }

    fn random_access(self: Arc<Self>) -> Option<Arc<dyn RandomAccess>> {
        Some(self)
    }
}

impl TfRecords {
    /// TFRecord files with any number of records.
    pub fn new(codec: Codec) -> Self {
        Self { codec, counts: None }
    }

    fn splitter(&self, file: &Arc<FileProvenance>) -> Splitter {
        Splitter { name: Arc::clone(file), codec: self.codec, counts: None }
    }
}

impl RandomAccess for TfRecords {
    fn codec(&self) -> Codec {
        self.codec
    }

    fn kind(&self) -> Option<String> {
        Some("tfrecords".to_owned())
    }

    fn check_len(&self, file: &FileProvenance, len: u64) -> Result<()> {
        match &self.counts {
            Some(counts) if counts.of(file).is_some_and(|count| count != len) => {
                Err(counts.differ(file, &format!("{len} records")))
            }
            _ => Ok(()),
        }
    }

    fn first_offsets(&self) -> Option<&'static [u64]> {
        Some(&[0])
    }

    fn is_record(&self, _lead: &[u8], frame: &[u8], _is_last: bool) -> bool {
        let framed = (HEADER_BYTES + FOOTER_BYTES) as u64;
        matches!(length(frame), Ok(Some(length)) if length.checked_add(framed) == Some(frame.len() as u64))
    }

    /// Only reads the headers. The data is verified when it is read.
    fn scan(&self, file: &Arc<FileProvenance>, input: &mut HeaderScan) -> Result<ScanResult> {
        let splitter = self.splitter(file);
        let mut offsets = Offsets::new();
        let mut at = RecordPosition { offset_bytes: 0, record: 0 };
        let size = input.len();
        let mut faults = Vec::new();
        while at.offset_bytes < size {
            let header = input.at(at.offset_bytes, HEADER_BYTES)?;
            let framed = (HEADER_BYTES + FOOTER_BYTES) as u64;
            let end = |length: u64| length.checked_add(framed).and_then(|framed| framed.checked_add(at.offset_bytes));
            let end = match length(header) {
                Ok(length) => length.and_then(end).filter(|end| *end <= size),
                Err(part) => {
                    faults.push(ScanFault::end(at, splitter.corrupted(part, header, at), size));
                    break;
                }
            };
            let Some(end) = end else {
                faults.push(ScanFault::end(at, splitter.truncated(header, at), size));
                break;
            };
            offsets.push(at.offset_bytes)?;
            at = RecordPosition { offset_bytes: end, record: at.record + 1 };
        }
        offsets.push(at.offset_bytes)?;
        Ok(ScanResult { faults, ..offsets.into() })
    }

    fn unframe(&self, file: &Arc<FileProvenance>, frame: &[u8], at: RecordPosition) -> Result<Span> {
        let splitter = self.splitter(file);
        match record(frame) {
            Ok(Some(length)) => Ok(Span { start: HEADER_BYTES, length }),
            Ok(None) => Err(splitter.truncated(frame, at)),
            Err(part) => Err(splitter.corrupted(part, frame, at)),
        }
    }
}

struct Splitter {
    name: Arc<FileProvenance>,
    codec: Codec,
    /// The number of records that the file must have, if records are counted from its beginning.
    counts: Option<RecordCounts>,
}

impl Split for Splitter {
    fn can_end_anywhere(&self) -> bool {
        true
    }

    fn split(&mut self, chunk: &[u8], at: RecordPosition, is_last: bool) -> ChunkRecords {
        let mut records = ChunkRecords::default();
        loop {
            let position = RecordPosition {
                offset_bytes: at.offset_bytes + records.used as u64,
                record: at.record + records.spans.len() as u64,
            };
            let rest = &chunk[records.used..];
            if let Some(fault) = self.miscounted(position.record, rest, is_last) {
                records.fault = Some(fault);
                return records;
            }
            match record(rest) {
                Ok(Some(length)) => {
                    records.spans.push(Span { start: records.used + HEADER_BYTES, length });
                    records.used += HEADER_BYTES + length + FOOTER_BYTES;
                }
                Ok(None) => {
                    records.fault = (is_last && !rest.is_empty()).then(|| self.truncated(rest, position).into());
                    return records;
                }
                Err(part) => {
                    let extent = match part {
                        Part::Length => None,
                        Part::Data(length) => {
                            let num_bytes = HEADER_BYTES + length + FOOTER_BYTES;
                            Some(Extent { num_bytes, num_records: 1 })
                        }
                    };
                    records.fault = Some(Fault { error: self.corrupted(part, rest, position), extent });
                    return records;
                }
            }
        }
    }

    fn header_bytes(&self) -> usize {
        HEADER_BYTES
    }
}

/// A part of a record that has its own checksum.
#[derive(Clone, Copy)]
enum Part {
    Length,
    /// The data, with its length in bytes.
    Data(usize),
}

impl Part {
    fn word(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Data(_) => "data",
        }
    }
}

/// The length stated in a header, or `None` if the header is incomplete.
fn length(header: &[u8]) -> std::result::Result<Option<u64>, Part> {
    let Some((length, rest)) = header.split_first_chunk::<8>() else { return Ok(None) };
    let Some(checksum) = rest.first_chunk::<4>() else { return Ok(None) };
    match masked_crc32c(length).to_le_bytes() == *checksum {
        true => Ok(Some(u64::from_le_bytes(*length))),
        false => Err(Part::Length),
    }
}

/// The length of the record at the beginning of `bytes`, or `None` if it is incomplete. Fails with
/// the part whose checksum is wrong.
fn record(bytes: &[u8]) -> std::result::Result<Option<usize>, Part> {
    let Some(length) = length(bytes)? else { return Ok(None) };
    let Ok(length) = usize::try_from(length) else { return Ok(None) };
    let Some((data, rest)) = bytes[HEADER_BYTES..].split_at_checked(length) else { return Ok(None) };
    let Some(checksum) = rest.first_chunk::<FOOTER_BYTES>() else { return Ok(None) };
    if masked_crc32c(data).to_le_bytes() != *checksum {
        return Err(Part::Data(length));
    }
    Ok(Some(length))
}

/// The remedy if the file may be of another kind.
const IF_RECORDS: &str = "; is it a TFRecord file? If it is, copy it again.";

/// If a file that begins with these bytes is not a TFRecord file, returns its kind. Compressed
/// files are detected elsewhere.
fn other_file(rest: &[u8], position: RecordPosition) -> Option<String> {
    let detected = content_or_text(rest).filter(|detected| position.offset_bytes == 0 && *detected != RECORDS)?;
    Some(format!("It is {detected}. {}", detected.remedy()))
}

impl Splitter {
    /// The fault if the file does not have the listed number of records. `rest` follows record
    /// number `record - 1`.
    fn miscounted(&self, record: u64, rest: &[u8], is_last: bool) -> Option<Fault> {
        let counts = self.counts.as_ref()?;
        let expected = counts.of(&self.name)?;
        let has = match rest.is_empty() {
            true if is_last && record < expected => format!("{record} records"),
            false if record >= expected => "more records".to_owned(),
            _ => return None,
        };
        Some(counts.differ(&self.name, &has).into())
    }

    fn truncated(&self, rest: &[u8], position: RecordPosition) -> Error {
        let text = match rest.first_chunk::<8>() {
            Some(length) if rest.len() >= HEADER_BYTES => {
                let length = u64::from_le_bytes(*length);
                format!("the header claims {length} bytes, past the end of the file")
            }
            _ => "the file ends within the header".to_owned(),
        };
        if let Some(other) = other_file(rest, position) {
            return self.damage("truncated", position, &format!("{text}. {other}"));
        }
        if position.offset_bytes == 0 && rest.len() < HEADER_BYTES {
            return self.damage("truncated", position, &format!("{text}{IF_RECORDS}"));
        }
        // Its header is correct, so this is the only lost record.
        let text = format!("{text}. The file is cut short; copy it again.");
        self.damage("truncated", position, &text).with_lost(Lost::Records(1))
    }

    fn corrupted(&self, part: Part, rest: &[u8], position: RecordPosition) -> Error {
        let other = other_file(rest, position);
        let remedy = match (position.record, self.codec) {
            _ if other.is_some() => format!(". {}", other.unwrap_or_default()),
            (0, Codec::Known(compression)) if Compression::guess(rest) != compression => {
                format!(". {}", compression.remedy(rest))
            }
            (0, _) => IF_RECORDS.to_owned(),
            _ => "; copy the file again.".to_owned(),
        };
        let data_bytes = if matches!(part, Part::Data(_)) { HEADER_BYTES as u64 } else { 0 };
        let position = RecordPosition { offset_bytes: position.offset_bytes + data_bytes, ..position };
        self.damage("corrupted", position, &format!("the checksum of its {} does not match{remedy}", part.word()))
    }

    /// `PATH: corrupted record at OFFSET (record N): TEXT`
    fn damage(&self, how: &str, position: RecordPosition, text: &str) -> Error {
        let name = self.name.name.text();
        let RecordPosition { offset_bytes, record } = position;
        Error::data_loss(format!("{name}: {how} record at {offset_bytes} (record {record}): {text}"))
    }
}
