//! The fair lock under every interleaving of two and three threads: one holder at a time, and every
//! waiter wakes.
//!
//! Run with `cargo test --release -p headrace-engine --features loom --test loom_fair_lock`.

use headrace_engine::sync::fair_lock::{FairLock, HasFairLock};
use headrace_engine::sync::parker::Parker;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;
use std::sync::Arc;

#[derive(Default)]
struct Shared {
    lock: FairLock,
    num_inside: AtomicUsize,
}

#[derive(Clone, Default)]
struct Handle(Arc<Shared>);

impl HasFairLock for Handle {
    fn fair_lock(&self) -> &FairLock {
        &self.0.lock
    }
}

fn hold_once(shared: &Handle, parker: &Arc<Parker>) {
    let mut acquisition = FairLock::acquire(shared.clone(), parker);
    while !acquisition.poll() {
        parker.park();
    }
    assert_eq!(shared.0.num_inside.fetch_add(1, Ordering::Relaxed), 0);
    shared.0.num_inside.fetch_sub(1, Ordering::Relaxed);
}

fn spawn(shared: &Handle, work: impl FnOnce(&Handle, &Arc<Parker>) + 'static) -> thread::JoinHandle<()> {
    let shared = shared.clone();
    thread::spawn(move || work(&shared, &Arc::new(Parker::new())))
}

#[test]
fn two_threads_can_acquire_the_lock_repeatedly() {
    model(|| {
        let shared = Handle::default();
        let twice = |shared: &Handle, parker: &Arc<Parker>| (0..2).for_each(|_| hold_once(shared, parker));
        let other = spawn(&shared, twice);
        twice(&shared, &Arc::new(Parker::new()));
        other.join().unwrap();
    });
}

/// Explores at most three preemptions, or the number in `LOOM_MAX_PREEMPTIONS`; more take minutes.
fn model(work: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(work);
}

#[test]
fn three_threads_all_acquire_the_lock() {
    model(|| {
        let shared = Handle::default();
        let others = [(); 2].map(|()| spawn(&shared, hold_once));
        hold_once(&shared, &Arc::new(Parker::new()));
        others.into_iter().for_each(|other| other.join().unwrap());
    });
}

#[test]
fn waiter_that_gives_up_leaves_no_thread_asleep() {
    model(|| {
        let shared = Handle::default();
        let leaver = spawn(&shared, |shared, parker| drop(FairLock::acquire(shared.clone(), parker)));
        let taker = spawn(&shared, hold_once);
        hold_once(&shared, &Arc::new(Parker::new()));
        leaver.join().unwrap();
        taker.join().unwrap();
    });
}
