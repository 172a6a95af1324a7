//! Barriers under every interleaving of two and three threads: no lost wake-up, no lost or
//! duplicated element, and no take that waits for an element that cannot come.
//!
//! Run with `cargo test --release -p headrace-engine --features loom --test loom_barrier`.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]

use bytes::Bytes;
use headrace_engine::error::Result;
use headrace_engine::sync::parker::Parker;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::{PartialShape, Shape};
use headrace_tf1::barrier::Barrier;
use headrace_tf1::queue::{Elements, Progress};
use loom::thread;
use std::sync::Arc;

fn barrier() -> Arc<Barrier> {
    Barrier::new("b", &[DType::Int64; 2], &[PartialShape::default(), PartialShape::default()]).unwrap()
}

fn insert(barrier: &Barrier, component: usize) {
    insert_at(barrier, "a", component);
}

fn insert_at(barrier: &Barrier, key: &'static str, component: usize) {
    let keys = Tensor::strings(Shape::new(&[1]), vec![Bytes::from_static(key.as_bytes())]).unwrap();
    barrier.insert(component, &keys, &Tensor::from_values(Shape::new(&[1]), vec![7_i64]).unwrap()).unwrap();
}

/// Waits for a take, as a run does.
fn take(barrier: &Arc<Barrier>, count: usize, is_up_to: bool) -> Result<usize> {
    let parker = Arc::new(Parker::new());
    let elements: Elements = match barrier.take(count, is_up_to, &parker)? {
        Progress::Done(elements) => elements,
        Progress::Waiting(mut waiting) => loop {
            if let Some(outcome) = waiting.poll() {
                break outcome?;
            }
            parker.park();
        },
    };
    Ok(elements.len())
}

#[test]
fn components_from_two_threads_form_one_element() {
    loom::model(|| {
        let barrier = barrier();
        let other = Arc::clone(&barrier);
        let first = thread::spawn(move || insert(&other, 0));
        let other = Arc::clone(&barrier);
        let second = thread::spawn(move || insert(&other, 1));
        assert_eq!(take(&barrier, 1, false).unwrap(), 1);
        first.join().unwrap();
        second.join().unwrap();
        assert_eq!((barrier.ready_size(), barrier.incomplete_size()), (0, 0));
    });
}

#[test]
fn take_ends_with_the_last_element() {
    loom::model(|| {
        let barrier = barrier();
        insert(&barrier, 0);
        let other = Arc::clone(&barrier);
        let completing = thread::spawn(move || insert(&other, 1));
        let other = Arc::clone(&barrier);
        let closing = thread::spawn(move || other.close(false).unwrap());
        // It requests more than there will be: it gets the one element, or an error that none is
        // ready.
        let taken = take(&barrier, 2, true).unwrap_or(0);
        completing.join().unwrap();
        closing.join().unwrap();
        assert_eq!(taken + barrier.ready_size(), 1);
        assert!(take(&barrier, 2, false).is_err());
    });
}

#[test]
fn close_ends_takes_despite_an_incomplete_element() {
    for (count, is_up_to, expected) in [(2, true, 1), (3, false, 0)] {
        loom::model(move || {
            let barrier = barrier();
            insert(&barrier, 0);
            insert(&barrier, 1);
            insert_at(&barrier, "b", 0);
            let other = Arc::clone(&barrier);
            let closing = thread::spawn(move || other.close(false).unwrap());
            assert_eq!(take(&barrier, count, is_up_to).unwrap_or(0), expected);
            closing.join().unwrap();
            assert_eq!((barrier.ready_size(), barrier.incomplete_size()), (1 - expected, 1));
            // Incomplete elements can still be completed.
            insert_at(&barrier, "b", 1);
            assert_eq!(take(&barrier, 2, true).unwrap(), 2 - expected);
        });
    }
}

#[test]
fn cancelling_close_ends_a_take() {
    loom::model(|| {
        let barrier = barrier();
        let other = Arc::clone(&barrier);
        let closing = thread::spawn(move || other.close(true).unwrap());
        assert!(take(&barrier, 1, false).is_err());
        closing.join().unwrap();
    });
}
