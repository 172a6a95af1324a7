//! Staging areas in one thread, and their saved states.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]

use headrace_engine::error::Code;
use headrace_engine::kernel::Tensors;
use headrace_engine::sync::parker::Parker;
use headrace_engine::tensor::Tensor;
use headrace_tf1::staging::{Progress, StagingArea, Take, Waiting};
use std::sync::Arc;

fn parker() -> Arc<Parker> {
    Arc::new(Parker::new())
}

fn element(number: i64) -> Tensors {
    Tensors::from_iter([Tensor::scalar(number)])
}

fn waits(progress: Progress) -> Waiting {
    match progress {
        Progress::Waiting(waiting) => waiting,
        Progress::Done(element) => panic!("it does not wait: {element:?}"),
    }
}

fn put(area: &Arc<StagingArea>, number: i64) -> Progress {
    area.put(element(number), &parker()).unwrap()
}

fn get(area: &Arc<StagingArea>) -> i64 {
    match area.take(Take::First, &parker()) {
        Progress::Done(element) => element[0].integer_scalar("number").unwrap(),
        Progress::Waiting(_) => panic!("it waits"),
    }
}

#[test]
fn staging_area_is_bounded_by_bytes() {
    let area = StagingArea::new("a", None, Some(16));
    assert!(matches!(put(&area, 1), Progress::Done(_)));
    assert!(matches!(put(&area, 2), Progress::Done(_)));
    let mut third = waits(put(&area, 3));
    assert!(third.poll().is_none());
    assert_eq!(third.description()(), "staging area 'a': room; it has 2 elements and 16 of at most 16 bytes");
    assert_eq!(get(&area), 1);
    assert!(third.poll().is_some());
    let large = Tensors::from_iter([Tensor::string("a string of 23 letters")]);
    assert_eq!(area.put(large, &parker()).map(drop).unwrap_err().code(), Code::ResourceExhausted);
}

#[test]
fn cancelled_call_does_not_affect_the_others() {
    let area = StagingArea::new("a", Some(1), None);
    let mut first = waits(area.take(Take::First, &parker()));
    let mut second = waits(area.take(Take::First, &parker()));
    assert_eq!(first.cancel().code(), Code::Cancelled);
    assert!(matches!(put(&area, 1), Progress::Done(_)));
    // It was served, and puts the element back, though the area is full again.
    assert!(matches!(put(&area, 2), Progress::Done(_)));
    second.cancel();
    assert_eq!((area.size(), get(&area), get(&area)), (2, 1, 2));
}

#[test]
fn cancelled_put_adds_nothing() {
    let area = StagingArea::new("a", Some(1), None);
    assert!(matches!(put(&area, 1), Progress::Done(_)));
    drop(waits(put(&area, 2)));
    let mut third = waits(put(&area, 3));
    area.clear();
    assert!(third.poll().is_some());
    assert_eq!(get(&area), 3);
}

#[test]
fn saved_elements_are_restored() {
    let area = StagingArea::new("a", None, None);
    assert!(matches!(put(&area, 1), Progress::Done(_)));
    assert!(matches!(put(&area, 2), Progress::Done(_)));
    let chunks: Vec<_> = area.save().unwrap().map(|chunk| chunk.unwrap()).collect();
    let other = StagingArea::new("b", None, None);
    assert!(matches!(put(&other, 7), Progress::Done(_)));
    other.prepare(&mut chunks.iter().cloned().map(Ok)).unwrap()();
    assert_eq!((get(&other), get(&other), other.size()), (1, 2, 0));
    for length in 0..chunks[0].len() {
        assert!(other.prepare(&mut [Ok(chunks[0][..length].to_vec())].into_iter()).is_err(), "{length}");
    }
}
