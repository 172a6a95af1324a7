//! A list of all waiting threads, for finding out why nothing makes progress.
//!
//! A wait is only listed once it has lasted for [`PATIENCE`], so short waits cost nothing.

use crate::sync::cancellation::Watch;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a wait has to last before it is listed.
pub const PATIENCE: Duration = Duration::from_millis(50);

/// Describes an awaited event at the time of the call. The caller must not hold any lock of the
/// engine.
pub type Description = Arc<dyn Fn() -> String + Send + Sync>;

/// An awaited event.
#[derive(Clone, Default)]
pub struct Awaited {
    /// The operation that is waiting, if any.
    pub op: Option<Arc<str>>,
    /// The description of the event.
    pub what: Option<Description>,
}

impl Awaited {
    /// Creates an event for a wait outside of operations.
    pub fn new(what: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self { op: None, what: Some(Arc::new(what)) }
    }
}

impl fmt::Debug for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Awaited").field("op", &self.op).finish_non_exhaustive()
    }
}

/// A wait of a thread.
#[derive(Clone, Debug)]
pub struct Wait {
    number: u64,
    /// The system's number of the thread, or 0 if unknown.
    pub thread: u64,
    /// When the wait began.
    pub since: Instant,
    /// The events. Any of them ends the wait.
    pub awaited: Vec<Awaited>,
    /// The observer to call if the wait is long.
    pub watch: Option<Arc<dyn Watch>>,
}

/// The number of the next wait.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// All listed waits, in the order in which they were added.
static WAITS: Mutex<Vec<Wait>> = Mutex::new(Vec::new());

fn waits() -> MutexGuard<'static, Vec<Wait>> {
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a wait listed until it is dropped.
#[derive(Debug)]
pub struct RegisteredWait(u64);

/// Lists a wait of this thread, which has lasted for [`PATIENCE`] and continues.
pub fn register(awaited: Vec<Awaited>, watch: Option<Arc<dyn Watch>>) -> RegisteredWait {
    let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    let now = Instant::now();
    let since = now.checked_sub(PATIENCE).unwrap_or(now);
    waits().push(Wait { number, thread: this_thread(), since, awaited, watch });
    RegisteredWait(number)
}

impl Drop for RegisteredWait {
    fn drop(&mut self) {
        let mut waits = waits();
        let over = waits.iter().position(|wait| wait.number == self.0).map(|index| waits.remove(index));
        drop(waits);
        // It may be the last owner of something large, so drop it after releasing the lock.
        drop(over);
    }
}

/// The listed waits.
pub fn registered() -> Vec<Wait> {
    waits().clone()
}

/// The system's number of the calling thread, or 0 if unknown.
pub fn this_thread() -> u64 {
    #[cfg(target_os = "linux")]
    {
        rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs().into()
    }
    #[cfg(not(target_os = "linux"))]
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_is_listed_while_it_lasts() {
        let what = |wait: &Wait| wait.awaited.first().and_then(|awaited| awaited.what.as_ref().map(|what| what()));
        let mine = || registered().iter().find(|wait| what(wait).as_deref() == Some("rain")).cloned();
        assert!(mine().is_none());
        let registered = register(vec![Awaited::new(|| "rain".to_owned())], None);
        let wait = mine().unwrap();
        assert_eq!(wait.thread, this_thread());
        assert!(wait.since.elapsed() >= PATIENCE);
        drop(registered);
        assert!(mine().is_none());
    }
}
