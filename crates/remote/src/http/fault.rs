//! Failed requests: misbehaving servers and broken connections.

use object_store::client::{HttpError, HttpErrorKind};
use std::error::Error as Cause;
use std::{fmt, io};

/// A server's misbehaviour.
#[derive(Debug)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Cause for Fault {}

impl From<Fault> for HttpError {
    fn from(fault: Fault) -> Self {
        Self::new(HttpErrorKind::Unknown, fault)
    }
}

/// Determines whether a failed request may be repeated. The URL is removed. The caller that reports
/// the error adds it, unless it contains a secret.
pub fn told(error: reqwest::Error) -> HttpError {
    let kind = match &error {
        error if error.is_timeout() => HttpErrorKind::Timeout,
        error if error.is_connect() => HttpErrorKind::Connect,
        error if error.is_decode() => HttpErrorKind::Decode,
        error => cause(error).unwrap_or(HttpErrorKind::Unknown),
    };
    HttpError::new(kind, error.without_url())
}

/// The kind of the first cause that has one.
fn cause(error: &reqwest::Error) -> Option<HttpErrorKind> {
    let mut source = error.source();
    while let Some(cause) = source {
        if let Some(error) = cause.downcast_ref::<hyper::Error>() {
            if error.is_closed() || error.is_incomplete_message() || error.is_body_write_aborted() {
                return Some(HttpErrorKind::Request);
            }
            if error.is_timeout() {
                return Some(HttpErrorKind::Timeout);
            }
        }
        match cause.downcast_ref::<io::Error>().map(io::Error::kind) {
            Some(io::ErrorKind::TimedOut) => return Some(HttpErrorKind::Timeout),
            Some(
                io::ErrorKind::ConnectionAborted
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof,
            ) => return Some(HttpErrorKind::Interrupted),
            _ => source = cause.source(),
        }
    }
    None
}
