//! Saved queues continue in another queue; and enqueues that end without room.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]
#![allow(clippy::disallowed_methods, reason = "tests allocate what they like")]

use headrace_engine::error::{Code, Result};
use headrace_engine::kernel::Tensors;
use headrace_engine::sync::parker::Parker;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::{PartialShape, Shape};
use headrace_tf1::queue::{Element, Order, Progress, Queue, QueueSpec};
use proptest::prelude::*;
use std::sync::Arc;

const SHUFFLE: Order = Order::Shuffle { min_after_dequeue: 2, seed: 7, seed2: 8 };

fn queue(order: Order, capacity: usize) -> Arc<Queue> {
    Queue::new(QueueSpec {
        name: "q".into(),
        order,
        capacity: Some(capacity),
        dtypes: vec![DType::Int64],
        shapes: Some(vec![PartialShape::default()]),
    })
    .unwrap()
}

fn parker() -> Arc<Parker> {
    Arc::new(Parker::new())
}

fn enqueue(queue: &Arc<Queue>, value: i64) -> Result<Progress> {
    queue.enqueue(Tensors::from_iter([Tensor::scalar(value)]), &parker())
}

fn enqueue_many(queue: &Arc<Queue>, values: Vec<i64>) -> Result<Progress> {
    let batch = Tensor::from_values(Shape::new(&[values.len()]), values).unwrap();
    queue.enqueue_many(Tensors::from_iter([batch]), &parker())
}

fn is_done(progress: Result<Progress>) -> bool {
    matches!(progress.unwrap(), Progress::Done(_))
}

/// The next element, or the code of the error, or `None` if there is none now.
fn dequeue(queue: &Arc<Queue>) -> Option<std::result::Result<i64, Code>> {
    match queue.dequeue(1, false, &parker()) {
        Ok(Progress::Done(elements)) => Some(Ok(Element::priority(&elements[0]))),
        Ok(Progress::Waiting(_)) => None,
        Err(error) => Some(Err(error.code())),
    }
}

fn saved(queue: &Queue) -> Vec<Vec<u8>> {
    queue.save().unwrap().collect::<Result<_>>().unwrap()
}

fn restore(queue: &Arc<Queue>, chunks: Vec<Vec<u8>>) -> Result<()> {
    queue.prepare(&mut chunks.into_iter().map(Ok)).map(|restore| restore())
}

fn rest(queue: &Arc<Queue>) -> Vec<Option<std::result::Result<i64, Code>>> {
    (0..60).map(|_| dequeue(queue)).take_while(|next| matches!(next, Some(Ok(_)))).collect()
}

#[derive(Clone, Debug)]
enum Step {
    Enqueue(i64),
    EnqueueMany(usize),
    Dequeue,
    Close,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (-3_i64..4).prop_map(Step::Enqueue),
        2 => (0_usize..9).prop_map(Step::EnqueueMany),
        4 => Just(Step::Dequeue),
        1 => Just(Step::Close),
    ];
    prop::collection::vec(step, 0..30)
}

proptest! {
    #[test]
    fn restored_queue_behaves_like_the_saved_one(
        order in prop::sample::select(vec![Order::Fifo, Order::Padding, Order::Priority, SHUFFLE]),
        before in steps(),
        after in steps(),
    ) {
        let (first, second) = (queue(order, 5), queue(order, 5));
        enqueue_many(&second, vec![77, 78]).unwrap();
        first.accept(true);
        // A call that fails because the queue is closed is a step too.
        let take = |queue: &Arc<Queue>, step: &Step| match step {
            Step::Enqueue(value) => enqueue(queue, *value).err().map(|error| Err(error.code())),
            Step::EnqueueMany(count) => enqueue_many(queue, (0..*count as i64).collect()).err().map(|error| Err(error.code())),
            Step::Dequeue => dequeue(queue),
            Step::Close => queue.close(false, &parker()).err().map(|error| Err(error.code())),
        };
        for step in &before {
            take(&first, step);
        }
        prop_assert!(first.size() <= 5);
        restore(&second, saved(&first)).unwrap();
        prop_assert_eq!(saved(&second), saved(&first));
        second.accept(true);
        for step in &after {
            prop_assert_eq!(take(&first, step), take(&second, step));
        }
        prop_assert_eq!(rest(&first), rest(&second));
    }

    #[test]
    fn reading_edited_chunks_never_panics(
        order in prop::sample::select(vec![Order::Fifo, SHUFFLE]), chunk: usize, place: usize, byte: u8
    ) {
        let first = queue(order, 5);
        first.accept(true);
        enqueue_many(&first, (0..9).collect()).unwrap();
        let mut chunks = saved(&first);
        let count = chunks.len();
        let chunk = &mut chunks[chunk % count];
        let length = chunk.len();
        chunk[place % length] = byte;
        let second = queue(order, 5);
        enqueue_many(&second, vec![77]).unwrap();
        if restore(&second, chunks).is_err() {
            prop_assert_eq!(second.size(), 1);
        }
    }
}

#[test]
fn element_accepted_without_space_enters_first() {
    let queue = queue(Order::Fifo, 2);
    assert!(is_done(enqueue_many(&queue, vec![0, 1])));
    let Progress::Waiting(mut waiting) = enqueue_many(&queue, vec![2, 3, 4]).unwrap() else { panic!("no room") };
    queue.accept(true);
    assert!(waiting.poll().unwrap().unwrap().is_empty());
    assert!(is_done(enqueue(&queue, 5)));
    queue.accept(false);
    assert_eq!((queue.size(), queue.stats().num_waiting_enqueues), (2, 0));
    let Progress::Waiting(mut waiting) = enqueue(&queue, 6).unwrap() else { panic!("others come first") };
    let Progress::Waiting(mut settling) = queue.settle(&parker()).unwrap() else { panic!("it is not settled") };
    assert_eq!((0..3).map(|_| dequeue(&queue).unwrap().unwrap()).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(waiting.poll().is_none() && settling.poll().is_none());
    assert_eq!(dequeue(&queue), Some(Ok(3)));
    assert!(waiting.poll().is_none());
    assert_eq!(dequeue(&queue), Some(Ok(4)));
    assert!(waiting.poll().is_some() && settling.poll().is_some());
    assert!(is_done(queue.settle(&parker())));
    assert_eq!(rest(&queue), [Some(Ok(5)), Some(Ok(6))]);
    assert_eq!((queue.stats().num_enqueued, queue.stats().num_dequeued), (7, 7));
}

#[test]
fn close_waits_for_accepted_elements() {
    let queue = queue(Order::Fifo, 1);
    queue.accept(true);
    enqueue_many(&queue, vec![0, 1]).unwrap();
    assert!(is_done(queue.close(false, &parker())));
    assert_eq!(queue.close(false, &parker()).err().unwrap().code(), Code::Cancelled);
    assert_eq!(enqueue(&queue, 2).err().unwrap().code(), Code::Cancelled);
    assert!(!queue.is_closed());
    assert_eq!(rest(&queue), [Some(Ok(0)), Some(Ok(1))]);
    assert!(queue.is_closed());
}

#[test]
fn cancelling_close_keeps_accepted_elements() {
    let queue = queue(Order::Fifo, 1);
    queue.accept(true);
    enqueue_many(&queue, vec![0, 1]).unwrap();
    assert!(is_done(queue.close(true, &parker())));
    assert_eq!(rest(&queue), [Some(Ok(0)), Some(Ok(1))]);
    assert_eq!(queue.save().err().unwrap().code(), Code::FailedPrecondition);
}

#[test]
fn cancelling_close_without_waiting_calls_can_be_saved() {
    let queue = queue(Order::Fifo, 1);
    assert!(is_done(queue.close(false, &parker())));
    assert!(is_done(queue.close(true, &parker())));
    assert!(queue.save().is_ok());
}

#[test]
fn queue_in_use_is_not_saved() {
    let full = queue(Order::Fifo, 1);
    enqueue(&full, 0).unwrap();
    let _waiting = enqueue(&full, 1).unwrap();
    assert_eq!(full.save().err().unwrap().code(), Code::FailedPrecondition);
    let taken = queue(Order::Fifo, 9);
    let empty = taken.dequeue(3, false, &parker()).unwrap();
    assert!(taken.save().is_ok());
    enqueue(&taken, 1).unwrap();
    assert_eq!(taken.save().err().unwrap().code(), Code::FailedPrecondition);
    drop(empty);
}

#[test]
fn many_elements_are_saved_in_several_chunks() {
    let spec =
        QueueSpec { capacity: None, dtypes: vec![DType::String], shapes: None, ..queue(SHUFFLE, 9).spec().clone() };
    let (first, second) = (Queue::new(spec.clone()).unwrap(), Queue::new(spec).unwrap());
    for length in 0..3000_usize {
        first.enqueue(Tensors::from_iter([Tensor::string(vec![7; length])]), &parker()).unwrap();
    }
    let chunks = saved(&first);
    assert!(chunks.len() > 4);
    restore(&second, chunks.clone()).unwrap();
    assert_eq!(saved(&second), chunks);
    assert_eq!(second.size(), 3000);
    assert!(restore(&second, chunks[..2].to_vec()).is_err());
    assert!(restore(&second, Vec::new()).is_err());
    assert_eq!(second.size(), 3000);
}

#[test]
fn saved_elements_of_the_wrong_type_are_rejected() {
    let first = queue(Order::Fifo, 9);
    enqueue(&first, 1).unwrap();
    for (dtypes, shapes) in [
        (vec![DType::Float64], vec![PartialShape::default()]),
        (vec![DType::Int64], vec![PartialShape::new(vec![Some(1)])]),
        (vec![DType::Int64; 2], vec![PartialShape::default(); 2]),
    ] {
        let other = Queue::new(QueueSpec { dtypes, shapes: Some(shapes), ..first.spec().clone() }).unwrap();
        assert!(restore(&other, saved(&first)).is_err());
    }
}
