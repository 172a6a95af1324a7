//! Input of files and pipes. Reading a pipe may have to wait, and that wait must end with its run.

use crate::error::{Error, Wait};
use crate::run::check_current;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

/// How often a wait for a pipe checks whether its run has to end.
const INTERVAL: Duration = Duration::from_millis(50);

/// An open file of any kind.
pub struct Input {
    file: File,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A file of known size that can be read from any offset, without waiting.
    Regular,
    /// Has no end before its first writer has opened it.
    Pipe,
    /// A terminal or another device.
    Device,
}

impl Input {
    /// Opens a file for reading. Does not wait for the writer of a pipe; only reading does.
    pub fn open(path: &Path) -> io::Result<(Self, Metadata)> {
        let file = open(path)?;
        let metadata = file.metadata()?;
        Ok((Self { kind: kind(&metadata), file }, metadata))
    }

    /// Whether reading may have to wait.
    pub fn may_wait(&self) -> bool {
        self.kind != Kind::Regular
    }

    /// The file itself, if it can be read from any offset.
    pub fn into_regular(self) -> Option<File> {
        (self.kind == Kind::Regular).then_some(self.file)
    }

    /// What the system knows of the file now.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.file.metadata()
    }

    /// Reads what is available, or waits until something is.
    fn read_waiting(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
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
        }
    }
}

impl Input {
    /// Reads up to `count` bytes, fewer only at the end, behind those that are there. There must be room for them.
    #[expect(clippy::disallowed_methods, reason = "whoever calls this has made room")]
    pub fn read_full(&mut self, bytes: &mut Vec<u8>, count: usize) -> io::Result<usize> {
        match self.kind {
            // A file itself fills the room without zeros in it first.
            Kind::Regular => self.file.by_ref().take(count as u64).read_to_end(bytes),
            Kind::Pipe | Kind::Device => self.take(count as u64).read_to_end(bytes),
        }
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.kind {
            Kind::Regular => self.file.read(buffer),
            Kind::Pipe | Kind::Device => self.read_waiting(buffer),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "whoever calls this has looked whether there is room")]
    fn read_to_end(&mut self, bytes: &mut Vec<u8>) -> io::Result<usize> {
        match self.kind {
            Kind::Regular => self.file.read_to_end(bytes),
            Kind::Pipe | Kind::Device => self.take(u64::MAX).read_to_end(bytes),
        }
    }
}

impl Seek for Input {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        self.file.seek(position)
    }
}

#[derive(PartialEq, Eq)]
enum Readiness {
    /// Reading may find something.
    Unknown,
    /// All writers have closed the pipe.
    Ended,
}

/// On other systems the operating system waits, and nothing can end that wait.
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

/// Non-blocking, so that neither opening nor reading waits in the system. This has no effect on regular files.
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

/// Waits up to [`INTERVAL`] until there is something to read. Fails if the run has to end.
///
/// Linux does not report the end of a pipe before it had its first writer.
#[cfg(target_os = "linux")]
fn wait(file: &File) -> io::Result<Readiness> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    check_current().map_err(|error| io::Error::other(error.of_wait(Wait::Repeatable)))?;
    let mut fds = [PollFd::new(file, PollFlags::IN)];
    let timeout = Timespec { tv_sec: 0, tv_nsec: INTERVAL.subsec_nanos().into() };
    match poll(&mut fds, Some(&timeout)) {
        // A signal: the next call checks whether it ends the run.
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let events = fds[0].revents();
    let has_ended = events.intersects(PollFlags::HUP | PollFlags::ERR) && !events.contains(PollFlags::IN);
    Ok(if has_ended { Readiness::Ended } else { Readiness::Unknown })
}

/// The error of a run that ended while it waited in a read.
pub fn error_of_wait(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref::<Error>()
}
