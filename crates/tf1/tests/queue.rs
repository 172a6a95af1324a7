//! The rules of queues, step by step. Waiting requests are polled, so no thread and no clock is
//! needed.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]

use headrace_engine::error::{Code, Error, Result};
use headrace_engine::kernel::Tensors;
use headrace_engine::run::{Interrupt, Run};
use headrace_engine::sync::cancellation::Cancellation;
use headrace_engine::sync::parker::Parker;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::{PartialShape, Shape};
use headrace_tf1::queue::{Element, Elements, Left, Order, Progress, Queue, QueueSpec, Unfinished, Waiting};
use std::sync::Arc;
use std::time::Instant;

/// A queue of scalar int64 and the calls of a test.
struct Fixture {
    queue: Arc<Queue>,
    parker: Arc<Parker>,
}

fn queue(order: Order, capacity: usize) -> Fixture {
    let spec = QueueSpec {
        name: "q".into(),
        order,
        capacity: Some(capacity),
        dtypes: vec![DType::Int64],
        shapes: Some(vec![PartialShape::default()]),
    };
    Fixture { queue: Queue::new(spec).unwrap(), parker: Arc::new(Parker::new()) }
}

fn fifo(capacity: usize) -> Fixture {
    queue(Order::Fifo, capacity)
}

fn numbers(elements: &Elements) -> Vec<i64> {
    elements.iter().map(Element::priority).collect()
}

fn done(progress: Result<Progress>) -> Vec<i64> {
    match progress.unwrap() {
        Progress::Done(elements) => numbers(&elements),
        Progress::Waiting(_) => panic!("the call waits"),
    }
}

fn waiting(progress: Result<Progress>) -> Waiting {
    match progress.unwrap() {
        Progress::Done(elements) => panic!("the call is done with {:?}", numbers(&elements)),
        Progress::Waiting(waiting) => waiting,
    }
}

fn outcome(waiting: &mut Waiting) -> Vec<i64> {
    numbers(&waiting.poll().expect("the call still waits").unwrap())
}

fn failure(waiting: &mut Waiting) -> Error {
    waiting.poll().expect("the call still waits").unwrap_err()
}

impl Fixture {
    fn enqueue(&self, value: i64) -> Result<Progress> {
        self.queue.enqueue(Tensors::from_iter([Tensor::scalar(value)]), &self.parker)
    }

    fn enqueue_many(&self, values: impl Iterator<Item = i64>) -> Result<Progress> {
        let values: Vec<i64> = values.collect();
        let batch = Tensor::from_values(Shape::new(&[values.len()]), values).unwrap();
        self.queue.enqueue_many(Tensors::from_iter([batch]), &self.parker)
    }

    fn dequeue(&self, count: usize) -> Result<Progress> {
        self.queue.dequeue(count, false, &self.parker)
    }

    fn dequeue_up_to(&self, count: usize) -> Result<Progress> {
        self.queue.dequeue(count, true, &self.parker)
    }

    fn close(&self) -> Result<Progress> {
        self.queue.close(false, &self.parker)
    }

    fn close_and_cancel(&self) -> Result<Progress> {
        self.queue.close(true, &self.parker)
    }
}

#[test]
fn fifo_queue_keeps_the_order() {
    let q = fifo(10);
    done(q.enqueue(1));
    done(q.enqueue_many(2..5));
    assert_eq!(done(q.dequeue(1)), [1]);
    assert_eq!(done(q.dequeue(3)), [2, 3, 4]);
}

#[test]
fn enqueue_waits_until_there_is_space() {
    let q = fifo(1);
    done(q.enqueue(1));
    let mut second = waiting(q.enqueue(2));
    assert!(second.poll().is_none());
    assert_eq!(done(q.dequeue(1)), [1]);
    assert!(q.parker.park_timeout(std::time::Duration::ZERO), "the waiting thread was not woken");
    outcome(&mut second);
    assert_eq!(q.queue.size(), 1);
}

#[test]
fn enqueue_many_adds_rows_as_space_appears_before_later_enqueues() {
    let q = fifo(3);
    let mut many = waiting(q.enqueue_many(0..5));
    assert_eq!(q.queue.size(), 3);
    let mut other = waiting(q.enqueue(9));
    assert_eq!(done(q.dequeue(3)), [0, 1, 2]);
    outcome(&mut many);
    outcome(&mut other);
    assert_eq!(done(q.dequeue(3)), [3, 4, 9]);
}

#[test]
fn batch_longer_than_the_prepared_rows_arrives_completely() {
    let q = fifo(10);
    let mut many = waiting(q.enqueue_many(0..1000));
    let taken: Vec<i64> = (0..100).flat_map(|_| done(q.dequeue(10))).collect();
    outcome(&mut many);
    assert_eq!(taken, (0..1000).collect::<Vec<i64>>());
}

#[test]
fn dequeue_many_takes_elements_as_they_arrive_and_can_exceed_the_capacity() {
    let q = fifo(2);
    let mut many = waiting(q.dequeue(5));
    done(q.enqueue_many(0..2));
    assert_eq!(q.queue.size(), 0);
    done(q.enqueue_many(2..4));
    assert!(many.poll().is_none());
    done(q.enqueue(4));
    assert_eq!(outcome(&mut many), [0, 1, 2, 3, 4]);
}

#[test]
fn requests_are_served_in_order_of_arrival() {
    let q = fifo(10);
    let mut many = waiting(q.dequeue(3));
    let mut one = waiting(q.dequeue(1));
    done(q.enqueue(0));
    assert!(many.poll().is_none() && one.poll().is_none());
    done(q.enqueue_many(1..4));
    assert_eq!(outcome(&mut many), [0, 1, 2]);
    assert_eq!(outcome(&mut one), [3]);
}

#[test]
fn closed_queue_returns_its_remaining_elements_and_then_ends() {
    let q = fifo(10);
    done(q.enqueue_many(0..3));
    done(q.close());
    let error = q.enqueue(9).err().unwrap();
    assert_eq!((error.code(), error.message()), (Code::Cancelled, "FIFOQueue 'q' is closed."));
    let error = q.dequeue(5).err().unwrap();
    let text = "FIFOQueue 'q' is closed and has insufficient elements (requested 5, current size 3)";
    assert_eq!((error.code(), error.message()), (Code::OutOfRange, text));
    assert_eq!(done(q.dequeue_up_to(5)), [0, 1, 2]);
    assert_eq!(q.dequeue_up_to(5).err().unwrap().code(), Code::OutOfRange);
}

#[test]
fn close_returns_the_elements_of_a_waiting_dequeue_to_the_front() {
    let q = fifo(10);
    done(q.enqueue_many(1..4));
    let mut many = waiting(q.dequeue(5));
    assert_eq!(q.queue.size(), 0);
    done(q.close());
    assert!(failure(&mut many).message().contains("(requested 2, current size 0)"));
    assert_eq!(done(q.dequeue_up_to(5)), [1, 2, 3]);
}

#[test]
fn dequeue_up_to_waits_for_all_while_the_queue_is_open() {
    let q = fifo(10);
    done(q.enqueue_many(1..4));
    let mut some = waiting(q.dequeue_up_to(5));
    done(q.close());
    assert_eq!(outcome(&mut some), [1, 2, 3]);
}

#[test]
fn plain_close_waits_for_earlier_enqueues() {
    let q = fifo(1);
    done(q.enqueue(0));
    let mut enqueue = waiting(q.enqueue(1));
    let mut close = waiting(q.close());
    let mut late = waiting(q.enqueue(2));
    assert!(!q.queue.is_closed());
    assert_eq!(done(q.dequeue(1)), [0]);
    outcome(&mut enqueue);
    outcome(&mut close);
    assert!(q.queue.is_closed());
    assert_eq!(failure(&mut late).message(), "FIFOQueue 'q' is closed.");
    assert_eq!(q.close().err().unwrap().message(), "Queue 'q' is already closed.");
}

#[test]
fn cancelling_close_ends_waiting_enqueues_and_keeps_their_added_elements() {
    let q = fifo(3);
    let mut many = waiting(q.enqueue_many(0..10));
    let mut close = waiting(q.close());
    done(q.close_and_cancel());
    let text = "Enqueue operation was cancelled. It had added 3 of 10 elements, which stay";
    assert_eq!(failure(&mut many).message(), text);
    assert_eq!(failure(&mut close).message(), "Enqueue operation was cancelled");
    assert_eq!(done(q.dequeue(3)), [0, 1, 2]);
    assert_eq!(q.dequeue(1).err().unwrap().code(), Code::OutOfRange);
    done(q.close_and_cancel());
}

#[test]
fn cancelled_dequeue_leaves_the_wait_queue_and_the_next_one_is_served() {
    let q = fifo(10);
    let mut many = waiting(q.dequeue(2));
    let mut one = waiting(q.dequeue(1));
    done(q.enqueue(0));
    assert_eq!(many.cancel().message(), "Dequeue operation was cancelled");
    done(q.enqueue(1));
    assert_eq!(outcome(&mut one), [1]);
    assert_eq!(q.queue.stats().num_waiting_dequeues, 0);
}

#[test]
fn dropping_a_waiting_request_cancels_it() {
    let q = fifo(10);
    drop(waiting(q.dequeue(1)));
    done(q.enqueue(7));
    assert_eq!(q.queue.size(), 1);
}

/// The number of elements that a call had moved, which gave up before it was served.
fn moved(mut waiting: Waiting) -> usize {
    match waiting.leave() {
        Left::Served(_) => panic!("the call was served"),
        Left::Unserved(num_moved) => num_moved,
    }
}

#[test]
fn cancelled_dequeue_returns_its_elements_to_the_front() {
    let q = fifo(10);
    done(q.enqueue_many(0..3));
    let many = waiting(q.dequeue(5));
    assert_eq!((q.queue.size(), q.queue.stats().num_dequeued), (0, 3));
    assert_eq!(moved(many), 3);
    assert_eq!((q.queue.size(), q.queue.stats().num_dequeued), (3, 0));
    done(q.enqueue(3));
    assert_eq!(done(q.dequeue(4)), [0, 1, 2, 3]);
}

#[test]
fn returned_elements_go_to_the_next_waiter() {
    let q = fifo(10);
    done(q.enqueue_many(0..2));
    let many = waiting(q.dequeue(5));
    let mut next = waiting(q.dequeue(2));
    assert_eq!(moved(many), 2);
    assert_eq!(outcome(&mut next), [0, 1]);
}

#[test]
fn cancelled_enqueue_returns_the_number_of_added_elements() {
    let q = fifo(3);
    let many = waiting(q.enqueue_many(0..1000));
    let mut next = waiting(q.enqueue(7));
    done(q.dequeue(1));
    assert_eq!(moved(many), 4);
    assert_eq!(done(q.dequeue(3)), [1, 2, 3]);
    outcome(&mut next);
    assert_eq!(moved(waiting(q.dequeue(2))), 1);
    assert_eq!(q.queue.size(), 1);
}

#[test]
fn call_served_before_it_is_cancelled_receives_its_result() {
    let q = fifo(3);
    let mut one = waiting(q.dequeue(1));
    done(q.enqueue(7));
    let Left::Served(outcome) = one.leave() else { panic!("the call was not served") };
    assert_eq!(numbers(&outcome.unwrap()), [7]);
}

/// A signal that arrives after `self.0` has run.
struct Signal<F>(F);

impl<F: Fn()> Interrupt for Signal<F> {
    fn check(&self) -> Result<()> {
        (self.0)();
        Err(Error::new(Code::Unknown, "signal"))
    }
}

/// Waits in a call until a signal comes, and calls `before` just before it. Returns the number of
/// elements that the call had moved.
fn interrupted(waiting: Waiting, before: impl Fn()) -> usize {
    let signal = Signal(before);
    let cancellation = Cancellation::new();
    let run = Run::new(&cancellation).with_interrupt(Some(&signal));
    let Unfinished { error, num_moved } = waiting.wait(&run).unwrap_err();
    assert_eq!(error.message(), "signal");
    num_moved
}

#[test]
fn signal_loses_no_element_even_if_the_call_is_served_at_the_same_time() {
    let q = fifo(2);
    assert_eq!(interrupted(waiting(q.dequeue(2)), || drop(q.enqueue_many(0..2))), 2);
    assert_eq!(q.queue.size(), 2);
    assert_eq!(interrupted(waiting(q.enqueue_many(2..6)), || drop(q.dequeue(1))), 1);
    assert_eq!(interrupted(waiting(q.enqueue_many(3..5)), || drop(q.dequeue(2))), 2);
    assert_eq!(done(q.dequeue(2)), [3, 4]);
    assert_eq!(interrupted(waiting(q.dequeue(1)), || drop(q.close())), 0);
}

#[test]
fn wait_ends_at_its_deadline() {
    let q = fifo(10);
    done(q.enqueue(0));
    let cancellation = Cancellation::new();
    let run = Run::new(&cancellation).with_deadline(Some(Instant::now()));
    let Unfinished { error, num_moved } = waiting(q.dequeue(2)).wait(&run).unwrap_err();
    assert_eq!((error.code(), num_moved, q.queue.size()), (Code::DeadlineExceeded, 1, 1));
}

#[test]
fn call_served_at_the_deadline_receives_its_result() {
    let q = fifo(10);
    let late = waiting(q.dequeue(1));
    done(q.enqueue(7));
    let elements = late.end(Error::new(Code::DeadlineExceeded, "late")).ok().unwrap();
    assert_eq!(numbers(&elements), [7]);
}

#[test]
fn empty_requests_succeed_on_a_closed_queue() {
    let q = fifo(1);
    done(q.close());
    done(q.enqueue_many(0..0));
    assert!(done(q.dequeue(0)).is_empty());
}

#[test]
fn shuffle_queue_keeps_min_after_dequeue_until_it_is_closed() {
    let q = queue(Order::Shuffle { min_after_dequeue: 3, seed: 1, seed2: 2 }, 10);
    done(q.enqueue_many(0..5));
    let mut taken = done(q.dequeue(2));
    let mut many = waiting(q.dequeue(2));
    assert_eq!(q.queue.size(), 3);
    done(q.close());
    taken.extend(outcome(&mut many));
    taken.extend(done(q.dequeue(1)));
    taken.sort_unstable();
    assert_eq!(taken, [0, 1, 2, 3, 4]);
}

#[test]
fn seeds_reproduce_the_order_of_a_shuffle_queue() {
    let draw = |seed| {
        let q = queue(Order::Shuffle { min_after_dequeue: 0, seed, seed2: 5 }, 100);
        done(q.enqueue_many(0..100));
        done(q.dequeue(100))
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    assert_ne!(draw(0), (0..100).collect::<Vec<i64>>());
}

#[test]
fn min_after_dequeue_must_be_less_than_the_capacity() {
    let spec = QueueSpec {
        name: "q".into(),
        order: Order::Shuffle { min_after_dequeue: 4, seed: 0, seed2: 0 },
        capacity: Some(4),
        dtypes: vec![DType::Int64],
        shapes: None,
    };
    assert_eq!(Queue::new(spec).err().unwrap().message(), "min_after_dequeue 4 must be < capacity 4");
}

#[test]
fn priority_dequeue_removes_nothing_until_all_elements_have_arrived() {
    let q = queue(Order::Priority, 10);
    done(q.enqueue_many([5, 1].into_iter()));
    let mut three = waiting(q.dequeue(3));
    assert_eq!(q.queue.size(), 2);
    done(q.enqueue(3));
    assert_eq!(outcome(&mut three), [1, 3, 5]);
}

#[test]
fn types_and_shapes_are_checked_before_anything_moves() {
    let q = fifo(10);
    let text = |component: Tensor| {
        q.queue.enqueue(Tensors::from_iter([component]), &q.parker).err().unwrap().message().to_owned()
    };
    let vector = Tensor::from_values(Shape::new(&[3]), vec![1_i64, 2, 3]).unwrap();
    assert_eq!(text(vector), "Shape mismatch in tuple component 0. Expected [], got [3]");
    assert_eq!(text(Tensor::scalar(1_f32)), "Signature mismatch, have: float expected: int64");
    assert_eq!(q.queue.size(), 0);
}

#[test]
fn statistics_count_elements_and_waiting_calls() {
    let q = fifo(2);
    done(q.enqueue_many(0..2));
    let enqueue = waiting(q.enqueue(2));
    let stats = q.queue.stats();
    assert_eq!((stats.size, stats.num_enqueued, stats.num_waiting_enqueues), (2, 2, 1));
    done(q.dequeue(2));
    let stats = q.queue.stats();
    assert_eq!((stats.size, stats.num_enqueued, stats.num_dequeued, stats.num_waiting_enqueues), (1, 3, 2, 0));
    assert!(stats.enqueue_blocked_ns > 0);
    drop(enqueue);
}

#[test]
fn blocked_time_includes_waiting_and_cancelled_calls() {
    let q = fifo(2);
    let dequeue = waiting(q.dequeue(1));
    let waits = q.queue.stats().dequeue_blocked_ns;
    drop(dequeue);
    let left = q.queue.stats().dequeue_blocked_ns;
    assert!(0 < waits && waits < left);
    assert_eq!(q.queue.stats().dequeue_blocked_ns, left);
}
