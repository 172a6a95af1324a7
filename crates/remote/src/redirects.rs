//! Requests and their redirects. Secrets are never sent to another host, neither in a header nor in
//! the referring URL.

use crate::http::told;
use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH, LOCATION, RANGE};
use object_store::client::{HttpError, HttpErrorKind, HttpRequest};
use reqwest::{Body, Client, Method, Response, StatusCode, Url};
use std::fmt;

/// The largest number of redirects of a request.
const MOST_REDIRECTS: usize = 10;

/// A server's misbehaviour.
#[derive(Debug)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

impl From<Fault> for HttpError {
    fn from(fault: Fault) -> Self {
        Self::new(HttpErrorKind::Unknown, fault)
    }
}

/// Makes a request, and follows its redirects. A user and a password in a URL become a header.
///
/// The client must not follow redirects itself: it would send headers of its storages, such as
/// `x-amz-security-token`, to any host.
pub async fn execute(client: &Client, request: HttpRequest) -> Result<Response, HttpError> {
    let (parts, body) = request.into_parts();
    let mut url = parsed(&parts.uri.to_string())?;
    let mut headers = parts.headers;
    for _ in 0..=MOST_REDIRECTS {
        // This takes the user and the password out of the URL.
        let request = client.request(parts.method.clone(), url).headers(headers);
        let mut request = request.build().map_err(told)?;
        headers = request.headers().clone();
        url = request.url().clone();
        *request.body_mut() = Some(match body.as_bytes() {
            Some(bytes) => bytes.clone().into(),
            None => Body::wrap(body.clone()),
        });
        let response = client.execute(request).await.map_err(told)?;
        let Some(next) = target(&response, &parts.method, &url) else { return Ok(response) };
        let next = next?;
        if next.origin() != url.origin() {
            headers = sent_on(&headers);
        }
        url = next;
    }
    Err(Fault(format!("the server redirected the request more than {MOST_REDIRECTS} times")).into())
}

/// The URL to which a response redirects the request. `None` for statuses that would turn another
/// method into GET.
fn target(response: &Response, method: &Method, url: &Url) -> Option<Result<Url, HttpError>> {
    let is_redirect = match response.status() {
        StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT => true,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND | StatusCode::SEE_OTHER => {
            matches!(*method, Method::GET | Method::HEAD)
        }
        _ => false,
    };
    let location = response.headers().get(LOCATION).filter(|_| is_redirect)?;
    let next = location.to_str().ok().and_then(|location| url.join(location).ok());
    let next = next.filter(|next| matches!(next.scheme(), "http" | "https"));
    Some(next.ok_or_else(|| Fault("the server redirected the request to a URL that is not HTTP".to_owned()).into()))
}

/// The headers that another host may see: without credentials.
fn sent_on(headers: &HeaderMap) -> HeaderMap {
    let known = [ACCEPT, CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH, RANGE];
    known.into_iter().filter_map(|name| headers.get(&name).cloned().map(|value| (name, value))).collect()
}

fn parsed(text: &str) -> Result<Url, HttpError> {
    Url::parse(text).map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))
}
