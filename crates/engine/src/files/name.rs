//! File names, which may be any bytes.

use crate::error::{Error, Result};
use crate::files::input::{self, Input};
use crate::files::storage::{self, Ahead, Status, local_path, scheme};
use crate::text::printable::printable_name;
use bytes::Bytes;
use std::borrow::Cow;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

/// The name of a file. It may be any bytes, not only valid UTF-8.
#[derive(Clone, Debug)]
pub struct FileName {
    bytes: Bytes,
    text: Arc<str>,
    location: Location,
}

/// Where the file is.
#[derive(Clone, Debug)]
enum Location {
    /// On this machine. The name is its path.
    Local,
    /// On this machine. The name is a URL with this path.
    At(Arc<Path>),
    /// Elsewhere. The name is this URL.
    Remote(Arc<str>),
}

impl FileName {
    /// Creates a name from bytes.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        let text = String::from_utf8_lossy(&bytes);
        let location = match scheme(&bytes) {
            None => Location::Local,
            Some(scheme) if scheme.eq_ignore_ascii_case("file") => Location::At(as_path(&local_path(&bytes)).into()),
            Some(_) => Location::Remote(text.as_ref().into()),
        };
        let text = storage::without_passwords(&printable_name(&bytes)).into();
        Self { bytes, text, location }
    }

    /// The bytes of the name.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The bytes of the name without the secrets of a URL, for files that others may read.
    pub fn without_secrets(&self) -> Bytes {
        match self.url().map(storage::without_passwords) {
            Some(Cow::Owned(shown)) => shown.into(),
            _ => self.bytes.clone(),
        }
    }

    /// The name as text for messages, without the secrets of a URL and with terminal control
    /// characters escaped.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// The name as a path of the system.
    pub fn path(&self) -> Cow<'_, Path> {
        match &self.location {
            Location::At(path) => Cow::Borrowed(path),
            _ => as_path(&self.bytes),
        }
    }

    /// The URL, if the file is remote.
    pub fn url(&self) -> Option<&str> {
        match &self.location {
            Location::Remote(url) => Some(url),
            _ => None,
        }
    }

    /// Opens the file for reading. The error has TensorFlow's text and a remedy.
    pub fn open(&self) -> Result<(Input, Status)> {
        let opened = match self.url() {
            None => Input::open(&self.path()),
            Some(url) => storage::storage()?.begin(url, &Ahead::default()).wait().map(Input::of_stream),
        };
        opened.map_err(|error| self.not_opened(&error))
    }

    /// The status of the file, without reading any of it.
    pub fn status(&self) -> Result<Status> {
        let status = match self.url() {
            None => std::fs::metadata(self.path()).map(|metadata| input::status(&metadata)),
            Some(url) => storage::storage()?.begin_parts(url, None, None).wait().map(|(_, status)| status),
        };
        status.map_err(|error| self.not_opened(&error))
    }

    /// The error for a file that cannot be opened.
    pub fn not_opened(&self, error: &io::Error) -> Error {
        let failure = Error::io(&self.text, error);
        match self.url() {
            None => failure.with_remedy(remedy(error.kind())),
            Some(_) => failure,
        }
    }
}

#[cfg(unix)]
fn as_path(bytes: &[u8]) -> Cow<'_, Path> {
    Cow::Borrowed(Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes)))
}

#[cfg(not(unix))]
fn as_path(bytes: &[u8]) -> Cow<'_, Path> {
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => Cow::Borrowed(Path::new(text)),
        Cow::Owned(text) => Cow::Owned(text.into()),
    }
}

fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound => "Check the path and the working directory.",
        ErrorKind::PermissionDenied => "Grant your user permission to read it.",
        ErrorKind::IsADirectory => "Name the files in it, for example with the pattern 'DIRECTORY/*'.",
        ErrorKind::NotADirectory => "Part of the path is a file. Check the path.",
        ErrorKind::InvalidFilename | ErrorKind::InvalidInput => "Check the path.",
        _ => "Check that the file can be read.",
    }
}
