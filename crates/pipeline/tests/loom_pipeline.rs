//! The executor of pipelines and its budget under the interleavings of two to four threads: rows
//! come in order, an error comes after the rows before it, every task finds an idle worker, and
//! everybody returns after the close.
//!
//! Under loom a wait never times out, so a lost wake-up of the consumer is a deadlock too.
//!
//! Run with `cargo test --release -p headrace-pipeline --features loom --test loom_pipeline`.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]

use headrace_engine::error::{Error, Result};
use headrace_engine::sync::{Condvar, Mutex};
use headrace_pipeline::blocks::block::{Block, Provenance};
use headrace_pipeline::blocks::rows::Rows;
use headrace_pipeline::budget::Budget;
use headrace_pipeline::checkpoint::Checkpoint;
use headrace_pipeline::execution::executor::{Executor, Output};
use headrace_pipeline::function_states::FunctionState;
use headrace_pipeline::node::{Context, Node, Poll};
use headrace_pipeline::tasks::size_estimate::SizeEstimate;
use headrace_pipeline::tasks::task::{Outcome, PythonTask, Ring};
use loom::thread::{self, JoinHandle};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The work of one task: it returns the number of rows of a block.
type Job = Box<dyn FnOnce() -> Result<usize> + Send>;

enum Task {
    Native(Job),
    /// For the thread of Python worker 0.
    PythonSource,
}

/// Starts the tasks of one wave after the other, each wave once all results of the previous one
/// were returned.
struct Waves {
    waves: VecDeque<Vec<Task>>,
    ring: Ring<Outcome>,
}

/// A block without columns, identified only by its number of rows.
fn outcome(num_rows: usize) -> Result<Outcome> {
    Block::new(Vec::new(), num_rows, Provenance::Unknown).map(|block| Rows::all(block).into())
}

impl Node for Waves {
    fn pull(&mut self, context: &mut Context) -> Result<Poll> {
        if self.ring.is_empty() {
            let Some(wave) = self.waves.pop_front() else { return Ok(Poll::End) };
            for task in wave {
                let slot = self.ring.start(Checkpoint::default());
                match task {
                    Task::Native(job) => context.start(0, Box::new(move || slot.set(job().and_then(outcome)))),
                    Task::PythonSource => {
                        let (rows, charge) = (Rows::new(), context.budget.charge(1));
                        let (size_estimate, target_bytes) = (SizeEstimate::default(), 1);
                        let task = PythonTask {
                            rows,
                            pass: 0,
                            first: 0,
                            state: FunctionState::default(),
                            skipper: None,
                            stage: 0,
                            charge,
                            scratch_bytes: 0,
                            target_bytes,
                            size_estimate,
                            slot,
                        };
                        context.start_python(0, task)?;
                    }
                }
            }
        }
        self.ring.pop().map_or(Ok(Poll::Pending), |(_, result)| Ok(Poll::Ready(result?.rows)))
    }
}

fn executor<const N: usize>(waves: [Vec<Task>; N], max_outputs: usize) -> Arc<Executor> {
    let root = Waves { waves: waves.into(), ring: Ring::new() };
    Arc::new(Executor::new(Box::new(root), 1, Budget::new(usize::MAX), max_outputs))
}

fn gives(num_rows: usize) -> Task {
    Task::Native(Box::new(move || Ok(num_rows)))
}

fn fails() -> Task {
    Task::Native(Box::new(|| Err(Error::internal("failed on purpose"))))
}

fn spawn<T: 'static>(executor: &Arc<Executor>, work: impl FnOnce(&Executor) -> T + 'static) -> JoinHandle<T> {
    let executor = Arc::clone(executor);
    thread::spawn(move || work(&executor))
}

fn workers<const N: usize>(executor: &Arc<Executor>) -> [JoinHandle<()>; N] {
    [(); N].map(|()| spawn(executor, Executor::work))
}

/// Does the tasks of Python worker 0, of 1, 2, ... rows, until the pipeline is closed. Returns how
/// many it did.
fn work_as_python_worker(executor: &Executor) -> usize {
    let mut num_done = 0;
    while let Some((task, _)) = executor.take_python(0) {
        num_done += 1;
        task.slot.set(outcome(num_done));
        executor.end_python();
    }
    num_done
}

/// The sizes of all blocks, and whether an error came after them.
fn consume(executor: &Executor) -> (Vec<usize>, bool) {
    let mut sizes = Vec::new();
    loop {
        match executor.next(Duration::MAX) {
            Ok(Output::Block(block, _)) => sizes.push(block.num_rows()),
            Ok(Output::Timeout | Output::SkipEvent(_) | Output::LaneEnd(_)) => (),
            Ok(Output::End) => return (sizes, false),
            Err(_) => return (sizes, true),
        }
    }
}

fn close<const N: usize>(executor: &Executor, threads: [JoinHandle<()>; N]) {
    executor.close();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// Explores at most three preemptions, or the number in `LOOM_MAX_PREEMPTIONS`; with four, some of
/// the models take minutes.
fn model(work: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(3));
    builder.check(work);
}

#[test]
fn two_workers_yield_rows_in_order_and_return_after_close() {
    model(|| {
        let executor = executor([vec![gives(1), gives(2)]], 1);
        let workers = workers::<2>(&executor);
        executor.start();
        assert_eq!(consume(&executor), (vec![1, 2], false));
        close(&executor, workers);
    });
}

#[test]
fn worker_and_consumer_wake_each_other_repeatedly() {
    loom::model(|| {
        let executor = executor([vec![gives(1)], vec![gives(2)]], 1);
        let workers = workers::<1>(&executor);
        executor.start();
        assert_eq!(consume(&executor), (vec![1, 2], false));
        close(&executor, workers);
    });
}

#[test]
fn consumer_that_looks_ahead_receives_more_outputs_than_can_wait() {
    model(|| {
        let executor = executor([vec![gives(1)], vec![gives(2)]], 1);
        let workers = workers::<1>(&executor);
        executor.start();
        assert!(executor.look_ahead(Duration::MAX));
        executor.look_ahead(Duration::MAX);
        assert_eq!(executor.snapshot().num_ready, 2);
        assert_eq!(consume(&executor), (vec![1, 2], false));
        close(&executor, workers);
    });
}

#[test]
fn python_worker_polls_while_the_consumer_looks_ahead() {
    model(|| {
        let executor = executor([vec![Task::PythonSource], vec![Task::PythonSource]], 1);
        let worker = spawn(&executor, work_as_python_worker);
        executor.start();
        executor.look_ahead(Duration::MAX);
        executor.look_ahead(Duration::MAX);
        assert_eq!(executor.snapshot().num_ready, 2);
        assert_eq!(consume(&executor), (vec![1, 2], false));
        executor.close();
        assert_eq!(worker.join().unwrap(), 2);
    });
}

#[test]
fn error_is_raised_once_after_the_preceding_rows() {
    model(|| {
        let executor = executor([vec![gives(1), fails(), gives(3)]], 2);
        let workers = workers::<2>(&executor);
        executor.start();
        assert_eq!(consume(&executor), (vec![1], true));
        assert_eq!(consume(&executor), (vec![], false), "an error ends the pipeline");
        close(&executor, workers);
    });
}

/// Two tasks, each ending only after the other has begun.
fn partners() -> Vec<Task> {
    let shared = Arc::new((Mutex::new(0), Condvar::new()));
    let partner = |num_rows| {
        let shared = Arc::clone(&shared);
        Task::Native(Box::new(move || {
            let (num_begun, has_begun) = &*shared;
            let mut num_begun = num_begun.lock();
            *num_begun += 1;
            has_begun.notify_one();
            while *num_begun < 2 {
                num_begun = has_begun.wait(num_begun);
            }
            Ok(num_rows)
        }))
    };
    vec![partner(2), partner(3)]
}

#[test]
fn one_worker_wakes_for_each_task() {
    model(|| {
        let executor = executor([partners()], 2);
        let workers = workers::<2>(&executor);
        executor.start();
        assert_eq!(consume(&executor), (vec![2, 3], false));
        close(&executor, workers);
    });
}

#[test]
fn worker_that_finds_more_tasks_wakes_another_worker() {
    model(|| {
        let executor = executor([vec![gives(1)], partners()], 3);
        let workers = workers::<2>(&executor);
        executor.start();
        assert_eq!(consume(&executor), (vec![1, 2, 3], false));
        close(&executor, workers);
    });
}

#[test]
fn close_ends_the_workers_and_a_waiting_consumer() {
    model(|| {
        let executor = executor([vec![gives(1), gives(2)]], 1);
        let workers = workers::<2>(&executor);
        let consumer = spawn(&executor, consume);
        executor.start();
        close(&executor, workers);
        let (sizes, has_failed) = consumer.join().unwrap();
        assert!([1, 2].starts_with(&sizes) && !has_failed);
    });
}

#[test]
fn python_worker_runs_alongside_a_worker_until_close() {
    model(|| {
        let executor = executor([vec![Task::PythonSource, gives(5), Task::PythonSource]], 2);
        let python_worker = spawn(&executor, work_as_python_worker);
        let workers = workers::<1>(&executor);
        executor.start();
        assert_eq!(consume(&executor), (vec![1, 5, 2], false));
        close(&executor, workers);
        assert_eq!(python_worker.join().unwrap(), 2);
    });
}

#[test]
fn close_ends_a_waiting_or_running_python_worker() {
    loom::model(|| {
        let executor = executor([vec![Task::PythonSource], vec![Task::PythonSource]], 1);
        let python_worker = spawn(&executor, work_as_python_worker);
        executor.start();
        executor.close();
        assert!(python_worker.join().unwrap() <= 2);
        assert_eq!(consume(&executor), (vec![], false));
    });
}

#[test]
fn try_charge_never_exceeds_the_limit() {
    loom::model(|| {
        let budget = Budget::new(5);
        let use_twice = |budget: &Arc<Budget>| {
            for _ in 0..2 {
                let charge = budget.try_charge(3);
                assert!(budget.used_bytes() <= 5);
                drop(charge);
            }
        };
        let other = thread::spawn({
            let budget = Arc::clone(&budget);
            move || use_twice(&budget)
        });
        use_twice(&budget);
        other.join().unwrap();
        assert_eq!(budget.used_bytes(), 0);
        assert!(budget.try_charge(5).is_some());
    });
}

#[test]
fn charge_is_corrected_while_others_are_attempted() {
    loom::model(|| {
        let budget = Budget::new(5);
        let mut corrected = budget.try_charge(4).unwrap();
        let other = thread::spawn({
            let budget = Arc::clone(&budget);
            move || {
                let charges = [budget.try_charge(2), budget.try_charge(2)];
                // Two fit only while the first charge is at most 1.
                assert!(budget.used_bytes() <= 7);
                charges.iter().flatten().count()
            }
        });
        corrected.correct(1);
        corrected.correct(3);
        drop(corrected);
        assert!(other.join().unwrap() <= 2);
        assert_eq!(budget.used_bytes(), 0);
    });
}
