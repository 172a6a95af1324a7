//! The queue core under every interleaving of two and three threads: no lost wake-up, no lost or
//! duplicated element.
//!
//! Run with `cargo test --release -p headrace-engine --features loom --test loom_queue`.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]

use headrace_engine::error::{Code, Result};
use headrace_engine::kernel::Tensors;
use headrace_engine::sync::cancellation::Cancellation;
use headrace_engine::sync::parker::Parker;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::{PartialShape, Shape};
use headrace_tf1::queue::{Element, Left, Order, Progress, Queue, QueueSpec};
use loom::thread;
use std::sync::Arc;

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

/// Waits for a request, as a run does.
fn wait(progress: Result<Progress>, parker: &Parker) -> Result<Vec<i64>> {
    let elements = match progress? {
        Progress::Done(elements) => elements,
        Progress::Waiting(mut waiting) => loop {
            if let Some(outcome) = waiting.poll() {
                break outcome?;
            }
            parker.park();
        },
    };
    Ok(elements.iter().map(Element::priority).collect())
}

fn enqueue(queue: &Arc<Queue>, values: &[i64]) -> Result<Vec<i64>> {
    let parker = Arc::new(Parker::new());
    let batch = Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap();
    wait(queue.enqueue_many(Tensors::from_iter([batch]), &parker), &parker)
}

fn dequeue(queue: &Arc<Queue>, count: usize) -> Result<Vec<i64>> {
    let parker = Arc::new(Parker::new());
    wait(queue.dequeue(count, false, &parker), &parker)
}

fn close(queue: &Arc<Queue>, cancel_pending: bool) -> Result<Vec<i64>> {
    let parker = Arc::new(Parker::new());
    wait(queue.close(cancel_pending, &parker), &parker)
}

/// Takes all remaining elements of a closed queue.
fn drain(queue: &Arc<Queue>) -> Vec<i64> {
    std::iter::from_fn(|| dequeue(queue, 1).ok()).flatten().collect()
}

#[test]
fn every_element_passes_from_producer_to_consumer_in_order() {
    loom::model(|| {
        let q = queue(Order::Fifo, 1);
        let producer = thread::spawn({
            let q = Arc::clone(&q);
            move || enqueue(&q, &[1, 2, 3]).map(|_| ())
        });
        assert_eq!(dequeue(&q, 2).unwrap(), [1, 2]);
        assert_eq!(dequeue(&q, 1).unwrap(), [3]);
        producer.join().unwrap().unwrap();
    });
}

#[test]
fn two_producers_lose_and_duplicate_nothing() {
    loom::model(|| {
        let q = queue(Order::Fifo, 1);
        let producers = [1, 2].map(|value| {
            let q = Arc::clone(&q);
            thread::spawn(move || enqueue(&q, &[value]).map(|_| ()))
        });
        let mut taken = dequeue(&q, 2).unwrap();
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
        producers.into_iter().for_each(|producer| producer.join().unwrap().unwrap());
    });
}

#[test]
fn two_consumers_share_the_elements() {
    loom::model(|| {
        let q = queue(Order::Shuffle { min_after_dequeue: 0, seed: 1, seed2: 1 }, 2);
        let consumers = [(); 2].map(|()| {
            let q = Arc::clone(&q);
            thread::spawn(move || dequeue(&q, 1).unwrap()[0])
        });
        enqueue(&q, &[1, 2]).unwrap();
        let mut taken = consumers.map(|consumer| consumer.join().unwrap());
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
    });
}

#[test]
fn close_wakes_a_consumer_that_waits_for_more_elements() {
    loom::model(|| {
        let q = queue(Order::Fifo, 4);
        let consumer = thread::spawn({
            let q = Arc::clone(&q);
            move || dequeue(&q, 2)
        });
        enqueue(&q, &[1]).unwrap();
        close(&q, false).unwrap();
        assert_eq!(consumer.join().unwrap().unwrap_err().code(), Code::OutOfRange);
        assert_eq!(drain(&q), [1]);
    });
}

#[test]
fn consumer_that_leaves_while_being_served_loses_nothing() {
    loom::model(|| {
        let q = queue(Order::Fifo, 4);
        let producer = thread::spawn({
            let q = Arc::clone(&q);
            move || enqueue(&q, &[1, 2]).unwrap()
        });
        let taken = match q.dequeue(2, false, &Arc::new(Parker::new())).unwrap() {
            Progress::Done(_) => vec![1, 2],
            Progress::Waiting(mut waiting) => match waiting.leave() {
                Left::Served(outcome) => outcome.unwrap().iter().map(Element::priority).collect(),
                Left::Unserved(_) => Vec::new(),
            },
        };
        producer.join().unwrap();
        close(&q, false).unwrap();
        let all = if taken.is_empty() { drain(&q) } else { taken };
        assert_eq!(all, [1, 2]);
    });
}

#[test]
fn cancelling_close_wakes_a_producer_and_keeps_its_added_elements() {
    loom::model(|| {
        let q = queue(Order::Fifo, 1);
        let producer = thread::spawn({
            let q = Arc::clone(&q);
            move || enqueue(&q, &[1, 2])
        });
        close(&q, true).unwrap();
        let error = producer.join().unwrap().unwrap_err();
        assert_eq!(error.code(), Code::Cancelled);
        let left = drain(&q);
        assert!(left.is_empty() || left == [1], "{left:?}");
    });
}

#[test]
fn plain_close_lets_a_waiting_producer_finish() {
    loom::model(|| {
        let q = queue(Order::Fifo, 1);
        let producer = thread::spawn({
            let q = Arc::clone(&q);
            move || enqueue(&q, &[1, 2]).is_ok()
        });
        let closer = thread::spawn({
            let q = Arc::clone(&q);
            move || close(&q, false).unwrap()
        });
        let taken = drain(&q);
        closer.join().unwrap();
        let expected: &[i64] = if producer.join().unwrap() { &[1, 2] } else { &[] };
        assert_eq!(taken, expected);
    });
}

#[test]
fn cancelling_always_wakes_the_waiting_call() {
    loom::model(|| {
        let cancellation = Arc::new(Cancellation::new());
        let waiter = thread::spawn({
            let cancellation = Arc::clone(&cancellation);
            move || {
                let parker = Arc::new(Parker::new());
                let _registration = cancellation.register(&parker);
                while !cancellation.is_cancelled() {
                    parker.park();
                }
            }
        });
        cancellation.cancel();
        waiter.join().unwrap();
    });
}

#[test]
fn enqueue_completes_without_space_if_the_queue_accepts_more() {
    loom::model(|| {
        let queue = queue(Order::Fifo, 1);
        let producer = {
            let queue = Arc::clone(&queue);
            thread::spawn(move || enqueue(&queue, &[1, 2]))
        };
        queue.accept(true);
        producer.join().unwrap().unwrap();
        queue.accept(false);
        assert_eq!(queue.size(), 1);
        assert_eq!(dequeue(&queue, 2).unwrap(), [1, 2]);
    });
}
