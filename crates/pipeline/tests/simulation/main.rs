//! Random pipelines under random schedules: the rows depend only on the description, every waiting
//! thread returns after the end or a close, and no charge to the budget remains.
//!
//! shuttle draws the thread that continues at every lock, wait and atomic operation, and nothing
//! depends on time: the same seed gives the same schedules. As under loom a wait never times out,
//! so a lost wake-up is a deadlock. Run with `cargo test -p headrace-pipeline --features shuttle
//! --test simulation`. `HEADRACE_SCHEDULES` is the total number of schedules, `HEADRACE_SEED` is
//! the first seed.
#![expect(clippy::unwrap_used, reason = "also the helpers of tests may fail")]

mod made_up;

use headrace_pipeline::blocks::rows::Rows;
use headrace_pipeline::budget::Budget;
use headrace_pipeline::checkpoint::Checkpoint;
use headrace_pipeline::execution::executor::{Executor, Output};
use headrace_pipeline::plan::Settings;
use headrace_pipeline::skip_event::SkipEvent;
use headrace_pipeline::tasks::task::Outcome;
use made_up::{Directory, Draws, MadeUp, strings};
use shuttle::scheduler::{PctScheduler, RandomScheduler, RoundRobinScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner, thread};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The number of ways in which a pipeline is run, and of schedules for each.
const WAYS: usize = 5;
const SCHEDULES: usize = 10;
/// Number of times that a schedule of the second kind changes the order of threads.
const CHANGES: usize = 4;
/// The number of further pipelines by default.
const PIPELINES: usize = 20;

/// A way to run a pipeline.
#[derive(Clone, Copy, Debug)]
struct Way {
    num_workers: usize,
    limit_bytes: usize,
    max_outputs: usize,
    /// True if the pipeline is closed while it runs.
    is_closed: bool,
    /// The row at which it is resumed afterwards, modulo the number of rows.
    resumed_at: Option<usize>,
}

const ALONE: Way = Way { num_workers: 1, limit_bytes: usize::MAX, max_outputs: 1, is_closed: false, resumed_at: None };

impl Way {
    fn new(draws: &mut Draws) -> Self {
        Self {
            num_workers: 1 + draws.below(4),
            limit_bytes: draws.one_of(&[0, 300, 1000, 5000, usize::MAX]),
            max_outputs: 1 + draws.below(3),
            is_closed: draws.below(4) == 0,
            resumed_at: Some(draws.below(1000)).filter(|number| number % 3 == 0),
        }
    }
}

/// The rows that a pipeline returned, and the error after them.
#[derive(Clone, Debug, Default, PartialEq)]
struct RunResult {
    rows: Vec<String>,
    error: Option<String>,
    /// The skip events, each with the number of rows before it.
    skip_events: Vec<(usize, String)>,
}

/// Runs one pass from a checkpoint, with its own threads. Also returns the checkpoint of each row.
fn run(made_up: &MadeUp, way: Way, from: &Checkpoint) -> (RunResult, Vec<Checkpoint>) {
    let budget = Budget::new(way.limit_bytes);
    let root = made_up.plan.start(0, Settings::new(way.num_workers), 0, from).unwrap();
    let executor = Arc::new(Executor::new(root, made_up.num_python_workers, Arc::clone(&budget), way.max_outputs));
    let spawn = |work: Box<dyn FnOnce(&Executor) + Send>| {
        let executor = Arc::clone(&executor);
        thread::spawn(move || work(&executor))
    };
    let mut threads: Vec<_> = (0..way.num_workers).map(|_| spawn(Box::new(Executor::work))).collect();
    threads.extend(
        (0..made_up.num_python_workers)
            .map(|python_worker| spawn(Box::new(move |executor| work_as_python_worker(executor, python_worker)))),
    );
    if way.is_closed {
        threads.push(spawn(Box::new(Executor::close)));
    }
    executor.start();
    let result = consume(&executor);
    executor.close();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    drop(executor);
    assert!(made_up.is_kept || budget.used_bytes() == 0, "some memory is still charged");
    result
}

fn work_as_python_worker(executor: &Executor, python_worker: usize) {
    while let Some((task, _)) = executor.take_python(python_worker) {
        let block = task.rows.gather();
        thread::yield_now();
        task.slot.set(block.map(|block| Outcome::from(Rows::all(block))));
        drop(task.charge);
        executor.end_python();
    }
}

fn consume(executor: &Executor) -> (RunResult, Vec<Checkpoint>) {
    let (mut result, mut checkpoints) = (RunResult::default(), Vec::new());
    loop {
        match executor.next(Duration::MAX) {
            Ok(Output::Block(block, checkpoint)) => {
                checkpoints.extend((0..block.num_rows() as u64).map(|number| checkpoint.advanced_by(number)));
                result.rows.extend(strings(&block.columns[0]));
            }
            Ok(Output::SkipEvent(SkipEvent::Skipped(skipped))) => {
                result.skip_events.push((result.rows.len(), skipped.error.message().to_owned()));
            }
            Ok(Output::Timeout | Output::SkipEvent(_) | Output::LaneEnd(_)) => (),
            Ok(Output::End) => return (result, checkpoints),
            Err(error) => {
                result.error = Some(error.to_string());
                return (result, checkpoints);
            }
        }
    }
}

/// Runs `work` under the schedules of a scheduler. A failure names the seed.
fn under(scheduler: impl Scheduler + 'static, work: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = 1 << 20;
    config.max_steps = MaxSteps::FailAfter(1_000_000);
    config.failure_persistence = FailurePersistence::Print;
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(work);
}

/// The rows of a pipeline with one consumer and one worker in turn, and a description of its steps.
fn reference(seed: u64, directory: &Arc<Directory>) -> (RunResult, String) {
    let result = Arc::new(Mutex::new(None));
    let (directory, kept) = (Arc::clone(directory), Arc::clone(&result));
    let run = move || {
        let made_up = MadeUp::new(seed, &directory);
        *kept.lock().unwrap() = Some((run(&made_up, ALONE, &Checkpoint::default()).0, made_up.words));
    };
    under(RoundRobinScheduler::new(1), run);
    let result = result.lock().unwrap().take();
    result.unwrap()
}

fn from_environment(name: &str, otherwise: usize) -> usize {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn rows_do_not_depend_on_the_schedule() {
    let first = from_environment("HEADRACE_SEED", 0) as u64;
    let num_schedules = from_environment("HEADRACE_SCHEDULES", PIPELINES * WAYS * SCHEDULES);
    let num_pipelines = num_schedules.div_ceil(WAYS * SCHEDULES);
    let (mut num_rows, mut num_errors, mut num_closed, mut num_resumed) = (0, 0, 0, 0);
    for seed in first..first + num_pipelines as u64 {
        let directory = Arc::new(Directory::new(seed));
        let (expected, words) = reference(seed, &directory);
        let expected = Arc::new(expected);
        num_rows += expected.rows.len();
        let is_meant = |error: &String| error.starts_with("a row ends with") || error.starts_with("zip: ");
        assert!(expected.error.as_ref().is_none_or(is_meant), "seed {seed}, {words}: {:?}", expected.error);
        num_errors += usize::from(expected.error.is_some());
        let mut draws = Draws(!seed);
        for way in (0..WAYS).map(|_| Way::new(&mut draws)).collect::<Vec<_>>() {
            // Printed by the test harness if it fails.
            println!("HEADRACE_SEED={seed} HEADRACE_SCHEDULES=1: {words}; {way:?}");
            num_closed += usize::from(way.is_closed) * SCHEDULES;
            num_resumed += usize::from(way.resumed_at.is_some()) * SCHEDULES;
            let (directory, expected) = (Arc::clone(&directory), Arc::clone(&expected));
            let work = move || run_and_check(&MadeUp::new(seed, &directory), way, &expected);
            let scheduler_seed = draws.next();
            under(RandomScheduler::new_from_seed(scheduler_seed, SCHEDULES / 2), work.clone());
            under(PctScheduler::new_from_seed(scheduler_seed, CHANGES, SCHEDULES / 2), work);
        }
    }
    let num_run = num_pipelines * WAYS * SCHEDULES;
    println!(
        "schedules: {num_run}, pipelines: {num_pipelines}, rows: {num_rows}, errors: {num_errors}, closed: {num_closed}, \
         resumed: {num_resumed}"
    );
}

fn run_and_check(made_up: &MadeUp, way: Way, expected: &RunResult) {
    let (result, checkpoints) = run(made_up, way, &Checkpoint::default());
    check(&result, expected, way);
    if let Some(number) = way.resumed_at.and_then(|number| number.checked_rem(checkpoints.len())) {
        let rest = RunResult {
            rows: expected.rows[number..].to_vec(),
            error: expected.error.clone(),
            skip_events: Vec::new(),
        };
        // Some earlier reports are repeated.
        let again = RunResult { skip_events: Vec::new(), ..run(made_up, way, &checkpoints[number]).0 };
        check(&again, &rest, way);
    }
}

fn check(result: &RunResult, expected: &RunResult, way: Way) {
    // A window may need more memory than there is: that is a separate error, as soon as it is
    // known.
    let is_refused = result.error.as_ref().is_some_and(|error| error.contains("expected at most the"));
    if result == expected || !(way.is_closed || is_refused) {
        return assert_eq!(result, expected, "{way:?}");
    }
    assert!(expected.rows.starts_with(&result.rows), "{result:?} is not a beginning of {expected:?}");
    assert!(is_refused || result.error.is_none(), "a close is not an error: {result:?}");
}
