//! Pipeline sources for files with typed columns: Parquet and Arrow.

use crate::boundary::view::to_tensor;
use crate::error::IntoPython;
use crate::pipeline::plan::Plan;
use crate::pipeline::sources::{ComponentArgument, components, file_provenance, file_provenances};
use crate::waiting::detach::waiting;
use headrace_engine::error::Result;
use headrace_engine::numbering::Numbering;
use headrace_pipeline::blocks::file_provenance::FileProvenance;
use headrace_pipeline::formats::component::Component;
use headrace_pipeline::formats::{ColumnKind, Condition, Constant, Ipc, Op, Parquet, TableQuery, Value};
use headrace_pipeline::records::Format;
use headrace_pipeline::{formats, plan};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

const ROWS: Numbering = Numbering { word: "row", first: 0 };

/// A column of a table.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub struct TableColumn {
    name: String,
    /// A description of its type.
    words: String,
    /// The type of the component that it becomes, or None if it cannot be a component.
    component: Option<ColumnType>,
    /// How to make the column usable.
    remedy: String,
}

/// The type of the component that a table column becomes.
#[pyclass(frozen, get_all, module = "headrace._native")]
#[derive(Clone)]
pub struct ColumnType {
    /// The number of the dtype.
    code: u8,
    /// The name of its form.
    form: String,
    /// The number of axes of variable length.
    num_lists: usize,
    shape: Vec<usize>,
}

/// A condition on a column: a comparison with values.
#[pyclass(frozen, new = "from_fields", module = "headrace._native", name = "Condition")]
pub struct ConditionArgument {
    column: Py<ComponentArgument>,
    op: String,
    values: Vec<ConditionValue>,
}

/// A component with the same value in all rows of a file.
#[pyclass(frozen, new = "from_fields", module = "headrace._native", name = "Constant")]
pub struct ConstantArgument {
    /// The number of the component.
    component: usize,
    /// Its value in each file.
    values: Vec<Option<Py<PyAny>>>,
}

/// The plan for the rows of tables, and the number of pieces that threads read.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub struct TableRows {
    plan: Py<Plan>,
    num_pieces: usize,
}

/// A value of a condition.
#[derive(Clone, FromPyObject)]
pub enum ConditionValue {
    /// An integer.
    Integer(i64),
    /// A larger integer.
    Unsigned(u64),
    /// A float.
    Float(f64),
    /// A string.
    Bytes(Vec<u8>),
    /// A decimal, as text.
    Decimal(String),
}

impl From<ConditionValue> for Value {
    fn from(value: ConditionValue) -> Self {
        match value {
            ConditionValue::Integer(value) => Self::Integer(value.into()),
            ConditionValue::Unsigned(value) => Self::Integer(value.into()),
            ConditionValue::Float(value) => Self::Float(value),
            ConditionValue::Bytes(value) => Self::Bytes(value),
            ConditionValue::Decimal(value) => Self::Decimal(value),
        }
    }
}

fn table_column((name, kind): (String, ColumnKind)) -> TableColumn {
    let (component, remedy) = match kind.component {
        Ok(Component { dtype, form, num_lists, shape, .. }) => {
            let column_type = ColumnType { code: dtype as u8, form: form.name(), num_lists, shape: shape.to_vec() };
            (Some(column_type), String::new())
        }
        Err(remedy) => (None, remedy),
    };
    TableColumn { name, words: kind.words, component, remedy }
}

fn columns(
    path: &Bound<'_, PyBytes>,
    look: impl FnOnce(&FileProvenance) -> Result<Vec<(String, ColumnKind)>> + Send,
) -> PyResult<Vec<TableColumn>> {
    let file = file_provenance(path, ROWS, 0);
    let columns = waiting(path.py(), || look(&file))?;
    Ok(columns.into_iter().map(table_column).collect())
}

fn selection(
    py: Python<'_>,
    components: &[Bound<'_, ComponentArgument>],
    conditions: &[Bound<'_, ConditionArgument>],
    constants: &[Bound<'_, ConstantArgument>],
) -> PyResult<TableQuery> {
    let components = self::components(py, components)?;
    let condition = |condition: &Bound<'_, ConditionArgument>| {
        let condition = condition.get();
        let op = Op::of_name(&condition.op).into_python(py)?;
        let values = condition.values.iter().cloned().map(Value::from).collect();
        Ok(Condition { component: condition.column.get().component(py)?, op, values })
    };
    let conditions = conditions.iter().map(condition).collect::<PyResult<_>>()?;
    let constant = |constant: &Bound<'_, ConstantArgument>| {
        let ConstantArgument { component, values } = constant.get();
        let dtype = components.get(*component).map(|component: &Component| component.dtype);
        let dtype = dtype
            .ok_or_else(|| pyo3::exceptions::PyIndexError::new_err(format!("component {component} does not exist")))?;
        let values =
            values.iter().map(|value| value.as_ref().map(|value| to_tensor(value.bind(py), dtype)).transpose());
        Ok(Constant { component: *component, values: values.collect::<PyResult<_>>()? })
    };
    let constants = constants.iter().map(constant).collect::<PyResult<_>>()?;
    Ok(TableQuery { components, conditions, constants })
}

fn rows(py: Python<'_>, format: impl Format + 'static, parts: Arc<[Arc<FileProvenance>]>) -> PyResult<TableRows> {
    let num_pieces = parts.len();
    let plan = Py::new(py, Plan(Arc::new(plan::Plan::Files(Arc::new(format), parts))))?;
    Ok(TableRows { plan, num_pieces })
}

/// Returns the named columns of a Parquet file, or all of them, with their names.
#[pyfunction]
pub fn parquet_columns(path: &Bound<'_, PyBytes>, names: Option<Vec<String>>) -> PyResult<Vec<TableColumn>> {
    columns(path, |file| formats::parquet_columns(file, names.as_deref()))
}

/// Returns the number of rows in each Parquet file.
#[pyfunction]
pub fn parquet_counts(py: Python<'_>, paths: Vec<Bound<'_, PyBytes>>) -> PyResult<Vec<u64>> {
    let files = file_provenances(&paths, ROWS);
    waiting(py, || formats::parquet_counts(&files))
}

/// Reads the rows of Parquet files that meet conditions, as components. Row groups are pieces.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the signature of a Python function")]
pub fn parquet_rows(
    py: Python<'_>,
    paths: Vec<Bound<'_, PyBytes>>,
    components: Vec<Bound<'_, ComponentArgument>>,
    conditions: Vec<Bound<'_, ConditionArgument>>,
    constants: Vec<Bound<'_, ConstantArgument>>,
) -> PyResult<TableRows> {
    let selection = selection(py, &components, &conditions, &constants)?;
    let files = file_provenances(&paths, ROWS);
    let (format, parts) = waiting(py, || Parquet::new(&files, selection))?;
    rows(py, format, parts)
}

/// Returns the named columns of an Arrow file, or all of them, with their names.
#[pyfunction]
pub fn arrow_columns(path: &Bound<'_, PyBytes>, names: Option<Vec<String>>) -> PyResult<Vec<TableColumn>> {
    columns(path, |file| formats::arrow_columns(file, names.as_deref()))
}

/// Returns the number of rows in each Arrow file.
#[pyfunction]
pub fn arrow_counts(py: Python<'_>, paths: Vec<Bound<'_, PyBytes>>) -> PyResult<Vec<u64>> {
    let files = file_provenances(&paths, ROWS);
    waiting(py, || formats::arrow_counts(&files))
}

/// Reads the rows of Arrow files that meet conditions, as components. Record batches are pieces.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the signature of a Python function")]
pub fn arrow_rows(
    py: Python<'_>,
    paths: Vec<Bound<'_, PyBytes>>,
    components: Vec<Bound<'_, ComponentArgument>>,
    conditions: Vec<Bound<'_, ConditionArgument>>,
    constants: Vec<Bound<'_, ConstantArgument>>,
) -> PyResult<TableRows> {
    let selection = selection(py, &components, &conditions, &constants)?;
    let files = file_provenances(&paths, ROWS);
    let (format, parts) = waiting(py, || Ipc::new(&files, &selection))?;
    rows(py, format, parts)
}
