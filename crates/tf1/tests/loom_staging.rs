//! Staging areas under every interleaving of two and three threads: no lost wake-up, no lost or
//! duplicated element.
//!
//! Run with `cargo test --release -p headrace-engine --features loom --test loom_staging`.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]

use headrace_engine::kernel::Tensors;
use headrace_engine::sync::parker::Parker;
use headrace_engine::tensor::Tensor;
use headrace_tf1::staging::{Progress, StagingArea, Take};
use loom::thread;
use std::sync::Arc;

/// Waits for a call, as a run does.
fn wait(progress: Progress, parker: &Parker) -> Vec<i64> {
    let element = match progress {
        Progress::Done(element) => element,
        Progress::Waiting(mut waiting) => loop {
            if let Some(element) = waiting.poll() {
                break element;
            }
            parker.park();
        },
    };
    element.iter().map(|tensor| tensor.integer_scalar("number").unwrap()).collect()
}

fn put(area: &Arc<StagingArea>, number: i64) {
    let parker = Arc::new(Parker::new());
    wait(area.put(Tensors::from_iter([Tensor::scalar(number)]), &parker).unwrap(), &parker);
}

fn get(area: &Arc<StagingArea>, take: Take) -> Vec<i64> {
    let parker = Arc::new(Parker::new());
    wait(area.take(take, &parker), &parker)
}

#[test]
fn elements_pass_through_a_full_area_in_order() {
    loom::model(|| {
        let area = StagingArea::new("a", Some(1), None);
        let other = Arc::clone(&area);
        let putting = thread::spawn(move || (1..=3).for_each(|number| put(&other, number)));
        assert_eq!([1, 2, 3].map(|_| get(&area, Take::First)), [[1], [2], [3]]);
        putting.join().unwrap();
        assert_eq!(area.size(), 0);
    });
}

#[test]
fn peek_and_get_are_both_served() {
    loom::model(|| {
        let area = StagingArea::new("a", None, Some(16));
        let (peeked, putting) = (Arc::clone(&area), Arc::clone(&area));
        let peek = thread::spawn(move || get(&peeked, Take::Copy(1)));
        let puts = thread::spawn(move || [1, 2].into_iter().for_each(|number| put(&putting, number)));
        puts.join().unwrap();
        assert_eq!(peek.join().unwrap(), [2]);
        assert_eq!(get(&area, Take::First), [1]);
    });
}

#[test]
fn cancelled_get_loses_no_element() {
    loom::model(|| {
        let area = StagingArea::new("a", Some(1), None);
        let other = Arc::clone(&area);
        let putting = thread::spawn(move || put(&other, 1));
        let parker = Arc::new(Parker::new());
        let taken = match area.take(Take::First, &parker) {
            Progress::Done(_) => 1,
            Progress::Waiting(mut waiting) => {
                let is_served = waiting.poll().is_some();
                waiting.cancel();
                usize::from(is_served)
            }
        };
        putting.join().unwrap();
        assert_eq!(taken + area.size(), 1);
    });
}
