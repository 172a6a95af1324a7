//! Barriers in one thread, and their saved states.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]

use bytes::Bytes;
use headrace_engine::error::Code;
use headrace_engine::sync::parker::Parker;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::{PartialShape, Shape};
use headrace_tf1::barrier::Barrier;
use headrace_tf1::queue::{Progress, Waiting};
use std::sync::Arc;

fn barrier() -> Arc<Barrier> {
    let shapes = [PartialShape::default(), PartialShape::new(vec![Some(2)])];
    Barrier::new("b", &[DType::Int64, DType::String], &shapes).unwrap()
}

fn strings(shape: &[usize], values: &[&'static str]) -> Tensor {
    Tensor::strings(Shape::new(shape), values.iter().map(|value| Bytes::from_static(value.as_bytes())).collect())
        .unwrap()
}

fn numbers(values: &[i64]) -> Tensor {
    Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
}

/// Gives keys their first component.
fn begin(barrier: &Barrier, keys: &[&'static str], values: &[i64]) {
    barrier.insert(0, &strings(&[keys.len()], keys), &numbers(values)).unwrap();
}

/// Gives one key its second component, the last that it lacks.
fn complete(barrier: &Barrier, key: &'static str) {
    barrier.insert(1, &strings(&[1], &[key]), &strings(&[1, 2], &[key, "x"])).unwrap();
}

fn take(barrier: &Arc<Barrier>, count: usize, is_up_to: bool) -> headrace_engine::error::Result<Progress> {
    barrier.take(count, is_up_to, &Arc::new(Parker::new()))
}

/// The keys of a take that need not wait.
fn keys(barrier: &Arc<Barrier>, count: usize) -> Vec<Bytes> {
    match take(barrier, count, true).unwrap() {
        Progress::Done(elements) => barrier.batch(elements).unwrap()[1].string_values().to_vec(),
        Progress::Waiting(_) => panic!("it waits"),
    }
}

fn waits(progress: Progress) -> Waiting {
    match progress {
        Progress::Waiting(waiting) => waiting,
        Progress::Done(_) => panic!("it does not wait"),
    }
}

#[test]
fn elements_are_taken_in_the_order_of_their_first_components() {
    let barrier = barrier();
    begin(&barrier, &["late"], &[1]);
    begin(&barrier, &["later"], &[2]);
    complete(&barrier, "later");
    complete(&barrier, "late");
    let Progress::Done(elements) = take(&barrier, 2, false).unwrap() else { panic!("it waits") };
    let batch = barrier.batch(elements).unwrap();
    assert_eq!(batch[0], numbers(&[i64::MIN, i64::MIN + 1]));
    assert_eq!(batch[1], strings(&[2], &["late", "later"]));
    assert_eq!(batch[2], numbers(&[1, 2]));
    assert_eq!(batch[3], strings(&[2, 2], &["late", "x", "later", "x"]));
}

#[test]
fn key_can_be_used_again_once_its_element_is_complete() {
    let barrier = barrier();
    for _ in 0..2 {
        begin(&barrier, &["a"], &[1]);
        complete(&barrier, "a");
    }
    assert_eq!((barrier.ready_size(), barrier.incomplete_size()), (2, 0));
}

#[test]
fn invalid_insertions_are_rejected_and_nothing_is_lost() {
    let barrier = barrier();
    begin(&barrier, &["a"], &[1]);
    let key = strings(&[1], &["a"]);
    for (component, keys, values, text) in [
        (2, &key, numbers(&[1]), "The component ID is out of range 2 > num_components (= 2)"),
        (0, &key, numbers(&[1]), "Key a already has a value for component 0 in barrier b"),
        (0, &key, strings(&[1], &["x"]), "component 0 got keys of type string and values of type string"),
        (0, &strings(&[], &["a"]), numbers(&[1]), "keys must be a vector, got shape []"),
        (0, &key, numbers(&[1, 2]), "got values of shape [2] for 1 keys, expected one row for each key"),
        (1, &key, strings(&[1, 3], &["x"; 3]), "Shape mismatch in tuple component 3. Expected [2], got [3]"),
        (1, &key, strings(&[1, 0], &[]), "Tensors with no elements are not supported b: received shape [1,0]"),
    ] {
        let error = barrier.insert(component, keys, &values).unwrap_err();
        assert_eq!(error.code(), Code::InvalidArgument);
        assert!(error.message().contains(text), "{}", error.message());
    }
    complete(&barrier, "a");
    assert_eq!(keys(&barrier, 1), ["a"]);
}

#[test]
fn components_before_a_rejected_key_stay_inserted() {
    let barrier = barrier();
    begin(&barrier, &["a", "b"], &[1, 2]);
    let (twice, values) = (strings(&[2], &["a", "a"]), strings(&[2, 2], &["p", "q", "r", "s"]));
    // The first one completes its element; the second begins another one.
    barrier.insert(1, &twice, &values).unwrap();
    assert_eq!((barrier.ready_size(), barrier.incomplete_size()), (1, 2));
    let error = barrier.insert(1, &strings(&[2], &["b", "a"]), &values).unwrap_err();
    assert_eq!(error.message(), "Key a already has a value for component 1 in barrier b");
    assert_eq!(keys(&barrier, 2), ["a", "b"]);
}

#[test]
fn closed_barrier_completes_incomplete_elements() {
    let barrier = barrier();
    begin(&barrier, &["a"], &[1]);
    barrier.close(false).unwrap();
    assert_eq!(barrier.close(false).unwrap_err().message(), "Barrier 'b' is already closed.");
    let error = barrier.insert(0, &strings(&[1], &["new"]), &numbers(&[1])).unwrap_err();
    assert_eq!(error.code(), Code::Cancelled);
    assert!(error.message().contains("attempted to insert a brand new key: new."), "{}", error.message());
    let mut waiting = waits(take(&barrier, 1, false).unwrap());
    assert_eq!(
        take(&barrier, 2, false).map(drop).unwrap_err().message(),
        "Barrier 'b' is closed and has insufficient elements (requested 2, total size 1)"
    );
    complete(&barrier, "a");
    assert!(waiting.poll().unwrap().is_ok());
    // An empty insertion is accepted, which programs with a batch of no keys rely on.
    barrier.insert(0, &strings(&[0], &[]), &numbers(&[])).unwrap();
    assert_eq!(take(&barrier, 1, true).map(drop).unwrap_err().code(), Code::OutOfRange);
}

#[test]
fn takes_waiting_at_a_close_end_like_later_ones() {
    let barrier = barrier();
    begin(&barrier, &["a", "b"], &[1, 2]);
    complete(&barrier, "a");
    let (mut all, mut some) = (waits(take(&barrier, 3, false).unwrap()), waits(take(&barrier, 3, true).unwrap()));
    barrier.close(false).unwrap();
    assert_eq!(all.poll().unwrap().map(drop).unwrap_err().code(), Code::OutOfRange);
    let elements = some.poll().unwrap().unwrap();
    assert_eq!(barrier.batch(elements).unwrap()[1], strings(&[1], &["a"]));
    complete(&barrier, "b");
    assert_eq!(keys(&barrier, 1), ["b"]);
}

#[test]
fn cancelling_close_drops_incomplete_elements() {
    let barrier = barrier();
    begin(&barrier, &["a", "b"], &[1, 2]);
    complete(&barrier, "b");
    barrier.close(false).unwrap();
    barrier.close(true).unwrap();
    assert!(barrier.close(true).is_err());
    assert_eq!(barrier.incomplete_size(), 0);
    let error = barrier.insert(1, &strings(&[1], &["a"]), &strings(&[1, 2], &["x", "y"])).unwrap_err();
    assert!(error.message().contains("Pending enqueues cancelled: 1"), "{}", error.message());
    assert_eq!(keys(&barrier, 5), ["b"]);
}

#[test]
fn saved_elements_are_restored() {
    let (from, to) = (barrier(), barrier());
    begin(&from, &["a", "b"], &[1, 2]);
    begin(&from, &["c"], &[3]);
    complete(&from, "b");
    begin(&to, &["old"], &[0]);
    let restore = to.prepare(&mut from.save().unwrap()).unwrap();
    assert_eq!(to.incomplete_size(), 1);
    restore();
    assert_eq!((to.ready_size(), to.incomplete_size()), (1, 2));
    begin(&to, &["d"], &[4]);
    for key in ["d", "c", "a"] {
        complete(&to, key);
    }
    let taken = keys(&to, 4);
    assert_eq!(taken[2..], ["c", "d"]);
    assert!(taken[..2].contains(&Bytes::from_static(b"a")) && taken[..2].contains(&Bytes::from_static(b"b")));
}

#[test]
fn barrier_with_different_components_rejects_the_saved_state() {
    let from = barrier();
    begin(&from, &["a"], &[1]);
    let to = Barrier::new("o", &[DType::Int64], &[PartialShape::new(vec![Some(3)])]).unwrap();
    assert_eq!(to.prepare(&mut from.save().unwrap()).map(drop).unwrap_err().code(), Code::DataLoss);
}
