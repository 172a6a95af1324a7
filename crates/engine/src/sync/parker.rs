//! Blocks a thread until another one wakes it.

use crate::sync::{Condvar, Mutex, MutexGuard};
use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

thread_local! {
    /// The parker of this thread, which is created when it is first needed.
    static CURRENT: Cell<Option<Arc<Parker>>> = const { Cell::new(None) };
}

/// Parks one thread until another one unparks it.
///
/// Unparking sets a token and parking consumes it, so a wake-up before the thread parks is not
/// lost. A parker may be unparked without a reason, so its owner has to check everything again that
/// it is waiting for.
#[derive(Debug, Default)]
pub struct Parker {
    state: Mutex<State>,
    awake: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Set by [`Parker::unpark`] from any thread. Only the owner consumes it.
    has_token: bool,
    /// True between the start and the end of a park.
    is_parked: bool,
    /// The parkers that the owner unparks when it wakes up.
    others: VecDeque<Arc<Parker>>,
}

impl Parker {
    /// Creates a parker without a token.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `work` with the parker of this thread.
    pub fn with_current<T>(work: impl FnOnce(&Arc<Self>) -> T) -> T {
        let parker = CURRENT.take().unwrap_or_default();
        let result = work(&parker);
        CURRENT.set(Some(parker));
        result
    }

    /// Calls `work`, which may wait, with a separate parker while this thread is already waiting.
    /// If it used the same parker, `work` would consume the token of the outer wait, which would
    /// then sleep forever.
    pub fn nested<T>(work: impl FnOnce() -> T) -> T {
        struct Restore(Option<Arc<Parker>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                CURRENT.set(self.0.take());
            }
        }
        let _restore = Restore(CURRENT.take());
        work()
    }

    /// Wakes the owner if it is parked. Otherwise its next park returns immediately.
    pub fn unpark(&self) {
        self.unpark_with(&mut VecDeque::new());
    }

    /// Unparks all of them. This thread wakes the first, and each woken thread wakes the next one
    /// before it continues.
    ///
    /// That way, a thread that serves many waiters doesn't have to do all the waking. On a machine
    /// with few cores, the threads that are awake often finish the work before the last ones have
    /// been woken.
    pub fn unpark_all(mut parkers: VecDeque<Arc<Self>>) {
        while let Some(first) = parkers.pop_front() {
            first.unpark_with(&mut parkers);
        }
    }

    /// Unparks the owner. If it was parked, it takes over `others`.
    fn unpark_with(&self, others: &mut VecDeque<Arc<Self>>) {
        let mut state = self.state.lock();
        let is_asleep = state.is_parked && !state.has_token;
        state.has_token = true;
        if state.is_parked {
            state.others.append(others);
        }
        drop(state);
        if is_asleep {
            self.awake.notify_one();
        }
    }

    /// Blocks the owner until the token is set, and consumes it.
    pub fn park(&self) {
        let mut state = self.state.lock();
        state.is_parked = true;
        while !state.has_token {
            state = self.awake.wait(state);
        }
        Self::end_park(state);
    }

    /// Like [`Parker::park`], for at most `timeout`. Returns whether the token was set.
    pub fn park_timeout(&self, timeout: Duration) -> bool {
        let mut state = self.state.lock();
        state.is_parked = true;
        if !state.has_token {
            state = self.wait_for_token(state, timeout);
        }
        Self::end_park(state)
    }

    fn wait_for_token<'a>(&'a self, mut state: MutexGuard<'a, State>, timeout: Duration) -> MutexGuard<'a, State> {
        let end = Instant::now() + timeout;
        let mut rest = timeout;
        while !state.has_token && !rest.is_zero() {
            state = self.awake.wait_timeout(state, rest);
            rest = end.saturating_duration_since(Instant::now());
        }
        state
    }

    /// Consumes the token and wakes the others. Returns whether the token was set.
    fn end_park(mut state: MutexGuard<'_, State>) -> bool {
        state.is_parked = false;
        let had_token = std::mem::take(&mut state.has_token);
        let others = std::mem::take(&mut state.others);
        drop(state);
        Self::unpark_all(others);
        had_token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn nested_wait_does_not_consume_the_outer_wake_up() {
        let outer = Parker::with_current(Arc::clone);
        let inner = Parker::nested(|| {
            outer.unpark();
            Parker::with_current(|inner| !inner.park_timeout(Duration::ZERO))
        });
        assert!(inner && outer.park_timeout(Duration::ZERO));
        assert!(Parker::with_current(|again| Arc::ptr_eq(again, &outer)));
    }

    #[test]
    fn all_parkers_are_unparked_whether_asleep_or_not() {
        let parkers: VecDeque<_> = (0..5).map(|_| Arc::new(Parker::new())).collect();
        let sleepers = parkers.iter().skip(1).step_by(2).cloned();
        let threads: Vec<_> = sleepers
            .map(|parker| {
                let it = Arc::clone(&parker);
                let thread = thread::spawn(move || it.park());
                while !parker.state.lock().is_parked {
                    thread::yield_now();
                }
                thread
            })
            .collect();
        Parker::unpark_all(parkers.clone());
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        parkers.iter().step_by(2).for_each(|parker| parker.park());
        assert!(parkers.iter().all(|parker| !parker.park_timeout(Duration::ZERO)));
    }
}
