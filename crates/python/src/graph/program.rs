//! Programs, which are built from operations and run with arrays.

use crate::boundary::array::to_python;
use crate::boundary::attrs::{attrs, dtype, shape};
use crate::boundary::view::to_tensor;
use crate::error::IntoPython;
use crate::graph::function::{PythonFunction, Stopped, advance};
use crate::graph::resource::{
    Barrier, LookupTable, MutableTable, RandomGenerator, Reader, RecordInput, SparseTable, StagingArea, Variable,
};
use crate::queues::queue::Queue;
use crate::waiting::cancellation::Cancellation;
use crate::waiting::detach::{attached_run, deadline, detached_run};
use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::Kernel;
use headrace_engine::program::trace::{self, Traced};
use headrace_engine::program::{Each, EachResult, Execution, HostFunction, Loop, Rounds};
use headrace_engine::run::Run;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::{kernels, program};
use headrace_tf1::kernels::queues::select::Select;
use headrace_tf1::kernels::{lookup, queues, readers, variables};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A result of `each`: its dtype, its shape as far as it is known, and whether it is joined.
type EachResultArgument = (u8, Option<Vec<Option<usize>>>, bool);

/// Stops loops.
#[pyclass(frozen, module = "headrace._native")]
pub struct StopFlag(Arc<program::StopFlag>);

#[pymethods]
impl StopFlag {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    fn set(&self) {
        self.0.set();
    }

    fn clear(&self) {
        self.0.clear();
    }

    fn is_set(&self) -> bool {
        self.0.is_set()
    }
}

/// Collects the spans of a run's operations, if the program was built for it.
#[pyclass(frozen, module = "headrace._native")]
pub struct Trace(Arc<trace::Trace>);

/// A traced run of an operation.
#[pyclass(frozen, get_all, new = "from_fields", module = "headrace._native")]
pub struct Span {
    /// The name of the operation.
    name: String,
    /// When it began and ended, in microseconds since 1970.
    begin: u64,
    end: u64,
    outputs: Vec<SpanOutput>,
}

/// An output of a traced operation.
#[pyclass(frozen, get_all, new = "from_fields", from_py_object, module = "headrace._native")]
#[derive(Clone)]
pub struct SpanOutput {
    /// The number of its dtype.
    code: u8,
    /// The shape. Unknown dimensions are -1.
    shape: Vec<i64>,
    num_bytes: usize,
}

impl From<trace::Span> for Span {
    fn from(span: trace::Span) -> Self {
        let output = |output: trace::Output| SpanOutput {
            code: output.dtype as u8,
            shape: output.shape.iter().map(|dim| *dim as i64).collect(),
            num_bytes: output.num_bytes,
        };
        Self {
            name: span.name.to_string(),
            begin: microseconds(span.begin),
            end: microseconds(span.end),
            outputs: span.outputs.into_iter().map(output).collect(),
        }
    }
}

#[pymethods]
impl Trace {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    /// The current time in microseconds since 1970, on the same clock as the spans.
    fn now(&self) -> u64 {
        microseconds(self.0.now())
    }

    /// Takes the spans collected so far, in the order in which the operations ended.
    fn take(&self) -> Vec<Span> {
        self.0.take().into_iter().map(Span::from).collect()
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Collects the operations of a program. Each comes after its inputs.
#[pyclass(frozen, module = "headrace._native")]
pub struct ProgramBuilder {
    building: Mutex<Building>,
    trace: Option<Arc<trace::Trace>>,
}

#[derive(Default)]
struct Building {
    builder: program::ProgramBuilder,
    feeds: Vec<DType>,
}

/// A resource that an operation works on.
#[derive(FromPyObject)]
enum Resource<'py> {
    Queue(Bound<'py, Queue>),
    Reader(Bound<'py, Reader>),
    Variable(Bound<'py, Variable>),
    SparseTable(Bound<'py, SparseTable>),
    LookupTable(Bound<'py, LookupTable>),
    MutableTable(Bound<'py, MutableTable>),
    RecordInput(Bound<'py, RecordInput>),
    StagingArea(Bound<'py, StagingArea>),
    Barrier(Bound<'py, Barrier>),
    RandomGenerator(Bound<'py, RandomGenerator>),
}

/// The conditions for an operation to run.
#[pyclass(frozen, get_all, new = "from_fields", module = "headrace._native")]
pub struct Gate {
    /// The numbers of operations that have to run first.
    controls: Vec<usize>,
    /// The slots of bool scalars with the required values, outermost branch first.
    guards: Vec<(usize, bool)>,
}

#[pymethods]
impl ProgramBuilder {
    /// Without `rewrites`, programs are not optimised; tests compare both. With `trace`, operations
    /// are traced one by one, except for Python functions and merges.
    #[new]
    #[pyo3(signature = (rewrites=true, trace=None))]
    fn new(rewrites: bool, trace: Option<&Bound<'_, Trace>>) -> Self {
        let trace = trace.map(|trace| Arc::clone(&trace.get().0));
        let is_optimised = rewrites && trace.is_none();
        let builder =
            if is_optimised { program::ProgramBuilder::new() } else { program::ProgramBuilder::unoptimised() };
        Self { building: Mutex::new(Building { builder, feeds: Vec::new() }), trace }
    }

    /// Adds a value that is passed to each run, with dtype number `code`. Returns its slot.
    fn feed(&self, py: Python<'_>, code: u8) -> PyResult<usize> {
        let dtype = dtype(py, code)?;
        let mut building = self.lock();
        building.feeds.push(dtype);
        Ok(building.builder.feed())
    }

    /// Adds a value that is the same in every run. Returns its slot.
    fn constant(&self, py: Python<'_>, value: &Bound<'_, PyAny>, code: u8) -> PyResult<usize> {
        let tensor = to_tensor(value, dtype(py, code)?)?;
        Ok(self.lock().builder.constant(tensor))
    }

    /// Returns the engine's kernel for operations of type `op_type`, or `None` if there is none.
    /// Later programs can use it too.
    #[staticmethod]
    fn kernel(
        py: Python<'_>,
        op_type: &str,
        attributes: &Bound<'_, PyDict>,
        resources: Vec<Resource<'_>>,
    ) -> PyResult<Option<KernelHandle>> {
        let attrs = attrs(attributes)?;
        let kernel = match resources.as_slice() {
            [] => kernels::build(op_type, &attrs),
            [Resource::Queue(queue)] => queues::queue::build(op_type, &attrs, &queue.get().0),
            [Resource::Variable(variable)] => variables::build(op_type, &attrs, &variable.get().0),
            [Resource::RandomGenerator(generator)] => kernels::random::build(op_type, &attrs, &generator.get().0),
            [Resource::LookupTable(table)] => lookup::table::build(op_type, &attrs, &table.get().0),
            [Resource::MutableTable(table)] => Ok(lookup::table::build_mutable(op_type, &table.get().0)),
            [Resource::RecordInput(input)] => Ok(Some(readers::record_input::build(&input.get().0))),
            [Resource::SparseTable(table)] => kernels::sparse::table::build(op_type, &attrs, &table.get().0),
            [Resource::StagingArea(area)] => queues::staging::build(op_type, &attrs, &area.get().0),
            [Resource::Barrier(barrier)] => queues::barrier::build(op_type, &attrs, &barrier.get().0),
            [Resource::Reader(reader)] => readers::reader::build(op_type, &reader.get().0, None),
            [Resource::Reader(reader), Resource::Queue(queue)] => {
                readers::reader::build(op_type, &reader.get().0, Some(&queue.get().0))
            }
            _ => Err(Error::internal(format!("{op_type} does not support these resources"))),
        };
        Ok(kernel.into_python(py)?.map(|kernel| KernelHandle(Callee::Native(kernel))))
    }

    /// Creates a kernel that picks one of `kernels`. Its first input is the index.
    #[staticmethod]
    fn select(py: Python<'_>, kernels: Vec<Bound<'_, KernelHandle>>) -> PyResult<KernelHandle> {
        let native = |kernel: &Bound<'_, KernelHandle>| match &kernel.get().0 {
            Callee::Native(kernel) => Ok(Arc::clone(kernel)),
            Callee::Python(_) => Err(Error::internal("a Python function cannot work on resources")),
        };
        let kernels = kernels.iter().map(native).collect::<Result<_>>().into_python(py)?;
        Ok(KernelHandle(Callee::Native(Arc::new(Select::new(kernels)))))
    }

    /// Adds a call of a Python function; see `PythonFunction`.
    #[staticmethod]
    fn function(py: Python<'_>, function: Py<PyAny>, codes: Vec<u8>) -> PyResult<KernelHandle> {
        let dtypes = codes.into_iter().map(|code| dtype(py, code)).collect::<PyResult<_>>()?;
        Ok(KernelHandle(Callee::Python(Arc::new(PythonFunction { function, dtypes }))))
    }

    /// Creates a kernel that repeats `body`, either as long as `condition` returns true or once per
    /// row.
    ///
    /// Its inputs are `num_carried` values that each iteration passes to the next one,
    /// `num_sequences` tensors with a row for each iteration, and values that are the same in all
    /// iterations. Its outputs are the final carried values, and the other results of the body,
    /// stacked. `collected` has their dtypes and, as far as known, their shapes. A loop over rows
    /// may be reversed, and may begin with the second row.
    #[staticmethod]
    #[pyo3(signature = (
        name, condition, body, *, num_carried, num_sequences, collected, is_reversed, begins_with_carried, is_pure,
        max_threads
    ))]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn repeated(
        py: Python<'_>,
        name: &str,
        condition: Option<Bound<'_, Program>>,
        body: Bound<'_, Program>,
        num_carried: usize,
        num_sequences: usize,
        collected: Vec<(u8, Option<Vec<Option<usize>>>)>,
        is_reversed: bool,
        begins_with_carried: bool,
        is_pure: bool,
        max_threads: usize,
    ) -> PyResult<KernelHandle> {
        let rounds = match condition {
            Some(condition) => Rounds::While(Arc::clone(&condition.get().program)),
            None => Rounds::Rows { is_reversed, begins_with_carried, is_pure },
        };
        let row = |(code, dims)| PyResult::Ok((dtype(py, code)?, shape(dims)));
        Ok(KernelHandle(Callee::Native(Arc::new(Arc::new(Loop {
            name: name.into(),
            rounds,
            body: Arc::clone(&body.get().program),
            num_carried,
            num_sequences,
            collected: collected.into_iter().map(row).collect::<PyResult<_>>()?,
            max_threads,
        })))))
    }

    /// Creates a kernel that runs `body` for each element of a list.
    ///
    /// Its inputs are `num_lists` lists of the same length, and values that are the same for all
    /// elements. `results` has the dtype of each result, its shape as far as it is known, and
    /// whether the results are joined along their first axis rather than stacked.
    #[staticmethod]
    fn each(
        py: Python<'_>,
        body: Bound<'_, Program>,
        num_lists: usize,
        results: Vec<EachResultArgument>,
    ) -> PyResult<KernelHandle> {
        let result = |(code, dims, is_joined)| {
            PyResult::Ok(EachResult { dtype: dtype(py, code)?, shape: shape(dims), is_joined })
        };
        let results = results.into_iter().map(result).collect::<PyResult<_>>()?;
        let body = Arc::clone(&body.get().program);
        Ok(KernelHandle(Callee::Native(Arc::new(Each { body, num_lists, results }))))
    }

    /// Adds an operation. Returns its number and its first output slot, which the other outputs
    /// follow.
    ///
    /// The gate has the operations that must run first. Unless the slot of each guard has the
    /// required value, the operation is skipped together with all operations that depend on it.
    fn node(
        &self,
        py: Python<'_>,
        name: &str,
        kernel: &Bound<'_, KernelHandle>,
        inputs: Vec<usize>,
        num_outputs: usize,
        gate: &Gate,
    ) -> PyResult<(usize, usize)> {
        let name: Arc<str> = name.into();
        let (Gate { controls, guards }, builder) = (gate, &mut self.lock().builder);
        let node = match &kernel.get().0 {
            Callee::Native(kernel) => {
                let kernel = match &self.trace {
                    Some(trace) => Arc::new(Traced::new(Arc::clone(&name), Arc::clone(kernel), Arc::clone(trace))),
                    None => Arc::clone(kernel),
                };
                builder.node(name, kernel, &inputs, controls, guards, num_outputs)
            }
            Callee::Python(function) => {
                let function: HostFunction = Arc::clone(function) as _;
                builder.host_function(name, function, &inputs, controls, guards, num_outputs)
            }
        };
        node.into_python(py)
    }

    /// Adds an operation that returns one of `branches`: the first one if `predicate` is false.
    /// Otherwise it is like `node`.
    fn merge(
        &self,
        py: Python<'_>,
        name: &str,
        predicate: usize,
        branches: (usize, usize),
        gate: &Gate,
    ) -> PyResult<(usize, usize)> {
        self.lock().builder.merge(name.into(), predicate, branches, &gate.controls, &gate.guards).into_python(py)
    }

    /// Builds a program that returns the values of the slots `fetches`. The builder is empty
    /// afterwards.
    fn build(&self, py: Python<'_>, fetches: Vec<usize>) -> PyResult<Program> {
        let building = std::mem::take(&mut *self.lock());
        let program = building.builder.build(fetches).into_python(py)?;
        Ok(Program { program: Arc::new(program), feeds: building.feeds })
    }
}

impl ProgramBuilder {
    fn lock(&self) -> std::sync::MutexGuard<'_, Building> {
        self.building.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A kernel, which the programs of a session share.
#[pyclass(frozen, module = "headrace._native", name = "Kernel")]
pub struct KernelHandle(Callee);

enum Callee {
    Native(Arc<dyn Kernel>),
    Python(Arc<PythonFunction>),
}

/// A compiled set of operations.
#[pyclass(frozen, module = "headrace._native")]
pub struct Program {
    pub(crate) program: Arc<program::Program>,
    feeds: Vec<DType>,
}

#[pymethods]
impl Program {
    /// Runs once with one array per feed and returns one array per fetch. Releases the GIL unless
    /// the program is brief.
    ///
    /// If the run reaches a Python function, returns a `PythonCall` instead, which resumes the run.
    #[pyo3(signature = (feeds, cancellation, timeout=None))]
    fn run<'py>(
        &self,
        py: Python<'py>,
        feeds: Vec<Bound<'py, PyAny>>,
        cancellation: &Bound<'py, Cancellation>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let feeds =
            feeds.iter().zip(&self.feeds).map(|(feed, dtype)| to_tensor(feed, *dtype)).collect::<PyResult<Vec<_>>>()?;
        let deadline = timeout.and_then(deadline);
        if self.program.has_host_functions() {
            let execution = Execution::once(&self.program, feeds).into_python(py)?;
            let stopped = Stopped { execution, cancellation: cancellation.clone().unbind(), deadline };
            return advance(py, stopped, Execution::start);
        }
        let cancellation = &cancellation.get().0;
        let run = |run: &Run| self.program.run(feeds, run);
        let values = match self.program.is_brief() {
            true => attached_run(py, cancellation, deadline, run)?,
            false => detached_run(py, None, cancellation, deadline, run)?,
        };
        let arrays = values.into_iter().map(|value| to_python(py, value)).collect::<PyResult<Vec<_>>>()?;
        PyList::new(py, arrays).map(Bound::into_any)
    }

    /// Repeats runs without the GIL until `stop` is set or a run fails.
    ///
    /// If a run reaches a Python function, returns a `PythonCall`, which resumes it. Returns an
    /// empty list at the end.
    fn run_loop<'py>(
        &self,
        py: Python<'py>,
        stop: &Bound<'py, StopFlag>,
        cancellation: &Bound<'py, Cancellation>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let stop = &stop.get().0;
        if self.program.has_host_functions() {
            let execution = Execution::repeated(&self.program, stop).into_python(py)?;
            let stopped = Stopped { execution, cancellation: cancellation.clone().unbind(), deadline: None };
            return advance(py, stopped, Execution::start);
        }
        detached_run(py, None, &cancellation.get().0, None, |run| self.program.run_loop(stop, run))?;
        Ok(PyList::empty(py).into_any())
    }
}
