//! Writes TFRecord files under a temporary name, and renames them when they are complete.

use super::BLOCK_BYTES;
use crate::checksum::masked_crc32c;
use crate::error::{Code, Error, Result};
use crate::files::atomic_file::{AtomicFile, INCOMPLETE};
use crate::files::compression::{Compression, Deflate};
use crate::files::encoder::DeflateOptions;
use crate::files::name::FileName;
use crate::files::output::{Output, WrittenFile};
use std::fs::File;
use std::io::{self, BufWriter, IntoInnerError, Write};

/// Writes a TFRecord file.
///
/// Until the first flush the records are in a temporary file next to the target, so that a file of
/// that name contains only complete records, and an older file stays until then. Dropping the
/// writer before that leaves no file. After the first failure, everything else fails in the same
/// way: further records would follow a gap.
///
/// ```
/// use headrace_engine::files::compression::Compression;
/// use headrace_engine::files::encoder::DeflateOptions;
/// use headrace_engine::files::name::FileName;
/// use headrace_engine::files::whole::read_whole_file;
/// use headrace_engine::tfrecord::{FOOTER_BYTES, HEADER_BYTES, TfRecordWriter};
///
/// let path = std::env::temp_dir().join(format!("example-{}.tfrecord", std::process::id()));
/// let name = FileName::new(path.to_str().expect("a path of text").to_owned());
/// let mut writer = TfRecordWriter::create(name.clone(), Compression::None, DeflateOptions::default())?;
/// writer.write(b"one")?;
/// writer.write(b"two")?;
/// writer.finish()?;
///
/// let bytes = read_whole_file(&name)?;
/// assert_eq!(bytes.len(), 2 * (HEADER_BYTES + 3 + FOOTER_BYTES));
/// assert_eq!(&bytes[HEADER_BYTES..][..3], b"one");
/// # std::fs::remove_file(path).expect("the file is there");
/// # headrace_engine::error::Result::Ok(())
/// ```
pub struct TfRecordWriter<W: Write = Output<WrittenFile>> {
    name: FileName,
    output: BufWriter<Deflate<W>>,
    /// `None` if the records are written under the final name.
    file: Option<AtomicFile>,
    failure: Option<Error>,
}

impl TfRecordWriter {
    /// Writes a file that will replace any file with this name.
    pub fn create(name: FileName, compression: Compression, options: DeflateOptions) -> Result<Self> {
        let (file, output) = AtomicFile::create(&name).map_err(|error| Error::io(name.text(), &error))?;
        Self::new(name, output, Some(file), compression, options)
    }

    /// Writes a new file that can be read while it grows, up to the last flush. Fails if a file
    /// with this name exists. A remote file is uploaded again at each flush.
    pub fn create_new(name: FileName) -> Result<Self> {
        if name.url().is_some() {
            return match name.status() {
                Ok(_) => Err(Error::io(name.text(), &io::ErrorKind::AlreadyExists.into())),
                Err(error) if error.code() == Code::NotFound => {
                    Self::create(name, Compression::None, DeflateOptions::default())
                }
                Err(error) => Err(error),
            };
        }
        let output = File::create_new(name.path()).map_err(|error| Error::io(name.text(), &error))?;
        Self::new(name, Output::new(WrittenFile::new(output)), None, Compression::None, DeflateOptions::default())
    }
}

impl<W: Write> TfRecordWriter<W> {
    fn new(
        name: FileName,
        output: W,
        file: Option<AtomicFile>,
        compression: Compression,
        options: DeflateOptions,
    ) -> Result<Self> {
        let output = BufWriter::with_capacity(BLOCK_BYTES, Deflate::new(output, compression, options)?);
        Ok(Self { name, output, file, failure: None })
    }

    /// Returns true if a write may have to wait for a reader.
    pub fn may_wait(&self) -> bool {
        self.file.as_ref().is_some_and(AtomicFile::is_in_place)
    }

    /// Appends a record.
    pub fn write(&mut self, record: &[u8]) -> Result<()> {
        let length = (record.len() as u64).to_le_bytes();
        let parts: [&[u8]; 4] =
            [&length, &masked_crc32c(&length).to_le_bytes(), record, &masked_crc32c(record).to_le_bytes()];
        self.attempt(|this| parts.iter().try_for_each(|part| this.output.write_all(part)))
    }

    /// Writes all records so far to the file with the final name.
    pub fn flush(&mut self) -> Result<()> {
        self.attempt(|this| this.output.flush().and_then(|()| publish(&mut this.file)))
    }

    /// Ends the compressed stream and writes everything to the file with the final name.
    pub fn finish(mut self) -> Result<()> {
        self.attempt(|_| Ok(()))?;
        let Self { name, output, mut file, .. } = self;
        let written = output.into_inner().map_err(IntoInnerError::into_error);
        written
            .and_then(|mut output| output.finish())
            .and_then(|()| publish(&mut file))
            .map_err(|error| failed(&name, &file, &error))
    }

    /// Calls `work`, unless an earlier call has failed.
    fn attempt(&mut self, work: impl FnOnce(&mut Self) -> io::Result<()>) -> Result<()> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        work(self).map_err(|error| self.failure.insert(failed(&self.name, &self.file, &error)).clone())
    }
}

fn publish(file: &mut Option<AtomicFile>) -> io::Result<()> {
    file.as_mut().map_or(Ok(()), AtomicFile::publish)
}

fn failed(name: &FileName, file: &Option<AtomicFile>, error: &io::Error) -> Error {
    Error::io(name.text(), error).with_remedy(file.as_ref().map_or(INCOMPLETE, AtomicFile::remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::compression::Inflate;
    use proptest::prelude::*;
    use std::io::{ErrorKind, Read};

    /// Accepts a few bytes at a time and is interrupted according to a plan.
    struct Interrupted<'a> {
        plan: std::iter::Cycle<std::slice::Iter<'a, u8>>,
        bytes: &'a mut Vec<u8>,
    }

    impl Write for Interrupted<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.plan.next() {
                None | Some(0) => Err(ErrorKind::Interrupted.into()),
                Some(count) => self.bytes.write(&bytes[..bytes.len().min(usize::from(*count))]),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            self.plan.next().filter(|count| **count > 0).map(|_| ()).ok_or(ErrorKind::Interrupted.into())
        }
    }

    fn written(plan: &[u8], records: &[Vec<u8>], compression: Compression, flush_after: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let output = Output::new(Interrupted { plan: plan.iter().cycle(), bytes: &mut bytes });
        let mut writer =
            TfRecordWriter::new(FileName::new("a"), output, None, compression, DeflateOptions::default()).unwrap();
        for (number, record) in records.iter().enumerate() {
            writer.write(record).unwrap();
            if number == flush_after {
                writer.flush().unwrap();
            }
        }
        writer.finish().unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn signals_and_short_writes_change_nothing(
            mut plan in prop::collection::vec(0..5_u8, 0..20),
            records in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..6),
            compression in prop::sample::select(vec![Compression::None, Compression::Zlib, Compression::Gzip]),
            flush_after in 0..6_usize,
        ) {
            plan.push(200);
            let whole = written(&[u8::MAX], &records, compression, flush_after);
            prop_assert_eq!(&written(&plan, &records, compression, flush_after), &whole);
            let mut plain = Vec::new();
            match compression {
                Compression::None => plain = whole,
                _ => drop(Inflate::new(&whole[..], compression).read_to_end(&mut plain).unwrap()),
            }
            prop_assert_eq!(plain.len(), records.iter().map(|record| record.len() + 16).sum::<usize>());
        }
    }

    /// Has room for a limited number of bytes.
    struct Full<'a>(usize, &'a mut Vec<u8>);

    impl Write for Full<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.0 - self.1.len());
            if count == 0 {
                // From now on there is room for more.
                self.0 = usize::MAX;
                return Err(ErrorKind::StorageFull.into());
            }
            self.1.write(&bytes[..count])
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_write_fails_after_a_failure() {
        let expected = "a; No space left on device. The file is incomplete and accepts no more writes. Write it \
                        again.";
        for compression in [Compression::None, Compression::Zlib, Compression::Gzip] {
            for is_flushed in [false, true] {
                let mut bytes = Vec::new();
                let output = Output::new(Full(1000, &mut bytes));
                let uncompressed = DeflateOptions { level: Some(0), ..DeflateOptions::default() };
                let mut writer =
                    TfRecordWriter::new(FileName::new("a"), output, None, compression, uncompressed).unwrap();
                let large = vec![7; BLOCK_BYTES + 1];
                let failed = if is_flushed {
                    writer.write(&large[..2000]).unwrap();
                    writer.flush()
                } else {
                    (0..4).try_for_each(|_| writer.write(&large))
                };
                assert_eq!(failed.unwrap_err().message(), expected);
                assert_eq!(writer.write(b"more").unwrap_err().message(), expected);
                assert_eq!(writer.flush().unwrap_err().message(), expected);
                assert_eq!(writer.finish().unwrap_err().message(), expected);
                assert_eq!(bytes.len(), 1000, "{compression:?}");
            }
        }
    }
}
