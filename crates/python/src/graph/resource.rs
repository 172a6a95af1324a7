//! The resources of a session other than queues: readers, variables, random generators, tables of
//! sparse tensors, record inputs, staging areas, barriers.

use crate::boundary::attrs::{attrs, dtype, shape};
use crate::boundary::view::to_tensor;
use crate::error::IntoPython;
use headrace_engine::tensor::memory_limit::memory_limit as limit_of_process;
use headrace_engine::tensor::shape::Shape;
use headrace_engine::{random_generator, sparse};
use headrace_tf1::{barrier, kernels, lookup, reader, record_input, staging, variable};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::Arc;

/// A reader.
#[pyclass(frozen, module = "headrace._native")]
pub struct Reader(pub Arc<reader::Reader>);

#[pymethods]
impl Reader {
    #[new]
    fn new(py: Python<'_>, name: String, op_type: &str, attributes: &Bound<'_, PyDict>) -> PyResult<Self> {
        let format = kernels::readers::reader::format(op_type, &attrs(attributes)?).into_python(py)?;
        Ok(Self(reader::Reader::new(name, format)))
    }
}

/// A variable of the engine.
#[pyclass(frozen, module = "headrace._native")]
pub struct Variable(pub Arc<variable::Variable>);

#[pymethods]
impl Variable {
    #[new]
    fn new(name: String) -> Self {
        Self(Arc::new(variable::Variable::new(name)))
    }

    /// Replaces the value. `code` is the number of its dtype.
    fn assign(&self, value: &Bound<'_, PyAny>, code: u8) -> PyResult<()> {
        let py = value.py();
        let value = to_tensor(value, dtype(py, code)?)?;
        self.0.assign(value, false).into_python(py)
    }
}

/// The maximum number of bytes of memory that this process can have, and the origin of the limit.
#[pyfunction]
pub fn memory_limit() -> (u64, &'static str) {
    let limit = limit_of_process();
    (limit.num_bytes, limit.owner)
}

/// A random generator of the engine.
#[pyclass(frozen, module = "headrace._native")]
pub struct RandomGenerator(pub Arc<random_generator::RandomGenerator>);

#[pymethods]
impl RandomGenerator {
    #[new]
    fn new(seed: i64, seed2: i64) -> Self {
        Self(Arc::new(random_generator::RandomGenerator::new(seed, seed2)))
    }

    /// Creates the generator for operation number `number` of a native function.
    #[staticmethod]
    fn of_rows(seed: u64, number: u64) -> Self {
        Self(Arc::new(random_generator::RandomGenerator::of_rows(seed, number)))
    }
}

/// A lookup table of the engine.
#[pyclass(frozen, module = "headrace._native")]
pub struct LookupTable(pub Arc<lookup::Table>);

#[pymethods]
impl LookupTable {
    /// Creates a table. The codes are the dtype numbers of keys and values.
    #[new]
    fn new(py: Python<'_>, key_code: u8, value_code: u8) -> PyResult<Self> {
        let table = lookup::Table::new(dtype(py, key_code)?, dtype(py, value_code)?).into_python(py)?;
        Ok(Self(Arc::new(table)))
    }
}

/// A lookup table that programs can change.
#[pyclass(frozen, module = "headrace._native")]
pub struct MutableTable(pub Arc<lookup::mutable::MutableTable>);

#[pymethods]
impl MutableTable {
    /// Creates a table. The codes are the dtype numbers of keys and values. Each value has the
    /// shape `row`.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "the signature of a Python function")]
    fn new(py: Python<'_>, key_code: u8, value_code: u8, row: Vec<usize>) -> PyResult<Self> {
        let (key, value) = (dtype(py, key_code)?, dtype(py, value_code)?);
        let table = lookup::mutable::MutableTable::new(key, value, Shape::new(&row)).into_python(py)?;
        Ok(Self(Arc::new(table)))
    }

    /// Replaces all entries.
    fn fill(&self, keys: &Bound<'_, PyAny>, values: &Bound<'_, PyAny>) -> PyResult<()> {
        let (key, value) = self.0.dtypes();
        self.0.fill(&to_tensor(keys, key)?, &to_tensor(values, value)?).into_python(keys.py())
    }
}

/// A table of sparse tensors of the engine.
#[pyclass(frozen, module = "headrace._native")]
pub struct SparseTable(pub Arc<sparse::SparseTable>);

#[pymethods]
impl SparseTable {
    #[new]
    fn new() -> Self {
        Self(Arc::default())
    }

    /// The number of tensors in the table.
    fn size(&self) -> usize {
        self.0.size()
    }
}

/// A staging area of the engine.
#[pyclass(frozen, module = "headrace._native")]
pub struct StagingArea(pub Arc<staging::StagingArea>);

#[pymethods]
impl StagingArea {
    #[new]
    fn new(name: String, capacity: Option<usize>, memory_limit: Option<usize>) -> Self {
        Self(staging::StagingArea::new(name, capacity, memory_limit))
    }

    /// The number of elements.
    fn size(&self) -> usize {
        self.0.size()
    }
}

/// A barrier of the engine.
#[pyclass(frozen, module = "headrace._native")]
pub struct Barrier(pub Arc<barrier::Barrier>);

#[pymethods]
impl Barrier {
    /// Creates a barrier. `dtypes` has the dtype numbers of the components.
    #[new]
    fn new(py: Python<'_>, name: String, dtypes: Vec<u8>, shapes: Vec<Vec<Option<usize>>>) -> PyResult<Self> {
        let dtypes = dtypes.into_iter().map(|code| dtype(py, code)).collect::<PyResult<Vec<_>>>()?;
        let shapes: Vec<_> = shapes.into_iter().filter_map(|dims| shape(Some(dims))).collect();
        Ok(Self(barrier::Barrier::new(name, &dtypes, &shapes).into_python(py)?))
    }
}

/// A record input of the engine.
#[pyclass(frozen, module = "headrace._native")]
pub struct RecordInput(pub Arc<record_input::RecordInput>);

#[pymethods]
impl RecordInput {
    /// Creates a record input that reads the files with these names.
    #[new]
    fn new(py: Python<'_>, name: String, files: Vec<Vec<u8>>, attributes: &Bound<'_, PyDict>) -> PyResult<Self> {
        let files = files.into_iter().map(Into::into).collect();
        let spec = kernels::readers::record_input::spec(name, files, &attrs(attributes)?).into_python(py)?;
        Ok(Self(record_input::RecordInput::new(spec).into_python(py)?))
    }
}
