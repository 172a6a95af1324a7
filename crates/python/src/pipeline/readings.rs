//! Reports of an execution: its measurements, and its state at one moment.

use headrace_pipeline::blocks::block::RowProvenance;
use headrace_pipeline::execution::snapshot::{Activity, Snapshot, Worker};
use headrace_pipeline::tasks::meters::{Meter, Meters, Read, Time};
use pyo3::prelude::*;

/// The measurements of a stage.
#[pyclass(frozen, get_all, module = "headrace._native")]
#[derive(Clone)]
pub struct StageReadings {
    examples: u64,
    num_bytes: u64,
    /// The time of its work in seconds.
    busy: f64,
    /// The part of `busy` during which it used a CPU.
    computing: f64,
    starving: f64,
    fill: Option<f64>,
    padding: Option<f64>,
    left_out: u64,
}

impl From<&Meter> for StageReadings {
    fn from(meter: &Meter) -> Self {
        Self {
            examples: meter.examples(),
            num_bytes: meter.bytes(),
            busy: seconds(&meter.busy),
            computing: seconds(&meter.computing),
            starving: seconds(&meter.starving),
            fill: meter.fill(),
            padding: meter.padding(),
            left_out: meter.left_out(),
        }
    }
}

/// The measurements of an execution. Times are in seconds.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub struct Readings {
    stages: Vec<StageReadings>,
    /// The time spent in worker tasks.
    tasks_busy: f64,
    /// The part of `tasks_busy` during which they used a CPU.
    tasks_computing: f64,
    /// How long workers had nothing to do.
    idle: f64,
    /// How long the consumer waited.
    consumer_waiting: f64,
    /// How long workers waited for memory.
    budget_waiting: f64,
}

impl From<&Meters> for Readings {
    fn from(meters: &Meters) -> Self {
        Self {
            stages: meters.stages().iter().map(StageReadings::from).collect(),
            tasks_busy: seconds(&meters.tasks.busy),
            tasks_computing: seconds(&meters.tasks.computing),
            idle: seconds(&meters.idle),
            consumer_waiting: seconds(&meters.consumer_waiting),
            budget_waiting: seconds(&meters.budget_waiting),
        }
    }
}

fn seconds(time: &Time) -> f64 {
    time.get().as_secs_f64()
}

/// A read in progress.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub struct ReadInProgress {
    number: u64,
    /// The number of its stage.
    stage: usize,
    /// A description of the current read.
    text: String,
    /// The system's number of its thread.
    thread: u64,
    /// How long it has taken so far.
    seconds: f64,
}

impl From<Read> for ReadInProgress {
    fn from(Read { number, stage, file, record, thread, since }: Read) -> Self {
        // Records are not counted here, because the file may be the one that does not respond.
        let text = match &file.before {
            None => RowProvenance { file, record, sub: 0 }.to_string(),
            Some(_) => format!("{}: a {}", file.name.text(), file.numbering.word),
        };
        Self { number, stage, text, thread, seconds: since.elapsed().as_secs_f64() }
    }
}

/// The current activity of a worker.
#[pyclass(frozen, get_all, module = "headrace._native")]
#[derive(Clone)]
pub struct WorkerState {
    /// The system's number of its thread.
    thread: u64,
    /// "nothing", "asking", "task" or "ended".
    activity: &'static str,
    /// How long it has been doing that.
    seconds: f64,
    /// The number of the stage that it is working for.
    stage: Option<usize>,
}

impl From<&Worker> for WorkerState {
    fn from(worker: &Worker) -> Self {
        let activity = match worker.activity {
            Activity::Nothing => "nothing",
            Activity::Asking => "asking",
            Activity::Task => "task",
            Activity::Ended => "ended",
        };
        Self { thread: worker.thread, activity, seconds: worker.since.elapsed().as_secs_f64(), stage: worker.stage() }
    }
}

/// The current state of an execution.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub struct ExecutionState {
    workers: Vec<WorkerState>,
    /// The number of tasks that have not begun.
    num_tasks: usize,
    /// The number of tasks that have not begun, for each Python worker.
    num_python_tasks: Vec<usize>,
    /// The number of finished blocks, and its limit.
    num_ready: usize,
    max_ready: usize,
    /// True if no task fits into the memory.
    is_memory_short: bool,
    /// True at the end of the data.
    is_over: bool,
    is_closed: bool,
}

impl From<Snapshot> for ExecutionState {
    fn from(snapshot: Snapshot) -> Self {
        Self {
            workers: snapshot.workers.iter().map(WorkerState::from).collect(),
            num_tasks: snapshot.num_tasks,
            num_python_tasks: snapshot.num_python,
            num_ready: snapshot.num_ready,
            max_ready: snapshot.max_ready,
            is_memory_short: snapshot.is_refused,
            is_over: snapshot.is_over,
            is_closed: snapshot.is_closed,
        }
    }
}
