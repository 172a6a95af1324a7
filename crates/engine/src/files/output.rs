//! Writes to files, and retries system calls that a signal has interrupted.

use crate::files::storage::as_io;
use crate::run::check_current;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Repeats a call if a signal interrupted it before it did anything.
pub fn retried<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Opens a file for writing under its own name. If it is a pipe, waits until a reader opens it or
/// the run is stopped.
pub fn open_in_place(path: &Path) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::fs::FileTypeExt;
        if std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_fifo()) {
            return open_pipe(path);
        }
    }
    File::create(path)
}

/// How often a wait for the reader of a pipe checks whether its run was stopped.
#[cfg(target_os = "linux")]
const INTERVAL: std::time::Duration = std::time::Duration::from_millis(50);

/// Opens without blocking, because a system call that waits for a pipe could not be interrupted.
#[cfg(target_os = "linux")]
fn open_pipe(path: &Path) -> io::Result<File> {
    use crate::waits::{self, Awaited};
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use std::os::unix::fs::OpenOptionsExt;
    let mut registered = None;
    loop {
        let opened = File::options().write(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path);
        match opened {
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => {}
            Err(error) => return Err(error),
            Ok(file) => {
                fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
                return Ok(file);
            }
        }
        check_current().map_err(as_io)?;
        let name = path.display().to_string();
        let awaited = || vec![Awaited::new(move || format!("a reader of the pipe {name}"))];
        registered.get_or_insert_with(|| waits::register(awaited(), None));
        std::thread::sleep(INTERVAL);
    }
}

/// A file that is being written. Flushing it reports errors that the system would only report when
/// the file is closed.
///
/// Network file systems may only send data when a file is closed, and only then report that there
/// is no space. Closing a duplicate of the handle has the same effect and returns the error, which
/// dropping a `File` ignores.
pub struct WrittenFile(File);

impl WrittenFile {
    /// Writes to `file`.
    pub fn new(file: File) -> Self {
        Self(file)
    }

    /// Waits until the data is on the disk.
    pub fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

impl Write for WrittenFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        #[cfg(unix)]
        nix::unistd::close(self.0.try_clone()?)?;
        Ok(())
    }
}

/// An output that signals only interrupt if they stop the run. It rejects all writes after the
/// first failure.
///
/// The layers above it (buffers, compression) repeat failed writes, if only when they are dropped.
/// The repeated data would follow a gap.
pub struct Output<W> {
    output: W,
    has_failed: bool,
}

impl<W> Output<W> {
    /// Writes to `output`.
    pub fn new(output: W) -> Self {
        Self { output, has_failed: false }
    }

    /// The underlying output.
    pub fn get_ref(&self) -> &W {
        &self.output
    }

    fn attempt<T>(&mut self, mut call: impl FnMut(&mut W) -> io::Result<T>) -> io::Result<T> {
        if self.has_failed {
            return Err(io::Error::other("an earlier write failed"));
        }
        let attempt = loop {
            match call(&mut self.output) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {
                    if let Err(error) = check_current() {
                        break Err(as_io(error));
                    }
                }
                result => break result,
            }
        };
        attempt.inspect_err(|_| self.has_failed = true)
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(|output| output.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt(W::flush)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails in these ways first, then writes.
    struct Failing(Vec<ErrorKind>, Vec<u8>);

    impl Write for Failing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.flush().and_then(|()| self.1.write(bytes))
        }

        fn flush(&mut self) -> io::Result<()> {
            self.0.pop().map_or(Ok(()), |kind| Err(kind.into()))
        }
    }

    #[test]
    fn interrupted_writes_are_retried_and_failed_ones_are_not() {
        use ErrorKind::{Interrupted, StorageFull};
        let mut output = Output::new(Failing(vec![StorageFull, Interrupted, Interrupted], Vec::new()));
        assert_eq!(output.write(b"a").unwrap_err().kind(), StorageFull);
        assert_eq!(output.write(b"b").unwrap_err().to_string(), "an earlier write failed");
        assert_eq!(output.flush().unwrap_err().to_string(), "an earlier write failed");
        assert!(output.get_ref().1.is_empty());
        let mut output = Output::new(Failing(vec![Interrupted; 3], Vec::new()));
        output.flush().unwrap();
        assert_eq!(output.write(b"c").unwrap(), 1);
    }
}
