//! Reads files, pipes and remote files. Reading a pipe may have to wait, and that wait must end
//! together with its run.

use crate::error::Error;
use crate::files::output::retried;
use crate::files::storage::{self, Status, Stream, Version};
use crate::waits::{self, Awaited};
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::SystemTime;

/// The maximum size of a small file, in bytes.
const SMALL_BYTES: u64 = 64 << 10;

/// An open file of any kind.
pub struct Input(Source);

enum Source {
    Local(LocalFile),
    Remote(Box<dyn Stream>, Status),
}

struct LocalFile {
    file: File,
    kind: Kind,
    /// Length of the file when it was opened.
    len: u64,
    /// The number of bytes before the next one to read.
    position: u64,
    /// True once the end has been reached. The end stays fixed even if the file grows, so that all
    /// readers agree on it.
    has_ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A file of known size that can be read at any offset without waiting.
    Regular,
    /// A pipe. It has no end until its first writer has opened it.
    Pipe,
    /// A terminal or another device.
    Device,
}

impl Input {
    /// Opens a file for reading. Does not wait for the writer of a pipe; only reading does.
    pub fn open(path: &Path) -> io::Result<(Self, Status)> {
        let file = open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        let (kind, len) = (kind(&metadata), metadata.len());
        let file = LocalFile { file, kind, len, position: 0, has_ended: false };
        Ok((Self(Source::Local(file)), status(&metadata)))
    }

    /// Wraps a remote file. It can be read at any offset if it is a regular file.
    pub fn of_stream((stream, status): (Box<dyn Stream>, Status)) -> (Self, Status) {
        (Self(Source::Remote(stream, status.clone())), status)
    }

    /// Returns true if reading may have to wait for a writer. A remote file is merely slow.
    pub fn may_wait(&self) -> bool {
        matches!(&self.0, Source::Local(file) if file.kind != Kind::Regular)
    }

    /// Returns true if it can be read at any offset.
    pub fn can_seek(&self) -> bool {
        match &self.0 {
            Source::Local(file) => file.kind == Kind::Regular,
            Source::Remote(_, status) => status.is_regular,
        }
    }

    /// Returns the file itself, if it is local and can be read at any offset.
    pub fn into_regular(self) -> Option<File> {
        match self.0 {
            Source::Local(LocalFile { file, kind: Kind::Regular, .. }) => Some(file),
            _ => None,
        }
    }

    /// The current length of the file. The length of a remote file does not change while it is
    /// open.
    pub fn length_bytes(&self) -> io::Result<u64> {
        match &self.0 {
            Source::Local(file) => file.file.metadata().map(|metadata| metadata.len()),
            Source::Remote(_, status) => Ok(status.len),
        }
    }
}

/// The status of a local file.
pub fn status(metadata: &Metadata) -> Status {
    let version = metadata.modified().ok().map(|modified| version(metadata, modified));
    Status { len: metadata.len(), is_regular: metadata.is_file(), version }
}

#[cfg(unix)]
fn version(metadata: &Metadata, modified: SystemTime) -> Version {
    use std::os::unix::fs::MetadataExt;
    let changed = (metadata.ctime(), metadata.ctime_nsec());
    Version::Local { modified, changed, identity: (metadata.dev(), metadata.ino()) }
}

#[cfg(not(unix))]
fn version(_metadata: &Metadata, modified: SystemTime) -> Version {
    Version::Modified(modified)
}

impl LocalFile {
    /// Records that `count` more bytes of a regular file were read and, if `is_end`, that there are
    /// no more. Fails if the file ends before its original length, because the end may be in the
    /// middle of a record.
    fn advance(&mut self, count: usize, is_end: bool) -> io::Result<()> {
        self.position += count as u64;
        if is_end && self.position < self.len {
            let len = self.file.metadata()?.len();
            if len < self.len {
                let text = format_args!("it has {len} bytes, but had {} before", self.len);
                return Err(storage::as_io(storage::changed(text)));
            }
        }
        self.has_ended |= is_end;
        Ok(())
    }

    /// Reads the available bytes, or waits until there are some.
    fn read_waiting(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut registered = None;
        loop {
            match self.file.read(buffer) {
                Ok(0) if self.kind == Kind::Pipe && !buffer.is_empty() => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return result,
            }
            if wait(&self.file)? == Readiness::Ended {
                // Data may have been written just before the end.
                return self.file.read(buffer);
            }
            registered.get_or_insert_with(|| waits::register(vec![self.awaited()], None));
        }
    }
}

impl LocalFile {
    fn awaited(&self) -> Awaited {
        let what = if self.kind == Kind::Pipe { "a pipe" } else { "a device" };
        let name = name_of_open(&self.file);
        Awaited::new(move || format!("data from {what}{name}"))
    }
}

/// The name of an open file, preceded by a space. Empty if the system does not report it.
fn name_of_open(file: &File) -> String {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd;
        let name = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
        name.map_or_else(|_| String::new(), |name| format!(" {}", name.display()))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = file;
        String::new()
    }
}

impl Input {
    /// The size of a small local file when it was opened, if it can be read without waiting.
    pub fn len_of_small(&self) -> Option<usize> {
        match &self.0 {
            Source::Local(file) if file.kind == Kind::Regular && file.len <= SMALL_BYTES => {
                usize::try_from(file.len).ok()
            }
            _ => None,
        }
    }

    /// True if the end of a local file has been reached.
    pub fn has_ended(&self) -> bool {
        matches!(&self.0, Source::Local(file) if file.has_ended)
    }

    /// Appends up to `room` bytes of a small file, for which there must be room. If that is more
    /// than its size, a single read also finds the end: it returns all bytes and then no more,
    /// although there was room. An error after the first bytes is left to the next read.
    #[expect(clippy::disallowed_methods, reason = "the caller has made room")]
    pub fn read_small(&mut self, bytes: &mut Vec<u8>, room: usize) -> io::Result<()> {
        let Source::Local(local @ LocalFile { kind: Kind::Regular, .. }) = &mut self.0 else { return Ok(()) };
        let begin = bytes.len();
        bytes.resize(begin + room, 0);
        let mut filled = begin;
        let mut result = Ok(());
        while filled < bytes.len() && !local.has_ended {
            let read = retried(|| local.file.read(&mut bytes[filled..])).and_then(|count| {
                let is_len = local.position + count as u64 == local.len;
                let is_end = count == 0 || is_len && filled + count < bytes.len();
                local.advance(count, is_end).map(|()| count)
            });
            match read {
                Ok(count) => filled += count,
                Err(error) => {
                    result = if filled == begin { Err(error) } else { Ok(()) };
                    break;
                }
            }
        }
        bytes.truncate(filled);
        result
    }

    /// Appends up to `count` bytes, and fewer only at the end of the file. There must be room for
    /// them.
    #[expect(clippy::disallowed_methods, reason = "the caller has made room")]
    pub fn read_full(&mut self, bytes: &mut Vec<u8>, count: usize) -> io::Result<usize> {
        match &mut self.0 {
            // Files fill the buffer without writing zeros to it first.
            Source::Local(local @ LocalFile { kind: Kind::Regular, .. }) => {
                if local.has_ended {
                    return Ok(0);
                }
                let read = (&local.file).take(count as u64).read_to_end(bytes)?;
                local.advance(read, read < count)?;
                Ok(read)
            }
            _ => self.take(count as u64).read_to_end(bytes),
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Source::Local(local @ LocalFile { kind: Kind::Regular, .. }) => {
                if local.has_ended {
                    return Ok(0);
                }
                let count = local.file.read(buffer)?;
                local.advance(count, count == 0 && !buffer.is_empty())?;
                Ok(count)
            }
            Source::Local(file) => file.read_waiting(buffer),
            Source::Remote(stream, _) => stream.read(buffer),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the caller has checked that there is room")]
    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        match &mut self.0 {
            Source::Local(local @ LocalFile { kind: Kind::Regular, .. }) => {
                if local.has_ended {
                    return Ok(0);
                }
                let read = local.file.read_to_end(bytes)?;
                local.advance(read, true)?;
                Ok(read)
            }
            _ => self.take(u64::MAX).read_to_end(bytes),
        }
    }
}

impl Seek for Input {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match &mut self.0 {
            Source::Local(local) => {
                local.position = local.file.seek(position)?;
                local.has_ended = false;
                Ok(local.position)
            }
            Source::Remote(stream, _) => stream.seek(position),
        }
    }
}

#[derive(PartialEq, Eq)]
enum Readiness {
    /// Reading may return something.
    Unknown,
    /// All writers have closed the pipe.
    Ended,
}

/// On other systems, the system call waits and cannot be interrupted.
#[cfg(not(target_os = "linux"))]
fn open(path: &Path) -> io::Result<File> {
    File::open(path)
}

#[cfg(not(target_os = "linux"))]
fn kind(metadata: &Metadata) -> Kind {
    if metadata.is_file() { Kind::Regular } else { Kind::Device }
}

#[cfg(not(target_os = "linux"))]
fn wait(_file: &File) -> io::Result<Readiness> {
    Ok(Readiness::Unknown)
}

/// Opens in non-blocking mode, so that neither opening nor reading waits in the system. This has no
/// effect on regular files.
#[cfg(target_os = "linux")]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    File::options().read(true).custom_flags(flags).open(path)
}

#[cfg(target_os = "linux")]
fn kind(metadata: &Metadata) -> Kind {
    use std::os::unix::fs::FileTypeExt;
    match metadata.file_type() {
        kind if kind.is_file() => Kind::Regular,
        kind if kind.is_fifo() => Kind::Pipe,
        _ => Kind::Device,
    }
}

/// Waits a moment until there is something to read. Fails if the run was stopped.
///
/// Linux does not report the end of a pipe until it has had a writer.
#[cfg(target_os = "linux")]
fn wait(file: &File) -> io::Result<Readiness> {
    use crate::error::Wait;
    use crate::run::check_current;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    /// How often a wait checks whether its run was stopped.
    const INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    check_current().map_err(|error| io::Error::other(error.of_wait(Wait::Repeatable)))?;
    let mut fds = [PollFd::new(file, PollFlags::IN)];
    match poll(&mut fds, Some(&INTERVAL)) {
        // A signal arrived. The next call checks whether it ends the run.
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let events = fds[0].revents();
    let has_ended = events.intersects(PollFlags::HUP | PollFlags::ERR) && !events.contains(PollFlags::IN);
    Ok(if has_ended { Readiness::Ended } else { Readiness::Unknown })
}

/// Returns the error of a run that was stopped while waiting in a read.
pub fn error_of_wait(error: &io::Error) -> Option<&Error> {
    inner(error).filter(|error| error.wait().is_some())
}

/// Returns the engine's error inside an I/O error that was passed through a reader.
pub fn inner(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref::<Error>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Opens a file of `before`, changes it with `change`, and reads up to `room` bytes of it.
    /// Returns whether that found the end, and these bytes and the rest.
    fn read(name: &str, before: &[u8], room: usize, change: impl FnOnce(&mut File)) -> (bool, io::Result<Vec<u8>>) {
        let path = std::env::temp_dir().join(format!("headrace-input-{}-{name}", std::process::id()));
        std::fs::write(&path, before).unwrap();
        let (mut input, _) = Input::open(&path).unwrap();
        assert_eq!(input.len_of_small(), Some(before.len()));
        change(&mut File::options().append(true).open(&path).unwrap());
        let mut bytes = Vec::new();
        let result = input.read_small(&mut bytes, room);
        let has_ended = input.has_ended();
        let result = result.and_then(|()| input.read_to_end(&mut bytes)).map(|_| bytes);
        std::fs::remove_file(&path).unwrap();
        (has_ended, result)
    }

    #[test]
    fn end_of_a_small_file_is_found_with_its_last_byte() {
        let unchanged = |room| {
            let (has_ended, bytes) = read(&format!("same-{room}"), b"abc", room, |_| {});
            (has_ended, bytes.unwrap())
        };
        assert_eq!(unchanged(4), (true, b"abc".to_vec()));
        assert_eq!(unchanged(3), (false, b"abc".to_vec()));
        assert_eq!(unchanged(2), (false, b"abc".to_vec()));
        let (has_ended, bytes) = read("empty", b"", 1, |_| {});
        assert_eq!((has_ended, bytes.unwrap()), (true, Vec::new()));
    }

    #[test]
    fn file_that_grew_after_it_was_opened_is_read_to_its_end() {
        for (name, before, after) in [("grown", &b"abc"[..], &b"abcde"[..]), ("grown-from-empty", b"", b"de")] {
            let (has_ended, bytes) = read(name, before, before.len() + 1, |file| file.write_all(b"de").unwrap());
            assert_eq!((has_ended, bytes.unwrap().as_slice()), (false, after));
        }
    }

    #[test]
    fn file_that_shrank_after_it_was_opened_is_reported() {
        for len in [0, 2] {
            let (_, bytes) = read(&format!("cut-{len}"), b"abc", 4, |file| file.set_len(len).unwrap());
            let error = bytes.unwrap_err().to_string();
            assert!(error.contains(&format!("(it has {len} bytes, but had 3 before)")), "{error}");
        }
    }
}
