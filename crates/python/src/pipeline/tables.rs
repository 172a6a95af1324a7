//! Pipeline sources for files with typed columns: Parquet and Arrow.

use crate::boundary::view::to_tensor;
use crate::error::IntoPython;
use crate::pipeline::plan::Plan;
use crate::pipeline::sources::{Given, components, file_provenance, file_provenances};
use crate::waiting::detach::waiting;
use headrace_engine::error::Result;
use headrace_engine::numbering::Numbering;
use headrace_pipeline::blocks::file_provenance::FileProvenance;
use headrace_pipeline::formats::component::Component;
use headrace_pipeline::formats::{ColumnKind, Condition, Constant, Ipc, Op, Parquet, Value, Wanted};
use headrace_pipeline::records::Format;
use headrace_pipeline::{formats, plan};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::Arc;

const ROWS: Numbering = Numbering { word: "row", first: 0 };

/// A column of a table: its type in words, the component that it is (the number of its type, the
/// name of its form, the number of its axes of any length, its shape), else what to do about it.
type TableColumn = (String, Option<(u8, String, usize, Vec<usize>)>, String);

/// A condition: the column, the comparison and the values.
type GivenCondition<'py> = (Given<'py>, String, Vec<GivenValue>);

/// The number of a component, and its value for each file.
type GivenConstant<'py> = (usize, Vec<Option<Bound<'py, PyAny>>>);

/// A value of a condition.
#[derive(FromPyObject)]
pub enum GivenValue {
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

impl From<GivenValue> for Value {
    fn from(given: GivenValue) -> Self {
        match given {
            GivenValue::Integer(value) => Self::Integer(value.into()),
            GivenValue::Unsigned(value) => Self::Integer(value.into()),
            GivenValue::Float(value) => Self::Float(value),
            GivenValue::Bytes(value) => Self::Bytes(value),
            GivenValue::Decimal(value) => Self::Decimal(value),
        }
    }
}

fn table_column(kind: ColumnKind) -> TableColumn {
    match kind.component {
        Ok(Component { dtype, form, num_lists, shape, .. }) => {
            (kind.words, Some((dtype as u8, form.name(), num_lists, shape.to_vec())), String::new())
        }
        Err(remedy) => (kind.words, None, remedy),
    }
}

fn columns(
    path: &Bound<'_, PyBytes>,
    look: impl FnOnce(&FileProvenance) -> Result<Vec<(String, ColumnKind)>> + Send,
) -> PyResult<Vec<(String, TableColumn)>> {
    let file = file_provenance(path, ROWS, 0);
    let columns = waiting(path.py(), || look(&file))?;
    Ok(columns.into_iter().map(|(name, kind)| (name, table_column(kind))).collect())
}

fn wanted(
    py: Python<'_>,
    given: Vec<Given<'_>>,
    conditions: Vec<GivenCondition<'_>>,
    constants: Vec<GivenConstant<'_>>,
) -> PyResult<Wanted> {
    let components = components(py, given)?;
    let condition = |(given, op, values): GivenCondition<'_>| {
        let component = self::components(py, vec![given])?.remove(0);
        let op = Op::of_name(&op).into_python(py)?;
        Ok(Condition { component, op, values: values.into_iter().map(Value::from).collect() })
    };
    let conditions = conditions.into_iter().map(condition).collect::<PyResult<_>>()?;
    let constant = |(component, values): GivenConstant<'_>| {
        let dtype = components.get(component).map(|component: &Component| component.dtype);
        let dtype = dtype.ok_or_else(|| pyo3::exceptions::PyIndexError::new_err("no such component"))?;
        let values = values.iter().map(|value| value.as_ref().map(|value| to_tensor(value, dtype)).transpose());
        Ok(Constant { component, values: values.collect::<PyResult<_>>()? })
    };
    let constants = constants.into_iter().map(constant).collect::<PyResult<_>>()?;
    Ok(Wanted { components, conditions, constants })
}

fn rows(format: impl Format + 'static, parts: Arc<[Arc<FileProvenance>]>) -> (Plan, usize) {
    let num_parts = parts.len();
    (Plan(Arc::new(plan::Plan::Files(Arc::new(format), parts))), num_parts)
}

/// The columns of a Parquet file with their names: the named ones, or all.
#[pyfunction]
pub fn parquet_columns(path: &Bound<'_, PyBytes>, names: Option<Vec<String>>) -> PyResult<Vec<(String, TableColumn)>> {
    columns(path, |file| formats::parquet_columns(file, names.as_deref()))
}

/// The number of rows of each of some Parquet files.
#[pyfunction]
pub fn parquet_counts(py: Python<'_>, paths: Vec<Bound<'_, PyBytes>>) -> PyResult<Vec<u64>> {
    let files = file_provenances(&paths, ROWS);
    waiting(py, || formats::parquet_counts(&files))
}

/// The rows of Parquet files that meet conditions, as components, and the number of their row
/// groups.
#[pyfunction]
pub fn parquet_rows(
    py: Python<'_>,
    paths: Vec<Bound<'_, PyBytes>>,
    given: Vec<Given<'_>>,
    conditions: Vec<GivenCondition<'_>>,
    constants: Vec<GivenConstant<'_>>,
) -> PyResult<(Plan, usize)> {
    let wanted = wanted(py, given, conditions, constants)?;
    let files = file_provenances(&paths, ROWS);
    let (format, parts) = waiting(py, || Parquet::new(&files, wanted))?;
    Ok(rows(format, parts))
}

/// The columns of an Arrow file with their names: the named ones, or all.
#[pyfunction]
pub fn arrow_columns(path: &Bound<'_, PyBytes>, names: Option<Vec<String>>) -> PyResult<Vec<(String, TableColumn)>> {
    columns(path, |file| formats::arrow_columns(file, names.as_deref()))
}

/// The number of rows of each of some Arrow files.
#[pyfunction]
pub fn arrow_counts(py: Python<'_>, paths: Vec<Bound<'_, PyBytes>>) -> PyResult<Vec<u64>> {
    let files = file_provenances(&paths, ROWS);
    waiting(py, || formats::arrow_counts(&files))
}

/// The rows of Arrow files that meet conditions, as components, and the number of their record
/// batches.
#[pyfunction]
pub fn arrow_rows(
    py: Python<'_>,
    paths: Vec<Bound<'_, PyBytes>>,
    given: Vec<Given<'_>>,
    conditions: Vec<GivenCondition<'_>>,
    constants: Vec<GivenConstant<'_>>,
) -> PyResult<(Plan, usize)> {
    let wanted = wanted(py, given, conditions, constants)?;
    let files = file_provenances(&paths, ROWS);
    let (format, parts) = waiting(py, || Ipc::new(&files, &wanted))?;
    Ok(rows(format, parts))
}
