//! Tracks the pages of a listing, to distinguish a server that never stops sending pages from one
//! that has many files.

use super::fault::Fault;
use http::Uri;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A listing may have this many pages of any size. Additional ones must have [`LEAST_BYTES`] on
/// average.
const FREE_PAGES: u64 = 1000;
/// A page of S3 with 1,000 names has at least 200 KiB.
const LEAST_BYTES: u64 = 4 << 10;
/// The maximum size of all pages together, which is about seven million names.
const MOST_BYTES: u64 = 2 << 30;
/// How often a page may be returned. Requests for credentials may be repeated, and so may requests
/// whose response broke off.
const MOST_REPEATS: u32 = 10;

tokio::task_local! {
    /// The responses to the requests of a listing. Only its own task writes and reads them.
    static LISTING: Pages;
}

/// The responses so far.
#[derive(Default)]
struct Pages {
    count: Cell<u64>,
    bytes: Cell<u64>,
    /// The number of responses for the hash of each URL, which contains the token of its page.
    by_url: RefCell<HashMap<u64, u32>>,
}

/// Counts the responses to requests made by `listing`.
pub async fn counted<T>(listing: impl Future<Output = T>) -> T {
    LISTING.scope(Pages::default(), listing).await
}

/// Returns true if a listing made the current request.
pub fn is_listing() -> bool {
    LISTING.try_with(|_| ()).is_ok()
}

/// Records that a page is requested. Fails if there seem to be endless pages.
pub fn begin() -> Result<(), Fault> {
    within(|pages| pages.count.set(pages.count.get() + 1))
}

/// Records that this many bytes of a page have arrived. Fails if there are too many.
pub fn add(num_bytes: usize) -> Result<(), Fault> {
    within(|pages| pages.bytes.set(pages.bytes.get().saturating_add(num_bytes as u64)))
}

/// Records that the page of a URL has arrived. Fails if it has arrived too often, because the
/// server is repeating a token.
pub fn note(url: &Uri) -> Result<(), Fault> {
    let noted = LISTING.try_with(|pages| {
        let mut by_url = pages.by_url.borrow_mut();
        let mut hasher = DefaultHasher::new();
        url.hash(&mut hasher);
        let count = by_url.entry(hasher.finish()).or_default();
        *count += 1;
        match *count <= MOST_REPEATS {
            true => Ok(()),
            false => Err(Fault(format!(
                "the server's list of files returned the same page {count} times, expected a last page"
            ))),
        }
    });
    noted.unwrap_or(Ok(()))
}

fn within(add: impl FnOnce(&Pages)) -> Result<(), Fault> {
    let noted = LISTING.try_with(|pages| {
        add(pages);
        check(pages.count.get(), pages.bytes.get())
    });
    // Other requests are not pages.
    noted.unwrap_or(Ok(()))
}

fn check(count: u64, bytes: u64) -> Result<(), Fault> {
    if bytes > MOST_BYTES {
        return Err(Fault(format!(
            "the server's list of files is larger than {} GiB. List a subdirectory instead",
            MOST_BYTES >> 30
        )));
    }
    match count <= FREE_PAGES + bytes / LEAST_BYTES {
        true => Ok(()),
        false => Err(Fault(format!(
            "the server's list of files continues after {} pages ({bytes} bytes), expected a last page",
            count - 1
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_listing_of_full_pages_is_not_endless() {
        assert_eq!(check(1000, 0).map_err(|fault| fault.0), Ok(()));
        assert!(check(1001, 0).unwrap_err().0.contains("continues after 1000 pages (0 bytes)"));
        assert!(check(5000, 5000 * 200_000).is_ok());
        assert!(check(10, MOST_BYTES).is_ok());
        assert!(check(10, MOST_BYTES + 1).unwrap_err().0.contains("is larger than 2 GiB"));
    }

    #[test]
    fn requests_outside_a_listing_are_not_counted() {
        (0..=FREE_PAGES).for_each(|_| begin().unwrap());
    }
}
