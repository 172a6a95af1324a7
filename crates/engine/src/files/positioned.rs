//! Files that several threads can read at the same time, each at its own offset.

use crate::error::{Error, Result};
use crate::files::input;
use crate::files::name::FileName;
use crate::files::storage::{self, Cache, Coming, Opening, Parts, Status};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::Arc;

/// An open file without a current position.
#[derive(Debug)]
pub struct Positioned(Kind);

#[derive(Debug)]
enum Kind {
    Local(File),
    Remote(Arc<dyn Parts>),
}

/// A file that is being opened.
pub struct OpeningFile<'a> {
    name: &'a FileName,
    /// `None` for a local file or a member of an archive, which [`OpeningFile::wait`] opens.
    remote: Option<Box<dyn Opening<Arc<dyn Parts>>>>,
    cache: Option<&'a Arc<Cache>>,
}

impl<'a> OpeningFile<'a> {
    /// Starts opening a file. Parts of a remote file are kept in `cache`. If `status` is passed,
    /// the storage is not queried again.
    pub fn new(name: &'a FileName, cache: Option<&'a Arc<Cache>>, status: Option<&Status>) -> Result<Self> {
        let begin = |url| storage::storage().map(|storage| storage.begin_parts(url, cache, status));
        Ok(Self { name, remote: name.url().map(begin).transpose()?, cache })
    }

    /// Waits until the file is open. It must be a regular file, because others have no offsets.
    pub fn wait(self) -> Result<(Positioned, Status)> {
        let name = self.name;
        if let Some(member) = name.member() {
            return Ok((Positioned(Kind::Remote(member.parts(self.cache))), member.status()));
        }
        let irregular = || {
            let text = "the file can only be read from the start, so its records cannot be accessed at random. Copy \
                        it to a regular file";
            Error::invalid_argument(format!("{}: {text}", name.text()))
        };
        if let Some(remote) = self.remote {
            let (parts, status) = remote.wait().map_err(|error| name.not_opened(&error))?;
            return if status.is_regular { Ok((Positioned(Kind::Remote(parts)), status)) } else { Err(irregular()) };
        }
        let (input, status) = name.open()?;
        let file = input.into_regular().ok_or_else(irregular)?;
        Ok((Positioned(Kind::Local(file)), status))
    }
}

impl Positioned {
    /// Returns true if an additional read costs far more than a larger one.
    pub fn is_remote(&self) -> bool {
        matches!(self.0, Kind::Remote(_))
    }

    /// The current status of a local file. Returns `None` for a remote file, whose status does not
    /// change while it is open.
    pub fn status(&self) -> io::Result<Option<Status>> {
        match &self.0 {
            Kind::Local(file) => file.metadata().map(|metadata| Some(input::status(&metadata))),
            Kind::Remote(_) => Ok(None),
        }
    }

    /// Starts reading ranges of a remote file, without waiting. Returns `None` for a local file.
    pub fn begin(&self, ranges: impl Iterator<Item = Range<u64>>) -> Option<Box<dyn Coming>> {
        match &self.0 {
            Kind::Remote(parts) => Some(parts.begin(ranges.collect())),
            Kind::Local(_) => None,
        }
    }

    /// Fills `buffer` with the bytes from `offset` on. Fails with [`ErrorKind::UnexpectedEof`] if
    /// the file is too short.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match &self.0 {
            Kind::Remote(parts) => {
                let range = offset..offset + buffer.len() as u64;
                parts.begin(vec![range]).wait(&mut [buffer])
            }
            Kind::Local(file) => fill(file, buffer, offset),
        }
    }
}

/// Fills `buffer` with the bytes of a file from `offset` on. Fails with
/// [`ErrorKind::UnexpectedEof`] if the file is too short.
pub fn fill(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read_at(file, &mut buffer[filled..], offset + filled as u64) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(unix)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, offset)
}

#[cfg(windows)]
fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, offset)
}
