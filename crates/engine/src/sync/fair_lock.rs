//! A lock that a run can wait for without blocking its thread.
//!
//! Waiters are woken in order of arrival, but the lock is not handed over to them. The first thread
//! that finds it free gets it, even if a woken waiter is on its way. Handing it over would make
//! everybody wait for a sleeping thread each time. The lock is usually held for less time than it
//! takes to fall asleep and wake up, so a thread that finds it held tries again a few times before
//! it waits.

use crate::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use crate::sync::parker::Parker;
use crate::sync::{Mutex, Patience};
use std::collections::VecDeque;
use std::sync::Arc;

/// The lock is held.
const HELD: u8 = 1;
/// There are waiters.
const HAS_WAITERS: u8 = 2;

/// Admits one thread at a time.
#[derive(Default)]
pub struct FairLock {
    /// `HELD` is set and cleared by the thread that holds the lock. `HAS_WAITERS` only changes
    /// under the lock of `waiters`. Both are in one word, so that a thread that releases the lock
    /// and one that starts to wait cannot miss each other.
    state: AtomicU8,
    /// The wait queue, longest waiter first. If the lock is free, the first one has been woken but
    /// has not polled yet.
    waiters: Mutex<VecDeque<Arc<Waiter>>>,
}

struct Waiter {
    /// True if it was unparked and has not polled since. Only changes under the lock of the wait
    /// queue.
    is_woken: AtomicBool,
    parker: Arc<Parker>,
}

/// The owner of a lock, or a pointer to one.
pub trait HasFairLock {
    /// Its lock.
    fn fair_lock(&self) -> &FairLock;
}

impl<T: HasFairLock + ?Sized> HasFairLock for &T {
    fn fair_lock(&self) -> &FairLock {
        (**self).fair_lock()
    }
}

impl<T: HasFairLock + ?Sized> HasFairLock for Arc<T> {
    fn fair_lock(&self) -> &FairLock {
        (**self).fair_lock()
    }
}

/// A lock that is held or waited for. Dropping it releases the lock or stops waiting.
pub struct Acquisition<T: HasFairLock> {
    owner: T,
    /// `None` once the lock is held.
    waiter: Option<Arc<Waiter>>,
}

impl FairLock {
    /// Requests the lock. `parker` is unparked when polling is worthwhile.
    pub fn acquire<T: HasFairLock>(owner: T, parker: &Arc<Parker>) -> Acquisition<T> {
        let lock = owner.fair_lock();
        let waiter = if lock.take() || lock.take_patiently() { None } else { lock.add_waiter(parker) };
        Acquisition { owner, waiter }
    }

    /// Returns the lock if it is free now or within microseconds.
    pub fn try_acquire<T: HasFairLock>(owner: T) -> Option<Acquisition<T>> {
        let is_held = owner.fair_lock().take() || owner.fair_lock().take_patiently();
        is_held.then(|| Acquisition { owner, waiter: None })
    }

    fn take(&self) -> bool {
        self.state.fetch_or(HELD, Ordering::Acquire) & HELD == 0
    }

    fn take_patiently(&self) -> bool {
        let mut patience = Patience::default();
        while patience.wait() {
            if self.take() {
                return true;
            }
        }
        false
    }

    /// Joins the wait queue, unless the lock has become free.
    fn add_waiter(&self, parker: &Arc<Parker>) -> Option<Arc<Waiter>> {
        let mut waiters = self.waiters.lock();
        let before = self.state.fetch_or(HAS_WAITERS | HELD, Ordering::Acquire);
        if before & HELD == 0 {
            self.note_whether_there_are(&waiters);
            return None;
        }
        let waiter = Arc::new(Waiter { is_woken: AtomicBool::new(false), parker: Arc::clone(parker) });
        waiters.push_back(Arc::clone(&waiter));
        Some(waiter)
    }

    fn remove_waiter(&self, waiter: &Arc<Waiter>) {
        let mut waiters = self.waiters.lock();
        waiters.retain(|waiting| !Arc::ptr_eq(waiting, waiter));
        self.note_whether_there_are(&waiters);
    }

    fn note_whether_there_are(&self, waiters: &VecDeque<Arc<Waiter>>) {
        if waiters.is_empty() {
            self.state.fetch_and(!HAS_WAITERS, Ordering::Relaxed);
        }
    }

    /// Wakes the first waiter if the lock is free and the waiter isn't awake already.
    fn wake_first(&self) {
        let waiters = self.waiters.lock();
        if self.state.load(Ordering::Relaxed) & HELD != 0 {
            return;
        }
        let first = waiters.front().filter(|waiter| !waiter.is_woken.swap(true, Ordering::Relaxed)).cloned();
        drop(waiters);
        if let Some(first) = first {
            first.parker.unpark();
        }
    }
}

impl<T: HasFairLock> Acquisition<T> {
    /// Acquires the lock if it is free. Returns whether it is held now.
    pub fn poll(&mut self) -> bool {
        let Some(waiter) = &self.waiter else { return true };
        let lock = self.owner.fair_lock();
        if !lock.take_patiently() {
            // The holder of the lock wakes this waiter again when it releases the lock, which may
            // have just happened.
            let waiters = lock.waiters.lock();
            waiter.is_woken.store(false, Ordering::Relaxed);
            let is_held = !lock.take();
            drop(waiters);
            if is_held {
                return false;
            }
        }
        lock.remove_waiter(waiter);
        self.waiter = None;
        true
    }
}

impl<T: HasFairLock> Drop for Acquisition<T> {
    fn drop(&mut self) {
        let lock = self.owner.fair_lock();
        match self.waiter.take() {
            // If this waiter was woken, the next one has to be woken in its place.
            Some(waiter) => {
                lock.remove_waiter(&waiter);
                lock.wake_first();
            }
            None => {
                if lock.state.fetch_and(!HELD, Ordering::Release) & HAS_WAITERS != 0 {
                    lock.wake_first();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    fn owner() -> Arc<Owner> {
        Arc::new(Owner::default())
    }

    #[derive(Default)]
    struct Owner {
        lock: FairLock,
        num_inside: AtomicUsize,
    }

    impl HasFairLock for Owner {
        fn fair_lock(&self) -> &FairLock {
            &self.lock
        }
    }

    fn is_parked_forever(parker: &Parker) -> bool {
        !parker.park_timeout(std::time::Duration::ZERO)
    }

    #[test]
    fn first_waiter_is_woken_on_release_and_can_find_the_lock_held() {
        let (owner, parker) = (owner(), Arc::new(Parker::new()));
        let first = FairLock::acquire(Arc::clone(&owner), &parker);
        let mut second = FairLock::acquire(Arc::clone(&owner), &parker);
        assert!(!second.poll() && is_parked_forever(&parker));
        drop(first);
        assert!(!is_parked_forever(&parker));
        let third = FairLock::acquire(Arc::clone(&owner), &Arc::new(Parker::new()));
        assert!(!second.poll(), "the third came while the second was on its way");
        drop(third);
        assert!(!is_parked_forever(&parker) && second.poll() && second.poll());
    }

    #[test]
    fn try_lock_fails_while_the_lock_is_held() {
        let (owner, parker) = (owner(), Arc::new(Parker::new()));
        let first = FairLock::try_acquire(Arc::clone(&owner)).unwrap();
        assert!(FairLock::try_acquire(Arc::clone(&owner)).is_none());
        let mut second = FairLock::acquire(Arc::clone(&owner), &parker);
        assert!(!second.poll());
        drop(first);
        assert!(second.poll() && FairLock::try_acquire(owner).is_none());
    }

    #[test]
    fn woken_waiter_that_gives_up_wakes_the_next_one() {
        let owner = owner();
        let parkers = [0; 2].map(|_| Arc::new(Parker::new()));
        let first = FairLock::acquire(Arc::clone(&owner), &parkers[0]);
        let second = FairLock::acquire(Arc::clone(&owner), &parkers[0]);
        let mut third = FairLock::acquire(Arc::clone(&owner), &parkers[1]);
        drop(first);
        drop(second);
        assert!(!is_parked_forever(&parkers[1]) && third.poll());
    }

    #[test]
    fn only_one_of_many_threads_holds_the_lock_at_a_time() {
        let owner = owner();
        let work = || {
            let owner = Arc::clone(&owner);
            thread::spawn(move || {
                let parker = Arc::new(Parker::new());
                for _ in 0..2_000 {
                    let mut acquisition = FairLock::acquire(Arc::clone(&owner), &parker);
                    while !acquisition.poll() {
                        parker.park();
                    }
                    assert_eq!(owner.num_inside.fetch_add(1, Ordering::SeqCst), 0);
                    thread::yield_now();
                    owner.num_inside.fetch_sub(1, Ordering::SeqCst);
                }
            })
        };
        let threads: Vec<_> = (0..4).map(|_| work()).collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(owner.lock.waiters.lock().is_empty());
        assert_eq!(owner.lock.state.load(Ordering::Relaxed), 0);
    }
}
