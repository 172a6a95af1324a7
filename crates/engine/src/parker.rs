//! A thread's place to sleep: one token, set by whoever has news for the thread, taken when it wakes.

use crate::sync::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Parks one thread until another one unparks it.
///
/// The token makes a wake-up that comes before the park count, so none is lost. A parker may be unparked
/// without news: the owner looks again at everything it waits for.
#[derive(Debug, Default)]
pub struct Parker {
    /// Set by [`Parker::unpark`] from any thread, taken by the owner alone.
    token: Mutex<bool>,
    awake: Condvar,
}

impl Parker {
    pub fn new() -> Self {
        Self { token: Mutex::new(false), awake: Condvar::new() }
    }

    /// Calls `work` with the parker of this thread.
    pub fn with_current<T>(work: impl FnOnce(&Arc<Self>) -> T) -> T {
        thread_local! {
            static CURRENT: Arc<Parker> = Arc::new(Parker::new());
        }
        CURRENT.with(work)
    }

    /// Lets the owner go on: now if it is parked, or at its next park.
    pub fn unpark(&self) {
        let mut token = self.token.lock();
        if !*token {
            *token = true;
            drop(token);
            self.awake.notify_one();
        }
    }

    /// Blocks the owner until the token is there, and takes it.
    pub fn park(&self) {
        let mut token = self.token.lock();
        while !*token {
            token = self.awake.wait(token);
        }
        *token = false;
    }

    /// As [`Parker::park`] for at most `timeout`; says whether the token was there.
    pub fn park_timeout(&self, timeout: Duration) -> bool {
        let end = Instant::now() + timeout;
        let mut token = self.token.lock();
        while !*token {
            let now = Instant::now();
            if now >= end {
                return false;
            }
            token = self.awake.wait_timeout(token, end - now);
        }
        *token = false;
        true
    }
}
