//! Gets the status of a file from servers that reject HEAD, because the URL is signed for GET or
//! because they lack the method. Requests the first byte of the file instead.

use super::redirects::execute;
use http::HeaderValue;
use http::header::{CONTENT_LENGTH, CONTENT_RANGE, ETAG, LAST_MODIFIED, RANGE};
use object_store::client::{HttpError, HttpRequest, HttpRequestBody};
use reqwest::{Body, Client, Method, Response, StatusCode};

/// Requests the status of a file, or its first byte if the server rejects that.
pub async fn status(client: &Client, request: HttpRequest) -> Result<Response, HttpError> {
    let mut get = http::Request::new(HttpRequestBody::empty());
    *get.method_mut() = Method::GET;
    *get.uri_mut() = request.uri().clone();
    *get.headers_mut() = request.headers().clone();
    get.headers_mut().insert(RANGE, HeaderValue::from_static("bytes=0-0"));
    let answer = execute(client, request).await?;
    if !rejects_method(answer.status()) {
        return Ok(answer);
    }
    let first = execute(client, get).await?;
    Ok(as_status(&first).unwrap_or(first))
}

fn rejects_method(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::BAD_REQUEST | StatusCode::FORBIDDEN | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_IMPLEMENTED
    )
}

/// Converts the response to a request for the first byte to a response to HEAD.
fn as_status(first: &Response) -> Option<Response> {
    let headers = first.headers();
    let total = || headers.get(CONTENT_RANGE)?.to_str().ok()?.rsplit_once('/')?.1.parse::<u64>().ok();
    let length = match first.status() {
        StatusCode::PARTIAL_CONTENT => Some(HeaderValue::from(total()?)),
        // An empty file has no first byte.
        StatusCode::RANGE_NOT_SATISFIABLE => Some(HeaderValue::from(total().filter(|total| *total == 0)?)),
        StatusCode::OK => headers.get(CONTENT_LENGTH).cloned(),
        _ => return None,
    };
    let mut status = http::Response::new(Body::default());
    status.headers_mut().extend(length.map(|length| (CONTENT_LENGTH, length)));
    let kept = [ETAG, LAST_MODIFIED].into_iter().filter_map(|name| Some((name.clone(), headers.get(&name)?.clone())));
    status.headers_mut().extend(kept);
    Some(status.into())
}
