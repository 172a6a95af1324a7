//! Remote storage for headrace's engine: S3, Google Cloud Storage, Azure, the Hugging Face hub
//! and HTTP, using the `object_store` crate.
//!
//! Requests are made by a separate thread, which the first request starts. The caller waits for the
//! response on its own thread, and that wait ends with its run.

mod cache;
mod entry;
mod failure;
mod fetch;
mod file;
mod http;
mod hub;
mod listing;
mod parts;
mod profile;
mod ranges;
mod runtime;
mod store;
mod stream;

pub use entry::Entry;
pub use listing::{copy, is_directory, list, remove, revision, statuses};
pub use runtime::requests;

use headrace_engine::error::Result;
use headrace_engine::files::storage::{
    Ahead, Cache, Opening, OpeningStream, Parts, Status, Storage, as_io, register as serve, without_passwords,
};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The storage for all URLs.
struct Remote;

/// Registers this storage, so that the engine can read and write URLs.
pub fn register() {
    serve(Box::new(Remote));
}

impl Storage for Remote {
    fn begin(&self, url: &str, ahead: &Ahead) -> OpeningStream {
        Box::new(stream::OpeningStream::new(url, ahead))
    }

    fn begin_parts(
        &self,
        url: &str,
        cache: Option<&Arc<Cache>>,
        status: Option<&Status>,
    ) -> Box<dyn Opening<Arc<dyn Parts>>> {
        Box::new(parts::OpeningParts::new(url, cache, status))
    }

    fn check_writable(&self, url: &str) -> Result<()> {
        store::check_writable(url)
    }

    fn upload(&self, from: &Path, url: &str) -> io::Result<()> {
        let (from, url) = (from.to_owned(), url.to_owned());
        let what = format!("uploading {}", without_passwords(&url));
        runtime::wait(what, async move { fetch::upload(&from, &url).await }).map_err(as_io)
    }
}
