//! Locks with the interface of the standard library's, for ThreadSanitizer. The standard library
//! is compiled without instrumentation, so the sanitizer doesn't see its locks and would report
//! everything they protect. Only `tools/sanitizers.sh` builds this module.

pub use parking_lot::MutexGuard;
use std::sync::PoisonError;
pub use std::sync::{Arc, atomic};
use std::time::Duration;

type Locked<T> = Result<T, PoisonError<T>>;

/// Like [`std::sync::Mutex`].
#[derive(Debug, Default)]
pub struct Mutex<T>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    /// Like `std::sync::Mutex::new`.
    pub fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }

    /// Like `std::sync::Mutex::lock`. Never fails.
    pub fn lock(&self) -> Locked<MutexGuard<'_, T>> {
        Ok(self.0.lock())
    }
}

/// Like [`std::sync::Condvar`].
#[derive(Debug, Default)]
pub struct Condvar(parking_lot::Condvar);

impl Condvar {
    /// Like `std::sync::Condvar::new`.
    pub fn new() -> Self {
        Self(parking_lot::Condvar::new())
    }

    /// Like `std::sync::Condvar::wait`. Never fails.
    pub fn wait<'a, T>(&self, mut guard: MutexGuard<'a, T>) -> Locked<MutexGuard<'a, T>> {
        self.0.wait(&mut guard);
        Ok(guard)
    }

    /// Like `std::sync::Condvar::wait_timeout`. Never fails.
    pub fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> Locked<(MutexGuard<'a, T>, bool)> {
        let result = self.0.wait_for(&mut guard, timeout);
        Ok((guard, result.timed_out()))
    }

    /// Like `std::sync::Condvar::notify_one`.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Like `std::sync::Condvar::notify_all`.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}
