//! Reading TFRecord files, from start to end, with every checksum checked.

use super::{BLOCK_BYTES, FOOTER_BYTES, HEADER_BYTES, masked_crc32c};
use crate::error::{Error, Result};
use crate::reader::{Record, RecordFile, open_file};
use bytes::Bytes;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::sync::Arc;

/// A TFRecord file, read from its start to its end.
pub struct TfRecordFile {
    path: Arc<str>,
    input: BufReader<File>,
    /// Size of the file when it was opened, for the error about a record that claims more.
    file_bytes: u64,
    offset_bytes: u64,
    failure: Option<Error>,
}

impl TfRecordFile {
    pub fn open(path: &Arc<str>) -> Result<Self> {
        let (file, file_bytes) = open_file(path)?;
        let input = BufReader::with_capacity(BLOCK_BYTES, file);
        Ok(Self { path: Arc::clone(path), input, file_bytes, offset_bytes: 0, failure: None })
    }

    fn read_record(&mut self, number: u64) -> Result<Option<(u64, Bytes)>> {
        let start = self.offset_bytes;
        let mut header = [0; HEADER_BYTES];
        // A tail too short for a header ends the file silently, as in TensorFlow.
        if self.fill(&mut header)? < HEADER_BYTES {
            return Ok(None);
        }
        let (length, checksum) = header.split_at(8);
        if masked_crc32c(length).to_le_bytes() != checksum {
            let text = "the checksum of its length does not match";
            return Err(self.damage("corrupted", start, number, text));
        }
        let length = u64::from_le_bytes(length.try_into().unwrap_or_default());
        let rest = self.file_bytes.max(start).saturating_sub(start + HEADER_BYTES as u64);
        if length.saturating_add(FOOTER_BYTES as u64) > rest {
            return Err(self.truncated(start, number, length));
        }
        let mut data = vec![0; length as usize + FOOTER_BYTES];
        if self.fill(&mut data)? < data.len() {
            return Err(self.truncated(start, number, length));
        }
        let (value, checksum) = data.split_at(length as usize);
        if masked_crc32c(value).to_le_bytes() != checksum {
            let text = "the checksum of its data does not match";
            return Err(self.damage("corrupted", start + HEADER_BYTES as u64, number, text));
        }
        data.truncate(length as usize);
        self.offset_bytes = start + HEADER_BYTES as u64 + length + FOOTER_BYTES as u64;
        Ok(Some((start, data.into())))
    }

    /// Reads into `buffer` until it is full or the file ends; returns how many bytes it got.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.input.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::io(&self.path, &error)),
            }
        }
        Ok(filled)
    }

    fn truncated(&self, start: u64, number: u64, length: u64) -> Error {
        let text = format!(
            "it claims {length} bytes, past the end of the file ({} bytes). The file is cut short",
            self.file_bytes
        );
        self.damage("truncated", start, number, &text)
    }

    /// `PATH: corrupted record at OFFSET (record N): WHAT; REMEDY.`
    fn damage(&self, how: &str, offset: u64, number: u64, text: &str) -> Error {
        let remedy = match (how, number) {
            ("truncated", _) => "copy it again",
            (_, 0) => "is it a TFRecord file, and uncompressed? If it is, copy it again",
            _ => "copy the file again",
        };
        Error::data_loss(format!("{}: {how} record at {offset} (record {number}): {text}; {remedy}.", self.path))
    }
}

impl RecordFile for TfRecordFile {
    fn next(&mut self, number: u64) -> Result<Option<Record>> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        match self.read_record(number) {
            Ok(Some((offset_bytes, value))) => {
                let key = Bytes::from(format!("{}:{offset_bytes}", self.path));
                Ok(Some(Record { key, value, offset_bytes }))
            }
            Ok(None) => Ok(None),
            Err(error) => Err(self.failure.insert(error).clone()),
        }
    }
}
