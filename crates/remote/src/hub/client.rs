//! The hub's client: its token, the rate limits, and files stored elsewhere.

use super::refusal::Refusal;
use crate::http::answers::{Subject, bounded};
use crate::http::client;
use crate::http::pages;
use crate::http::redirects::{Linked, follow};
use crate::http::settings::{backoff, retries};
use futures_util::future::BoxFuture;
use http::header::{AUTHORIZATION, IF_MATCH, RETRY_AFTER};
use http::{HeaderMap, HeaderValue};
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService};
use object_store::{ClientOptions, Result};
use reqwest::{Client, StatusCode};
use std::time::Duration;

/// The longest wait that the hub may request.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
const MESSAGE: &str = "x-error-message";
/// How many letters of a message to show.
const MESSAGE_LETTERS: usize = 300;

/// Creates clients that send a token to the hub.
#[derive(Debug)]
pub struct HubConnector {
    /// The header with the token.
    authorization: Option<HeaderValue>,
}

impl HubConnector {
    /// Uses the token from the environment.
    pub fn new() -> Self {
        let authorization = super::token().and_then(|token| HeaderValue::from_str(&format!("Bearer {token}")).ok());
        let hidden = authorization.map(|mut value| {
            value.set_sensitive(true);
            value
        });
        Self { authorization: hidden }
    }
}

impl HttpConnector for HubConnector {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        let authorization = self.authorization.clone();
        Ok(HttpClient::new(Service { client: client(options)?, authorization }))
    }
}

#[derive(Debug)]
struct Service {
    client: Client,
    authorization: Option<HeaderValue>,
}

impl Service {
    async fn answer(self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let subject = Subject::by(&request);
        if subject == Subject::Answer {
            pages::begin()?;
        }
        let (mut parts, body) = request.into_parts();
        // The hosts that store the data have their own ETags, so compare responses by the hub's.
        parts.headers.remove(IF_MATCH);
        if let Some(authorization) = &self.authorization {
            parts.headers.insert(AUTHORIZATION, authorization.clone());
        }
        let mut failures = 0;
        loop {
            let again = HttpRequest::from_parts(parts.clone(), body.clone());
            let response = follow(&self.client, again, Some(Linked::default())).await?;
            let status = response.status();
            match status {
                StatusCode::TOO_MANY_REQUESTS if failures < retries() => {
                    failures += 1;
                    tokio::time::sleep(pause(response.headers(), failures)).await;
                }
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::TOO_MANY_REQUESTS => {
                    return Err(self.refusal(status, response.headers()).into());
                }
                _ => return bounded(response, subject).await,
            }
        }
    }

    fn refusal(&self, status: StatusCode, headers: &HeaderMap) -> Refusal {
        let told = headers.get(MESSAGE).and_then(|text| text.to_str().ok()).unwrap_or_default();
        let mut message: String = told.chars().take(MESSAGE_LETTERS).collect();
        if let Some(token) = self.authorization.as_ref().and_then(|value| value.to_str().ok()) {
            message = message.replace(token.trim_start_matches("Bearer "), "…");
        }
        Refusal { status, message, has_token: self.authorization.is_some() }
    }
}

impl HttpService for Service {
    // Written as `#[async_trait]` would expand.
    fn call<'a, 'b>(&'a self, request: HttpRequest) -> BoxFuture<'b, Result<HttpResponse, HttpError>>
    where
        'a: 'b,
        Self: 'b,
    {
        let service = Self { client: self.client.clone(), authorization: self.authorization.clone() };
        Box::pin(service.answer(request))
    }
}

/// How long to wait before the next request.
fn pause(headers: &HeaderMap, failures: usize) -> Duration {
    let told = headers.get(RETRY_AFTER).and_then(|text| text.to_str().ok()?.trim().parse().ok());
    told.map_or_else(|| backoff(failures), Duration::from_secs).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_before_a_retry_follows_the_hub_response() {
        let headers = |text| HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(text))]);
        assert_eq!(pause(&headers("7"), 1), Duration::from_secs(7));
        assert_eq!(pause(&headers("100000"), 1), LONGEST_WAIT);
        assert_eq!(pause(&headers("tomorrow"), 1), backoff(1));
    }
}
