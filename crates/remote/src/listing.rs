//! Lists the files of storages, and removes and copies files.

use crate::entry::Entry;
use crate::failure::failed;
use crate::http::keys::unescaped;
use crate::http::pages::counted;
use crate::hub;
use crate::runtime;
use crate::store::{self, can_list};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::files::storage::without_passwords;
use headrace_engine::order;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The maximum number of concurrent requests.
const MAX_REQUESTS: usize = 64;

/// Returns the files with these names, or `None` for missing ones. All of them are requested
/// concurrently.
pub fn statuses(urls: Vec<String>) -> Result<Vec<Option<Entry>>> {
    let first = without_passwords(urls.first().map_or("none", String::as_str));
    let what = format!("looking for {} files, such as {first}", urls.len());
    runtime::wait(what, async move {
        let looks = urls.into_iter().map(|url| async move {
            match look(&url).await {
                Err(error) if error.code() == Code::NotFound => Ok(None),
                status => status.map(Some),
            }
        });
        stream::iter(looks).buffered(MAX_REQUESTS).try_collect().await
    })
}

async fn look(url: &str) -> Result<Entry> {
    let (store, path) = find(url)?;
    let meta = store.head(&path).await.map_err(|error| failed(&error).named(&without_passwords(url)))?;
    Ok(entry(url.to_owned(), &meta))
}

/// Returns true if there is a directory with this name, which means that some file's name begins
/// with it and a slash. Only requests the first names.
pub fn is_directory(url: String) -> Result<bool> {
    if !can_list(&url).map_err(|error| error.named(&without_passwords(&url)))? {
        return Ok(false);
    }
    let what = format!("looking for files in {}", without_passwords(&url));
    runtime::wait(what, async move {
        if hub::is_hub(&url) {
            return counted(hub::is_directory(&url)).await.map_err(|error| error.named(&url));
        }
        let (store, path) = find_directory(&url)?;
        let first = counted(async { store.list(Some(&path)).next().await.transpose() }).await;
        first.map(|meta| meta.is_some()).map_err(|error| failed(&error).named(&without_passwords(&url)))
    })
}

/// Lists a directory in the order of names. If `is_deep`, lists all files below it and no
/// directories. Returns an empty list if there is nothing.
pub fn list(url: String, is_deep: bool) -> Result<Vec<Entry>> {
    if !can_list(&url).map_err(|error| error.named(&without_passwords(&url)))? {
        let text = "files on an HTTP server cannot be listed. Name each file.";
        return Err(Error::unimplemented(text).named(&without_passwords(&url)));
    }
    let what = format!("listing {}", without_passwords(&url));
    runtime::wait(
        what,
        counted(async move {
            if hub::is_hub(&url) {
                return hub::list(&url, is_deep).await.map_err(|error| error.named(&url));
            }
            let (store, path) = find_directory(&url)?;
            let failed = |error| failed(&error).named(&without_passwords(&url));
            let root = root(&url);
            let of = |meta: &ObjectMeta| entry(url_in(root, &meta.location), meta);
            let mut entries: Vec<_> = if is_deep {
                let listed = store.list(Some(&path)).try_collect().await.map_err(failed)?;
                without_markers(&*store, &path, listed).await.map_err(failed)?.iter().map(of).collect()
            } else {
                let mut listed = store.list_with_delimiter(Some(&path)).await.map_err(failed)?;
                // The marker of the directory itself.
                listed.objects.retain(|meta| meta.location != path && !is_odd_marker(meta));
                let directories = listed.common_prefixes.iter().map(|path| Entry {
                    url: url_in(root, path),
                    len: 0,
                    modified_ns: 0,
                    is_directory: true,
                });
                listed.objects.iter().map(of).chain(directories).collect()
            };
            let positions = order::by_key(entries.len(), |position| entries[position].url.as_str());
            Ok(positions.into_iter().map(|position| std::mem::take(&mut entries[position])).collect())
        }),
    )
}

/// Returns the objects below a directory, without directory markers.
///
/// Consoles and Hadoop create a directory `m` as an empty object with the key `m/`, which the crate
/// lists as `m`. For such an object, the storage is queried for the file with that name.
async fn without_markers(
    store: &dyn ObjectStore,
    directory: &Path,
    mut listed: Vec<ObjectMeta>,
) -> object_store::Result<Vec<ObjectMeta>> {
    listed.retain(|meta| meta.location != *directory && !is_odd_marker(meta));
    listed.sort_by(|one, other| one.location.cmp(&other.location));
    let is_twice: Vec<_> = listed
        .iter()
        .enumerate()
        .map(|(index, meta)| listed.get(index + 1).is_some_and(|next| next.location == meta.location))
        .collect();
    let looks = listed.into_iter().zip(is_twice).map(|(meta, is_twice)| async move {
        if is_twice {
            return Ok(None);
        }
        if meta.size > 0 || unescaped(&meta.location).is_some() {
            return Ok(Some(meta));
        }
        match store.head(&meta.location).await {
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            file => file.map(Some),
        }
    });
    let files: Vec<_> = stream::iter(looks).buffered(MAX_REQUESTS).try_collect().await?;
    Ok(files.into_iter().flatten().collect())
}

/// Returns true if the object is a directory marker whose key is not a path, such as `a//`.
fn is_odd_marker(meta: &ObjectMeta) -> bool {
    meta.size == 0 && unescaped(&meta.location).is_some_and(|key| key.ends_with('/'))
}

/// Returns the URL of an object or a directory. If its key is not a path, using the URL fails with
/// an error that names the key.
fn url_in(root: &str, location: &Path) -> String {
    match unescaped(location) {
        Some(key) => format!("{root}/{key}"),
        None => format!("{root}/{location}"),
    }
}

fn find(url: &str) -> Result<(Arc<dyn ObjectStore>, Path)> {
    store::find(url).map_err(|error| error.named(&without_passwords(url)))
}

fn find_directory(url: &str) -> Result<(Arc<dyn ObjectStore>, Path)> {
    store::find_directory(url).map_err(|error| error.named(&without_passwords(url)))
}

/// The part that all URLs of a storage begin with: scheme and bucket.
fn root(url: &str) -> &str {
    let host = url.find("://").map_or(0, |position| position + 3);
    url[host..].find('/').map_or(url, |slash| &url[..host + slash])
}

/// Removes a file.
pub fn remove(url: String) -> Result<()> {
    check_changeable(&url)?;
    let what = format!("removing {}", without_passwords(&url));
    runtime::wait(what, async move {
        let (store, path) = find(&url)?;
        // Storages do not report whether the file existed.
        look(&url).await?;
        store.delete(&path).await.map_err(|error| failed(&error).named(&without_passwords(&url)))
    })
}

/// Copies a file within a storage.
pub fn copy(from: String, to: String) -> Result<()> {
    check_changeable(&to)?;
    let what = format!("copying {} to {}", without_passwords(&from), without_passwords(&to));
    runtime::wait(what, async move {
        let ((store, source), (_, target)) = (find(&from)?, find(&to)?);
        store.copy(&source, &target).await.map_err(|error| failed(&error).named(&without_passwords(&from)))
    })
}

fn check_changeable(url: &str) -> Result<()> {
    match hub::is_hub(url) {
        true => store::check_writable(url).map_err(|error| error.named(url)),
        false => Ok(()),
    }
}

/// The commit to which the revision in a hub URL currently points, or `None` if there are no
/// revisions.
pub fn revision(url: String) -> Result<Option<String>> {
    let what = format!("asking the hub for the commit of {url}");
    runtime::wait(what, async move { hub::revision(&url).await.map_err(|error| error.named(&url)) })
}

fn entry(url: String, meta: &ObjectMeta) -> Entry {
    let since = SystemTime::from(meta.last_modified).duration_since(UNIX_EPOCH).unwrap_or_default();
    let modified_ns = u64::try_from(since.as_nanos()).unwrap_or(0);
    Entry { url, len: meta.size, modified_ns, is_directory: false }
}
