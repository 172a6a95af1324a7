//! Runs pipelines: their threads and their results.

use crate::allocator;
use crate::error::{IntoPython, to_python};
use crate::pipeline::checkpoint;
use crate::pipeline::column::{arrow, owned, transported};
use crate::pipeline::job::Job;
use crate::pipeline::lanes::Lanes as LanesArgument;
use crate::pipeline::order_digest::{OrderDigest, OrderPoint};
use crate::pipeline::plan::Plan;
use crate::pipeline::readings::{ExecutionState, ReadInProgress, Readings};
use crate::pipeline::skip_event::{Failure, PassEnd};
use crate::waiting::detach::{detached, waiting};
use headrace_engine::error::{Code, Error, Result};
use headrace_engine::run::Run;
use headrace_engine::sync::cancellation::Cancellation;
use headrace_engine::waits::{self, Awaited};
use headrace_pipeline::blocks::batches::Batches;
use headrace_pipeline::blocks::block::Block;
use headrace_pipeline::blocks::column::Column;
use headrace_pipeline::blocks::file_provenance::FileProvenance;
use headrace_pipeline::blocks::part_counts::{add_origins, add_part};
use headrace_pipeline::budget::{Budget, Charge};
use headrace_pipeline::checkpoint::Checkpoint;
use headrace_pipeline::execution::executor::{Executor, Output};
use headrace_pipeline::function_states::FunctionStates;
use headrace_pipeline::node::Node;
use headrace_pipeline::nodes::lanes::{AllLanes, Lanes};
use headrace_pipeline::plan::Settings;
use headrace_pipeline::skip_event::SkipEvent;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often the waiting consumer checks for signals.
const INTERVAL: Duration = Duration::from_millis(50);

/// One iteration over a pipeline, with its threads.
#[pyclass(frozen, module = "headrace._native")]
pub struct Execution {
    executor: Arc<Executor>,
    cancellation: Cancellation,
    workers: Mutex<Workers>,
    /// One for each lane.
    last: Vec<Mutex<Last>>,
    lanes: Option<Arc<Lanes>>,
    /// The lane of the rows returned last.
    lane: AtomicUsize,
    /// True if a row is a batch.
    is_batched: bool,
    /// A description of the stages.
    name: Arc<str>,
    /// The memory that Python functions use during the whole iteration.
    held: Mutex<Option<Charge>>,
    /// The memory that the plan uses as long as it exists, for example for the ends of documents.
    _of_plan: Charge,
    /// The process that owns the threads. A forked child has none of them.
    process: u32,
    /// True if rows record which records they are built from.
    keeps_origins: bool,
}

/// A record that a row was built from.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub struct Origin {
    file: Vec<u8>,
    /// The number of the record in the file.
    record: u64,
    /// Its offset in the uncompressed file, if it can be determined.
    offset_bytes: Option<u64>,
}

/// The threads of the engine.
struct Workers {
    threads: Vec<JoinHandle<()>>,
    /// Each thread has a sender but never sends: the channel disconnects once all threads have
    /// ended. The first caller that waits for it takes it.
    have_ended: Option<Receiver<()>>,
    /// True if Ctrl-C has ended the wait for the threads. Nobody waits for them again then.
    are_abandoned: bool,
}

/// The rows that were returned last.
struct Last {
    /// The checkpoint from which they can be produced again.
    checkpoint: Checkpoint,
    /// How many of its rows were returned.
    num_rows: u64,
    /// If its rows are batches: the ones that have not been returned yet.
    batches: Batches,
    /// For each row, the number of examples from each part of a mixture.
    parts: Vec<u64>,
    /// The same numbers for all rows that were returned earlier.
    before: Vec<u64>,
    /// For each row, the records that it was built from, if they were recorded.
    origins: Vec<Vec<(Arc<FileProvenance>, u64)>>,
    /// Kept until the next rows are returned, because the program still has these when it requests
    /// more.
    _charge: Option<Charge>,
}

#[pymethods]
impl Execution {
    /// Starts an iteration. It continues at `checkpoint` within the epoch, unless that is its first
    /// row. `function_states` has the initial state of each Python worker's function. `num_threads`
    /// is the number of the engine's own threads, and `num_callers` is the number of threads that
    /// call Python functions. At most `max_outputs` finished blocks wait. If `is_batched`, each row
    /// is a batch. If `is_synchronous`, nothing is computed before its result is requested. `name`
    /// describes the pipeline. If `keeps_origins`, rows record which records they are built from.
    /// With `lanes`, which the plan also has, `checkpoint` is a list with one for each lane.
    #[new]
    #[pyo3(signature = (
        plan, *, name, epoch, checkpoint, function_states, num_threads, num_callers, num_python_workers, num_stages,
        memory_bytes, max_outputs, is_batched, is_deterministic, is_synchronous, keeps_origins, lanes=None
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        py: Python<'_>,
        plan: &Plan,
        name: &str,
        epoch: u64,
        checkpoint: Option<Bound<'_, PyAny>>,
        function_states: Vec<Option<String>>,
        num_threads: usize,
        num_callers: usize,
        num_python_workers: usize,
        num_stages: usize,
        memory_bytes: usize,
        max_outputs: usize,
        is_batched: bool,
        is_deterministic: bool,
        is_synchronous: bool,
        keeps_origins: bool,
        lanes: Option<&LanesArgument>,
    ) -> PyResult<Self> {
        let settings = Settings::new(num_threads).in_any_order(!is_deterministic).with_synchronous(is_synchronous);
        let settings = settings.with_origins(keeps_origins);
        let states = FunctionStates::new(function_states.into_iter().map(|state| state.map(Arc::from)).collect());
        let read = |checkpoint: Option<Bound<'_, PyAny>>| {
            Ok::<_, PyErr>(
                checkpoint.map(|checkpoint| checkpoint::from_python(&checkpoint)).transpose()?.unwrap_or_default(),
            )
        };
        let lanes = lanes.map(|lanes| Arc::clone(&lanes.0));
        let firsts = match (&lanes, checkpoint) {
            (Some(_), Some(checkpoints)) => checkpoints
                .extract::<Vec<Option<Bound<'_, PyAny>>>>()?
                .into_iter()
                .map(read)
                .collect::<PyResult<_>>()?,
            (_, checkpoint) => vec![read(checkpoint)?],
        };
        let start = |(lane, first): (usize, &Checkpoint)| {
            let beginning = first.clone().with_states(Some(Arc::clone(&states)));
            plan.0.start(epoch, settings.of_lane(lane), 0, &beginning)
        };
        // May request the sizes of remote files.
        let root = waiting(py, || {
            let mut nodes = match firsts.iter().enumerate().map(start).collect::<Result<Vec<_>>>() {
                Ok(nodes) => nodes,
                Err(error) => return Ok(Err(error)),
            };
            let root = match &lanes {
                Some(lanes) => Some(Box::new(AllLanes::new(Arc::clone(lanes), nodes)) as Box<dyn Node>),
                None => nodes.pop(),
            };
            Ok(root.ok_or_else(|| Error::internal("an execution needs at least one lane")))
        })?;
        let root = root.map_err(|error| match error.code() {
            Code::InvalidArgument => PyValueError::new_err(error.message().to_owned()),
            _ => to_python(py, &error),
        })?;
        let budget = Budget::of_process(memory_bytes, num_threads + num_callers, allocator::limit_free_pages);
        let of_plan = budget.charge(plan.0.held_bytes());
        let executor = Executor::new(root, num_python_workers, budget, max_outputs).metered(num_stages);
        let executor = Arc::new(executor);
        let cancellation = Cancellation::new();
        let (is_alive, have_ended) = channel();
        let execution = Self {
            executor: Arc::clone(&executor),
            cancellation: cancellation.clone(),
            workers: Mutex::new(Workers { threads: Vec::new(), have_ended: Some(have_ended), are_abandoned: false }),
            last: firsts
                .into_iter()
                .map(|checkpoint| {
                    Mutex::new(Last {
                        checkpoint,
                        num_rows: 0,
                        batches: Batches::default(),
                        parts: Vec::new(),
                        before: vec![0; plan.0.num_parts()],
                        origins: Vec::new(),
                        _charge: None,
                    })
                })
                .collect(),
            lanes,
            lane: AtomicUsize::new(0),
            is_batched,
            name: name.into(),
            held: Mutex::new(None),
            _of_plan: of_plan,
            process: std::process::id(),
            keeps_origins,
        };
        for number in 0..num_threads {
            let (executor, cancellation) = (Arc::clone(&executor), cancellation.clone());
            let is_alive = is_alive.clone();
            let work = move || {
                let _is_alive = is_alive;
                allocator::use_own_store(number, memory_bytes);
                Run::new(&cancellation).while_current(|| executor.work());
            };
            let worker = thread::Builder::new().name(format!("headrace-{number}")).spawn(work)?;
            execution.workers().threads.push(worker);
        }
        executor.start();
        Ok(execution)
    }

    /// Returns the next rows, as their number and a list with each component, or None at the end.
    /// If a row is a batch, returns a single row with the components of the batch. With
    /// `strings_as_arrow`, strings are pairs of arrays: their bytes, and the offset at which each
    /// one begins. If examples were skipped before the next rows, returns a report instead: a
    /// `Failure` or a `PassEnd`.
    fn next<'py>(&self, py: Python<'py>, strings_as_arrow: bool) -> PyResult<Option<Bound<'py, PyAny>>> {
        let convert = if strings_as_arrow { arrow } else { owned };
        Ok(self.next_result(py, convert)?.map(|(_, result)| result))
    }

    /// Like `next`, with the number of the lane. The end of a lane is None, or the exception with
    /// which it has failed. Single strings are always pairs of arrays, which `string_objects`
    /// converts in another process.
    fn next_of_lane<'py>(
        &self,
        py: Python<'py>,
        strings_as_arrow: bool,
    ) -> PyResult<Option<(usize, Bound<'py, PyAny>)>> {
        self.next_result(py, if strings_as_arrow { arrow } else { transported })
    }

    /// The checkpoint after the rows that were returned, without the last `num_left` of them: a
    /// list of numbers and lists.
    #[pyo3(signature = (num_left, lane=0))]
    fn checkpoint<'py>(&self, py: Python<'py>, num_left: u64, lane: usize) -> PyResult<Bound<'py, PyList>> {
        checkpoint::to_python(py, &self.last(lane)?.behind(num_left))
    }

    /// The number of examples from each part of a mixture, in the rows that were returned without
    /// the last `num_left` of them.
    #[pyo3(signature = (num_left, lane=0))]
    fn part_counts(&self, num_left: u64, lane: usize) -> PyResult<Vec<u64>> {
        Ok(self.last(lane)?.parts(num_left))
    }

    /// Returns the records that the last row was built from, leaving out `num_left` rows.
    fn origins(&self, py: Python<'_>, num_left: u64) -> PyResult<Vec<Origin>> {
        let records = {
            let last = self.last(0)?;
            let row = last.num_rows.checked_sub(num_left + 1).and_then(|row| last.origins.get(row as usize));
            row.cloned().unwrap_or_default()
        };
        waiting(py, || {
            let origin = |(file, record): (Arc<FileProvenance>, u64)| {
                let offset_bytes = file.locate.as_ref().and_then(|locate| locate.offset(&file, record));
                Ok(Origin {
                    file: file.name.without_secrets().to_vec(),
                    record: file.record_number(record)?,
                    offset_bytes,
                })
            };
            records.into_iter().map(origin).collect()
        })
    }

    /// The checkpoint of the mixture that the rows come from, directly after the rows that were
    /// returned, without the last `num_left` of them; None if it is unknown.
    #[pyo3(signature = (plan, num_left, lane=0))]
    fn mix_checkpoint<'py>(
        &self,
        py: Python<'py>,
        plan: &Plan,
        num_left: u64,
        lane: usize,
    ) -> PyResult<Option<Bound<'py, PyList>>> {
        let behind = self.last(lane)?.behind(num_left);
        let mixed =
            plan.0.mix_checkpoint(&behind).map_err(|error| PyValueError::new_err(error.message().to_owned()))?;
        mixed.map(|mixed| checkpoint::to_python(py, &mixed)).transpose()
    }

    /// Returns the point of a digest after the returned rows, leaving out the last `num_left` of
    /// them, and whether it is known. If it isn't, returns the last known point before it. `plan`
    /// must be the plan of this iteration, which began with pass number `pass`.
    #[pyo3(signature = (digest, plan, pass_number, num_left, lane=0))]
    fn order(
        &self,
        digest: &OrderDigest,
        plan: &Plan,
        pass_number: u64,
        num_left: u64,
        lane: usize,
    ) -> PyResult<(OrderPoint, bool)> {
        let behind = self.last(lane)?.behind(num_left);
        let position = plan.0.order_position(pass_number, &behind);
        let position = position.map_err(|error| PyValueError::new_err(error.message().to_owned()))?;
        let (pass, position) = position.ok_or_else(|| PyValueError::new_err("no digest sees the rows"))?;
        let (point, is_known) = digest.0.advance(pass, position);
        Ok((point.into(), is_known))
    }

    /// Ends a lane whose rows are no longer needed.
    fn close_lane(&self, lane: usize) {
        if let Some(lanes) = &self.lanes {
            lanes.close(lane);
            self.executor.note_closed_lane();
        }
    }

    /// Lets the threads compute one more output, even if the maximum number is waiting. Returns
    /// after a limited time. Returns False once there is nothing more to come.
    fn look_ahead(&self, py: Python<'_>) -> PyResult<bool> {
        let wait = |run: &Run| {
            run.check()?;
            Ok(self.executor.look_ahead(INTERVAL))
        };
        // After a close, it does not wait.
        detached(py, &Cancellation::new(), None, wait)
    }

    /// Waits for the next task of a Python worker's thread. Returns None once this is closed.
    fn take(&self, py: Python<'_>, python_worker: usize) -> PyResult<Option<Job>> {
        let executor = Arc::clone(&self.executor);
        let job = py.detach(|| {
            let (task, number) = executor.take_python(python_worker)?;
            Some(Job::begin(task, number, Arc::clone(&executor)))
        });
        job.transpose().into_python(py)
    }

    /// The measurements so far.
    fn readings(&self) -> Readings {
        self.executor.meters().into()
    }

    /// The reads in progress.
    fn reads(&self) -> Vec<ReadInProgress> {
        self.executor.meters().reads().into_iter().map(ReadInProgress::from).collect()
    }

    /// The current state.
    fn state(&self) -> ExecutionState {
        self.executor.snapshot().into()
    }

    /// The bytes charged to the pipeline's memory budget, and the budget itself.
    fn memory(&self) -> (usize, usize) {
        (self.executor.budget().used_bytes(), self.executor.budget().limit_bytes())
    }

    /// The bytes charged to the pipeline's memory budget.
    #[getter]
    fn used_bytes(&self) -> usize {
        self.executor.budget().used_bytes()
    }

    /// Charges `num_bytes` more until the iteration is dropped, even beyond the limit.
    fn hold(&self, num_bytes: usize) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let sum = held.as_ref().map_or(0, Charge::num_bytes).saturating_add(num_bytes);
        held.get_or_insert_with(|| self.executor.budget().charge(0)).correct(sum);
    }

    /// Waits this many seconds without the GIL. Returns how many seconds it then takes to acquire
    /// it, which is long if another thread holds it. Returns None once the iteration is closed.
    fn wait_for_gil(&self, py: Python<'_>, seconds: f64) -> Option<f64> {
        let timeout = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let executor = Arc::clone(&self.executor);
        let (is_closed, since) = py.detach(|| (executor.wait_until_closed(timeout), Instant::now()));
        (!is_closed).then(|| since.elapsed().as_secs_f64())
    }

    /// Ends all threads of the engine and waits for them.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.end());
    }

    /// Like `close`, but Ctrl-C ends the wait. Nobody waits for the threads again then; each ends
    /// after its current task.
    fn close_or_interrupt(&self, py: Python<'_>) -> PyResult<()> {
        let wait = |run: &Run| {
            self.ask_to_end();
            let (mut registered, mut waited) = (None, Ok(()));
            // The lock is not held in the meantime, because a signal handler may close this too.
            let Some(have_ended) = self.workers().have_ended.take() else { return Ok(()) };
            while let (Ok(()), Err(RecvTimeoutError::Timeout)) = (&waited, have_ended.recv_timeout(INTERVAL)) {
                let name = Arc::clone(&self.name);
                let what = move || format!("the threads of pipeline '{name}' to end");
                registered.get_or_insert_with(|| waits::register(vec![Awaited::new(what)], None));
                waited = run.check();
            }
            self.workers().are_abandoned |= waited.is_err();
            waited
        };
        detached(py, &Cancellation::new(), None, wait)?;
        py.detach(|| self.end());
        Ok(())
    }
}

impl Last {
    /// The checkpoint after the rows that were returned, without the last `num_left` of them.
    fn behind(&self, num_left: u64) -> Checkpoint {
        self.checkpoint.advanced_by(self.num_rows.saturating_sub(num_left))
    }

    /// Returns the number of examples from each part of a mixture, leaving out the last `num_left`
    /// rows.
    fn parts(&self, num_left: u64) -> Vec<u64> {
        let mut counts = self.before.clone();
        let num_rows = self.num_rows.saturating_sub(num_left) as usize;
        for row in self.parts.chunks_exact(counts.len().max(1)).take(num_rows) {
            counts.iter_mut().zip(row).for_each(|(count, part)| *count += part);
        }
        counts
    }

    /// The rows to return of a block: all of them, or the first if each is a batch.
    fn take(&mut self, block: Arc<Block>, checkpoint: Checkpoint, of: &Execution) -> Result<(usize, Vec<Column>)> {
        let before = self.parts(0);
        let mut parts = vec![0; before.len() * block.num_rows()];
        if !before.is_empty() {
            let rows = parts.chunks_exact_mut(before.len()).enumerate();
            rows.for_each(|(row, counts)| add_part(&block, row, counts));
        }
        let mut origins = vec![Vec::new(); if of.keeps_origins { block.num_rows() } else { 0 }];
        origins.iter_mut().enumerate().for_each(|(row, origins)| add_origins(&block, row, origins));
        if of.is_batched {
            *self =
                Last { checkpoint, num_rows: 0, batches: Batches::of(block), parts, before, origins, _charge: None };
            let none = || Error::internal("a block of batches contains no batch");
            return Ok((1, self.next_batch().ok_or_else(none)??));
        }
        let num_rows = block.num_rows();
        let (columns, charge) = match Arc::try_unwrap(block) {
            Ok(block) => block.into_columns(),
            Err(block) => (block.columns.clone(), None),
        };
        let (num_given, batches) = (num_rows as u64, Batches::default());
        *self = Last { checkpoint, num_rows: num_given, batches, parts, before, origins, _charge: charge };
        Ok((num_rows, columns))
    }

    /// Takes the components of its next batch. Returns `None` if there are no more, or if its rows
    /// are not batches.
    fn next_batch(&mut self) -> Option<Result<Vec<Column>>> {
        let batch = self.batches.take();
        self.num_rows += u64::from(batch.is_some());
        batch
    }
}

/// Converts a component to Python.
type Convert = for<'py> fn(Python<'py>, Column) -> PyResult<Bound<'py, PyAny>>;

/// Converts rows to Python.
fn rows<'py>(py: Python<'py>, num_rows: usize, columns: Vec<Column>, convert: Convert) -> PyResult<Bound<'py, PyAny>> {
    let columns = columns.into_iter().map(|column| convert(py, column)).collect::<PyResult<Vec<_>>>()?;
    (num_rows, PyList::new(py, columns)?).into_bound_py_any(py)
}

impl Execution {
    /// Waits for the next output. Returns its lane, and its rows as Python objects.
    fn next_result<'py>(&self, py: Python<'py>, convert: Convert) -> PyResult<Option<(usize, Bound<'py, PyAny>)>> {
        let lane = self.lane.load(Ordering::Relaxed);
        if let Some(batch) = self.last(lane)?.next_batch() {
            return Ok(Some((lane, rows(py, 1, batch.into_python(py)?, convert)?)));
        }
        let wait = |run: &Run| {
            let mut registered = None;
            loop {
                match self.executor.next_of_lane(INTERVAL)? {
                    (_, Output::Timeout) => {
                        registered.get_or_insert_with(|| waits::register(vec![self.awaited()], None));
                        run.check()?;
                    }
                    output => return Ok((output, Instant::now())),
                }
            }
        };
        let ((lane, output), since) = detached(py, &self.cancellation, None, wait)?;
        // A Python function may hold the GIL now; waiting for it does not count as the consumer's
        // work.
        self.executor.waited_behind_next(since.elapsed());
        let (block, checkpoint) = match output {
            Output::Block(block, checkpoint) => (block, checkpoint),
            Output::SkipEvent(SkipEvent::Skipped(skipped)) => {
                return Ok(Some((lane, Bound::new(py, Failure(*skipped))?.into_any())));
            }
            Output::SkipEvent(SkipEvent::PassEnd { skipper, rows }) => {
                return Ok(Some((lane, Bound::new(py, PassEnd { skipper, rows })?.into_any())));
            }
            Output::LaneEnd(error) => {
                let error = error.map(|error| to_python(py, &error).into_value(py));
                return Ok(Some((lane, error.into_bound_py_any(py)?)));
            }
            Output::End | Output::Timeout => return Ok(None),
        };
        self.lane.store(lane, Ordering::Relaxed);
        let (num_rows, columns) = self.last(lane)?.take(block, checkpoint, self).into_python(py)?;
        self.executor.note_room();
        Ok(Some((lane, rows(py, num_rows, columns, convert)?)))
    }

    fn last(&self, lane: usize) -> PyResult<MutexGuard<'_, Last>> {
        let last = self.last.get(lane).ok_or_else(|| PyIndexError::new_err(format!("lane {lane} does not exist")))?;
        Ok(last.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn awaited(&self) -> Awaited {
        let name = Arc::clone(&self.name);
        Awaited::new(move || format!("the next rows of pipeline '{name}'"))
    }

    fn workers(&self) -> MutexGuard<'_, Workers> {
        self.workers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask_to_end(&self) {
        self.cancellation.cancel();
        self.executor.close();
    }

    fn end(&self) {
        self.ask_to_end();
        let mut workers = self.workers();
        let threads = std::mem::take(&mut workers.threads);
        if workers.are_abandoned {
            return;
        }
        drop(workers);
        // Workers don't panic, because their tasks catch panics.
        threads.into_iter().for_each(|worker| drop(worker.join()));
    }
}

impl Drop for Execution {
    /// Waits for the workers without the GIL, which they may need before they can end.
    fn drop(&mut self) {
        if self.process != std::process::id() {
            // A forked child has no threads to wait for, and locks may be held by threads of the
            // parent. The thread handles may even belong to threads that this process has started
            // since.
            let workers = self.workers.get_mut().unwrap_or_else(PoisonError::into_inner);
            std::mem::forget(std::mem::take(&mut workers.threads));
            std::mem::forget(workers.have_ended.take());
            std::mem::forget(Arc::clone(&self.executor));
            std::mem::forget(self.cancellation.clone());
            return;
        }
        if Python::try_attach(|py| py.detach(|| self.end())).is_none() {
            self.end();
        }
    }
}
