//! Limits responses: reads at most the requested bytes, and only the beginning of an error's
//! body.

use super::fault::{Fault, told};
use super::pages;
use bytes::Bytes;
use http::header::{CONTENT_LENGTH, RANGE, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderValue};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame};
use object_store::client::{HttpError, HttpRequest, HttpResponse, HttpResponseBody};
use reqwest::{Method, Response, StatusCode};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The size of a file whose length the server does not report.
pub const UNKNOWN_SIZE: u64 = u64::MAX;
/// How many bytes of an error's body to read.
const ERROR_BYTES: usize = 4 << 10;
const ERROR_TIME: Duration = Duration::from_secs(5);
/// The maximum size of a response that isn't the content of a file. A page of a listing has at most
/// 5,000 names with 1,024 letters each.
const ANSWER_BYTES: u64 = 64 << 20;

/// Marks a request for a whole file. Its response may have any length, because it is read piece by
/// piece.
#[derive(Clone, Copy, Debug)]
pub struct WholeFile;

/// The purpose of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The status of a file.
    Status,
    /// A range of a file with this many bytes.
    Range(u64),
    /// All bytes of a file.
    File,
    /// Anything else, such as a listing or a token. The response is read into memory as a whole.
    Answer,
}

impl Subject {
    /// Determines the purpose of a request.
    pub fn by(request: &HttpRequest) -> Self {
        if request.method() == Method::HEAD {
            return Self::Status;
        }
        match range(request.headers()) {
            Some(num_bytes) => Self::Range(num_bytes),
            None if request.extensions().get::<WholeFile>().is_some() => Self::File,
            None => Self::Answer,
        }
    }
}

/// The number of bytes that a header requests.
fn range(headers: &HeaderMap) -> Option<u64> {
    let (first, last) = headers.get(RANGE)?.to_str().ok()?.strip_prefix("bytes=")?.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    last.checked_sub(first)?.checked_add(1)
}

/// Returns the response with limits for the storage.
pub async fn bounded(response: Response, subject: Subject) -> Result<HttpResponse, HttpError> {
    let response: http::Response<reqwest::Body> = response.into();
    let (mut parts, body) = response.into_parts();
    if !parts.status.is_success() {
        let text = beginning(body).await;
        return Ok(HttpResponse::from_parts(parts, text.into()));
    }
    let (limit, is_cut) = match subject {
        Subject::Status => {
            complete(&mut parts.headers, UNKNOWN_SIZE);
            (0, true)
        }
        Subject::Range(requested) if parts.status == StatusCode::PARTIAL_CONTENT => {
            if let Some(length) = length(&parts.headers).filter(|length| *length > requested) {
                return Err(oversent(length, requested).into());
            }
            complete(&mut parts.headers, requested);
            // One more byte lets the reader notice that there are too many.
            (requested.saturating_add(1), true)
        }
        // The storage requests the whole file.
        Subject::Range(_) => (0, true),
        Subject::File => {
            check_whole(parts.status, &parts.headers)?;
            complete(&mut parts.headers, UNKNOWN_SIZE);
            (u64::MAX, true)
        }
        Subject::Answer => (ANSWER_BYTES, false),
    };
    let body = Limited { body: Box::pin(body.map_err(told)), left: limit, is_cut };
    Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
}

/// The fault of a server that sends more than the requested range.
pub fn oversent(length: u64, requested: u64) -> Fault {
    Fault(format!("the server sent at least {length} bytes for a range of {requested}"))
}

/// Fails if the end of a whole file could not be distinguished from a broken connection.
fn check_whole(status: StatusCode, headers: &HeaderMap) -> Result<(), Fault> {
    if status == StatusCode::PARTIAL_CONTENT {
        return Err(Fault("the server sent part of the file, expected the whole file".to_owned()));
    }
    let codings = headers.get_all(TRANSFER_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let is_chunked =
        codings.flat_map(|value| value.split(',')).any(|coding| coding.trim().eq_ignore_ascii_case("chunked"));
    match is_chunked || length(headers).is_some() {
        true => Ok(()),
        false => Err(Fault(
            "the server does not report the file's length: its response has no Content-Length and is not chunked, so \
             a broken connection would look like the end of the file"
                .to_owned(),
        )),
    }
}

fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// Adds the length of the body if the server does not report it.
fn complete(headers: &mut HeaderMap, length: u64) {
    headers.entry(CONTENT_LENGTH).or_insert_with(|| HeaderValue::from(length));
}

/// Reads the first bytes of a body as text, as many as arrive within a short time.
async fn beginning(mut body: reqwest::Body) -> String {
    let mut bytes = Vec::new();
    let read = async {
        while bytes.len() < ERROR_BYTES
            && let Some(Ok(frame)) = body.frame().await
        {
            let data = frame.into_data().unwrap_or_default();
            bytes.extend_from_slice(&data[..data.len().min(ERROR_BYTES - bytes.len())]);
        }
    };
    // The bytes received so far are enough.
    let _ = tokio::time::timeout(ERROR_TIME, read).await;
    let text = String::from_utf8_lossy(&bytes);
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}

/// A body that is read up to a limit.
struct Limited<B> {
    body: Pin<Box<B>>,
    left: u64,
    /// True if the body ends at the limit; otherwise exceeding it is an error.
    is_cut: bool,
}

impl<B: Body<Data = Bytes, Error = HttpError>> Body for Limited<B> {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        if self.left == 0 && self.is_cut {
            return Poll::Ready(None);
        }
        let frame = match ready!(self.body.as_mut().poll_frame(context)) {
            Some(Ok(frame)) => frame,
            other => return Poll::Ready(other),
        };
        let mut data = match frame.into_data() {
            Ok(data) => data,
            Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
        };
        if data.len() as u64 > self.left {
            if !self.is_cut {
                let text = format!(
                    "the server sent a response of more than {ANSWER_BYTES} bytes, expected a short \
                                    one"
                );
                return Poll::Ready(Some(Err(Fault(text).into())));
            }
            data.truncate(self.left as usize);
        }
        if !self.is_cut
            && let Err(fault) = pages::add(data.len())
        {
            return Poll::Ready(Some(Err(fault.into())));
        }
        self.left -= data.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(data))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn range_header_contains_the_number_of_bytes() {
        for (text, expected) in [
            ("bytes=0-0", Some(1)),
            ("bytes=10-19", Some(10)),
            ("bytes=5-", None),
            ("bytes=-5", None),
            ("bytes=9-8", None),
            ("bytes=0-18446744073709551615", None),
        ] {
            assert_eq!(range(&headers(&[("range", text)])), expected, "{text}");
        }
    }

    #[test]
    fn end_of_a_complete_file_must_be_known() {
        let check = |status, lines: &[_]| check_whole(status, &headers(lines)).map_err(|fault| fault.0);
        assert_eq!(check(StatusCode::OK, &[("content-length", "5")]), Ok(()));
        assert_eq!(check(StatusCode::OK, &[("transfer-encoding", "gzip, Chunked")]), Ok(()));
        assert!(check(StatusCode::OK, &[]).unwrap_err().contains("no Content-Length and is not chunked"));
        let part = check(StatusCode::PARTIAL_CONTENT, &[("content-length", "5")]).unwrap_err();
        assert_eq!(part, "the server sent part of the file, expected the whole file");
    }
}
