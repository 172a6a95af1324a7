//! The engine's synchronisation primitives, in one place so that they can be replaced.
//!
//! With the `loom` feature they are loom's, and the tests in `tests/loom_*.rs` explore every
//! interleaving. With the `shuttle` feature they are shuttle's, and `tests/simulation/` draws
//! interleavings of whole pipelines. A thread that panics while holding a lock does not poison it,
//! because critical sections leave their data consistent at every point where they could panic (out
//! of memory).

pub mod cancellation;
pub mod fair_lock;
pub mod parker;
#[cfg(feature = "thread-sanitizer")]
mod seen;

#[cfg(feature = "loom")]
use loom::sync as imp;
#[cfg(feature = "thread-sanitizer")]
use seen as imp;
#[cfg(feature = "shuttle")]
use shuttle::sync as imp;
#[cfg(not(any(feature = "loom", feature = "shuttle", feature = "thread-sanitizer")))]
use std::sync as imp;

use std::sync::PoisonError;
use std::time::Duration;

pub use imp::{Arc, MutexGuard, atomic};

/// A mutual exclusion lock that ignores poisoning.
#[derive(Debug, Default)]
pub struct Mutex<T>(imp::Mutex<T>);

impl<T> Mutex<T> {
    /// Creates a free lock around `value`.
    pub fn new(value: T) -> Self {
        Self(imp::Mutex::new(value))
    }

    /// Waits until it holds the lock.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A condition variable for [`Mutex`].
#[derive(Debug, Default)]
pub struct Condvar(imp::Condvar);

impl Condvar {
    /// Creates a condition variable without waiters.
    pub fn new() -> Self {
        Self(imp::Condvar::new())
    }

    /// Releases the lock, waits for a notification, and acquires the lock again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Like [`Condvar::wait`], for at most `timeout`.
    pub fn wait_timeout<'a, T>(&self, guard: MutexGuard<'a, T>, timeout: Duration) -> MutexGuard<'a, T> {
        match self.0.wait_timeout(guard, timeout) {
            Ok((guard, _)) => guard,
            Err(poisoned) => poisoned.into_inner().0,
        }
    }

    /// Wakes one waiting thread.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all waiting threads.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// Spins for a while before a thread sleeps.
///
/// First the CPU pauses, for no longer than it takes to fall asleep and wake up. Then the thread
/// yields its CPU, because the thread it waits for may not have one.
#[derive(Default)]
pub struct Patience {
    #[cfg(not(any(feature = "loom", feature = "shuttle")))]
    round: u32,
}

impl Patience {
    /// Waits a moment. Returns false immediately if it is time to sleep, which is always the case
    /// in models.
    #[cfg(any(feature = "loom", feature = "shuttle"))]
    pub fn wait(&mut self) -> bool {
        false
    }

    /// Waits a moment. Returns false immediately if it is time to sleep.
    #[cfg(not(any(feature = "loom", feature = "shuttle")))]
    pub fn wait(&mut self) -> bool {
        const PAUSES: u32 = 6;
        const YIELDS: u32 = 4;
        self.round += 1;
        match self.round {
            round if round <= PAUSES => (0..1 << round).for_each(|_| std::hint::spin_loop()),
            round if round <= PAUSES + YIELDS => std::thread::yield_now(),
            _ => return false,
        }
        true
    }
}
