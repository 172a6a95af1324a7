//! Gets the files of a repository, and the commit of a revision, from the hub.

use super::{HubConnector, Location, Refusal, endpoint};
use crate::entry::Entry;
use crate::failure::at_fault;
use crate::http::fault::Fault;
use crate::http::settings::{backoff, options, retries};
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::order;
use http::header::LINK;
use http::{Method, StatusCode};
use object_store::client::{HttpClient, HttpConnector, HttpError, HttpRequest, HttpRequestBody};
use serde_json::Value;
use std::error::Error as Cause;
use std::mem::take;
use url::Url;

/// Lists a directory in the order of names. If `is_deep`, lists all files below it and no
/// directories.
pub async fn list(text: &str, is_deep: bool) -> Result<Vec<Entry>> {
    let location = Location::of(text)?;
    let mut entries = Vec::new();
    let mut next = Some(first_page(&location, is_deep)?);
    while let Some(url) = next.take() {
        let Some((page, link)) = get(&url).await? else { break };
        let items = page.as_array().ok_or_else(|| strange("a list of files"))?;
        for item in items {
            entries.extend(entry(&location, text, item, is_deep)?);
        }
        next = link.map(|link| checked(&url, &link)).transpose()?;
    }
    let positions = order::by_key(entries.len(), |location| entries[location].url.as_str());
    Ok(positions.into_iter().map(|location| take(&mut entries[location])).collect())
}

/// Returns true if there are any files below the path.
pub async fn is_directory(text: &str) -> Result<bool> {
    let location = Location::of(text)?;
    let page = get(&first_page(&location, false)?).await?;
    Ok(page.is_some_and(|(page, _)| page.as_array().is_some_and(|items| !items.is_empty())))
}

/// The commit to which a revision currently points. `None` for buckets, which have no revisions.
pub async fn revision(text: &str) -> Result<Option<String>> {
    let location = Location::of(text)?;
    if location.revision.is_none() {
        return Ok(None);
    }
    let page = get(&location.request_url(&["api", &location.kind], "revision", "")?).await?;
    let (answer, _) = page.ok_or_else(|| missing("the data set or revision does not exist"))?;
    match answer.get("sha").and_then(Value::as_str) {
        Some(sha) => Ok(Some(sha.to_owned())),
        None => Err(strange("a commit")),
    }
}

fn first_page(location: &Location, is_deep: bool) -> Result<Url> {
    let mut url = location.tree()?;
    if is_deep {
        url.query_pairs_mut().append_pair("recursive", "true");
    }
    Ok(url)
}

fn entry(location: &Location, text: &str, item: &Value, is_deep: bool) -> Result<Option<Entry>> {
    let path = item.get("path").and_then(Value::as_str).ok_or_else(|| strange("the path of a file"))?;
    let url = location.url_of(text, path);
    Ok(match item.get("type").and_then(Value::as_str) {
        Some("file") => {
            let len = item.get("size").and_then(Value::as_u64).ok_or_else(|| strange("the size of a file"))?;
            Some(Entry { url, len, modified_ns: 0, is_directory: false })
        }
        Some("directory") if !is_deep => Some(Entry { url, len: 0, modified_ns: 0, is_directory: true }),
        _ => None,
    })
}

/// Sends a request. Returns the response and the URL of the next page, or `None` if the path does
/// not exist.
async fn get(url: &Url) -> Result<Option<(Value, Option<String>)>> {
    let client = HubConnector::new().connect(&options(url.scheme() == "http")).map_err(|error| failed(&error))?;
    let mut failures = 0;
    loop {
        match ask(&client, url).await {
            Ok((status, page, link)) if status.is_success() => {
                let page = serde_json::from_slice(&page).map_err(|_| strange("JSON"))?;
                return Ok(Some((page, link)));
            }
            Ok((StatusCode::NOT_FOUND, _, code)) => match code.as_deref() {
                Some("RepoNotFound") => return Err(missing("the data set or bucket does not exist")),
                Some("RevisionNotFound") => return Err(missing("the revision does not exist")),
                _ => return Ok(None),
            },
            Ok((status, ..)) if !status.is_server_error() || failures >= retries() => {
                return Err(Error::new(Code::Unavailable, format!("the hub answered {status}")));
            }
            Ok(_) => {}
            Err(error) if is_final(&error) || failures >= retries() => return Err(failed(&error)),
            Err(_) => {}
        }
        failures += 1;
        tokio::time::sleep(backoff(failures)).await;
    }
}

/// Returns the status, the body and the next page. If a path is missing, returns the hub's reason
/// for that.
async fn ask(client: &HttpClient, url: &Url) -> std::result::Result<(StatusCode, Vec<u8>, Option<String>), HttpError> {
    let mut request = HttpRequest::new(HttpRequestBody::empty());
    *request.method_mut() = Method::GET;
    *request.uri_mut() = url.as_str().parse().map_err(|_| Fault("the hub returned an invalid URL".to_owned()))?;
    let response = client.execute(request).await?;
    let status = response.status();
    let header = |name: &str| response.headers().get(name).and_then(|text| text.to_str().ok()).map(str::to_owned);
    let behind = match status {
        StatusCode::NOT_FOUND => header("x-error-code"),
        _ => header(LINK.as_str()).and_then(|text| next_of(&text)),
    };
    Ok((status, response.into_body().bytes().await?.to_vec(), behind))
}

/// Parses the URL of the next page in a `Link` header.
fn next_of(text: &str) -> Option<String> {
    text.split(',').find_map(|link| {
        let (url, kind) = link.trim().strip_prefix('<')?.split_once('>')?;
        kind.contains("rel=\"next\"").then(|| url.to_owned())
    })
}

/// Checks that the next page is on the hub, because requests for it include the token.
fn checked(url: &Url, link: &str) -> Result<Url> {
    let next = url.join(link).ok().filter(|next| endpoint().is_ok_and(|hub| hub.origin() == next.origin()));
    next.ok_or_else(|| at_fault(&Fault("the hub's list of files continues on another host".to_owned())))
}

fn is_final(error: &HttpError) -> bool {
    cause::<Refusal>(error).is_some() || cause::<Fault>(error).is_some()
}

fn failed(error: &(dyn Cause + 'static)) -> Error {
    if let Some(refusal) = cause::<Refusal>(error) {
        return refusal.error();
    }
    if let Some(fault) = cause::<Fault>(error) {
        return at_fault(fault);
    }
    Error::new(Code::Unavailable, format!("the request to the hub failed: {error}"))
        .with_remedy("Check the network and HF_ENDPOINT, then try again.")
}

fn cause<'a, T: Cause + 'static>(error: &'a (dyn Cause + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(source) = error.downcast_ref() {
            return Some(source);
        }
        next = error.source();
    }
    None
}

fn missing(what: &str) -> Error {
    let remedy = "Check the name and the revision; a private one needs HF_TOKEN.";
    Error::new(Code::NotFound, format!("{what} on the hub")).with_remedy(remedy)
}

fn strange(expected: &str) -> Error {
    at_fault(&Fault(format!("the hub's answer is not {expected}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_page_is_found_in_the_link_header() {
        let text = "<https://hub/first>; rel=\"first\", <https://hub/a?cursor=b%3D>; rel=\"next\"";
        assert_eq!(next_of(text).as_deref(), Some("https://hub/a?cursor=b%3D"));
        assert_eq!(next_of("<https://hub/first>; rel=\"first\""), None);
    }
}
