//! Finds the storage for a URL, and its credentials.

use crate::failure::{check_length, failed};
use crate::http::Connector;
use crate::http::settings::{FIRST_BACKOFF, LONGEST_BACKOFF, options, retries};
use crate::hub::{self, HubConnector, Location};
use crate::profile;
use crate::runtime::process;
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::sync::Mutex;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{BackoffConfig, ObjectStore, RetryConfig};
use std::collections::HashMap;
use std::env;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use url::{ParseError, Position, Url};

/// The time after which a request is no longer retried.
const RETRY_TIMEOUT: Duration = Duration::from_secs(180);

/// This process's object stores, keyed by URL prefix and a hash of the environment.
type Stores = HashMap<(String, u64), Arc<dyn ObjectStore>>;
static STORES: LazyLock<Mutex<Option<(u32, Stores)>>> = LazyLock::new(|| Mutex::new(None));

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    S3,
    Google,
    Azure,
    Hub,
    Http,
}

/// Finds the storage for a file's URL, and the path in it.
pub fn find(text: &str) -> Result<(Arc<dyn ObjectStore>, Path)> {
    let (store, path) = find_directory(text)?;
    match (path.is_root() || text.ends_with('/')) && can_list(text)? {
        true => Err(Error::new(Code::NotFound, "this is the name of a bucket or a directory, expected a file")),
        false => Ok((store, path)),
    }
}

/// Finds the storage for a URL, and the path in it. A directory may end with a slash.
pub fn find_directory(text: &str) -> Result<(Arc<dyn ObjectStore>, Path)> {
    if hub::is_hub(text) {
        let location = Location::of(text)?;
        let files = location.files()?;
        let path = Path::parse(&location.path).map_err(|error| invalid(&error.to_string()))?;
        return Ok((stored(Kind::Hub, &files, files.as_str().to_owned())?, path));
    }
    let (kind, url) = parse(text)?;
    if kind == Kind::Http {
        let path = Path::from_url_path(url.path()).map_err(|error| invalid(&error.to_string()))?;
        // The query after the path, such as the signature of a link, belongs to each request.
        let key = format!("{}{}", &url[..Position::BeforePath], &url[Position::AfterPath..Position::AfterQuery]);
        return Ok((stored(kind, &url, key)?, path));
    }
    let (_, key) = split(text);
    Ok((stored(kind, &url, url[..Position::BeforePath].to_owned())?, path_of_key(key)?))
}

/// Splits a URL after its host or bucket. The part after the next slash is the key of an object.
///
/// A key is not percent-encoded and may contain any letters. `?`, `#` and `%20` have no special
/// meaning, as in the storages' own tools.
fn split(text: &str) -> (&str, &str) {
    let host = text.find("://").map_or(0, |position| position + 3);
    let end = text[host..].find('/').map_or(text.len(), |slash| host + slash);
    (&text[..end], text.get(end + 1..).unwrap_or_default())
}

/// The path of an object or directory with this key.
fn path_of_key(key: &str) -> Result<Path> {
    let key = key.strip_suffix('/').unwrap_or(key);
    if key.starts_with('/') || key.ends_with('/') {
        return Err(unusable(&format!("'{key}' has an empty part (two slashes in a row)")));
    }
    Path::parse(key).map_err(|error| unusable(&error.to_string()))
}

/// The error for a key that storages allow, but that cannot be requested.
fn unusable(why: &str) -> Error {
    invalid(why).with_remedy("If the bucket has an object with this name, rename it.")
}

/// Returns the storage with this key, creating it if necessary.
fn stored(kind: Kind, url: &Url, key: String) -> Result<Arc<dyn ObjectStore>> {
    let known_as = (key.clone(), environment());
    let mut stores = STORES.lock();
    if stores.as_ref().is_none_or(|(owner, _)| *owner != process()) {
        *stores = Some((process(), Stores::new()));
    }
    let (_, stores) = stores.get_or_insert_default();
    if let Some(store) = stores.get(&known_as) {
        return Ok(Arc::clone(store));
    }
    let store = make(kind, url, &key).map_err(|error| failed(&error))?;
    stores.insert(known_as, Arc::clone(&store));
    Ok(store)
}

/// A hash of all variables that configure storages and credentials.
fn environment() -> u64 {
    const PREFIXES: [&str; 6] = ["AWS_", "AZUR", "GOOGLE_", "HF_", "STORAGE_", "HEADRACE_"];
    let is_ours =
        |name: &OsString| PREFIXES.iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes()));
    // Independent of the order of the variables.
    env::vars_os().filter(|(name, _)| is_ours(name)).fold(0, |sum: u64, variable| {
        let mut hasher = DefaultHasher::new();
        variable.hash(&mut hasher);
        sum.wrapping_add(hasher.finish())
    })
}

/// Returns true if the storage for a URL can list its files.
pub fn can_list(text: &str) -> Result<bool> {
    Ok(parse(text)?.0 != Kind::Http)
}

/// Fails if files with this kind of name can never be written.
pub fn check_writable(text: &str) -> Result<()> {
    match parse(text)?.0 {
        Kind::Http => Err(Error::unimplemented("headrace cannot write over HTTP. Write to s3://, gs:// or az://")),
        Kind::Hub => {
            let text = "headrace cannot write to the hub. Write the files on this machine, then upload them with hf \
                        upload";
            Err(Error::unimplemented(text))
        }
        _ => Ok(()),
    }
}

fn parse(text: &str) -> Result<(Kind, Url)> {
    let (root, _) = split(text);
    let scheme = root.split_once("://").map_or_else(String::new, |(scheme, _)| scheme.to_ascii_lowercase());
    let is_http = matches!(&*scheme, "http" | "https");
    let url = Url::parse(if is_http { text } else { root }).map_err(|error| match error {
        // The tables for other names would add a tenth of a megabyte to each wheel.
        ParseError::IdnaError => {
            invalid("its host is not ASCII. Write its name as xn--..., as returned by `host.encode('idna')`")
        }
        error => invalid(&error.to_string()),
    })?;
    // Some characters of its path take three bytes each.
    check_length(Url::parse(text).as_ref().map_or(text, Url::as_str))?;
    let kind = match url.scheme() {
        "s3" | "s3a" => Kind::S3,
        "gs" => Kind::Google,
        "az" | "azure" | "abfs" | "abfss" | "adl" => Kind::Azure,
        "hf" => Kind::Hub,
        "http" | "https" => Kind::Http,
        scheme => {
            let text = format!("headrace does not support {scheme}://");
            let remedy = "Expected s3://, gs://, az://, hf://, https://, http:// or file://. Copy the file to one of these, or to this machine.";
            return Err(Error::unimplemented(text).with_remedy(remedy));
        }
    };
    match url.host_str() {
        Some(host) if !host.is_empty() && (is_http || url[Position::AfterPath..].is_empty()) => Ok((kind, url)),
        _ => Err(invalid("it has no bucket or host")),
    }
}

fn invalid(why: &str) -> Error {
    Error::new(
        Code::InvalidArgument,
        format!("this is not the URL of a file: {why}. Expected s3://BUCKET/NAME, for example."),
    )
}

fn make(kind: Kind, url: &Url, key: &str) -> object_store::Result<Arc<dyn ObjectStore>> {
    let retry = RetryConfig {
        backoff: BackoffConfig { init_backoff: FIRST_BACKOFF, max_backoff: LONGEST_BACKOFF, base: 2.0 },
        max_retries: retries(),
        retry_timeout: RETRY_TIMEOUT,
    };
    let client = options(kind == Kind::Http || url.scheme() == "http" || is_plain(kind));
    Ok(match kind {
        Kind::S3 => {
            let builder = profile::completed(AmazonS3Builder::from_env().with_url(url.as_str()));
            Arc::new(
                builder
                    .with_retry(retry)
                    .with_client_options(client)
                    .with_http_connector(Connector::default())
                    .build()?,
            )
        }
        Kind::Google => {
            let builder = GoogleCloudStorageBuilder::from_env().with_url(url.as_str());
            let builder = match env::var("STORAGE_EMULATOR_HOST") {
                Ok(host) if !host.is_empty() => {
                    let base = if host.contains("://") { host } else { format!("http://{host}") };
                    // Emulators ignore credentials but require some for writing.
                    let key = r#"{"disable_oauth": true, "client_email": "", "private_key": "", "private_key_id": ""}"#;
                    builder.with_config(GoogleConfigKey::BaseUrl, base).with_service_account_key(key)
                }
                _ => builder,
            };
            Arc::new(
                builder
                    .with_retry(retry)
                    .with_client_options(client)
                    .with_http_connector(Connector::default())
                    .build()?,
            )
        }
        Kind::Azure => {
            let builder = MicrosoftAzureBuilder::from_env().with_url(url.as_str());
            Arc::new(
                builder
                    .with_retry(retry)
                    .with_client_options(client)
                    .with_http_connector(Connector::default())
                    .build()?,
            )
        }
        Kind::Hub => Arc::new(
            HttpBuilder::new()
                .with_url(key)
                .with_retry(retry)
                .with_client_options(client)
                .with_http_connector(HubConnector::new())
                .build()?,
        ),
        Kind::Http => Arc::new(
            HttpBuilder::new()
                .with_url(key)
                .with_retry(retry)
                .with_client_options(client)
                .with_http_connector(Connector { asks_again: true })
                .build()?,
        ),
    })
}

/// Returns true if the environment specifies an unencrypted endpoint, as test servers use.
fn is_plain(kind: Kind) -> bool {
    let variables: &[&str] = match kind {
        Kind::S3 => &["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"],
        Kind::Google => &["STORAGE_EMULATOR_HOST"],
        Kind::Azure => &["AZURITE_BLOB_STORAGE_URL", "AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"],
        Kind::Http | Kind::Hub => &[],
    };
    let set = |name: &&str| env::var(name).is_ok_and(|value| value.starts_with("http://") || !value.contains("://"));
    variables.iter().any(set)
        || kind == Kind::Azure && env::var("AZURE_STORAGE_USE_EMULATOR").is_ok_and(|on| on == "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_used_unchanged() {
        for (url, root, key) in [
            ("s3://b/a%20b/c", "s3://b", "a%20b/c"),
            ("gs://b/c#/x?y=1", "gs://b", "c#/x?y=1"),
            ("s3://b", "s3://b", ""),
            ("az://b/", "az://b", ""),
        ] {
            assert_eq!(split(url), (root, key));
            assert_eq!(path_of_key(key).unwrap().as_ref(), key);
        }
        assert_eq!(path_of_key("a/b/").unwrap().as_ref(), "a/b");
        for key in ["/a", "a//b", "a//", "a/../b", "."] {
            assert!(path_of_key(key).is_err(), "{key}");
        }
        assert!(parse("s3://b?versions").is_err());
    }
}
