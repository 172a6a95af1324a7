//! Writing TFRecord files: beside the final name, and renamed once what is there is whole.

use super::{BLOCK_BYTES, masked_crc32c};
use crate::beside::BesideFile;
use crate::compression::{Compression, Deflate};
use crate::error::{Error, Result};
use crate::reader::FileName;
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Writes a TFRecord file.
///
/// Until the first flush the records are in a file beside, so that a file of that name holds whole records only and
/// an older one stays until then. Dropping the writer before that leaves nothing behind.
pub struct TfRecordWriter {
    name: FileName,
    output: BufWriter<Deflate<File>>,
    /// None if the records are written under the final name.
    file: Option<BesideFile>,
}

impl TfRecordWriter {
    /// `level` is that of [`Deflate::new`].
    pub fn create(name: FileName, compression: Compression, level: Option<i64>) -> Result<Self> {
        let (file, output) = BesideFile::create(name.path()).map_err(|error| Error::io(name.text(), &error))?;
        let output = BufWriter::with_capacity(BLOCK_BYTES, Deflate::new(output, compression, level)?);
        Ok(Self { name, output, file: Some(file) })
    }

    /// Writes a new file that can be read while it grows, up to the last flush. Fails if there is one of that name.
    pub fn create_new(name: FileName) -> Result<Self> {
        let output = File::create_new(name.path()).map_err(|error| Error::io(name.text(), &error))?;
        let output = BufWriter::with_capacity(BLOCK_BYTES, Deflate::new(output, Compression::None, None)?);
        Ok(Self { name, output, file: None })
    }

    /// Appends a record.
    pub fn write(&mut self, record: &[u8]) -> Result<()> {
        let length = (record.len() as u64).to_le_bytes();
        let parts: [&[u8]; 4] =
            [&length, &masked_crc32c(&length).to_le_bytes(), record, &masked_crc32c(record).to_le_bytes()];
        let written = parts.iter().try_for_each(|part| self.output.write_all(part));
        written.map_err(|error| self.failed(&error))
    }

    /// Puts every record so far into the file of the final name.
    pub fn flush(&mut self) -> Result<()> {
        let flushed = self.output.flush().and_then(|()| self.file.as_mut().map_or(Ok(()), BesideFile::publish));
        flushed.map_err(|error| self.failed(&error))
    }

    /// Puts the end of the compressed stream behind the records and all into the file of the final name.
    pub fn finish(self) -> Result<()> {
        let Self { name, output, mut file } = self;
        let written =
            output.into_inner().map_err(io::IntoInnerError::into_error).and_then(|mut output| output.finish());
        written
            .and_then(|()| file.as_mut().map_or(Ok(()), BesideFile::publish))
            .map_err(|error| Error::io(name.text(), &error))
    }

    fn failed(&self, error: &io::Error) -> Error {
        Error::io(self.name.text(), error)
    }
}
