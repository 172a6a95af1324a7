//! What threads wait for, in words, for somebody who wants to know why nothing goes on.
//!
//! A wait is noted only once it has lasted for [`PATIENCE`], so that brief ones cost nothing.

use crate::sync::cancellation::Watch;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a wait lasts before it is noted.
pub const PATIENCE: Duration = Duration::from_millis(50);

/// Says in words what is waited for, as it is when it is called. Whoever calls it holds no lock of the engine.
pub type Description = Arc<dyn Fn() -> String + Send + Sync>;

/// Something that is waited for.
#[derive(Clone, Default)]
pub struct Awaited {
    /// The operation that waits, if one does.
    pub op: Option<Arc<str>>,
    /// What it waits for.
    pub what: Option<Description>,
}

impl Awaited {
    /// Of something that is no operation.
    pub fn new(what: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self { op: None, what: Some(Arc::new(what)) }
    }
}

impl fmt::Debug for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Awaited").field("op", &self.op).finish_non_exhaustive()
    }
}

/// A wait that a thread is in.
#[derive(Clone, Debug)]
pub struct Wait {
    number: u64,
    /// The thread, as the system numbers it; 0 where it does not say.
    pub thread: u64,
    /// When it began.
    pub since: Instant,
    /// Any of this ends it.
    pub awaited: Vec<Awaited>,
    /// Who is told of it if it lasts long.
    pub watch: Option<Arc<dyn Watch>>,
}

/// Tells waits apart.
static NEXT_NUMBER: AtomicU64 = AtomicU64::new(0);

/// All waits that are noted now, in the order in which they were noted.
static WAITS: Mutex<Vec<Wait>> = Mutex::new(Vec::new());

fn waits() -> MutexGuard<'static, Vec<Wait>> {
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says that a thread waits, until it is dropped.
#[derive(Debug)]
pub struct Noted(u64);

/// Notes that this thread has waited for [`PATIENCE`] and goes on waiting.
pub fn note(awaited: Vec<Awaited>, watch: Option<Arc<dyn Watch>>) -> Noted {
    let number = NEXT_NUMBER.fetch_add(1, Ordering::Relaxed);
    let now = Instant::now();
    let since = now.checked_sub(PATIENCE).unwrap_or(now);
    waits().push(Wait { number, thread: this_thread(), since, awaited, watch });
    Noted(number)
}

impl Drop for Noted {
    fn drop(&mut self) {
        let mut waits = waits();
        let over = waits.iter().position(|wait| wait.number == self.0).map(|index| waits.remove(index));
        drop(waits);
        // It may be the last to hold something large.
        drop(over);
    }
}

/// The waits that are noted now.
pub fn noted() -> Vec<Wait> {
    waits().clone()
}

/// The calling thread, as the system numbers it; 0 where it does not say.
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
    fn a_wait_is_known_as_long_as_it_lasts() {
        let what = |wait: &Wait| wait.awaited.first().and_then(|awaited| awaited.what.as_ref().map(|what| what()));
        let mine = || noted().iter().find(|wait| what(wait).as_deref() == Some("rain")).cloned();
        assert!(mine().is_none());
        let noted = note(vec![Awaited::new(|| "rain".to_owned())], None);
        let wait = mine().unwrap();
        assert_eq!(wait.thread, this_thread());
        assert!(wait.since.elapsed() >= PATIENCE);
        drop(noted);
        assert!(mine().is_none());
    }
}
