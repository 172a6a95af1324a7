//! File names, which may be any bytes.

use crate::error::{Error, Result};
use crate::files::input::{self, Input};
use crate::files::storage::{self, Ahead, ArchiveMember, OpeningStream, Status, local_path, scheme};
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
    /// In an archive. The name is the path of the archive and the name in it.
    Member(Arc<dyn ArchiveMember>),
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

    /// The name of a file in an archive.
    pub fn of_member(member: Arc<dyn ArchiveMember>) -> Self {
        let named = Self::new(member.path());
        Self { location: Location::Member(member), ..named }
    }

    /// The bytes of the name.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The bytes of the name without the secrets of a URL, for files that others may read.
    pub fn without_secrets(&self) -> Bytes {
        let url = self.is_remote().then(|| str::from_utf8(&self.bytes).ok()).flatten();
        match url.map(storage::without_passwords) {
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

    /// Returns true if the file, or the archive that contains it, is remote.
    pub fn is_remote(&self) -> bool {
        match &self.location {
            Location::Local | Location::At(_) => false,
            Location::Remote(_) => true,
            Location::Member(member) => member.is_remote(),
        }
    }

    /// Starts opening a remote file that will be read from start to end, without waiting. Returns
    /// `None` for a local file.
    pub fn begin(&self, ahead: &Ahead) -> Option<OpeningStream> {
        match &self.location {
            Location::Local | Location::At(_) => None,
            Location::Remote(url) => storage::storage().ok().map(|storage| storage.begin(url, ahead)),
            Location::Member(member) => member.is_remote().then(|| member.begin(ahead)),
        }
    }

    /// The archive's member, if the file is in an archive.
    pub fn member(&self) -> Option<&Arc<dyn ArchiveMember>> {
        match &self.location {
            Location::Member(member) => Some(member),
            _ => None,
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
        let opened = match &self.location {
            Location::Local | Location::At(_) => Input::open(&self.path()),
            Location::Remote(url) => storage::storage()?.begin(url, &Ahead::default()).wait().map(Input::of_stream),
            Location::Member(member) => member.begin(&Ahead::default()).wait().map(Input::of_stream),
        };
        opened.map_err(|error| self.not_opened(&error))
    }

    /// The status of the file, without reading any of it.
    pub fn status(&self) -> Result<Status> {
        let status = match &self.location {
            Location::Local | Location::At(_) => {
                std::fs::metadata(self.path()).map(|metadata| input::status(&metadata))
            }
            Location::Remote(url) => storage::storage()?.begin_parts(url, None, None).wait().map(|(_, status)| status),
            Location::Member(member) => Ok(member.status()),
        };
        status.map_err(|error| self.not_opened(&error))
    }

    /// The error for a file that cannot be opened.
    pub fn not_opened(&self, error: &io::Error) -> Error {
        let failure = Error::io(&self.text, error);
        match &self.location {
            Location::Local | Location::At(_) => failure.with_remedy(remedy(error.kind())),
            Location::Remote(_) | Location::Member(_) => failure,
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
