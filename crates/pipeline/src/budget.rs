//! The memory budget of a pipeline and the charges against it.

use bytes::Bytes;
use headrace_engine::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

/// One in this many parts of a process's memory is reserved for unused memory that the allocator
/// keeps.
const KEPT_PART: usize = 8;
/// Memory reserved per thread, and once for the process, for stacks, freed memory that a thread
/// reuses, and open files.
const THREAD_BYTES: usize = 512 << 10;

/// Free pages are checked each time this fraction of the memory has been charged.
const SEEN_PART: usize = 64;
/// The fraction of the memory that must remain for stacks and other uses when the allocator keeps
/// free pages.
const STACKS_PART: usize = 16;

/// The memory budget of a pipeline: its limit and the charges against it.
#[derive(Debug)]
pub struct Budget {
    limit_bytes: usize,
    /// The part of the limit reserved for threads and the process. `None` if no room is reserved
    /// for memory that isn't charged.
    fixed_bytes: Option<usize>,
    used_bytes: AtomicUsize,
    /// Makes the allocator return free pages to the system if it holds more bytes of them than the
    /// argument.
    limit_free_pages: Option<fn(usize)>,
    /// Bytes charged since free pages were last checked.
    unseen_bytes: AtomicUsize,
}

impl Budget {
    /// Creates a budget without charges.
    pub fn new(limit_bytes: usize) -> Arc<Self> {
        Self::with(limit_bytes, None, None)
    }

    /// Creates a budget for the memory growth of a process with `num_threads` threads, which
    /// reserves room for memory that isn't charged. `limit_free_pages` makes the allocator return
    /// free pages to the system if it holds more bytes of them than its argument.
    pub fn of_process(limit_bytes: usize, num_threads: usize, limit_free_pages: fn(usize)) -> Arc<Self> {
        let fixed_bytes = num_threads.saturating_add(2).saturating_mul(THREAD_BYTES);
        Self::with(limit_bytes, Some(fixed_bytes), Some(limit_free_pages))
    }

    fn with(limit_bytes: usize, fixed_bytes: Option<usize>, limit_free_pages: Option<fn(usize)>) -> Arc<Self> {
        let (used_bytes, unseen_bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Arc::new(Self { limit_bytes, fixed_bytes, used_bytes, limit_free_pages, unseen_bytes })
    }

    /// The limit of the pipeline, in bytes.
    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// The maximum number of bytes that may be charged.
    pub fn room_bytes(&self) -> usize {
        let kept = self.limit_bytes / KEPT_PART;
        self.limit_bytes - self.fixed_bytes.map_or(0, |fixed| kept + fixed.min(kept))
    }

    /// The limit, in bytes, that allows charges of `room_bytes`.
    pub fn limit_for(&self, room_bytes: u128) -> u128 {
        const PART: u128 = KEPT_PART as u128;
        let with = |fixed| (room_bytes * PART / (PART - 2)).min((room_bytes + fixed as u128) * PART / (PART - 1));
        self.fixed_bytes.map_or(room_bytes, with)
    }

    /// The number of bytes currently charged.
    pub fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Acquire)
    }

    /// Charges `num_bytes` if they fit.
    pub fn try_charge(self: &Arc<Self>, num_bytes: usize) -> Option<Charge> {
        let fits = |used: usize| used.checked_add(num_bytes).filter(|sum| *sum <= self.room_bytes());
        let used_bytes = self.used_bytes.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).ok()?;
        self.look_at_free_pages(num_bytes, used_bytes + num_bytes);
        Some(Charge { budget: Arc::clone(self), num_bytes })
    }

    /// Charges `num_bytes`, even beyond the limit. Use it for memory that the pipeline cannot
    /// continue without.
    pub fn charge(self: &Arc<Self>, num_bytes: usize) -> Charge {
        let used_bytes = self.used_bytes.fetch_add(num_bytes, Ordering::AcqRel);
        self.look_at_free_pages(num_bytes, used_bytes.saturating_add(num_bytes));
        Charge { budget: Arc::clone(self), num_bytes }
    }

    /// Limits free pages to the memory that isn't charged. This happens from time to time, and
    /// whenever charges exceed the room. Free pages don't help large allocations, which always need
    /// new pages.
    fn look_at_free_pages(&self, num_bytes: usize, used_bytes: usize) {
        let Some(limit_free_pages) = self.limit_free_pages else { return };
        let unseen_bytes = self.unseen_bytes.fetch_add(num_bytes, Ordering::Relaxed).saturating_add(num_bytes);
        if unseen_bytes >= self.limit_bytes / SEEN_PART || used_bytes > self.room_bytes() {
            self.unseen_bytes.store(0, Ordering::Relaxed);
            limit_free_pages((self.limit_bytes - self.limit_bytes / STACKS_PART).saturating_sub(used_bytes));
        }
    }
}

/// Bytes that are charged to a budget until this is dropped.
#[derive(Debug)]
pub struct Charge {
    budget: Arc<Budget>,
    num_bytes: usize,
}

impl Charge {
    /// Replaces an estimate with the actual number of bytes.
    pub fn correct(&mut self, num_bytes: usize) {
        let used = &self.budget.used_bytes;
        match num_bytes.checked_sub(self.num_bytes) {
            Some(more) => used.fetch_add(more, Ordering::AcqRel),
            None => used.fetch_sub(self.num_bytes - num_bytes, Ordering::AcqRel),
        };
        self.num_bytes = num_bytes;
    }

    /// Ties the charge to `bytes`, plus `beside` more bytes. They stay charged as long as any part
    /// of `bytes` is alive.
    pub fn over(mut self, bytes: Vec<u8>, beside: usize) -> Bytes {
        self.correct(bytes.capacity().saturating_add(beside));
        Bytes::from_owner(Charged { bytes, _charge: self })
    }

    /// The number of bytes charged.
    pub fn num_bytes(&self) -> usize {
        self.num_bytes
    }

    /// Makes another charge to the same budget, even beyond the limit.
    pub fn another(&self, num_bytes: usize) -> Self {
        self.budget.charge(num_bytes)
    }
}

impl Drop for Charge {
    fn drop(&mut self) {
        self.budget.used_bytes.fetch_sub(self.num_bytes, Ordering::AcqRel);
    }
}

struct Charged {
    bytes: Vec<u8>,
    _charge: Charge,
}

impl AsRef<[u8]> for Charged {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charge_that_does_not_fit_is_rejected() {
        let budget = Budget::new(10);
        let first = budget.try_charge(6).unwrap();
        assert!(budget.try_charge(5).is_none());
        assert!(budget.try_charge(usize::MAX).is_none());
        assert_eq!(budget.used_bytes(), 6);
        drop(first);
        assert!(budget.try_charge(10).is_some());
        assert_eq!(budget.used_bytes(), 0);
    }

    #[test]
    fn process_budget_is_smaller_than_its_limit() {
        let small = Budget::of_process(16 << 20, 2, |_| ());
        assert_eq!((small.limit_bytes(), small.room_bytes()), (16 << 20, 12 << 20));
        assert!(small.try_charge(small.room_bytes() + 1).is_none());
        assert_eq!([9 << 20, 26 << 20].map(|room| small.limit_for(room)), [12 << 20, 32 << 20]);
        assert_eq!(Budget::of_process(32 << 20, 2, |_| ()).room_bytes(), 26 << 20);
        let large = Budget::of_process(1 << 30, 6, |_| ());
        assert_eq!(large.room_bytes(), (1 << 30) - (128 << 20) - (4 << 20));
        assert_eq!((Budget::new(9).room_bytes(), Budget::new(9).limit_for(20)), (9, 20));
    }

    #[test]
    fn free_pages_are_limited_to_the_uncharged_memory() {
        use std::sync::atomic::AtomicUsize;
        static ALLOWED: AtomicUsize = AtomicUsize::new(usize::MAX);
        let budget = Budget::of_process(16 << 20, 2, |bytes| ALLOWED.store(bytes, Ordering::Relaxed));
        let looked_at = || ALLOWED.swap(usize::MAX, Ordering::Relaxed);
        let small = budget.try_charge((256 << 10) - 1);
        assert_eq!((small.is_some(), looked_at()), (true, usize::MAX));
        let large = budget.try_charge(5 << 20);
        assert_eq!((large.is_some(), looked_at()), (true, (15 << 20) - (5 << 20) - (256 << 10) + 1));
        drop(small);
        let beyond = budget.charge((7 << 20) + 1);
        assert_eq!(looked_at(), (3 << 20) - 1);
        let more = budget.charge(1);
        assert_eq!((more.num_bytes(), looked_at()), (1, (3 << 20) - 2));
        drop((large, beyond, more));
        assert_eq!((budget.charge(1).num_bytes(), looked_at()), (1, usize::MAX));
    }

    #[test]
    fn bytes_are_charged_while_any_part_is_alive() {
        let budget = Budget::new(10);
        let bytes = budget.charge(3).over(vec![1, 2, 3, 4], 5);
        assert_eq!(budget.used_bytes(), 9);
        let part = bytes.slice(1..2);
        drop(bytes);
        assert_eq!((budget.used_bytes(), &part[..]), (9, &[2][..]));
        drop(part);
        assert_eq!(budget.used_bytes(), 0);
    }
}
