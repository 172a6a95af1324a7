//! The Hugging Face hub: files of datasets and buckets, through its HTTP interface.
//!
//! Source: the Hub API, and the URLs that the `huggingface_hub` library requests.

mod client;
mod refusal;
mod tree;

pub use client::HubConnector;
pub use refusal::Refusal;
pub use tree::{is_directory, list, revision};

use crate::failure::check_length;
use headrace_engine::error::{Code, Error, Result};
use std::env;
use url::Url;

/// The hub's default address.
const ENDPOINT: &str = "https://huggingface.co";
const ENDPOINT_VARIABLE: &str = "HF_ENDPOINT";
const TOKEN_VARIABLE: &str = "HF_TOKEN";
/// The default revision of a dataset.
const MAIN: &str = "main";
/// Revisions with slashes in their names begin with one of these.
const LONG_REVISIONS: [&str; 2] = ["refs/convert/", "refs/pr/"];

/// A repository on the hub, and a path inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// `datasets` or `buckets`.
    kind: String,
    /// The owner and the name, as in `owner/name`.
    name: String,
    /// The branch, tag or commit. `None` for buckets, which have none.
    revision: Option<String>,
    /// The path, without a leading or trailing slash.
    pub path: String,
}

/// Returns true for URLs of the hub.
pub fn is_hub(text: &str) -> bool {
    text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("hf://"))
}

impl Location {
    /// Parses the location in a URL such as `hf://datasets/owner/name@revision/path`.
    pub fn of(text: &str) -> Result<Self> {
        // Some characters take three bytes each.
        check_length(Url::parse(text).as_ref().map_or(text, Url::as_str))?;
        let rest = text.get(5..).unwrap_or_default().trim_end_matches('/');
        let mut parts = rest.splitn(4, '/');
        let [kind, owner, name] = [(); 3].map(|()| parts.next().unwrap_or_default());
        let mut path = parts.next().unwrap_or_default();
        if !matches!(kind, "datasets" | "buckets") || owner.is_empty() || name.is_empty() {
            return Err(invalid(text));
        }
        let (name, mut revision) = match name.split_once('@') {
            Some((name, revision)) => (name, revision.replace("%2F", "/").replace("%2f", "/")),
            None => (name, String::new()),
        };
        let long = LONG_REVISIONS.iter().filter(|_| revision == "refs");
        if let Some((long, behind)) = long.filter_map(|long| Some((long, path.strip_prefix(&long[5..])?))).next() {
            // The rest of its name is one more part.
            let (last, rest) = behind.split_once('/').unwrap_or((behind, ""));
            revision = format!("{long}{last}");
            path = rest;
        }
        let revision = match (kind, revision.is_empty()) {
            ("buckets", true) => None,
            ("buckets", false) => return Err(invalid(text)),
            (_, true) => Some(MAIN.to_owned()),
            (_, false) => Some(revision),
        };
        let name = format!("{owner}/{name}");
        Ok(Self { kind: kind.to_owned(), name, revision, path: path.to_owned() })
    }

    /// The URL of a path in the same repository, in the same style as `text`.
    fn url_of(&self, text: &str, path: &str) -> String {
        let root = text.trim_end_matches('/');
        let root = root.strip_suffix(&self.path).unwrap_or(root).trim_end_matches('/');
        format!("{root}/{path}")
    }

    /// The URL under which the hub serves the files of the repository.
    pub fn files(&self) -> Result<Url> {
        self.request_url(&[&self.kind], "resolve", "")
    }

    /// The URL under which the hub lists the files in the path.
    fn tree(&self) -> Result<Url> {
        self.request_url(&["api", &self.kind], "tree", &self.path)
    }

    fn request_url(&self, before: &[&str], verb: &str, path: &str) -> Result<Url> {
        let mut url = endpoint()?;
        {
            let mut segments = url.path_segments_mut().map_err(|()| invalid_endpoint())?;
            segments.pop_if_empty().extend(before).extend(self.name.split('/')).push(verb);
            // A slash in a revision is part of its name.
            segments.extend(&self.revision).extend(path.split('/').filter(|part| !part.is_empty()));
        }
        Ok(url)
    }
}

/// The address of the hub.
pub fn endpoint() -> Result<Url> {
    let text = env::var(ENDPOINT_VARIABLE).ok().filter(|text| !text.is_empty());
    let url = Url::parse(text.as_deref().unwrap_or(ENDPOINT)).map_err(|_| invalid_endpoint())?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(invalid_endpoint()),
    }
}

/// The token from the environment. No other host may see it.
fn token() -> Option<String> {
    env::var(TOKEN_VARIABLE).ok().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn invalid_endpoint() -> Error {
    let text = format!("{ENDPOINT_VARIABLE} is not a hub URL, expected for example {ENDPOINT}.");
    Error::new(Code::InvalidArgument, text)
}

fn invalid(text: &str) -> Error {
    let text = format!("{text} is not a file on the hub.");
    let remedy = "Expected hf://datasets/OWNER/NAME@REVISION/PATH, or hf://buckets/OWNER/NAME/PATH.";
    Error::new(Code::InvalidArgument, text).with_remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(kind: &str, name: &str, revision: Option<&str>, path: &str) -> Location {
        Location { kind: kind.into(), name: name.into(), revision: revision.map(str::to_owned), path: path.into() }
    }

    #[test]
    fn url_is_parsed_into_repository_revision_and_path() {
        for (text, expected) in [
            ("hf://datasets/a/b", location("datasets", "a/b", Some("main"), "")),
            ("hf://datasets/a/b@v1/c/d.csv", location("datasets", "a/b", Some("v1"), "c/d.csv")),
            (
                "hf://datasets/a/b@refs/convert/parquet/c/d",
                location("datasets", "a/b", Some("refs/convert/parquet"), "c/d"),
            ),
            ("hf://datasets/a/b@refs%2Fpr%2F3/c", location("datasets", "a/b", Some("refs/pr/3"), "c")),
            ("hf://datasets/a/b@refs/pr/3/c/", location("datasets", "a/b", Some("refs/pr/3"), "c")),
            ("hf://buckets/a/b/c", location("buckets", "a/b", None, "c")),
        ] {
            assert_eq!(Location::of(text).unwrap(), expected, "{text}");
        }
        for text in ["hf://a/b/c", "hf://datasets/a", "hf://", "hf://buckets/a/b@main/c"] {
            assert!(Location::of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn urls_in_a_repository_keep_the_spelling_of_the_revision() {
        let text = "hf://datasets/a/b@refs%2Fpr%2F3/c";
        assert_eq!(Location::of(text).unwrap().url_of(text, "c/d"), "hf://datasets/a/b@refs%2Fpr%2F3/c/d");
        let text = "hf://datasets/a/b";
        assert_eq!(Location::of(text).unwrap().url_of(text, "c"), "hf://datasets/a/b/c");
    }
}
