//! The HTTP client: HTTP/1.1 over `reqwest`.
//!
//! The connector of `object_store` would also link HTTP/2. It takes a tenth of a megabyte in each
//! wheel, and storages don't need it because parts of a file are requested over several
//! connections.

pub mod answers;
pub mod fault;
mod first_byte;
pub mod keys;
pub mod pages;
pub mod redirects;
pub mod settings;

use self::answers::{Subject, bounded};
use self::redirects::execute;
use futures_util::future::BoxFuture;
use object_store::ClientConfigKey::{AllowHttp, ConnectTimeout, ReadTimeout};
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpResponse, HttpService};
use object_store::{ClientConfigKey, ClientOptions, Error, Result};
use reqwest::Client;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::redirect::Policy;
use std::error::Error as Cause;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const USER_AGENT: &str = concat!("headrace/", env!("CARGO_PKG_VERSION"));

/// Creates the clients of all storages. It uses the options that this crate sets: whether
/// unencrypted connections are allowed, and the two timeouts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Connector {
    /// True to request the first byte of a file if the server rejects HEAD.
    pub asks_again: bool,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> Result<HttpClient> {
        Ok(HttpClient::new(Service { client: client(options)?, asks_again: self.asks_again }))
    }
}

/// Creates a client that does not follow redirects.
pub fn client(options: &ClientOptions) -> Result<Client> {
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        // `execute` follows redirects.
        .redirect(Policy::none())
        .referer(false)
        .dns_resolver(Arc::new(InTurn::default()))
        .https_only(options.get_config_value(&AllowHttp).as_deref() != Some("true"));
    if let Some(timeout) = duration(options, &ConnectTimeout)? {
        builder = builder.connect_timeout(timeout);
    }
    if let Some(timeout) = duration(options, &ReadTimeout)? {
        builder = builder.read_timeout(timeout);
    }
    builder.build().map_err(|error| failed(Box::new(error)))
}

/// Returns an option that is a duration, such as "30s".
fn duration(options: &ClientOptions, key: &ClientConfigKey) -> Result<Option<Duration>> {
    let text = options.get_config_value(key);
    text.map(|text| humantime::parse_duration(&text)).transpose().map_err(|error| failed(Box::new(error)))
}

fn failed(source: Box<dyn Cause + Send + Sync>) -> Error {
    Error::Generic { store: "HTTP", source }
}

#[derive(Debug)]
struct Service {
    client: Client,
    asks_again: bool,
}

impl HttpService for Service {
    // Written as `#[async_trait]` would expand.
    fn call<'a, 'b>(&'a self, request: HttpRequest) -> BoxFuture<'b, Result<HttpResponse, HttpError>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move {
            let subject = Subject::by(&request);
            if subject == Subject::Status && self.asks_again {
                return bounded(first_byte::status(&self.client, request).await?, subject).await;
            }
            if subject != Subject::Answer {
                return bounded(execute(&self.client, request).await?, subject).await;
            }
            let url = request.uri().clone();
            pages::begin()?;
            let answer = execute(&self.client, request).await?;
            let is_page = answer.status().is_success() && pages::is_listing();
            if is_page {
                pages::note(&url)?;
            }
            let answer = bounded(answer, subject).await?;
            if is_page { keys::escaped(answer).await } else { Ok(answer) }
        })
    }
}

/// Resolves a host's addresses and starts with a different one each time. A storage has many
/// machines with the same name, and the system would sort them the same way for every connection.
#[derive(Default)]
struct InTurn {
    num_lookups: AtomicUsize,
}

impl Resolve for InTurn {
    fn resolve(&self, name: Name) -> Resolving {
        let turn = self.num_lookups.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let mut addresses: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            // The addresses of the other family come last, because this machine may not be able to
            // reach them.
            let family = addresses.chunk_by(|a, b| a.is_ipv4() == b.is_ipv4()).next().map_or(0, <[_]>::len);
            addresses[..family].rotate_left(turn % family.max(1));
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}
