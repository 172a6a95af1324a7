//! Remote files: the interface that the engine needs. The `headrace-remote` crate implements it.

use crate::error::{Code, Error, Result};
use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read, Seek};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

/// The default number of bytes to read ahead.
const DEFAULT_AHEAD_BYTES: usize = 8 << 20;

/// The status of an open file.
#[derive(Clone, Debug)]
pub struct Status {
    /// The length in bytes, or 0 for a pipe.
    pub len: u64,
    /// True if it has a known size and can be read at any offset.
    pub is_regular: bool,
    /// A value that changes whenever the file changes, or `None` if unknown.
    pub version: Option<Version>,
}

/// Distinguishes versions of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Version {
    /// The time of the last write.
    Modified(SystemTime),
    /// For a local file: its write time, which programs may set freely, and two values that they
    /// cannot set.
    Local {
        /// The time of the last write.
        modified: SystemTime,
        /// The time of the last change to the file or its metadata, in seconds and nanoseconds.
        changed: (i64, i64),
        /// Device number and file number (inode).
        identity: (u64, u64),
    },
    /// The storage's own tag for this content, such as an ETag.
    Tag(Arc<str>),
}

/// How to read ahead in a file that is read from start to end.
#[derive(Clone, Debug)]
pub struct Ahead {
    /// The maximum number of bytes that may be requested or waiting to be read.
    pub num_bytes: usize,
    /// True to request that many bytes at once; otherwise requests follow the reader's needs.
    pub is_eager: bool,
    /// The cache that stores the bytes read, if any.
    pub cache: Option<Arc<Cache>>,
}

impl Default for Ahead {
    fn default() -> Self {
        Self { num_bytes: DEFAULT_AHEAD_BYTES, is_eager: false, cache: None }
    }
}

/// A directory that stores parts of remote files. Several processes may use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// Its path.
    pub directory: PathBuf,
    /// The maximum number of bytes to store. The least recently used ones are removed first.
    pub num_bytes: u64,
}

/// A storage for files that are named by URLs.
pub trait Storage: Send + Sync {
    /// Starts opening a file that will be read from start to end, without waiting.
    fn begin(&self, url: &str, ahead: &Ahead) -> OpeningStream;

    /// Starts opening a file for reading parts of it, without waiting. If `status` is passed, the
    /// storage is not queried for it, and reading fails if the file has changed since.
    fn begin_parts(
        &self,
        url: &str,
        cache: Option<&Arc<Cache>>,
        status: Option<&Status>,
    ) -> Box<dyn Opening<Arc<dyn Parts>>>;

    /// Fails if files with this kind of name can never be written.
    fn check_writable(&self, url: &str) -> Result<()>;

    /// Creates a file with this name from a local file. An existing file is replaced as a whole.
    fn upload(&self, from: &Path, url: &str) -> io::Result<()>;
}

/// A file that is being opened. Dropping it cancels the request.
pub trait Opening<T>: Send {
    /// Returns true if [`Opening::wait`] would not have to wait.
    fn is_ready(&mut self) -> bool;

    /// Waits until the file is open. Fails if the current run is stopped; see
    /// [`crate::run::check_current`].
    fn wait(self: Box<Self>) -> io::Result<(T, Status)>;
}

/// A file that is being opened for reading from start to end.
pub type OpeningStream = Box<dyn Opening<Box<dyn Stream>>>;

/// An open file that is read from start to end. Seeking discards the bytes read ahead.
pub trait Stream: Read + Seek + Send {}

/// An open file. Any number of threads can read parts of it.
pub trait Parts: fmt::Debug + Send + Sync {
    /// Starts reading some ranges, without waiting.
    fn begin(&self, ranges: Vec<Range<u64>>) -> Box<dyn Coming>;
}

/// A file in an archive.
pub trait ArchiveMember: fmt::Debug + Send + Sync {
    /// The path of the archive, and the name in it.
    fn path(&self) -> Vec<u8>;

    /// The size of the contents, and the version of the archive.
    fn status(&self) -> Status;

    /// Returns true if the archive is remote.
    fn is_remote(&self) -> bool;

    /// Starts reading the member, without waiting. Only a remote archive is read in advance.
    fn begin(&self, ahead: &Ahead) -> OpeningStream;

    /// Opens the member for reading parts of it.
    fn parts(&self, cache: Option<&Arc<Cache>>) -> Arc<dyn Parts>;
}

/// Parts of a file that were requested. Dropping them cancels the request.
pub trait Coming: Send {
    /// Returns true if [`Coming::wait`] would not have to wait.
    fn is_ready(&mut self) -> bool;

    /// Fills one buffer per range. Fails with `UnexpectedEof` if the file is too short, and if the
    /// current run is stopped; see [`crate::run::check_current`].
    fn wait(self: Box<Self>, buffers: &mut [&mut [u8]]) -> io::Result<()>;
}

static STORAGE: OnceLock<Box<dyn Storage>> = OnceLock::new();

/// Registers the storage for URLs. Only the first call has an effect.
pub fn register(storage: Box<dyn Storage>) {
    STORAGE.get_or_init(|| storage);
}

/// Returns the storage for URLs.
pub fn storage() -> Result<&'static dyn Storage> {
    let missing =
        || Error::unimplemented("this build of headrace reads only local files. Copy the file to this machine");
    STORAGE.get().map(|storage| &**storage).ok_or_else(missing)
}

/// Wraps an engine error in an I/O error, so that readers pass it through; see [`Error::io`].
pub fn as_io(error: Error) -> io::Error {
    io::Error::other(error)
}

/// The error for a file whose content has changed.
pub fn changed(text: impl fmt::Display) -> Error {
    Error::new(
        Code::Aborted,
        format!(
            "the file changed while it was read ({text}). Finish writing each file before you read it, under a new \
             name"
        ),
    )
}

/// The scheme of a URL, such as `s3` in `s3://bucket/key`. Returns `None` for the name of a local
/// file.
pub fn scheme(name: &[u8]) -> Option<&str> {
    let end = memchr::memmem::find(name, b"://")?;
    let is_scheme = end > 1
        && name[0].is_ascii_alphabetic()
        && name[..end].iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte));
    is_scheme.then(|| str::from_utf8(&name[..end]).ok()).flatten()
}

/// Masks secrets in a text for messages. Users, passwords and access parameters of URLs are
/// replaced, as in `https://***@host/name?X-Amz-Signature=***`.
pub fn without_passwords(text: &str) -> Cow<'_, str> {
    let mut secrets: Vec<Range<usize>> = Vec::new();
    let mut offset = 0;
    while let Some(distance) = text[offset..].find("://") {
        offset += distance + 3;
        let rest = &text[offset..];
        let is_end = |letter: char| "/?#\\".contains(letter) || letter.is_whitespace();
        let authority = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        if let Some(end) = authority.rfind('@') {
            secrets.push(offset..offset + end);
        }
        let is_end = |letter: char| "'\"<>|\\`".contains(letter) || letter.is_whitespace();
        let url = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        let Some(query) = url.find('?') else { continue };
        let mut start = offset + query + 1;
        for parameter in url[query + 1..].split(['&', '#']) {
            if let Some((name, value)) = parameter.split_once('=')
                && gives_access(name)
            {
                // A message may continue after the URL.
                let value = value.trim_end_matches([':', ';', ',', '.', ')', ']']);
                let start = start + name.len() + 1;
                secrets.push(start..start + value.len());
            }
            start += parameter.len() + 1;
        }
    }
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    secrets.sort_by_key(|secret| secret.start);
    let (mut shown, mut done) = (String::new(), 0);
    for secret in secrets {
        // A URL may be a parameter of another URL.
        if secret.start >= done && !secret.is_empty() {
            shown.push_str(&text[done..secret.start]);
            shown.push_str("***");
            done = secret.end;
        }
    }
    shown.push_str(&text[done..]);
    Cow::Owned(shown)
}

/// Returns true if a parameter with this name grants access to a file, such as the signature of a
/// link.
fn gives_access(name: &str) -> bool {
    const WORDS: [&str; 9] = ["signature", "token", "key", "secret", "pass", "pwd", "cred", "auth", "policy"];
    let name = name.to_ascii_lowercase();
    name == "sig" || WORDS.iter().any(|word| name.contains(word))
}

/// The local path of a `file://` URL, with `%` escapes decoded.
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
    fn displayed_urls_hide_passwords() {
        for (text, shown) in [
            ("a/b", "a/b"),
            ("s3://bucket/a@b", "s3://bucket/a@b"),
            ("http://me:secret@host:80/a", "http://***@host:80/a"),
            ("GET http://token@host", "GET http://***@host"),
            ("http://a:b@c@host/x to https://\u{e4}:d@other/y@z?q", "http://***@host/x to https://***@other/y@z?q"),
            ("https://h/a?page=1&X-Amz-Signature=a/b%2B=&n=2", "https://h/a?page=1&X-Amz-Signature=***&n=2"),
            ("https://h/a?sig=1: 403, 'https://h/b?token=2'", "https://h/a?sig=***: 403, 'https://h/b?token=***'"),
            ("https://h/a?x&api_key=1.5#part. See http://u@h", "https://h/a?x&api_key=***#part. See http://***@h"),
            ("https://h/a?url=http://u:p@h/b&token=1", "https://h/a?url=http://***@h/b&token=***"),
            ("https://h/a?token=http://u:p@h/b&n=1", "https://h/a?token=***&n=1"),
            ("What is it? token=1 https://h/?", "What is it? token=1 https://h/?"),
        ] {
            assert_eq!(without_passwords(text), shown);
        }
    }

    #[test]
    fn file_urls_are_paths() {
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
