//! Sends requests and follows redirects. Secrets are never sent to another host, neither in a
//! header nor in the referring URL.

use super::fault::{Fault, told};
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, LOCATION, RANGE};
use http::{HeaderMap, HeaderValue};
use object_store::client::{HttpError, HttpErrorKind, HttpRequest};
use reqwest::{Body, Client, Method, Response, StatusCode, Url};

/// The maximum number of redirects per request.
const MOST_REDIRECTS: usize = 10;

/// Sends a request and follows its redirects. A user and password in a URL are moved to a header.
///
/// The client must not follow redirects itself, because it would send headers of its storages, such
/// as `x-amz-security-token`, to any host.
pub async fn execute(client: &Client, request: HttpRequest) -> Result<Response, HttpError> {
    follow(client, request, None).await
}

/// Like [`execute`]. If `linked`, trusts a server's description of a file on another host.
pub async fn follow(client: &Client, request: HttpRequest, mut linked: Option<Linked>) -> Result<Response, HttpError> {
    let (parts, body) = request.into_parts();
    let mut url = parsed(&parts.uri.to_string())?;
    let mut headers = parts.headers;
    for _ in 0..=MOST_REDIRECTS {
        // This takes the user and password out of the URL.
        let request = client.request(parts.method.clone(), url).headers(headers);
        let mut request = request.build().map_err(told)?;
        headers = request.headers().clone();
        url = request.url().clone();
        *request.body_mut() = Some(match body.as_bytes() {
            Some(bytes) => bytes.clone().into(),
            None => Body::wrap(body.clone()),
        });
        let response = client.execute(request).await.map_err(told)?;
        if let Some(linked) = &mut linked {
            linked.note(response.headers());
        }
        let Some(next) = target(&response, &parts.method, &url) else {
            return Ok(match linked {
                Some(linked) => linked.named(response),
                None => response,
            });
        };
        let next = next?;
        if next.origin() != url.origin() {
            let status = linked.as_ref().filter(|_| parts.method == Method::HEAD).and_then(Linked::status);
            if let Some(status) = status {
                // The URL of the data may be signed for another method.
                return Ok(status);
            }
            headers = sent_on(&headers);
        }
        url = next;
    }
    Err(Fault(format!("the server redirected the request more than {MOST_REDIRECTS} times")).into())
}

/// A server's information about a file on another host: its size and its ETag.
#[derive(Default)]
pub struct Linked {
    size: Option<HeaderValue>,
    tag: Option<HeaderValue>,
}

impl Linked {
    fn note(&mut self, headers: &HeaderMap) {
        self.size = self.size.take().or_else(|| headers.get("x-linked-size").cloned());
        self.tag = self.tag.take().or_else(|| headers.get("x-linked-etag").cloned());
    }

    /// Returns the response to a request for the status of the file, if it is known.
    fn status(&self) -> Option<Response> {
        let size = self.size.clone()?;
        let answer = http::Response::builder().header(CONTENT_LENGTH, size).body(Body::default()).ok()?;
        Some(self.named(answer.into()))
    }

    /// Sets the ETag of a response.
    fn named(&self, mut response: Response) -> Response {
        if let Some(tag) = &self.tag {
            response.headers_mut().insert(ETAG, tag.clone());
        }
        response
    }
}

/// Returns the URL to which a response redirects the request. Returns `None` for statuses that
/// would turn another method into GET.
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

/// Returns the headers that another host may see, without credentials.
fn sent_on(headers: &HeaderMap) -> HeaderMap {
    let forwarded = [ACCEPT, CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH, RANGE];
    forwarded.into_iter().filter_map(|name| headers.get(&name).cloned().map(|value| (name, value))).collect()
}

fn parsed(text: &str) -> Result<Url, HttpError> {
    Url::parse(text).map_err(|error| HttpError::new(HttpErrorKind::Unknown, error))
}
