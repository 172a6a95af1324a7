//! Output to files, and repeating system calls that a signal has interrupted.

use std::io::{self, ErrorKind, Write};

/// Repeats a call that a signal has interrupted before it did anything.
pub fn retried<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// An output that signals do not interrupt, and that refuses all writes after the first failure.
///
/// The layers above (buffers, compression) repeat failed writes, at the latest when they are dropped. Such data would
/// follow a gap.
pub struct Output<W> {
    output: W,
    has_failed: bool,
}

impl<W> Output<W> {
    /// Writes to `output`.
    pub fn new(output: W) -> Self {
        Self { output, has_failed: false }
    }

    /// What is written to.
    pub fn get_ref(&self) -> &W {
        &self.output
    }

    fn attempt<T>(&mut self, mut call: impl FnMut(&mut W) -> io::Result<T>) -> io::Result<T> {
        if self.has_failed {
            return Err(io::Error::other("an earlier write has failed"));
        }
        retried(|| call(&mut self.output)).inspect_err(|_| self.has_failed = true)
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

    /// Fails in the given ways, and then writes.
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
    fn what_is_interrupted_is_done_again_and_what_fails_is_not() {
        use ErrorKind::{Interrupted, StorageFull};
        let mut output = Output::new(Failing(vec![StorageFull, Interrupted, Interrupted], Vec::new()));
        assert_eq!(output.write(b"a").unwrap_err().kind(), StorageFull);
        assert_eq!(output.write(b"b").unwrap_err().to_string(), "an earlier write has failed");
        assert_eq!(output.flush().unwrap_err().to_string(), "an earlier write has failed");
        assert!(output.get_ref().1.is_empty());
        let mut output = Output::new(Failing(vec![Interrupted; 3], Vec::new()));
        output.flush().unwrap();
        assert_eq!(output.write(b"c").unwrap(), 1);
    }
}
