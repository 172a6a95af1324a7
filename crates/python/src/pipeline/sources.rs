//! Pipeline sources for file formats with columns: CSV, JSON, tar archives, and labelled files.

use crate::boundary::attrs::dtype;
use crate::boundary::view::to_tensor;
use crate::error::IntoPython;
use crate::pipeline::plan::{Plan, SeenComponents, Stage, codec};
use crate::waiting::detach::waiting;
use bytes::Bytes;
use headrace_engine::files::content;
use headrace_engine::files::name::FileName;
use headrace_engine::files::zip::Archive;
use headrace_engine::numbering::Numbering;
use headrace_engine::tensor::shape::Shape;
use headrace_pipeline::blocks::file_provenance::FileProvenance;
use headrace_pipeline::formats::component::{Component, Form};
use headrace_pipeline::formats::{Columns, Csv, JsonArray, Labelled, Lines, Tar, Whole};
use headrace_pipeline::records::{Codec, Format};
use headrace_pipeline::stages::csv::inference::Inferred;
use headrace_pipeline::stages::csv::{self, CsvFields, Words};
use headrace_pipeline::stages::json::inference::InferredKey;
use headrace_pipeline::stages::json::{self, JsonFields};
use headrace_pipeline::{formats, plan, records};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;
use std::sync::Arc;

const LINES: Numbering = Numbering { word: "line", first: 1 };
const SAMPLES: Numbering = Numbering { word: "sample", first: 0 };

/// A component of a source, as described by Python.
#[pyclass(frozen, module = "headrace._native", name = "Component")]
pub struct ComponentArgument {
    name: String,
    /// The number of its dtype.
    code: u8,
    /// The name of its form.
    form: String,
    /// The number of axes of variable length.
    num_lists: usize,
    /// Its other axes.
    shape: Vec<usize>,
    /// The value for missing rows.
    default: Option<Py<PyAny>>,
    is_inferred: bool,
    has_mask: bool,
}

#[pymethods]
impl ComponentArgument {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        name: String,
        code: u8,
        form: String,
        num_lists: usize,
        shape: Vec<usize>,
        default: Option<Py<PyAny>>,
        is_inferred: bool,
        has_mask: bool,
    ) -> Self {
        Self { name, code, form, num_lists, shape, default, is_inferred, has_mask }
    }
}

impl ComponentArgument {
    pub(super) fn component(&self, py: Python<'_>) -> PyResult<Component> {
        let dtype = dtype(py, self.code)?;
        Ok(Component {
            name: self.name.clone(),
            dtype,
            form: Form::of_name(&self.form).into_python(py)?,
            num_lists: self.num_lists,
            shape: Shape::new(&self.shape),
            default: self.default.as_ref().map(|value| to_tensor(value.bind(py), dtype)).transpose()?,
            is_inferred: self.is_inferred,
            has_mask: self.has_mask,
        })
    }
}

pub(super) fn components(py: Python<'_>, components: &[Bound<'_, ComponentArgument>]) -> PyResult<Vec<Component>> {
    components.iter().map(|component| component.get().component(py)).collect()
}

pub(super) fn file_provenance(path: &Bound<'_, PyBytes>, numbering: Numbering, number: u64) -> Arc<FileProvenance> {
    Arc::new(FileProvenance::new(FileName::new(path.as_bytes().to_vec()), numbering, number))
}

/// A zip archive, whose members can be read as files.
#[pyclass(frozen, module = "headrace._native")]
pub struct ZipArchive(Arc<Archive>);

#[pymethods]
impl ZipArchive {
    /// Opens an archive and reads its central directory.
    #[new]
    fn new(py: Python<'_>, path: &Bound<'_, PyBytes>) -> PyResult<Self> {
        let name = FileName::new(path.as_bytes().to_vec());
        waiting(py, || Archive::open(name)).map(|archive| Self(Arc::new(archive)))
    }

    /// The names of its files, in the order of their data.
    #[getter]
    fn names<'py>(&self, py: Python<'py>) -> Vec<Bound<'py, PyBytes>> {
        self.0.members().map(|(name, _)| PyBytes::new(py, name)).collect()
    }
}

/// The names of files. Those in an archive are its members. Fails if a member cannot be read.
pub(super) fn file_names(
    py: Python<'_>,
    paths: &[Bound<'_, PyBytes>],
    archives: &[Bound<'_, ZipArchive>],
) -> PyResult<Vec<FileName>> {
    let archives: HashMap<_, _> =
        archives.iter().map(|one| &one.get().0).map(|one| (&one.name().bytes()[..], one)).collect();
    let name_of = |path: &Bound<'_, PyBytes>| {
        let path = path.as_bytes();
        let mut ends = (0..path.len()).filter(|at| path[*at] == b'/');
        let member = ends.find_map(|end| Some(archives.get(&path[..end])?.member(&path[end + 1..])));
        match member {
            Some(member) => member.map(|member| FileName::of_member(Arc::new(member))).into_python(py),
            None => Ok(FileName::new(path.to_vec())),
        }
    };
    paths.iter().map(name_of).collect()
}

pub(super) fn file_provenances(paths: &[Bound<'_, PyBytes>], numbering: Numbering) -> Vec<Arc<FileProvenance>> {
    let names = paths.iter().map(|path| FileName::new(path.as_bytes().to_vec()));
    FileProvenance::of_source(names, numbering)
}

fn files(format: impl Format + 'static, paths: &[Bound<'_, PyBytes>], numbering: Numbering) -> Plan {
    Plan(Arc::new(plan::Plan::Files(Arc::new(format), file_provenances(paths, numbering).into())))
}

/// Reads the records of CSV files. `names` are the names of the columns in the header. Without
/// names, there are `num_columns` columns and no header.
#[pyfunction]
pub fn csv_records(
    paths: Vec<Bound<'_, PyBytes>>,
    compression: &str,
    delimiter: u8,
    names: Option<Vec<String>>,
    num_columns: usize,
) -> PyResult<Plan> {
    let columns = names.map_or(Columns::All(num_columns), |names| Columns::Named(names.into()));
    Ok(files(Csv { codec: codec(compression)?, delimiter, columns }, &paths, LINES))
}

/// Parses CSV records into components. A field equal to one of `missing` has no value.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the signature of a Python function")]
pub fn csv_fields(
    py: Python<'_>,
    delimiter: u8,
    components: Vec<Bound<'_, ComponentArgument>>,
    missing: Vec<Vec<u8>>,
) -> PyResult<Stage> {
    let fields = CsvFields::new(delimiter, self::components(py, &components)?, Words::new(missing));
    Ok(Stage(Arc::new(fields.into_python(py)?)))
}

/// Infers the columns of a CSV file with a header from its first block. Returns None if it has no
/// records. The columns in `filled` have a value for missing fields.
#[pyfunction]
pub fn infer_csv(
    py: Python<'_>,
    path: &Bound<'_, PyBytes>,
    compression: &str,
    delimiter: u8,
    missing: Vec<Vec<u8>>,
) -> PyResult<Option<Vec<InferredColumn>>> {
    let (file, codec, missing) = (file_provenance(path, LINES, 0), codec(compression)?, Words::new(missing));
    let columns = waiting(py, || csv::inference::infer_csv(&file, codec, delimiter, &missing))?;
    Ok(columns.map(|columns| columns.into_iter().map(InferredColumn::from).collect()))
}

/// An inferred column.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub struct InferredColumn {
    name: String,
    /// The number of its dtype.
    code: u8,
    is_text: bool,
    /// Describes the line that made it a column of strings.
    decided: Option<String>,
}

impl From<Inferred> for InferredColumn {
    fn from(Inferred { name, dtype, is_text, decided }: Inferred) -> Self {
        Self { name, code: dtype as u8, is_text, decided }
    }
}

/// An inferred key of JSON objects.
#[pyclass(frozen, get_all, module = "headrace._native", name = "InferredKey")]
pub struct InferredJsonKey {
    name: String,
    /// The number of its dtype.
    code: u8,
    is_json: bool,
    /// The number of axes of variable length.
    num_lists: usize,
}

impl From<InferredKey> for InferredJsonKey {
    fn from(InferredKey { name, dtype, is_json, num_lists }: InferredKey) -> Self {
        Self { name, code: dtype as u8, is_json, num_lists }
    }
}

/// Reads the lines of JSON files, or the elements of their arrays.
#[pyfunction]
pub fn json_records(paths: Vec<Bound<'_, PyBytes>>, compression: &str, is_array: bool) -> PyResult<Plan> {
    let (format, numbering) = json_format(compression, is_array)?;
    Ok(Plan(Arc::new(plan::Plan::Files(format, file_provenances(&paths, numbering).into()))))
}

fn json_format(compression: &str, is_array: bool) -> PyResult<(Arc<dyn Format>, Numbering)> {
    let codec = codec(compression)?;
    Ok(match is_array {
        true => (Arc::new(JsonArray { codec }), Numbering::RECORDS),
        false => (Arc::new(Lines { codec, skips_blank: true }), LINES),
    })
}

/// Parses JSON objects, which are lines or elements of arrays, into components. `seen_components`
/// records which of the optional keys occur.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the signature of a Python function")]
pub fn json_fields(
    py: Python<'_>,
    components: Vec<Bound<'_, ComponentArgument>>,
    seen_components: &Bound<'_, SeenComponents>,
    is_array: bool,
) -> PyResult<Stage> {
    let fields = JsonFields::new(self::components(py, &components)?).into_python(py)?.of_array(is_array);
    Ok(Stage(Arc::new(fields.seen_by(seen_components.get().shared()))))
}

/// Infers the keys of the objects in a file's first block. Returns None if it has no records. Keys
/// in `typed` may have any values.
#[pyfunction]
pub fn infer_json(
    py: Python<'_>,
    path: &Bound<'_, PyBytes>,
    compression: &str,
    is_array: bool,
    typed: Vec<String>,
) -> PyResult<Option<Vec<InferredJsonKey>>> {
    let (format, numbering) = json_format(compression, is_array)?;
    let file = file_provenance(path, numbering, 0);
    let keys = waiting(py, || json::inference::infer_json(&*format, &file, &typed))?;
    Ok(keys.map(|keys| keys.into_iter().map(InferredJsonKey::from).collect()))
}

/// Reads the samples of tar archives: a key, and the contents of the file for each extension.
/// `extensions` has the values for missing files.
#[pyfunction]
pub fn tar_samples(
    paths: Vec<Bound<'_, PyBytes>>,
    compression: &str,
    extensions: Vec<(String, Option<Bound<'_, PyBytes>>)>,
) -> PyResult<Plan> {
    let default = |bytes: Bound<'_, PyBytes>| Bytes::copy_from_slice(bytes.as_bytes());
    let extensions = extensions.into_iter().map(|(name, bytes)| (name, bytes.map(default))).collect();
    Ok(files(Tar { codec: codec(compression)?, extensions }, &paths, SAMPLES))
}

/// Infers the extensions from the first sample of a tar archive. Returns `None` if there is none.
#[pyfunction]
pub fn infer_tar(py: Python<'_>, path: &Bound<'_, PyBytes>, compression: &str) -> PyResult<Option<Vec<String>>> {
    let (file, codec) = (file_provenance(path, SAMPLES, 0), codec(compression)?);
    waiting(py, || formats::infer_tar(&file, codec))
}

/// Returns true if the first bytes of a file show that it is compressed.
#[pyfunction]
pub fn is_compressed(py: Python<'_>, path: &Bound<'_, PyBytes>, compression: &str) -> PyResult<bool> {
    let (file, codec) = (file_provenance(path, Numbering::RECORDS, 0), codec(compression)?);
    waiting(py, || records::is_compressed(&file, codec))
}

/// Reads whole files in directories named after their classes. The name of the parent directory has
/// `root_bytes`, including its slash. Files may be members of `archives`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the signature of a Python function")]
pub fn labelled_files(
    py: Python<'_>,
    paths: Vec<Bound<'_, PyBytes>>,
    root_bytes: usize,
    classes: Vec<Bound<'_, PyBytes>>,
    archives: Vec<Bound<'_, ZipArchive>>,
) -> PyResult<Plan> {
    let labels = classes.iter().map(|class| class.as_bytes().to_vec()).zip(0..).collect();
    let names = file_names(py, &paths, &archives)?;
    let files = FileProvenance::of_source(names, Numbering::RECORDS);
    Ok(Plan(Arc::new(plan::Plan::Files(Arc::new(Labelled { root_bytes, labels }), files.into()))))
}

/// Reads whole files, which may be members of `archives`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "the signature of a Python function")]
pub fn whole_files(
    py: Python<'_>,
    paths: Vec<Bound<'_, PyBytes>>,
    archives: Vec<Bound<'_, ZipArchive>>,
) -> PyResult<Plan> {
    let files = FileProvenance::of_source(file_names(py, &paths, &archives)?, Numbering::RECORDS);
    Ok(Plan(Arc::new(plan::Plan::Files(Arc::new(Whole), files.into()))))
}

/// Detects the compression of a file from its first bytes: "gzip", "zlib", "zstd", "bzip2", "xz",
/// "lz4", or "" for none.
#[pyfunction]
pub fn codec_of(start: &[u8]) -> &'static str {
    Codec::of(&start[..start.len().min(records::MARK_BYTES)]).name()
}

/// Detects the type of a file from its first bytes, and returns it with a remedy. Returns `None` if
/// it is unknown, as for most text.
#[pyfunction]
pub fn content_of(start: &[u8]) -> Option<(String, &'static str)> {
    content::content(start).map(|content| (content.to_string(), content.remedy()))
}
