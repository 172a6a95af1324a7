//! Decodes record batches of Arrow IPC. Claimed sizes are checked before memory is allocated.

use crate::blocks::file_provenance::FileProvenance;
use crate::formats::arrow::types::row_bits;
use crate::formats::ipc::messages::{Batch, MOST_TIMES, MessageSpan, Table, damaged, message};
use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_buffer::Buffer;
use arrow_ipc::reader::{RecordBatchDecoder, read_dictionary};
use arrow_ipc::{CompressionType, RecordBatch as Header};
use arrow_schema::ArrowError;
use headrace_engine::error::{Error, Result};
use headrace_engine::run::catch_library_panic;
use headrace_engine::tensor::allocate;
use std::collections::HashMap;
use std::sync::Arc;

/// A compressed buffer begins with its uncompressed size, in this many bytes.
const PREFIX_BYTES: usize = 8;

/// Dictionaries by number.
pub type Dictionaries = HashMap<i64, ArrayRef>;

/// The maximum size in bits of a value that is added to a dictionary.
const MOST_BITS: u64 = 1 << 16;

/// Adds a null to complete dictionaries that have no values. If a struct is null, the values inside
/// it refer to the first entry, whether it exists or not.
pub fn fill_empty(dictionaries: &mut Dictionaries) {
    let is_empty = |values: &ArrayRef| values.is_empty() && row_bits(values.data_type()) <= MOST_BITS;
    for values in dictionaries.values_mut().filter(|values| is_empty(values)) {
        *values = new_null_array(values.data_type(), 1);
    }
}

/// The bytes of a message: its metadata and its body.
pub struct Bytes<'a> {
    file: &'a FileProvenance,
    span: &'a MessageSpan,
    bytes: Buffer,
}

impl<'a> Bytes<'a> {
    /// The bytes of the message at `span`.
    pub fn new(file: &'a FileProvenance, span: &'a MessageSpan, bytes: Vec<u8>) -> Self {
        Self { file, span, bytes: Buffer::from_vec(bytes) }
    }

    fn metadata(&self) -> &[u8] {
        &self.bytes[..self.span.metadata_bytes as usize]
    }

    fn body(&self) -> Buffer {
        self.bytes.slice(self.span.metadata_bytes as usize)
    }

    /// Adds a dictionary.
    pub fn add_dictionary(&self, table: &Table, dictionaries: &mut Dictionaries) -> Result<()> {
        let message = message(self.file, self.metadata(), self.span.offset)?;
        let header = message.header_as_dictionary_batch().ok_or_else(|| self.wrong("is not a dictionary"))?;
        let values = header.data().ok_or_else(|| self.wrong("is a dictionary without values"))?;
        self.check(&values)?;
        self.guarded(|| read_dictionary(&self.body(), header, &table.schema, dictionaries, &table.version))
    }

    /// Reads the columns at these indices, in ascending order, from a record batch.
    pub fn rows(
        &self,
        table: &Table,
        batch: &Batch,
        roots: &[usize],
        dictionaries: &Dictionaries,
    ) -> Result<RecordBatch> {
        let message = message(self.file, self.metadata(), self.span.offset)?;
        let header = message.header_as_record_batch().ok_or_else(|| self.wrong("is not a record batch"))?;
        self.check(&header)?;
        let rows = self.guarded(|| {
            RecordBatchDecoder::try_new(&self.body(), header, Arc::clone(&table.schema), dictionaries, &table.version)?
                .with_projection(Some(roots))
                .with_require_alignment(false)
                .read_record_batch()
        })?;
        match rows.num_rows() as u64 == batch.num_rows {
            true => Ok(rows),
            false => Err(self.wrong("has a different number of rows than before")),
        }
    }

    /// Fails unless all buffers are inside the body and claim no more values than fit there.
    fn check(&self, header: &Header<'_>) -> Result<()> {
        let body = self.body();
        let times = match header.compression().map(|compression| compression.codec()) {
            None => None,
            Some(CompressionType::ZSTD) => Some(MOST_TIMES[0]),
            Some(CompressionType::LZ4_FRAME) => Some(MOST_TIMES[1]),
            Some(other) => return Err(self.wrong(&format!("is compressed with {other:?}, expected LZ4 or zstd"))),
        };
        let mut num_bytes: u64 = 0;
        for buffer in header.buffers().into_iter().flatten() {
            let range = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
            let bytes = range.and_then(|(start, length)| body.get(start..start.checked_add(length)?));
            let bytes = bytes.ok_or_else(|| self.wrong("has values outside its bounds"))?;
            let Some(times) = times.filter(|_| !bytes.is_empty()) else { continue };
            let claim = bytes.get(..PREFIX_BYTES).and_then(|prefix| prefix.try_into().ok()).map(i64::from_le_bytes);
            // -1 means that the buffer is not compressed after all.
            let claim = claim
                .filter(|claim| *claim >= -1)
                .ok_or_else(|| self.wrong("has a compressed buffer without a size"))?;
            let claim = u64::try_from(claim).unwrap_or(0);
            if claim > times.saturating_mul(bytes.len() as u64) {
                let text = format!("claims {claim} bytes from {} compressed bytes", bytes.len());
                return Err(self.wrong(&text));
            }
            num_bytes = num_bytes.saturating_add(claim);
        }
        let num_bytes = usize::try_from(num_bytes).unwrap_or(usize::MAX);
        allocate::check(num_bytes).map_err(|refusal| refusal.at(self.file.name.text()))?;
        // Rows without columns need no buffers.
        let num_values = header.nodes().into_iter().flatten().map(|node| node.length());
        match num_values.chain([header.length()]).all(|count| (0..=i64::from(u32::MAX)).contains(&count)) {
            true => Ok(()),
            false => Err(self.wrong("claims an impossible number of values")),
        }
    }

    fn wrong(&self, text: &str) -> Error {
        damaged(self.file, format!("the message at byte {} {text}", self.span.offset))
    }

    /// Calls a function of the `arrow-ipc` crate, which may panic if the data is damaged.
    fn guarded<T>(&self, read: impl FnOnce() -> std::result::Result<T, ArrowError>) -> Result<T> {
        // After an error, the data that `read` was modifying is no longer used.
        let result = catch_library_panic(read)
            .unwrap_or_else(|text| Err(ArrowError::IpcError(format!("a value is out of range ({text})"))));
        result.map_err(|error| match error {
            ArrowError::NotYetImplemented(text) => Error::invalid_argument(format!(
                "{}: the file uses an unsupported feature ({text}). Rewrite it, for example with pyarrow.",
                self.file.name.text()
            )),
            error => self.wrong(&format!("cannot be read: {error}")),
        })
    }
}
