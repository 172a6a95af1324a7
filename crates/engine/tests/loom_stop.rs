//! Stopping runs under every interleaving of two and three threads: cancellations with children,
//! and the flag that ends a loop.
//!
//! Run with `cargo test --release -p headrace-engine --features loom --test loom_stop`.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]

use headrace_engine::program::StopFlag;
use headrace_engine::sync::Mutex;
use headrace_engine::sync::cancellation::Cancellation;
use headrace_engine::sync::parker::Parker;
use loom::thread;
use std::collections::VecDeque;
use std::sync::Arc;

/// Waits until a cancellation has happened.
fn wait(cancellation: &Cancellation) {
    let parker = Arc::new(Parker::new());
    let _registration = cancellation.register(&parker);
    while !cancellation.is_cancelled() {
        parker.park();
    }
}

#[test]
fn child_created_during_a_cancellation_is_cancelled() {
    loom::model(|| {
        let cancellation = Cancellation::new();
        let waiter = thread::spawn({
            let cancellation = cancellation.clone();
            move || wait(&cancellation.child())
        });
        cancellation.cancel();
        waiter.join().unwrap();
    });
}

#[test]
fn grandchild_waits_no_longer_than_its_parents() {
    loom::model(|| {
        let cancellation = Cancellation::new();
        let child = cancellation.child();
        let waiter = thread::spawn(move || wait(&child.child()));
        cancellation.cancel();
        waiter.join().unwrap();
    });
}

#[test]
fn cancelled_child_does_not_cancel_its_parent() {
    loom::model(|| {
        let cancellation = Cancellation::new();
        let child = cancellation.child();
        let waiter = thread::spawn({
            let child = child.clone();
            move || wait(&child)
        });
        child.cancel();
        waiter.join().unwrap();
        assert!(!cancellation.is_cancelled());
    });
}

#[test]
fn thread_that_sees_the_stop_flag_sees_all_writes_before_it() {
    loom::model(|| {
        let (stop, reason) = (Arc::new(StopFlag::new()), Arc::new(Mutex::new(None)));
        let asks = thread::spawn({
            let (stop, reason) = (Arc::clone(&stop), Arc::clone(&reason));
            move || {
                *reason.lock() = Some("stop");
                stop.set();
            }
        });
        if stop.is_set() {
            assert_eq!(*reason.lock(), Some("stop"));
        }
        asks.join().unwrap();
        assert!(stop.is_set());
    });
}

#[test]
fn all_parkers_unparked_together_wake() {
    loom::model(|| {
        let parkers = [Arc::new(Parker::new()), Arc::new(Parker::new())];
        let waiters = parkers.clone().map(|parker| thread::spawn(move || parker.park()));
        Parker::unpark_all(VecDeque::from(parkers));
        waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
    });
}
