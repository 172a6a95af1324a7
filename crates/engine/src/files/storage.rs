//! Files that are not on this machine: what the engine asks of the storage they are on. The crate `headrace-remote` gives it.

use crate::error::{Code, Error, Result};
use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read, Seek};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// What is read ahead of a file where nobody says how much it may be.
const DEFAULT_AHEAD_BYTES: usize = 8 << 20;

/// What is known of a file that is open.
#[derive(Clone, Debug)]
pub struct Status {
    /// How many bytes it has; 0 for a pipe.
    pub len: u64,
    /// Whether it has a known size and can be read from any offset.
    pub is_regular: bool,
    /// Differs from that of the file after a change; `None` if nobody can tell.
    pub version: Option<Version>,
}

/// Tells a file from what it was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Version {
    /// When it was written.
    Modified(SystemTime),
    /// Of a file on this machine: when it was written, which programs set as they like, and what they cannot set.
    Local {
        /// When it was written.
        modified: SystemTime,
        /// When it or what is known of it was changed, in seconds and nanoseconds.
        changed: (i64, i64),
        /// The number of its device and that of the file there.
        identity: (u64, u64),
    },
    /// What the storage calls this content, such as an ETag.
    Tag(Arc<str>),
}

/// How a file is read from its beginning to its end.
#[derive(Clone, Debug)]
pub struct Ahead {
    /// How many bytes may be on their way, or wait to be read.
    pub num_bytes: usize,
    /// Whether so many are asked for at once. Otherwise as many as whoever reads turns out to need.
    pub is_eager: bool,
    /// Where what was read is kept, if somewhere.
    pub cache: Option<Arc<Cache>>,
}

impl Default for Ahead {
    fn default() -> Self {
        Self { num_bytes: DEFAULT_AHEAD_BYTES, is_eager: false, cache: None }
    }
}

/// A directory where parts of remote files are kept. Several processes may use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Its path.
    pub directory: PathBuf,
    /// What is kept there at most; what was used least recently is removed.
    pub num_bytes: u64,
}

/// A storage of files that have URLs as their names.
pub trait Storage: Send + Sync {
    /// Begins to open a file that will be read from its beginning to its end. Does not wait.
    fn begin(&self, url: &str, ahead: &Ahead) -> OpeningStream;

    /// Begins to open a file of which parts will be read. Does not wait. If it is `known`, nobody asks for its status, and
    /// reading fails if it is not that any more.
    fn begin_parts(
        &self,
        url: &str,
        cache: Option<&Arc<Cache>>,
        known: Option<&Status>,
    ) -> Box<dyn Opening<Arc<dyn Parts>>>;

    /// Fails if files of this name cannot be written at all.
    fn check_writable(&self, url: &str) -> Result<()>;

    /// Makes a file of this name with the contents of a local one. A file that has the name is replaced as a whole.
    fn upload(&self, from: &Path, url: &str) -> io::Result<()>;
}

/// A file that is being opened. Dropping it ends that.
pub trait Opening<T>: Send {
    /// Whether [`Opening::wait`] would not wait.
    fn is_ready(&mut self) -> bool;

    /// The open file. Ends with the current run; see [`crate::run::check_current`].
    fn wait(self: Box<Self>) -> io::Result<(T, Status)>;
}

/// A file that is being opened to be read from its beginning to its end.
pub type OpeningStream = Box<dyn Opening<Box<dyn Stream>>>;

/// An open file that is read from its beginning to its end. It can be moved, at the cost of what was read ahead.
pub trait Stream: Read + Seek + Send {}

/// An open file of which parts are read, by any number of threads.
pub trait Parts: fmt::Debug + Send + Sync {
    /// Begins to read some ranges. Does not wait.
    fn begin(&self, ranges: Vec<Range<u64>>) -> Box<dyn Coming>;
}

/// Parts of a file that are on their way. Dropping them ends that.
pub trait Coming: Send {
    /// Fills a buffer for each range with its bytes. Fails with `UnexpectedEof` if the file ends before, and with the current
    /// run; see [`crate::run::check_current`].
    fn wait(self: Box<Self>, buffers: &mut [&mut [u8]]) -> io::Result<()>;
}

static STORAGE: OnceLock<Box<dyn Storage>> = OnceLock::new();

/// Says which storage serves URLs. The first call counts.
pub fn register(storage: Box<dyn Storage>) {
    STORAGE.get_or_init(|| storage);
}

/// The storage that serves URLs.
pub fn storage() -> Result<&'static dyn Storage> {
    let missing =
        || Error::unimplemented("this build of headrace reads local files alone. Copy the file to this machine");
    STORAGE.get().map(|storage| &**storage).ok_or_else(missing)
}

/// An error of the engine as one of input, so that it passes through readers; see [`Error::io`].
pub fn as_io(error: Error) -> io::Error {
    io::Error::other(error)
}

/// The error for a file that has another content than before.
pub fn changed(text: impl fmt::Display) -> Error {
    Error::new(
        Code::Aborted,
        format!(
            "the file changed while it was read ({text}). Write files before they are read, each under a name of its own"
        ),
    )
}

/// The scheme of a URL, such as `s3` of `s3://bucket/key`; `None` if this is the name of a local file.
pub fn scheme(name: &[u8]) -> Option<&str> {
    let end = memchr::memmem::find(name, b"://")?;
    let is_scheme = end > 1
        && name[0].is_ascii_alphabetic()
        && name[..end].iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte));
    is_scheme.then(|| str::from_utf8(&name[..end]).ok()).flatten()
}

/// A text for messages: users and passwords of the URLs in it are left out, as in `https://***@host/name`.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    let mut shown = Cow::Borrowed(text);
    let mut rest = text;
    while let Some(start) = rest.find("://") {
        rest = &rest[start + 3..];
        let is_end = |letter: char| "/?#\\".contains(letter) || letter.is_whitespace();
        let authority = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        if let Some(end) = authority.rfind('@') {
            let done = shown.len() - rest.len();
            shown.to_mut().replace_range(done..done + end, "***");
            rest = &rest[end..];
        }
    }
    shown
}

/// The path that a `file://` URL stands for: of this machine, with what `%` stands for.
pub fn local_path(name: &[u8]) -> Vec<u8> {
    let rest = &name["file://".len()..];
    let rest = rest.strip_prefix(b"localhost").filter(|rest| rest.starts_with(b"/")).unwrap_or(rest);
    let hex = |digit: u8| char::from(digit).to_digit(16).map(|digit| digit as u8);
    let mut path = Vec::new();
    let mut rest = rest;
    while let [byte, behind @ ..] = rest {
        let escaped = match rest {
            [b'%', high, low, ..] => hex(*high).zip(hex(*low)).map(|(high, low)| 16 * high + low),
            _ => None,
        };
        path.push(escaped.unwrap_or(*byte));
        rest = if escaped.is_some() { &behind[2..] } else { behind };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_a_scheme_and_paths_have_none() {
        for (name, expected) in [
            ("s3://bucket/key", Some("s3")),
            ("https://host/a?b", Some("https")),
            ("file:///a", Some("file")),
            ("a/b", None),
            ("C://x", None),
            ("://x", None),
            ("a b://x", None),
            ("1a://x", None),
        ] {
            assert_eq!(scheme(name.as_bytes()), expected, "{name}");
        }
    }

    #[test]
    fn no_text_shows_a_password() {
        for (text, shown) in [
            ("a/b", "a/b"),
            ("s3://bucket/a@b", "s3://bucket/a@b"),
            ("http://me:secret@host:80/a", "http://***@host:80/a"),
            ("GET http://token@host", "GET http://***@host"),
            ("http://a:b@c@host/x to https://\u{e4}:d@other/y@z?q", "http://***@host/x to https://***@other/y@z?q"),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }

    #[test]
    fn urls_of_files_are_paths() {
        for (url, path) in [
            ("file:///a/b", "/a/b"),
            ("file://localhost/a", "/a"),
            ("file:///a%20b%2", "/a b%2"),
            ("file:///100%", "/100%"),
            ("file:///%c3%A4", "/\u{e4}"),
        ] {
            assert_eq!(local_path(url.as_bytes()), path.as_bytes(), "{url}");
        }
    }
}
