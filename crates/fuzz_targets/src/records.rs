//! Targets for files of records: TFRecord and lines.

use crate::file::File;
use crate::packed::Packed;
use crate::pipelines::{read, shuffled};
use headrace_engine::checksum::crc32c;
use headrace_pipeline::formats::{FixedLength, Lines, TfRecords};
use headrace_pipeline::records::{Codec, Format};
use headrace_tf1::reader::{FixedLengthFormat, Format as ReaderFormat, OpenFile, TextLineFormat, TfRecordFormat};
use std::sync::Arc;

const HEADER_BYTES: usize = 12;
const FOOTER_BYTES: usize = 4;
/// The difference between a masked checksum and the rotated one.
const MASK: u32 = 0xa282_ead8;

/// `[compression, options, file...]`: reads a TFRecord file. If the lowest bit of the options is
/// set, its checksums are corrected first.
pub fn tfrecord(data: &[u8]) -> usize {
    let [compression, options, data @ ..] = data else { return 0 };
    let mut data = data.to_vec();
    if options & 1 == 1 {
        correct_checksums(&mut data);
    }
    let Some(packed) = Packed::new(*compression, data) else { return 0 };
    let Ok(file) = File::new(&packed.bytes) else { return 0 };
    let format = TfRecords::new(packed.codec);
    in_order_and_shuffled(Arc::new(format), &file, options & 2 == 2, packed.codec);
    if let Some(compression) = packed.compression() {
        read_all(&TfRecordFormat { compression }, &file);
    }
    packed.num_bytes
}

/// `[compression, options, file...]`: reads a file of lines, or of records of equal length.
pub fn lines(data: &[u8]) -> usize {
    let [compression, options, data @ ..] = data else { return 0 };
    let Some(packed) = Packed::new(*compression, data.to_vec()) else { return 0 };
    let Ok(file) = File::new(&packed.bytes) else { return 0 };
    let is_shuffled = options & 2 == 2;
    let lines = Lines { codec: packed.codec, skips_blank: options & 1 == 1 };
    in_order_and_shuffled(Arc::new(lines), &file, is_shuffled, packed.codec);
    let [header_bytes, footer_bytes] = [options >> 2 & 3, options >> 4 & 3].map(usize::from);
    let record_bytes = usize::from(options >> 6) + 1;
    let fixed = FixedLength { codec: packed.codec, header_bytes, record_bytes, footer_bytes };
    in_order_and_shuffled(Arc::new(fixed), &file, is_shuffled, packed.codec);
    if let Ok(format) = TextLineFormat::new(header_bytes as i64) {
        read_all(&format, &file);
    }
    let [record, header, footer] = [record_bytes, header_bytes, footer_bytes].map(|size| size as i64);
    if let Some(compression) = packed.compression()
        && let Ok(format) = FixedLengthFormat::new(record, header, footer, 0, compression)
    {
        read_all(&format, &file);
    }
    packed.num_bytes
}

/// Checks that a shuffle returns the same records as reading in order.
pub fn in_order_and_shuffled(format: Arc<dyn Format>, file: &File, is_shuffled: bool, codec: Codec) {
    let (records, error) = read(&*format, &file.file_provenance(), None);
    let is_plain = matches!(codec, Codec::Known(headrace_engine::files::compression::Compression::None));
    if is_shuffled && is_plain && error.is_none() {
        let (again, failure) = shuffled(format, &file.file_provenance());
        assert!(failure.is_none(), "only a shuffle fails: {failure:?}");
        assert!(records == again, "a shuffle found {again:?}, reading in order {records:?}");
    }
}

/// Reads a file like a reader of TensorFlow's operations.
fn read_all(format: &dyn ReaderFormat, file: &File) {
    let Ok(mut open) = OpenFile::open(format, file.name(), None) else { return };
    while let Ok(Some(record)) = open.read_one() {
        let _ = open.key(&record);
    }
}

/// Corrects the checksums of a TFRecord file, as far as its lengths are valid.
pub fn correct_checksums(mut file: &mut [u8]) {
    while let Some((header, rest)) = file.split_at_mut_checked(HEADER_BYTES) {
        let length = header.first_chunk().map_or(0, |length| u64::from_le_bytes(*length));
        let checksum = masked(&header[..8]);
        header[8..].copy_from_slice(&checksum);
        let Ok(length) = usize::try_from(length) else { return };
        let Some((data, rest)) = rest.split_at_mut_checked(length) else { return };
        let Some((checksum, rest)) = rest.split_at_mut_checked(FOOTER_BYTES) else { return };
        checksum.copy_from_slice(&masked(data));
        file = rest;
    }
}

fn masked(data: &[u8]) -> [u8; 4] {
    crc32c(data).rotate_right(15).wrapping_add(MASK).to_le_bytes()
}
