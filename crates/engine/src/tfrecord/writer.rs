//! Writing TFRecord files: beside the final name, and renamed once what is there is whole.

use super::{BLOCK_BYTES, masked_crc32c};
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a TFRecord file.
///
/// Until the first flush the records are in a file beside, so that a file of that name holds whole records only and
/// an older one stays until then. Dropping the writer before that leaves nothing behind.
pub struct TfRecordWriter {
    path: PathBuf,
    output: BufWriter<File>,
    /// The file beside, until it gets its name.
    beside: Option<PathBuf>,
}

impl TfRecordWriter {
    pub fn create(path: &str) -> Result<Self> {
        let failed = |error: io::Error| Error::io(path, &error);
        let path = PathBuf::from(path);
        if path.is_dir() {
            return Err(failed(io::ErrorKind::IsADirectory.into()));
        }
        let (beside, file) = create_beside(&path).map_err(failed)?;
        Ok(Self { path, output: BufWriter::with_capacity(BLOCK_BYTES, file), beside: Some(beside) })
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
        self.output.flush().map_err(|error| self.failed(&error))?;
        if let Some(beside) = &self.beside {
            fs::rename(beside, &self.path).map_err(|error| self.failed(&error))?;
            self.beside = None;
        }
        Ok(())
    }

    fn failed(&self, error: &io::Error) -> Error {
        Error::io(&self.path.to_string_lossy(), error)
    }
}

impl Drop for TfRecordWriter {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            // Nothing can be done here about a file that cannot be removed.
            fs::remove_file(beside).unwrap_or_default();
        }
    }
}

/// A new file next to `path` under a name that nobody has.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut number = std::process::id() as u64;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".tmp-{number}"));
        match File::create_new(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            created => return created.map(|file| (name.into(), file)),
        }
    }
}
