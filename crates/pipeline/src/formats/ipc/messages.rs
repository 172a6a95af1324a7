//! The messages of Arrow IPC files and streams: their positions and claimed sizes.
//!
//! Source: "Serialization and Interprocess Communication" in Arrow's columnar format.

use crate::blocks::file_provenance::FileProvenance;
use crate::formats::arrow::types::bits_of;
use crate::formats::arrow::wide_integers;
use crate::formats::parquet::file::OpenFile;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{Block, Endianness, Message, MessageHeader, MetadataVersion, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::content::{START_BYTES, content_or_text};
use headrace_engine::files::storage::Status;
use std::ops::Range;
use std::sync::Arc;

/// The marker at both ends of a file. Streams have none.
const MARK: &[u8] = b"ARROW1";
/// The number of bytes before the first message of a file.
const MARK_BYTES: u64 = 8;
/// The size of the end of a file: the length of the footer, and the marker.
const END_BYTES: usize = 10;
/// The marker of Feather version 1.
const OLD_FEATHER: &[u8] = b"FEA1";
/// The four bytes before the length of a message, since Arrow 0.15.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The number of bytes to read at once to find the next message.
const WINDOW_BYTES: usize = 4096;
/// The maximum number of bytes that one compressed byte can expand to. The first number is for a
/// zstd block that repeats one byte, the second for an LZ4 match.
pub const MOST_TIMES: [u64; 2] = [48 << 10, 256];
/// The maximum size of a message's metadata in bytes.
const MAX_METADATA_BYTES: u64 = 256 << 20;
const COPY_AGAIN: &str = "The file is damaged; copy it again.";

/// The position of a message.
#[derive(Clone, Debug)]
pub struct MessageSpan {
    /// Its first byte.
    pub offset: u64,
    /// The number of bytes before its metadata: the length and the continuation marker.
    pub prefix_bytes: u64,
    /// The size of its metadata.
    pub metadata_bytes: u64,
    /// The size of its body, which follows.
    pub body_bytes: u64,
}

impl MessageSpan {
    /// The range of the metadata and the body.
    pub fn range(&self) -> Range<u64> {
        let start = self.offset + self.prefix_bytes;
        start..start + self.metadata_bytes + self.body_bytes
    }
}

/// A record batch.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Its message.
    pub span: MessageSpan,
    /// The number of rows before the record batch.
    pub first_row: u64,
    /// The number of its rows, at least 1.
    pub num_rows: u64,
    /// True if its buffers are compressed.
    pub is_compressed: bool,
    /// The number of earlier dictionaries that it may need.
    pub num_dictionaries: usize,
}

/// The messages of a file or stream.
pub struct Table {
    /// The status of the file when it was examined.
    pub status: Status,
    /// The columns.
    pub schema: SchemaRef,
    /// The version of the format.
    pub version: MetadataVersion,
    /// The batches that have rows.
    pub batches: Vec<Batch>,
    /// The dictionaries, in order.
    pub dictionaries: Vec<MessageSpan>,
}

/// The error for a damaged file.
#[cold]
pub fn damaged(file: &FileProvenance, text: impl std::fmt::Display) -> Error {
    Error::data_loss(format!("{}: {text}. {COPY_AGAIN}", file.name.text()))
}

fn refused(file: &FileProvenance, text: impl std::fmt::Display) -> Error {
    Error::invalid_argument(format!("{}: {text}", file.name.text()))
}

impl Table {
    /// Examines a file or stream.
    pub fn of(file: &FileProvenance) -> Result<Self> {
        let open = OpenFile::open(file, None)?;
        let length = open.status().len;
        let start = read(file, &open, 0, usize::try_from(length).unwrap_or(usize::MAX).min(START_BYTES))?;
        match start.starts_with(MARK) {
            true => Self::of_file(file, &open),
            false => Self::of_stream(file, &open, &start),
        }
    }

    fn of_file(file: &FileProvenance, open: &OpenFile) -> Result<Self> {
        let length = open.status().len;
        let cut = || {
            damaged(
                file,
                format!(
                    "the file ({length} bytes) does not end with a footer and the marker 'ARROW1', so it is cut short"
                ),
            )
        };
        let end_at = length.checked_sub(END_BYTES as u64).filter(|at| *at >= MARK_BYTES).ok_or_else(cut)?;
        let end = read(file, open, end_at, END_BYTES)?;
        let footer_bytes = i32::from_le_bytes([end[0], end[1], end[2], end[3]]);
        let footer_bytes = u64::try_from(footer_bytes).ok().filter(|_| &end[4..] == MARK).ok_or_else(cut)?;
        let footer_at = end_at.checked_sub(footer_bytes).filter(|at| *at >= MARK_BYTES).ok_or_else(cut)?;
        let bytes = read(file, open, footer_at, footer_bytes as usize)?;
        let footer =
            root_as_footer(&bytes).map_err(|error| damaged(file, format!("cannot read the footer: {error}")))?;
        let schema = footer.schema().ok_or_else(|| damaged(file, "the footer has no columns"))?;
        let schema = schema_of(file, schema)?;
        let span = |block: &Block| message_span(file, open, block, footer_at);
        let dictionaries = footer.dictionaries().into_iter().flatten();
        let dictionaries = dictionaries.map(|block| Ok(span(block)?.0)).collect::<Result<Vec<_>>>()?;
        let mut table = Self {
            status: open.status().clone(),
            schema,
            version: footer.version(),
            batches: Vec::new(),
            dictionaries,
        };
        let mut first_row = 0;
        for block in footer.recordBatches().into_iter().flatten() {
            let (span, metadata) = span(block)?;
            let message = message(file, &metadata, span.offset)?;
            first_row = table.add(file, &message, span, first_row)?;
        }
        Ok(table)
    }

    fn of_stream(file: &FileProvenance, open: &OpenFile, start: &[u8]) -> Result<Self> {
        let other = || other_content(file, start).unwrap_or_else(|| unknown(file, open));
        let mut walk = Walk { file, open, offset: 0, window: (0, Vec::new()) };
        let (span, bytes) = walk.next()?.ok_or_else(other)?;
        let is_schema = |bytes: &[u8]| root_as_message(bytes).is_ok_and(|message| message.header_as_schema().is_some());
        if !is_schema(&bytes) {
            return Err(other());
        }
        let first_message = message(file, &bytes, span.offset)?;
        let schema = first_message.header_as_schema().ok_or_else(other)?;
        let mut table = Self {
            status: open.status().clone(),
            schema: schema_of(file, schema)?,
            version: first_message.version(),
            batches: Vec::new(),
            dictionaries: Vec::new(),
        };
        let mut first_row = 0;
        while let Some((span, bytes)) = walk.next()? {
            let message = message(file, &bytes, span.offset)?;
            first_row = table.add(file, &message, span, first_row)?;
        }
        Ok(table)
    }

    /// The maximum number of rows in a body of this size, if each row of its columns takes at least
    /// one bit.
    fn most_rows(&self, body_bytes: u64, is_compressed: bool) -> u64 {
        let times = if is_compressed { 8 * MOST_TIMES[0] } else { 8 };
        body_bytes.saturating_mul(times).checked_div(bits_of(self.schema.fields())).unwrap_or(u64::MAX)
    }

    /// Adds a message. Returns the total number of rows so far.
    fn add(&mut self, file: &FileProvenance, message: &Message<'_>, span: MessageSpan, first_row: u64) -> Result<u64> {
        let at = span.offset;
        match message.header_type() {
            MessageHeader::DictionaryBatch => {
                self.dictionaries.push(span);
                Ok(first_row)
            }
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch();
                let batch = batch.ok_or_else(|| damaged(file, format!("the message at byte {at} cannot be read")))?;
                let num_rows = u64::try_from(batch.length()).map_err(|_| {
                    damaged(file, format!("the record batch at byte {at} has a negative number of rows"))
                })?;
                let (is_compressed, num_dictionaries) = (batch.compression().is_some(), self.dictionaries.len());
                if num_rows > self.most_rows(span.body_bytes, is_compressed) {
                    let text = format!("the record batch at byte {at} claims {num_rows} rows, but has fewer values");
                    return Err(damaged(file, text));
                }
                if num_rows > 0 {
                    self.batches.push(Batch { span, first_row, num_rows, is_compressed, num_dictionaries });
                }
                Ok(first_row.saturating_add(num_rows))
            }
            MessageHeader::Schema => Err(refused(
                file,
                format!(
                    "a second stream starts at byte {at}. Write each stream to its own file, because other programs \
                     cannot read it."
                ),
            )),
            other => Err(refused(
                file,
                format!(
                    "the message at byte {at} is {other:?}, expected record batches. Write the file with pyarrow.ipc."
                ),
            )),
        }
    }
}

fn read(file: &FileProvenance, open: &OpenFile, at: u64, length: usize) -> Result<Vec<u8>> {
    open.read(at, length).map_err(|error| Error::io(file.name.text(), &error))
}

/// Parses the metadata of a message.
pub fn message<'a>(file: &FileProvenance, bytes: &'a [u8], at: u64) -> Result<Message<'a>> {
    root_as_message(bytes).map_err(|error| damaged(file, format!("the message at byte {at} cannot be read: {error}")))
}

fn schema_of(file: &FileProvenance, schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef> {
    if schema.endianness() != Endianness::Little {
        let text = "the file is big-endian, expected little-endian. Rewrite it as little-endian.";
        return Err(refused(file, text));
    }
    let schema_result = try_fb_to_schema(schema).map(Arc::new);
    schema_result.map_err(|error| match wide_integers::refusal(schema) {
        Some(text) => refused(file, text),
        None => damaged(file, format!("cannot read the schema: {error}")),
    })
}

/// Returns the span of a message according to the footer, and the bytes of its metadata.
fn message_span(file: &FileProvenance, open: &OpenFile, block: &Block, end: u64) -> Result<(MessageSpan, Vec<u8>)> {
    let wrong = || damaged(file, "the footer points to a message outside the file");
    let number = |number: i64| u64::try_from(number).map_err(|_| wrong());
    let (offset, length) = (number(block.offset())?, number(block.metaDataLength().into())?);
    let body_bytes = number(block.bodyLength())?;
    let last = offset.checked_add(length).and_then(|at| at.checked_add(body_bytes));
    if offset < MARK_BYTES || length < MARK_BYTES || last.is_none_or(|last| last > end) {
        return Err(wrong());
    }
    let mut bytes = read(file, open, offset, usize::try_from(length).map_err(|_| wrong())?)?;
    let prefix_bytes = if bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
    let metadata = bytes.split_off(prefix_bytes);
    let (prefix_bytes, metadata_bytes) = (prefix_bytes as u64, metadata.len() as u64);
    Ok((MessageSpan { offset, prefix_bytes, metadata_bytes, body_bytes }, metadata))
}

/// The error for a file of a different type.
fn other_content(file: &FileProvenance, start: &[u8]) -> Option<Error> {
    if start.starts_with(OLD_FEATHER) {
        let text = "the file is Feather version 1, expected version 2. Rewrite it with pyarrow.feather.";
        return Some(refused(file, text));
    }
    if start.starts_with(&CONTINUATION) {
        let text = "the first message is not the schema of an Arrow stream. If the file is an Arrow stream, it is \
                    damaged or cut short; copy it again.";
        return Some(refused(file, text));
    }
    let detected = content_or_text(start)?;
    Some(refused(file, format!("the file is {detected}, expected Arrow IPC. {}", detected.unpacked_remedy())))
}

fn unknown(file: &FileProvenance, open: &OpenFile) -> Error {
    let text = format!(
        "the file ({} bytes) does not start with the schema of an Arrow IPC file or stream. If it is an Arrow file, \
         copy it again.",
        open.status().len
    );
    refused(file, text)
}

/// Iterates over the messages of a file or stream.
struct Walk<'a> {
    file: &'a FileProvenance,
    open: &'a OpenFile,
    offset: u64,
    /// Bytes that were read, and the offset of the first one.
    window: (u64, Vec<u8>),
}

impl Walk<'_> {
    /// Returns the position and the metadata of the next message, or `None` at the end. Before the
    /// first message, `None` may also mean that the file isn't a stream.
    fn next(&mut self) -> Result<Option<(MessageSpan, Vec<u8>)>> {
        let length = self.open.status().len;
        let offset = self.offset;
        if offset == length {
            // A stream may end without an end marker.
            return Ok(None);
        }
        let short = |text: &str| {
            damaged(
                self.file,
                format!(
                    "the message at byte {offset} {text} the end of the file ({length} bytes), so the file is cut short"
                ),
            )
        };
        let is_first = offset == 0;
        if length - offset < 4 {
            return if is_first { Ok(None) } else { Err(short("reaches beyond")) };
        }
        let first = self.bytes(offset, 4)?;
        let (prefix_bytes, size) = match first[..] == CONTINUATION {
            true if length - offset < 8 => return Err(short("reaches beyond")),
            true => (8, self.bytes(offset + 4, 4)?),
            false => (4, first),
        };
        let size = i32::from_le_bytes([size[0], size[1], size[2], size[3]]);
        if size == 0 {
            let behind = length - offset - prefix_bytes;
            if behind > 0 && !is_first {
                return Err(refused(
                    self.file,
                    format!(
                        "there are {behind} bytes after the end of the stream, at byte {offset}. Write each stream to \
                         its own file."
                    ),
                ));
            }
            return Ok(None);
        }
        let metadata_bytes = match u64::try_from(size) {
            Ok(size) if size <= MAX_METADATA_BYTES.min(length - offset - prefix_bytes) => size,
            _ if is_first => return Ok(None),
            _ => return Err(short("has metadata beyond")),
        };
        let bytes = self.bytes(offset + prefix_bytes, metadata_bytes as usize)?;
        let body = match root_as_message(&bytes) {
            Ok(message) => message.bodyLength(),
            Err(_) if is_first => return Ok(None),
            Err(error) => {
                return Err(damaged(self.file, format!("the message at byte {offset} cannot be read: {error}")));
            }
        };
        let start = offset + prefix_bytes + metadata_bytes;
        let body_bytes = u64::try_from(body).ok().filter(|body| *body <= length - start);
        let body_bytes = body_bytes.ok_or_else(|| short("has values beyond"))?;
        self.offset = start + body_bytes;
        Ok(Some((MessageSpan { offset, prefix_bytes, metadata_bytes, body_bytes }, bytes)))
    }

    fn bytes(&mut self, at: u64, length: usize) -> Result<Vec<u8>> {
        let (start, buffer) = &self.window;
        let buffered = at.checked_sub(*start).and_then(|first| buffer.get(first as usize..)?.get(..length));
        if let Some(bytes) = buffered {
            return Ok(bytes.to_vec());
        }
        let rest = usize::try_from(self.open.status().len - at).unwrap_or(usize::MAX);
        let window = read(self.file, self.open, at, length.max(WINDOW_BYTES).min(rest))?;
        let bytes = window.get(..length).unwrap_or_default().to_vec();
        self.window = (at, window);
        Ok(bytes)
    }
}
