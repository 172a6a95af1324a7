//! Runs that wait: the watch is called, and their errors name the operation.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]

use headrace_engine::error::{Code, Error, Result};
use headrace_engine::kernels::attrs::{Attr, Attrs};
use headrace_engine::program::{Program, ProgramBuilder};
use headrace_engine::run::Run;
use headrace_engine::sync::cancellation::{Cancellation, Watch};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::PartialShape;
use headrace_tf1::kernels::queues::queue as queue_kernels;
use headrace_tf1::queue::{Order, Queue, QueueSpec};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

fn queue() -> Arc<Queue> {
    Queue::new(QueueSpec {
        name: "q".into(),
        order: Order::Fifo,
        capacity: Some(1),
        dtypes: vec![DType::Int64],
        shapes: Some(vec![PartialShape::default()]),
    })
    .unwrap()
}

/// A program that dequeues one element from each queue, in operations named after their positions.
fn dequeue(queues: &[&Arc<Queue>]) -> Program {
    let mut builder = ProgramBuilder::new();
    for (index, queue) in queues.iter().enumerate() {
        let kernel = queue_kernels::build("QueueDequeueV2", &Attrs::default(), queue).unwrap().unwrap();
        builder.node(format!("dequeue{index}").into(), kernel, &[], &[], &[], 1).unwrap();
    }
    builder.build(vec![]).unwrap()
}

/// Reports the operations that it is called with, and ends the run at the last call.
#[derive(Debug)]
struct Report {
    calls: Mutex<mpsc::Sender<(Instant, Vec<String>)>>,
    num_calls: Mutex<usize>,
}

impl Watch for Report {
    fn patience(&self) -> Duration {
        Duration::from_millis(5)
    }

    fn look(&self, names: &[Arc<str>]) -> Result<()> {
        let names = names.iter().map(|name| name.to_string()).collect();
        self.calls.lock().unwrap().send((Instant::now(), names)).unwrap();
        let mut num_calls = self.num_calls.lock().unwrap();
        *num_calls -= 1;
        if *num_calls == 0 { Err(Error::new(Code::Unknown, "seen enough")) } else { Ok(()) }
    }
}

fn report(num_calls: usize) -> (Arc<Report>, mpsc::Receiver<(Instant, Vec<String>)>) {
    let (sender, calls) = mpsc::channel();
    (Arc::new(Report { calls: Mutex::new(sender), num_calls: Mutex::new(num_calls) }), calls)
}

#[test]
fn watch_is_called_at_growing_intervals_during_a_long_wait() {
    let (watch, calls) = report(3);
    let start = Instant::now();
    let cancellation = Cancellation::watched(watch);
    let (first, second) = (queue(), queue());
    let error = dequeue(&[&first, &second]).run(vec![], &Run::new(&cancellation)).unwrap_err();
    assert_eq!((error.code(), error.waiting().map(|name| &**name)), (Code::Unknown, Some("dequeue0")));
    for millis in [5, 10, 20] {
        let (when, names) = calls.recv().unwrap();
        assert!(when - start >= Duration::from_millis(millis));
        assert_eq!(names, ["dequeue0", "dequeue1"]);
    }
    assert!(calls.try_recv().is_err());
}

#[test]
fn watch_is_not_called_for_a_run_without_a_wait() {
    let (watch, calls) = report(1);
    let queue = queue();
    let mut builder = ProgramBuilder::new();
    let seven = builder.constant(Tensor::scalar(7_i64));
    let mut attrs = Attrs::default();
    attrs.insert("cancel_pending_enqueues", Attr::Bool(false));
    let kernel = queue_kernels::build("QueueEnqueueV2", &attrs, &queue).unwrap().unwrap();
    builder.node("enqueue".into(), kernel, &[seven], &[], &[], 0).unwrap();
    let cancellation = Cancellation::watched(watch);
    builder.build(vec![]).unwrap().run(vec![], &Run::new(&cancellation)).unwrap();
    dequeue(&[&queue]).run(vec![], &Run::new(&cancellation)).unwrap();
    drop(cancellation);
    assert!(calls.recv().is_err());
}

#[test]
fn deadline_error_names_the_waiting_operation() {
    let cancellation = Cancellation::new();
    // Long enough for a busy machine to begin the wait.
    let run = Run::new(&cancellation).with_deadline(Some(Instant::now() + Duration::from_secs(1)));
    let error = dequeue(&[&queue()]).run(vec![], &run).unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded);
    assert_eq!((error.op(), error.waiting().map(|name| &**name)), (None, Some("dequeue0")));
}

#[test]
fn child_is_cancelled_with_its_parent_or_separately() {
    let parent = Cancellation::new();
    let (first, second) = (parent.child(), parent.child());
    let queue = queue();
    let program = dequeue(&[&queue]);
    thread::scope(|scope| {
        let runs = [&first, &second].map(|child| scope.spawn(|| program.run(vec![], &Run::new(child)).unwrap_err()));
        while queue.stats().num_waiting_dequeues < 2 {
            thread::yield_now();
        }
        first.cancel();
        let [one, other] = runs;
        assert_eq!(one.join().unwrap().code(), Code::Cancelled);
        assert!(!parent.is_cancelled() && !second.is_cancelled() && !other.is_finished());
        parent.cancel();
        assert_eq!(other.join().unwrap().code(), Code::Cancelled);
    });
    assert!(second.is_cancelled() && parent.child().is_cancelled());
}
