//! Retries and timeouts of requests.

use object_store::ClientOptions;
use std::env;
use std::time::Duration;

/// The environment variable that overrides the number of retries.
const RETRIES_VARIABLE: &str = "HEADRACE_STORAGE_RETRIES";
/// How often a request is retried by default.
const RETRIES: usize = 8;
pub const FIRST_BACKOFF: Duration = Duration::from_millis(100);
pub const LONGEST_BACKOFF: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// If no byte of a body arrives for this long, another request continues it.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a request is retried.
pub fn retries() -> usize {
    env::var(RETRIES_VARIABLE).ok().and_then(|text| text.parse().ok()).unwrap_or(RETRIES)
}

/// The delay before retry number `failures`, counting from 1.
pub fn backoff(failures: usize) -> Duration {
    let doubled = 1_u32.checked_shl(failures.saturating_sub(1) as u32).unwrap_or(u32::MAX);
    FIRST_BACKOFF.saturating_mul(doubled).min(LONGEST_BACKOFF)
}

/// The options of clients. If `is_plain`, they may use unencrypted HTTP.
pub fn options(is_plain: bool) -> ClientOptions {
    ClientOptions::new()
        .with_connect_timeout(CONNECT_TIMEOUT)
        .with_read_timeout(READ_TIMEOUT)
        // A part may take a long time over a slow connection, so the timeout only limits pauses.
        .with_timeout_disabled()
        .with_allow_http(is_plain)
}
