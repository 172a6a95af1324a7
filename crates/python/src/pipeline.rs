//! Pipelines: their plan, their execution, and the columns that Python functions take and give.

use crate::array::{lent_bytes, to_python as array_of, to_python_shared};
use crate::attrs::{attrs, dtype};
use crate::detach::detached;
use crate::error::{IntoPython, from_python};
use crate::kept::{Cache, Index};
use crate::program::Program;
use crate::view::to_tensor;
use headrace_engine::error::{Error, Result};
use headrace_engine::files::compression::Compression;
use headrace_engine::files::name::FileName;
use headrace_engine::pipeline::arrays::Arrays;
use headrace_engine::pipeline::arrow::Strings;
use headrace_engine::pipeline::block::{Block, FileOrigin, Rows};
use headrace_engine::pipeline::budget::Budget;
use headrace_engine::pipeline::column;
use headrace_engine::pipeline::executor::{Executor, Output};
use headrace_engine::pipeline::formats::{Codec, FixedLength, Lines, TfRecords, Whole};
use headrace_engine::pipeline::meters::{Meter, Time};
use headrace_engine::pipeline::native::function::{Function, Segment};
use headrace_engine::pipeline::nodes::bucket::Buckets;
use headrace_engine::pipeline::nodes::expected::Expected;
use headrace_engine::pipeline::nodes::files::Format;
use headrace_engine::pipeline::nodes::map;
use headrace_engine::pipeline::plan::{self, Mix, Settings, Shuffle, Step};
use headrace_engine::pipeline::stages::collate::{Collate, Padding, Unbatch};
use headrace_engine::pipeline::stages::metered::Metered;
use headrace_engine::pipeline::stages::native::{FilterNative, FlatMapNative, MapNative, Source};
use headrace_engine::pipeline::stages::parse::Parse;
use headrace_engine::pipeline::stages::select::Select;
use headrace_engine::pipeline::stages::with_origin::WithOrigin;
use headrace_engine::pipeline::task::{HostTask, Outcome};
use headrace_engine::reader::Numbering;
use headrace_engine::run::Run;
use headrace_engine::sync::cancellation::Cancellation;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use numpy::{PyArray1, PyArray2, PyUntypedArray};
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the consumer waits before it looks for signals.
const INTERVAL: Duration = Duration::from_millis(50);

/// A scalar or an array, and the number of its type.
type Typed<'py> = (Bound<'py, PyAny>, u8);

/// What workers do with rows.
#[pyclass(frozen, module = "headrace._native")]
pub struct Stage(pub(crate) Arc<dyn map::Stage>);

#[pymethods]
impl Stage {
    /// `Example`s to columns; the features as `ParseExample` takes them.
    #[staticmethod]
    fn parse(
        features: &Bound<'_, PyDict>,
        defaults: Vec<Typed<'_>>,
        record: usize,
        kept: Vec<usize>,
    ) -> PyResult<Self> {
        let py = features.py();
        let defaults = defaults.into_iter().map(|(value, code)| to_tensor(&value, dtype(py, code)?));
        let defaults = defaults.collect::<PyResult<_>>()?;
        Ok(Self(Arc::new(Parse::new(&attrs(features)?, defaults, record, kept).into_python(py)?)))
    }

    /// Some of the columns.
    #[staticmethod]
    fn select(columns: Vec<usize>) -> Self {
        Self(Arc::new(Select(columns)))
    }

    /// Rows to a batch. `padding` is a scalar for each column and what lengths are a multiple of; those of
    /// the columns `bounded` are one of `boundaries`.
    #[staticmethod]
    fn collate(
        py: Python<'_>,
        names: Vec<String>,
        pad_to: Option<usize>,
        padding: Option<(Vec<Typed<'_>>, usize)>,
        boundaries: Vec<usize>,
        bounded: Vec<usize>,
    ) -> PyResult<Self> {
        let padding = padding.map(|(values, multiple_of)| -> PyResult<Padding> {
            let values = values.into_iter().map(|(value, code)| to_tensor(&value, dtype(py, code)?));
            let values = values.collect::<PyResult<_>>()?;
            Ok(Padding { values, multiple_of, boundaries: boundaries.clone(), bounded: bounded.clone() })
        });
        Ok(Self(Arc::new(Collate { names, pad_to, padding: padding.transpose()? })))
    }

    /// A native function of each row. The new columns are results of the function, or columns that are kept: `(number,
    /// is_kept)`.
    #[staticmethod]
    fn map_native(function: NativeParts<'_>, columns: Vec<(usize, bool)>) -> Self {
        Self(Arc::new(map_native(function, columns)))
    }

    /// As `map_native`; the leading axis of each result has the rows that are made of one.
    #[staticmethod]
    fn flat_map_native(function: NativeParts<'_>, columns: Vec<(usize, bool)>) -> Self {
        Self(Arc::new(FlatMapNative(map_native(function, columns))))
    }

    /// The rows for which a native function is true.
    #[staticmethod]
    fn filter_native(function: NativeParts<'_>) -> Self {
        Self(Arc::new(FilterNative(function.whole())))
    }

    /// The file and the number of each record, behind so many columns.
    #[staticmethod]
    fn with_origin(num_columns: usize) -> Self {
        Self(Arc::new(WithOrigin(num_columns)))
    }

    /// Batches to rows.
    #[staticmethod]
    fn unbatch() -> Self {
        Self(Arc::new(Unbatch))
    }

    /// The stage, whose work is counted as that of stage `number` of the description.
    fn metered(&self, number: usize) -> Self {
        Self(Arc::new(Metered { stage: Arc::clone(&self.0), number }))
    }
}

/// A native function: its name, the columns that it is given, its program for a row, segments for many rows (program,
/// numbers of the values that it is fed, whether it is run for each row), the values that are its results, whether a row is a
/// batch, and whether it draws random numbers.
#[derive(FromPyObject)]
struct NativeParts<'py>(
    String,
    Vec<usize>,
    Bound<'py, Program>,
    Vec<(Bound<'py, Program>, Vec<usize>, bool)>,
    Vec<usize>,
    bool,
    bool,
);

impl NativeParts<'_> {
    fn whole(self) -> Function {
        let Self(name, inputs, program, segments, results, is_batched, is_random) = self;
        let segment = |(program, inputs, is_looped): (Bound<'_, Program>, _, _)| Segment {
            program: Arc::clone(&program.get().program),
            inputs,
            is_looped,
        };
        let segments = segments.into_iter().map(segment).collect();
        let program = Arc::clone(&program.get().program);
        Function { name, inputs, program, segments, results, is_batched, is_random }
    }
}

fn map_native(function: NativeParts<'_>, columns: Vec<(usize, bool)>) -> MapNative {
    let source = |(number, is_kept)| if is_kept { Source::Kept(number) } else { Source::Result(number) };
    MapNative { function: function.whole(), columns: columns.into_iter().map(source).collect() }
}

/// A step of a pipeline, with what comes before it.
#[pyclass(frozen, module = "headrace._native")]
pub struct Plan(pub(crate) Arc<plan::Plan>);

pub(crate) fn codec(name: &str) -> PyResult<Codec> {
    match name {
        "auto" => Ok(Codec::ByContent),
        "" => Ok(Codec::Known(Compression::None)),
        "gzip" => Ok(Codec::Known(Compression::Gzip)),
        "zlib" => Ok(Codec::Known(Compression::Zlib)),
        "zstd" => Ok(Codec::Zstd),
        "bzip2" => Ok(Codec::Bzip2),
        _ => Err(PyValueError::new_err(format!("there is no compression {name}"))),
    }
}

#[pymethods]
impl Plan {
    /// The records of files, of kind "tfrecords", "text_lines", "files" or "fixed_length_records", which takes the bytes of
    /// header, record and footer.
    #[staticmethod]
    fn files(
        kind: &str,
        paths: Vec<Bound<'_, PyBytes>>,
        compression: &str,
        lengths: (usize, usize, usize),
    ) -> PyResult<Self> {
        let codec = codec(compression)?;
        let (header_bytes, record_bytes, footer_bytes) = lengths;
        let (format, numbering): (Arc<dyn Format>, _) = match kind {
            "tfrecords" => (Arc::new(TfRecords { codec }), Numbering::RECORDS),
            "text_lines" => (Arc::new(Lines { codec, skips_blank: false }), Numbering { word: "line", first: 1 }),
            "files" => (Arc::new(Whole), Numbering::RECORDS),
            "fixed_length_records" => {
                (Arc::new(FixedLength { codec, header_bytes, record_bytes, footer_bytes }), Numbering::RECORDS)
            }
            _ => return Err(PyValueError::new_err(format!("there is no kind of files {kind}"))),
        };
        let origin = |(number, path): (usize, Bound<'_, PyBytes>)| {
            Arc::new(FileOrigin::new(FileName::new(path.as_bytes().to_vec()), numbering, number as u64))
        };
        let files = paths.into_iter().enumerate().map(origin).collect();
        Ok(Self(Arc::new(plan::Plan::Files(format, files))))
    }

    /// The rows of C-contiguous arrays, given with their types. Numbers are not copied.
    #[staticmethod]
    fn arrays(py: Python<'_>, arrays: Vec<(Bound<'_, PyUntypedArray>, u8)>) -> PyResult<Self> {
        let tensor = |(array, code): (Bound<'_, PyUntypedArray>, u8)| -> PyResult<Tensor> {
            let dtype = dtype(py, code)?;
            match lent_bytes(&array, dtype) {
                Some((shape, bytes)) => Tensor::from_bytes(dtype, shape, bytes).into_python(py),
                None => to_tensor(array.as_any(), dtype),
            }
        };
        let tensors = arrays.into_iter().map(tensor).collect::<PyResult<_>>()?;
        let rows = Arc::new(Arrays::new(tensors).into_python(py)?);
        Ok(Self(Arc::new(plan::Plan::Indexed(rows))))
    }

    /// Rows that the thread of a lane makes.
    #[staticmethod]
    fn hosted(lane: usize) -> Self {
        Self(Arc::new(plan::Plan::Hosted(lane)))
    }

    #[staticmethod]
    fn concat(plans: Vec<Bound<'_, Self>>) -> Self {
        Self(Arc::new(plan::Plan::Concat(parts(plans))))
    }

    /// Rows drawn from several plans by their weights; those that are left go on if it `goes_on`.
    #[staticmethod]
    fn mix(plans: Vec<Bound<'_, Self>>, weights: Vec<f64>, goes_on: bool, seed: u64) -> Self {
        Self(Arc::new(plan::Plan::Mix(parts(plans), Mix { weights, goes_on, seed })))
    }

    /// Rows of several plans side by side.
    #[staticmethod]
    fn zip(plans: Vec<Bound<'_, Self>>, is_strict: bool) -> Self {
        Self(Arc::new(plan::Plan::Zip(parts(plans), is_strict)))
    }

    /// All rows in another order. Each step must make one row of each.
    fn shuffle_all(&self, index: &Index, seed: u64) -> Self {
        let shuffle = Shuffle { seed, kept: Arc::clone(&index.0) };
        Self(Arc::new(plan::Plan::Shuffled(Arc::clone(&self.0), shuffle)))
    }

    fn cache(&self, cache: &Cache) -> Self {
        self.then(Step::Cache(Arc::clone(&cache.0)))
    }

    /// Batches of rows of similar lengths of a column.
    fn bucket(
        &self,
        column: usize,
        boundaries: Vec<usize>,
        limits: (Option<usize>, Option<usize>),
        pads_to_boundary: bool,
        drops_remainder: bool,
    ) -> Self {
        let (size, max_elements) = limits;
        let buckets = Buckets { column, boundaries, size, max_elements, pads_to_boundary, drops_remainder };
        self.then(Step::Bucket(Arc::new(buckets)))
    }

    fn map(&self, stages: Vec<Bound<'_, Stage>>) -> Self {
        let stages = stages.into_iter().map(|stage| Arc::clone(&stage.get().0)).collect();
        self.then(Step::Map(stages, Expected::default()))
    }

    fn map_hosted(&self, lane: usize) -> Self {
        self.then(Step::MapHosted(lane, Expected::default()))
    }

    fn take(&self, count: u64) -> Self {
        self.then(Step::Take(count))
    }

    fn skip(&self, count: u64) -> Self {
        self.then(Step::Skip(count))
    }

    fn shard(&self, index: u64, count: u64) -> Self {
        self.then(Step::Shard { index, count })
    }

    fn window(&self, size: usize, seed: u64) -> Self {
        self.then(Step::Window { size, seed })
    }

    fn batch(&self, size: usize, drops_remainder: bool) -> Self {
        self.then(Step::Batch { size, drops_remainder })
    }

    fn epochs(&self, count: Option<u64>) -> Self {
        self.then(Step::Epochs(count))
    }

    /// The plan, whose work is counted as that of stage `number` of the description, and its rows if `counts_rows`.
    fn metered(&self, number: usize, counts_rows: bool) -> Self {
        Self(Arc::new(plan::Plan::Metered { plan: Arc::clone(&self.0), stage: number, counts_rows }))
    }
}

fn parts(plans: Vec<Bound<'_, Plan>>) -> Arc<[Arc<plan::Plan>]> {
    plans.into_iter().map(|plan| Arc::clone(&plan.get().0)).collect()
}

impl Plan {
    fn then(&self, step: Step) -> Self {
        Self(Arc::new(plan::Plan::Then(Arc::clone(&self.0), step)))
    }
}

/// One component of some rows.
#[pyclass(frozen, module = "headrace._native")]
pub struct Column(column::Column);

#[pymethods]
impl Column {
    /// Rows of one shape: those of an array.
    #[staticmethod]
    fn dense(array: &Bound<'_, PyAny>, code: u8) -> PyResult<Self> {
        let tensor = to_tensor(array, dtype(array.py(), code)?)?;
        Ok(Self(column::Column::Dense(tensor)))
    }

    /// Rows of any shapes.
    #[staticmethod]
    fn each(arrays: &Bound<'_, PyList>, code: u8) -> PyResult<Self> {
        let dtype = dtype(arrays.py(), code)?;
        let tensors = arrays.iter().map(|array| to_tensor(&array, dtype)).collect::<PyResult<Vec<_>>>()?;
        Ok(Self(column::Column::Each(tensors.into())))
    }

    /// Strings: row `i` is `data[offsets[i]:offsets[i + 1]]`, of arrays of uint8 and int64.
    #[staticmethod]
    fn text(data: &Bound<'_, PyAny>, offsets: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = data.py();
        let (data, offsets) = (to_tensor(data, DType::UInt8)?, to_tensor(offsets, DType::Int64)?);
        text(&data, &offsets).map(column::Column::Text).map(Self).into_python(py)
    }

    /// Lists that end at `ends`, an array of int64, of the values of a vector.
    #[staticmethod]
    fn ragged(values: &Bound<'_, PyAny>, code: u8, ends: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = values.py();
        let (values, ends) = (to_tensor(values, dtype(py, code)?)?, to_tensor(ends, DType::Int64)?);
        ragged(values, &ends).map(column::Column::Ragged).map(Self).into_python(py)
    }

    /// One batch, whose rows are those of an array.
    #[staticmethod]
    fn batch(array: &Bound<'_, PyAny>, code: u8) -> PyResult<Self> {
        let tensor = to_tensor(array, dtype(array.py(), code)?)?;
        Ok(Self(column::Column::Batches(Arc::new([column::Column::Dense(tensor)]))))
    }

    /// All rows: an array, or a list where they have shapes of their own. Arrays cannot be written.
    fn to_python<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        shared(py, &self.0)
    }
}

/// Places that increase and are not beyond `limit`.
fn places(tensor: &Tensor, limit: usize) -> Result<Vec<usize>> {
    let places: Option<Vec<_>> = tensor.values::<i64>()?.iter().map(|place| usize::try_from(*place).ok()).collect();
    let places = places.filter(|places| places.is_sorted() && places.last().is_none_or(|last| *last <= limit));
    places.ok_or_else(|| Error::internal("the places of strings or lists are beyond their data"))
}

fn text(data: &Tensor, offsets: &Tensor) -> Result<column::Text> {
    let bytes = bytes::Bytes::copy_from_slice(data.bytes());
    let offsets = places(offsets, bytes.len())?;
    let span = |(start, end): (&usize, &usize)| column::Span { start: *start, length: end - start };
    let spans = offsets.iter().zip(offsets.iter().skip(1)).map(span).collect();
    Ok(column::Text::new(bytes, spans))
}

fn ragged(values: Tensor, ends: &Tensor) -> Result<column::Ragged> {
    let ends = places(ends, values.num_elements())?;
    Ok(column::Ragged::new(values, ends))
}

fn shared<'py>(py: Python<'py>, column: &column::Column) -> PyResult<Bound<'py, PyAny>> {
    match column {
        column::Column::Dense(tensor) => to_python_shared(py, tensor.clone()),
        column::Column::Text(text) => Ok(objects(py, text)),
        column::Column::Ragged(_) | column::Column::Each(_) => {
            let rows = (0..column.len()).map(|row| to_python_shared(py, column.row(row).into_python(py)?));
            Ok(PyList::new(py, rows.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
        column::Column::Batches(batches) => {
            let batches = batches.iter().map(|batch| shared(py, batch)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, batches)?.into_any())
        }
    }
}

/// Strings as an array of `bytes` objects.
fn objects<'py>(py: Python<'py>, text: &column::Text) -> Bound<'py, PyAny> {
    let objects = text.rows().map(|row| PyBytes::new(py, row).into_any().unbind()).collect();
    PyArray1::<Py<PyAny>>::from_vec(py, objects).into_any()
}

/// The component of a batch that the user gets: his own, and writable.
fn owned<'py>(py: Python<'py>, column: column::Column) -> PyResult<Bound<'py, PyAny>> {
    match column {
        column::Column::Batches(batches) if batches.len() == 1 => {
            let batch = batches[0].clone();
            drop(batches);
            owned(py, batch)
        }
        column::Column::Dense(tensor) => array_of(py, tensor),
        column => shared(py, &column),
    }
}

/// As [`owned`], but strings are the pair of an array of their bytes and one of their offsets, not to be written.
fn arrow<'py>(py: Python<'py>, column: column::Column) -> PyResult<Bound<'py, PyAny>> {
    match Strings::of(&column).into_python(py)? {
        Some(Strings { offsets, data }) => {
            (to_python_shared(py, data)?, to_python_shared(py, offsets)?).into_bound_py_any(py)
        }
        None => owned(py, column),
    }
}

/// A task for a Python function: some rows.
#[pyclass(frozen, module = "headrace._native")]
pub struct Job {
    task: Mutex<Option<HostTask>>,
    block: Arc<Block>,
    pass: u64,
    stage: usize,
    wanted_bytes: usize,
    begin: Instant,
    executor: Arc<Executor>,
}

#[pymethods]
impl Job {
    #[getter]
    fn pass_number(&self) -> u64 {
        self.pass
    }

    #[getter]
    fn num_rows(&self) -> usize {
        self.block.num_rows()
    }

    /// How many bytes the result is to have, unless one row has more. Only those that make rows of nothing have to look.
    #[getter]
    fn wanted_bytes(&self) -> usize {
        self.wanted_bytes
    }

    fn column(&self, index: usize) -> PyResult<Column> {
        let missing = || PyValueError::new_err(format!("there is no column {index}"));
        self.block.columns.get(index).cloned().map(Column).ok_or_else(missing)
    }

    /// Where a row was read, in words.
    fn origin(&self, row: usize) -> Option<String> {
        self.block.origin(row).map(|origin| origin.to_string())
    }

    /// What tells each row from all others, of all passes, as an array of four columns: the epoch, the record, the file, and
    /// the number among the rows made of the record.
    fn places<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u64>>> {
        let unknown = || Error::internal("the place of a row is not known");
        let words = |row| self.block.place(row).map(|place| place.words()).ok_or_else(unknown);
        let words = (0..self.block.num_rows()).map(words).collect::<Result<Vec<_>>>().into_python(py)?;
        let rows: Vec<_> = words.into_iter().map(Vec::from).collect();
        Ok(PyArray2::from_vec2(py, &rows)?)
    }

    /// Gives the result: columns of `num_rows` rows. `counts` says how many of them were made of each row that came; None
    /// for one of each. `error` is what happened at the row behind those.
    fn finish(
        &self,
        py: Python<'_>,
        columns: Vec<Bound<'_, Column>>,
        num_rows: usize,
        counts: Option<Vec<u64>>,
        error: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let columns = columns.into_iter().map(|column| column.get().0.clone()).collect();
        let origins = match counts {
            Some(counts) => {
                let numbers = counts.into_iter().enumerate();
                self.block.origins().made_of(numbers.flat_map(|(row, count)| (0..count).map(move |sub| (row, sub))))
            }
            None => {
                let mut rows = Rows::new();
                rows.push(&self.block, 0, num_rows.min(self.block.num_rows()));
                rows.origins()
            }
        };
        let block = Block::new(columns, num_rows, origins).into_python(py)?;
        self.end(Ok((Made::Block(block), error.map(|error| failure(py, &error)))));
        Ok(())
    }

    /// Gives the rows of these numbers as they came; `error` is what happened at the row behind them.
    fn keep(&self, py: Python<'_>, rows: Vec<usize>, error: Option<Bound<'_, PyAny>>) {
        let mut kept = Rows::new();
        rows.into_iter().for_each(|row| kept.push(&self.block, row, 1));
        let made = match kept.are_few() && !kept.is_empty() {
            // The others need not wait with them.
            true => kept.copy().map(Made::Block),
            false => Ok(Made::Rows(kept)),
        };
        self.end(made.map(|made| (made, error.map(|error| failure(py, &error)))));
    }
}

/// The rows of a task as a block, which is charged with what was copied for it.
fn gathered(task: &HostTask) -> Result<Arc<Block>> {
    if let Some(block) = task.rows.whole_block() {
        return Ok(Arc::clone(block));
    }
    let block = task.rows.copy()?;
    let charge = task.charge.another(block.held_bytes());
    Ok(Arc::new(block.charged(charge)))
}

/// What a Python function raised, to be raised again as it is.
fn failure(py: Python<'_>, error: &Bound<'_, PyAny>) -> Error {
    from_python(py, PyErr::from_value(error.clone())).interrupting()
}

/// What came of a task.
enum Made {
    /// A block, which the task is charged with.
    Block(Block),
    /// Rows of the block that came, which has its own charge.
    Rows(Rows),
}

impl Job {
    fn end(&self, result: Result<(Made, Option<Error>)>) {
        let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let HostTask { mut charge, expected, slot, .. } = task;
        let result = result.map(|(made, error)| {
            let num_rows = self.block.num_rows();
            let rows = match made {
                Made::Block(block) => {
                    expected.note(num_rows, block.held_bytes());
                    charge.correct(block.held_bytes());
                    Rows::all(block.charged(charge))
                }
                Made::Rows(rows) => {
                    expected.note(num_rows, 0);
                    rows
                }
            };
            Outcome { rows, error }
        });
        if let Some(meter) = self.executor.meters().stage(self.stage) {
            meter.busy.add(self.begin.elapsed());
            result.iter().for_each(|outcome| meter.count(0, outcome.rows.num_bytes()));
        }
        slot.set(result);
        self.executor.end_hosted();
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // Its thread is gone: nobody waits for it for ever.
        self.end(Err(Error::cancelled("the thread of a Python function has ended before the function")));
    }
}

/// What was counted of a stage: examples, bytes, seconds busy, computing and starving, and its fill.
type StageReadings = (u64, u64, f64, f64, f64, Option<f64>);

/// One iteration over a pipeline: its threads.
#[pyclass(frozen, module = "headrace._native")]
pub struct Execution {
    executor: Arc<Executor>,
    cancellation: Cancellation,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

#[pymethods]
impl Execution {
    #[new]
    fn new(
        plan: &Plan,
        pass_number: u64,
        num_threads: usize,
        num_lanes_and_stages: (usize, usize),
        memory_bytes: usize,
        max_outputs: usize,
        is_deterministic: bool,
    ) -> PyResult<Self> {
        let (num_lanes, num_stages) = num_lanes_and_stages;
        let settings = Settings::new(num_threads).in_any_order(!is_deterministic);
        let root = plan.0.start(pass_number, settings, 0);
        let executor = Executor::new(root, num_lanes, Budget::new(memory_bytes), max_outputs).metered(num_stages);
        let executor = Arc::new(executor);
        let cancellation = Cancellation::new();
        let execution =
            Self { executor: Arc::clone(&executor), cancellation: cancellation.clone(), workers: Mutex::default() };
        for number in 0..num_threads {
            let (executor, cancellation) = (Arc::clone(&executor), cancellation.clone());
            let work = move || Run::new(&cancellation).while_current(|| executor.work());
            let worker = thread::Builder::new().name(format!("headrace-{number}")).spawn(work)?;
            execution.workers.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        }
        executor.start();
        Ok(execution)
    }

    /// The next rows: the number of them and a list with each component; None at the end. Those of one row that is a batch
    /// are the components of the batch. With `strings_as_arrow` strings are pairs of arrays: their bytes, and at which of them
    /// each begins.
    fn next<'py>(&self, py: Python<'py>, strings_as_arrow: bool) -> PyResult<Option<(usize, Bound<'py, PyList>)>> {
        let wait = |run: &Run| loop {
            match self.executor.next(INTERVAL)? {
                Output::Block(block) => return Ok(Some(block)),
                Output::End => return Ok(None),
                Output::Timeout => run.check()?,
            }
        };
        let Some(block) = detached(py, &self.cancellation, None, wait)? else { return Ok(None) };
        let num_rows = block.num_rows();
        let columns = match Arc::try_unwrap(block) {
            Ok(block) => block.columns,
            Err(block) => block.columns.clone(),
        };
        let given = |column| if strings_as_arrow { arrow(py, column) } else { owned(py, column) };
        let columns = columns.into_iter().map(given).collect::<PyResult<Vec<_>>>()?;
        Ok(Some((num_rows, PyList::new(py, columns)?)))
    }

    /// The next task of a lane, or None once this is closed. Waits.
    fn take(&self, py: Python<'_>, lane: usize) -> PyResult<Option<Job>> {
        let executor = Arc::clone(&self.executor);
        let Some(mut task) = py.detach(|| executor.take_hosted(lane)) else { return Ok(None) };
        match gathered(&task) {
            Ok(block) => {
                // While the function runs, its results are there twice.
                let (charge, wanted_bytes) = (2 * task.charge.num_bytes(), task.wanted_bytes);
                task.charge.correct(charge);
                let (pass, stage, begin) = (task.pass, task.stage, Instant::now());
                Ok(Some(Job { task: Mutex::new(Some(task)), block, pass, stage, wanted_bytes, begin, executor }))
            }
            Err(error) => {
                task.slot.set(Err(error));
                executor.end_hosted();
                Err(Error::internal("the rows of a function do not fit into memory")).into_python(py)
            }
        }
    }

    /// What was counted so far: of each stage examples, bytes, seconds busy, of those with a processor, and starving, and its
    /// fill; then of all workers the seconds their tasks took, of those with a processor, and idle; the seconds that the
    /// consumer waited, and that workers waited for memory.
    fn readings(&self) -> (Vec<StageReadings>, [f64; 5]) {
        let meters = self.executor.meters();
        let seconds = |time: &Time| time.get().as_secs_f64();
        let read = |meter: &Meter| {
            let times = (seconds(&meter.busy), seconds(&meter.computing), seconds(&meter.starving));
            (meter.examples(), meter.bytes(), times.0, times.1, times.2, meter.fill())
        };
        let whole = [
            &meters.tasks.busy,
            &meters.tasks.computing,
            &meters.idle,
            &meters.consumer_waiting,
            &meters.budget_waiting,
        ];
        (meters.stages().iter().map(read).collect(), whole.map(seconds))
    }

    /// How much is charged to the memory of the pipeline.
    #[getter]
    fn used_bytes(&self) -> usize {
        self.executor.budget().used_bytes()
    }

    /// Ends all threads of the engine and waits for them.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.end());
    }
}

impl Execution {
    fn end(&self) {
        self.cancellation.cancel();
        self.executor.close();
        let workers = std::mem::take(&mut *self.workers.lock().unwrap_or_else(PoisonError::into_inner));
        // A worker does not panic: its tasks catch what does.
        workers.into_iter().for_each(|worker| drop(worker.join()));
    }
}

impl Drop for Execution {
    /// The workers are waited for without the GIL, which another thread may need before they can end.
    fn drop(&mut self) {
        if Python::try_attach(|py| py.detach(|| self.end())).is_none() {
            self.end();
        }
    }
}
