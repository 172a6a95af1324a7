//! The names of files, as bytes.

use crate::error::{Error, Result};
use crate::files::input::Input;
use bytes::Bytes;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// The name of a file: any bytes, not only UTF-8.
#[derive(Clone, Debug)]
pub struct FileName {
    bytes: Bytes,
    text: Arc<str>,
}

impl FileName {
    /// A name of these bytes.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let text = String::from_utf8_lossy(&bytes).into();
        Self { bytes, text }
    }

    /// The bytes of the name.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The name as text, for messages.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The name as a path of the system.
    pub fn path(&self) -> &Path {
        #[cfg(unix)]
        return Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(&self.bytes));
        #[cfg(not(unix))]
        return Path::new(&*self.text);
    }

    /// Opens the file for reading. The error has TensorFlow's words and says what the user can do.
    pub fn open(&self) -> Result<(Input, Metadata)> {
        let open = || {
            let (file, metadata) = Input::open(self.path())?;
            if metadata.is_dir() {
                return Err(ErrorKind::IsADirectory.into());
            }
            Ok((file, metadata))
        };
        open().map_err(|error| Error::io(&self.text, &error).with_remedy(remedy(error.kind())))
    }
}

fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "Check the file names and the directory the program runs in.",
        ErrorKind::PermissionDenied => "Give the user who runs the program the right to read it.",
        ErrorKind::IsADirectory => "Name the files in it, with a pattern such as 'DIRECTORY/*' for example.",
        ErrorKind::NotADirectory => "A part of the path is a file. Check the file names.",
        ErrorKind::InvalidFilename | ErrorKind::InvalidInput => "Check the file names.",
        _ => "Check that the file can be read.",
    }
}
