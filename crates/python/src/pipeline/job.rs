//! The tasks of Python functions.

use crate::error::{IntoPython, from_python};
use crate::pipeline::column::Column;
use headrace_engine::error::{Error, Result};
use headrace_pipeline::blocks::block::Block;
use headrace_pipeline::blocks::rows::Rows;
use headrace_pipeline::execution::executor::Executor;
use headrace_pipeline::function_states::FunctionState;
use headrace_pipeline::skip_event::{SkipEvent, SkipEvents, Skipped};
use headrace_pipeline::tasks::meters::thread_time;
use headrace_pipeline::tasks::task::{Outcome, PythonTask};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A task for a Python function, which consists of some rows.
#[pyclass(frozen, module = "headrace._native")]
pub struct Job {
    task: Mutex<Option<PythonTask>>,
    /// The number of tasks that the Python worker has taken before.
    number: u64,
    block: Arc<Block>,
    pass: u64,
    first: u64,
    /// The function's state before this task.
    state: Option<Arc<str>>,
    /// The function's state, passed from task to task.
    states: FunctionState,
    stage: usize,
    skipper: Option<usize>,
    target_bytes: usize,
    begin: Instant,
    /// How long its rows took, if that differs from the time since the beginning.
    taken: Mutex<Option<Duration>>,
    /// The CPU time of its thread at the beginning.
    computed: Duration,
    executor: Arc<Executor>,
    /// The process that the job's thread belongs to.
    process: u32,
}

/// A row for which a function failed.
#[pyclass(frozen, new = "from_fields", module = "headrace._native")]
pub struct FailedRow {
    /// The number of the row.
    row: usize,
    /// The exception raised by the function.
    error: Py<PyAny>,
    /// The stage of the function, if it is not the job's.
    stage: Option<usize>,
}

#[pymethods]
impl FailedRow {
    // The frames of the exception may refer to the list that contains this.
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.error)
    }
}

#[pymethods]
impl Job {
    /// The number of jobs that threads of the same Python worker have taken before.
    #[getter]
    fn number(&self) -> u64 {
        self.number
    }

    #[getter]
    fn pass_number(&self) -> u64 {
        self.pass
    }

    /// The number of the pass's rows to skip. Only sources need it.
    #[getter]
    fn first_row(&self) -> u64 {
        self.first
    }

    /// The function's state before this task, if it keeps one.
    #[getter]
    fn state(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// Stores the function's state after this task. Must be called before the result is set.
    fn leave(&self, state: &str) {
        self.states.set(Some(Arc::from(state)));
    }

    /// Returns true if rows for which the function fails may be skipped.
    #[getter]
    fn skips_errors(&self) -> bool {
        self.skipper.is_some()
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.block.num_rows()
    }

    /// The target size of the result in bytes, unless a single row is larger. Only sources need it.
    #[getter]
    fn target_bytes(&self) -> usize {
        self.target_bytes
    }

    /// The memory limit of the pipeline, in bytes.
    #[getter]
    fn limit_bytes(&self) -> usize {
        self.executor.budget().limit_bytes()
    }

    /// Counts memory that the function needs until the result is set, besides its rows and results.
    /// Only the largest of several numbers counts. Later tasks wait until there is room for it.
    fn needs(&self, num_bytes: usize) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(PythonTask { charge, scratch_bytes, size_estimate, .. }) = &mut *task else { return };
        size_estimate.add_scratch(num_bytes);
        if let Some(more) = num_bytes.checked_sub(*scratch_bytes) {
            charge.correct(charge.num_bytes().saturating_add(more));
            *scratch_bytes = num_bytes;
        }
    }

    fn column(&self, index: usize) -> PyResult<Column> {
        let missing = || PyValueError::new_err(format!("column {index} does not exist"));
        self.block.columns.get(index).cloned().map(Column).ok_or_else(missing)
    }

    /// Describes the origin of a row: its file and record.
    fn origin(&self, row: usize) -> Option<String> {
        self.block.row_provenance(row).map(|row| row.to_string())
    }

    /// The identities of the rows, unique over all passes, as an array with four columns: the
    /// epoch, the record, the file, and the number among the rows built from the record.
    fn row_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u64>>> {
        let unknown = || Error::internal("the identity of a row is unknown");
        let num_rows = self.block.num_rows();
        let words = |row| self.block.row_id(row)?.map(|row_id| row_id.words()).ok_or_else(unknown);
        let words = (0..num_rows).map(words).collect::<Result<Vec<_>>>().into_python(py)?;
        PyArray1::from_vec(py, words.into_flattened()).reshape([num_rows, 4])
    }

    /// Sets how long the job's rows took in another process, in seconds. They may have waited for
    /// other rows. Must be called before the result is set.
    fn has_taken(&self, seconds: f64) {
        let taken = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = Some(taken);
    }

    /// Counts work of another stage that was done in this task.
    fn count(&self, stage: usize, num_rows: usize, num_bytes: usize, seconds: f64) {
        if let Some(meter) = self.executor.meters().stage(stage) {
            meter.count(num_rows, num_bytes);
            meter.busy.add(Duration::try_from_secs_f64(seconds).unwrap_or_default());
        }
    }

    /// Finishes the task with its result, which consists of columns with `num_rows` rows. `counts`
    /// has the number of result rows for each input row, or is None if there is one each. `kept`
    /// has the numbers of the input rows that have a result row, if some have none. `error` is the
    /// exception raised for the row after those. `state` is the function's state before the task,
    /// if it keeps one. `failed` has the skipped rows in ascending order, which have no result
    /// rows.
    #[pyo3(signature = (columns, num_rows, counts, error, state=None, failed=None, kept=None))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn finish(
        &self,
        py: Python<'_>,
        columns: Vec<Bound<'_, Column>>,
        num_rows: usize,
        counts: Option<Vec<u64>>,
        error: Option<Bound<'_, PyAny>>,
        state: Option<&str>,
        failed: Option<Vec<Bound<'_, FailedRow>>>,
        kept: Option<Vec<usize>>,
    ) -> PyResult<()> {
        let failed = failed.unwrap_or_default();
        let columns = columns.into_iter().map(|column| column.get().0.clone()).collect();
        let (provenance, skip_events) = match (counts, kept) {
            (_, Some(kept)) => {
                let skip_events = self.skip_events(py, &failed, |row| kept.partition_point(|kept| *kept < row));
                let mut rows = Rows::new();
                kept.into_iter().for_each(|row| rows.push(&self.block, row, 1));
                (rows.provenance(), skip_events)
            }
            (Some(counts), None) => {
                let before = |row: usize| counts.iter().take(row).sum::<u64>() as usize;
                let skip_events = self.skip_events(py, &failed, before);
                let numbers = counts.iter().enumerate();
                let pairs = numbers.flat_map(|(row, count)| (0..*count).map(move |sub| (row, sub)));
                (self.block.provenance().made_of(pairs), skip_events)
            }
            (None, None) => {
                let mut rows = Rows::new();
                let mut next = 0;
                for row in failed.iter().map(|failed| failed.get().row) {
                    rows.push(&self.block, next, row.saturating_sub(next));
                    next = row + 1;
                }
                rows.push(&self.block, next, self.block.num_rows().saturating_sub(next));
                let rows = rows.take_front(num_rows);
                let before = |row| row - failed.partition_point(|failed| failed.get().row < row);
                (rows.provenance(), self.skip_events(py, &failed, before))
            }
        };
        let block = Block::new(columns, num_rows, provenance).into_python(py)?;
        self.end(Ok((TaskOutput::Block(block), error.map(|error| failure(py, &error)))), skip_events, state);
        Ok(())
    }

    /// Finishes the task and outputs the input rows with these indices unchanged. `error`, `state`
    /// and `failed` are as for `finish`.
    #[pyo3(signature = (rows, error, state=None, failed=None))]
    fn keep(
        &self,
        py: Python<'_>,
        rows: Vec<usize>,
        error: Option<Bound<'_, PyAny>>,
        state: Option<&str>,
        failed: Option<Vec<Bound<'_, FailedRow>>>,
    ) {
        let failed = failed.unwrap_or_default();
        let skip_events = self.skip_events(py, &failed, |row| rows.partition_point(|kept| *kept < row));
        let mut kept = Rows::new();
        rows.into_iter().for_each(|row| kept.push(&self.block, row, 1));
        let rows = match kept.are_few() && !kept.is_empty() {
            // The other rows are dropped together with the block once these are copied.
            true => kept.copy().map(TaskOutput::Block),
            false => Ok(TaskOutput::Rows(kept)),
        };
        self.end(rows.map(|rows| (rows, error.map(|error| failure(py, &error)))), skip_events, state);
    }
}

impl Job {
    /// Creates the job for a task. The task fails if its rows don't fit into memory.
    pub fn begin(mut task: PythonTask, number: u64, executor: Arc<Executor>) -> Result<Self> {
        match gathered(&task) {
            Ok(block) => {
                // While the function runs, its results are in memory twice.
                let result_bytes = task.charge.num_bytes().saturating_sub(task.scratch_bytes);
                task.charge.correct(result_bytes.saturating_add(task.charge.num_bytes()));
                let target_bytes = task.target_bytes;
                let (pass, first, stage, begin) = (task.pass, task.first, task.stage, Instant::now());
                let skipper = task.skipper;
                let (states, task) = (task.state.clone(), Mutex::new(Some(task)));
                let state = states.get();
                Ok(Self {
                    task,
                    number,
                    block,
                    pass,
                    first,
                    state,
                    states,
                    stage,
                    skipper,
                    target_bytes,
                    begin,
                    taken: Mutex::new(None),
                    computed: thread_time(),
                    executor,
                    process: std::process::id(),
                })
            }
            Err(error) => {
                task.slot.set(Err(error));
                executor.end_python();
                Err(Error::internal("the rows of a function do not fit into memory"))
            }
        }
    }

    /// Returns the reports of skipped rows, each with the number of rows returned before it.
    fn skip_events(
        &self,
        py: Python<'_>,
        failed: &[Bound<'_, FailedRow>],
        before: impl Fn(usize) -> usize,
    ) -> SkipEvents {
        let Some(skipper) = self.skipper else { return Vec::new() };
        let raised = |error: &Py<PyAny>| from_python(py, PyErr::from_value(error.bind(py).clone()));
        let failed = failed.iter().map(Bound::get);
        let positions: Vec<_> = failed.clone().map(|failed| before(failed.row)).collect();
        let failed: Vec<_> = failed.map(|failed| (failed.row, raised(&failed.error), failed.stage)).collect();
        // This may read the files again to determine the positions of the records.
        let skipped = py.detach(|| {
            let skipped = |(row, error, stage): (usize, Error, Option<usize>)| {
                Skipped::row(skipper, stage.unwrap_or(self.stage), self.block.row_provenance(row), error)
            };
            failed.into_iter().map(skipped).collect::<Vec<_>>()
        });
        positions.into_iter().zip(skipped.into_iter().map(SkipEvent::from)).collect()
    }

    fn end(&self, result: Result<(TaskOutput, Option<Error>)>, skip_events: SkipEvents, state: Option<&str>) {
        let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let PythonTask { mut charge, size_estimate, slot, .. } = task;
        let result = result.map(|(rows, error)| {
            let num_rows = self.block.num_rows();
            let rows = match rows {
                TaskOutput::Block(block) => {
                    size_estimate.add(num_rows, block.held_bytes());
                    charge.correct(block.held_bytes());
                    Rows::all(block.charged(charge))
                }
                TaskOutput::Rows(rows) => {
                    size_estimate.add(num_rows, 0);
                    rows
                }
            };
            Outcome { rows, skip_events, error, state: state.map(Arc::from) }
        });
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner).unwrap_or_else(|| self.begin.elapsed());
        size_estimate.add_time(self.block.num_rows(), taken);
        if let Some(meter) = self.executor.meters().stage(self.stage) {
            meter.busy.add(taken);
            meter.computing.add(thread_time().saturating_sub(self.computed));
            result.iter().for_each(|outcome| meter.count(0, outcome.rows.num_bytes()));
        }
        slot.set(result);
        self.executor.end_python();
    }
}

/// Gathers the rows of a task into a block, which is charged for the copies made for it.
fn gathered(task: &PythonTask) -> Result<Arc<Block>> {
    if let Some(block) = task.rows.whole_block() {
        return Ok(Arc::clone(block));
    }
    let block = task.rows.copy()?;
    let charge = task.charge.another(block.held_bytes());
    Ok(Arc::new(block.charged(charge)))
}

/// Converts the exception of a Python function to an error that raises it again unchanged.
fn failure(py: Python<'_>, error: &Bound<'_, PyAny>) -> Error {
    from_python(py, PyErr::from_value(error.clone())).as_interrupt()
}

/// The outcome of a task.
enum TaskOutput {
    /// A block, charged to the task.
    Block(Block),
    /// Rows of the input block, which has its own charge.
    Rows(Rows),
}

impl Drop for Job {
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // In a forked child nobody waits for the result, and threads of the parent may hold the
            // locks.
            std::mem::forget(self.task.get_mut().unwrap_or_else(PoisonError::into_inner).take());
            std::mem::forget(Arc::clone(&self.executor));
            return;
        }
        // The job's thread has ended. This wakes everybody who is waiting for the result.
        self.end(Err(Error::cancelled("a thread ended while it was running a Python function")), Vec::new(), None);
    }
}
