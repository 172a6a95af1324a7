//! Pipelines: their plans, and the stages that workers run.

#![expect(clippy::too_many_arguments, reason = "Python names them")]

use crate::boundary::array::{lent_bytes, lent_span};
use crate::boundary::attrs::{attrs, dtype};
use crate::boundary::view::to_tensor;
use crate::error::IntoPython;
use crate::graph::program::Program;
use crate::pipeline::checkpoint;
use crate::pipeline::column::Column;
use crate::pipeline::kept::{Cache, DiskCache, Index, IndexFiles};
use crate::pipeline::lanes::Lanes;
use crate::pipeline::order_digest::OrderDigest;
use headrace_engine::files::compression::Compression;
use headrace_engine::files::name::FileName;
use headrace_engine::files::storage;
use headrace_engine::numbering::Numbering;
use headrace_engine::sync::Mutex;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use headrace_pipeline::blocks::arrays::{Array, Arrays};
use headrace_pipeline::blocks::block::{Block, FileProvenance, Provenance};
use headrace_pipeline::blocks::row_id::{KeptRecords, RecordKeys};
use headrace_pipeline::blocks::row_numbers::RowNumbers;
use headrace_pipeline::blocks::strided::Strided;
use headrace_pipeline::blocks::windows::{WindowShape, Windowing};
use headrace_pipeline::formats::{FixedLength, Lines, RecordCounts, TfRecords};
use headrace_pipeline::native::function::{Function, Segment};
use headrace_pipeline::nodes::cache::Store;
use headrace_pipeline::nodes::groups::balanced::{CostMeasure, CostTerm};
use headrace_pipeline::nodes::groups::batch::ShareIndex;
use headrace_pipeline::nodes::groups::bucket::Buckets;
use headrace_pipeline::nodes::groups::pack::Packing;
use headrace_pipeline::nodes::groups::pack_trees::TreePacking;
use headrace_pipeline::nodes::groups::runs::Runs;
use headrace_pipeline::nodes::groups::sizes::Sizes;
use headrace_pipeline::nodes::mixture::{StopWhen, Weights};
use headrace_pipeline::nodes::shard::Even;
use headrace_pipeline::plan::{self, Blocks, Mix, PieceOptions, Shuffle, Step};
use headrace_pipeline::records::{Codec, Format};
use headrace_pipeline::row_order::{OrderStage, Weights as RowWeights};
use headrace_pipeline::stages;
use headrace_pipeline::stages::carried::Along;
use headrace_pipeline::stages::collate::{Collate, Layout, Padding, Unbatch};
use headrace_pipeline::stages::draw_masks::DrawMasks;
use headrace_pipeline::stages::fetch::{Fetch, SharedLookup};
use headrace_pipeline::stages::float_images::FloatImages;
use headrace_pipeline::stages::meter_stage::MeterStage;
use headrace_pipeline::stages::native::{FilterNative, FlatMapNative, MapNative, Source};
use headrace_pipeline::stages::pack::{CutLists, PackRows};
use headrace_pipeline::stages::pack_trees::{PackTrees, SplitGroups};
use headrace_pipeline::stages::packed_lists::ListColumn;
use headrace_pipeline::stages::parse::Parse;
use headrace_pipeline::stages::seen_components;
use headrace_pipeline::stages::select::Select;
use headrace_pipeline::stages::split::Split;
use headrace_pipeline::stages::stack_windows::{StackWindows, WindowColumn};
use headrace_pipeline::stages::text::CheckText;
use headrace_pipeline::stages::tfds::{DecodeImages, Encoding, Episodes, ImageFeature, Restore, StoredFeature};
use headrace_pipeline::stages::with_file_rows::WithFileRows;
use headrace_pipeline::stages::with_origin::{OriginFiles, WithOrigin};
use headrace_pipeline::tasks::size_estimate::SizeEstimate;
use numpy::{PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::path::PathBuf;
use std::sync::Arc;

/// A scalar or an array, with the number of its dtype.
type Typed<'py> = (Bound<'py, PyAny>, u8);

/// How rows are padded for a batch.
#[pyclass(frozen, new = "from_fields", module = "headrace._native", name = "Padding")]
pub struct PaddingArgument {
    /// For each column, a scalar and the number of its dtype.
    values: Vec<(Py<PyAny>, u8)>,
    /// For each padded column, the multiples to which its dimensions are padded. 0 means a
    /// dimension of fixed size.
    multiples: Vec<Option<Vec<usize>>>,
    /// If not empty, lengths are padded to one of these.
    boundaries: Vec<usize>,
}

impl PaddingArgument {
    fn padding(&self, py: Python<'_>) -> PyResult<Padding> {
        let value = |(value, code): &(Py<PyAny>, u8)| to_tensor(value.bind(py), dtype(py, *code)?);
        let values = self.values.iter().map(value).collect::<PyResult<_>>()?;
        Ok(Padding { values, multiples: self.multiples.clone(), boundaries: self.boundaries.clone() })
    }
}

/// The column, the measure and the weight of a part of the cost of a packed row.
fn cost_term((column, measure, weight): (usize, String, f64)) -> PyResult<CostTerm> {
    let measure = match measure.as_str() {
        "length" => CostMeasure::Length,
        "square" => CostMeasure::Square,
        "sum" => CostMeasure::Sum,
        _ => return Err(PyValueError::new_err(format!("unknown measure {measure:?}"))),
    };
    Ok(CostTerm { column, measure, weight })
}

/// A stage: work on rows that the engine's workers do.
#[pyclass(frozen, module = "headrace._native")]
pub struct Stage(pub(crate) Arc<dyn stages::Stage>);

#[pymethods]
impl Stage {
    /// Parses `Example`s into columns. Features are specified as for `ParseExample`. The strings of
    /// `texts` must be valid UTF-8. `seen_components` records which lists occur.
    #[staticmethod]
    fn parse(
        features: &Bound<'_, PyDict>,
        defaults: Vec<Typed<'_>>,
        record: usize,
        kept: Vec<usize>,
        texts: Vec<String>,
        seen_components: &Bound<'_, SeenComponents>,
    ) -> PyResult<Self> {
        let py = features.py();
        let defaults = defaults.into_iter().map(|(value, code)| to_tensor(&value, dtype(py, code)?));
        let defaults = defaults.collect::<PyResult<_>>()?;
        let parse = Parse::new(&attrs(features)?, defaults, record, kept).into_python(py)?;
        Ok(Self(Arc::new(parse.with_texts(&texts).seen_by(seen_components.get().shared()))))
    }

    /// Rejects rows with invalid UTF-8 in columns, which are listed by number and name.
    #[staticmethod]
    fn check_text(columns: Vec<(usize, String)>, remedy: String) -> Self {
        Self(Arc::new(CheckText { columns, remedy }))
    }

    /// Adds columns after the first `num_columns` ones. The added columns have one row for each of
    /// the source's files, and a row gets the values for its file.
    #[staticmethod]
    fn with_file_rows(
        py: Python<'_>,
        num_columns: usize,
        columns: Vec<Bound<'_, Column>>,
        num_files: usize,
    ) -> PyResult<Self> {
        let columns = columns.iter().map(|column| column.get().0.clone()).collect();
        let table = Block::new(columns, num_files, Provenance::Unknown).into_python(py)?;
        Ok(Self(Arc::new(WithFileRows { num_columns, table: Arc::new(table) })))
    }

    /// Replaces the outlines in a column with masks. Column `size` has the height and the width.
    #[staticmethod]
    fn draw_masks(column: usize, size: usize) -> Self {
        Self(Arc::new(DrawMasks { column, size }))
    }

    /// Keeps some of the columns.
    #[staticmethod]
    fn select(columns: Vec<usize>) -> Self {
        Self(Arc::new(Select(columns)))
    }

    /// Batches rows or batches. `layouts` specifies for each column how a batch stores its rows:
    /// "stacked"; "joined", as two columns with the values of all rows and their offsets; or as one
    /// array per row, either "arrays" or "lists", where added rows are empty.
    #[staticmethod]
    fn collate(
        py: Python<'_>,
        names: Vec<String>,
        is_of_batches: bool,
        pad_to: Option<usize>,
        padding: Option<Bound<'_, PaddingArgument>>,
        layouts: Vec<String>,
    ) -> PyResult<Self> {
        let padding = padding.map(|padding| padding.get().padding(py)).transpose()?;
        let layouts = layouts.iter().map(|layout| match layout.as_str() {
            "joined" => Layout::Joined,
            "arrays" => Layout::Apart { adds_empty: false },
            "lists" => Layout::Apart { adds_empty: true },
            _ => Layout::Stacked,
        });
        let layouts = layouts.collect();
        Ok(Self(Arc::new(Collate { names, is_of_batches, pad_to, padding, layouts })))
    }

    /// Applies a native function to each row. A new column is either a result of the function or a
    /// column that is kept: `(number, is_kept)`.
    #[staticmethod]
    fn map_native(function: &Bound<'_, FunctionArgument>, columns: Vec<(usize, bool)>) -> Self {
        Self(Arc::new(map_native(function, columns)))
    }

    /// Like `map_native`, but the leading axis of each result contains several rows.
    #[staticmethod]
    fn flat_map_native(function: &Bound<'_, FunctionArgument>, columns: Vec<(usize, bool)>) -> Self {
        Self(Arc::new(FlatMapNative(map_native(function, columns))))
    }

    /// Keeps the rows for which a native function returns true.
    #[staticmethod]
    fn filter_native(function: &Bound<'_, FunctionArgument>) -> Self {
        Self(Arc::new(FilterNative(function.get().function())))
    }

    /// Adds the file and the number of each record after the first `num_columns` columns.
    #[staticmethod]
    fn with_origin(num_columns: usize) -> Self {
        Self(Arc::new(WithOrigin(num_columns)))
    }

    /// Replaces all columns with the file name of each record.
    #[staticmethod]
    fn origin_files() -> Self {
        Self(Arc::new(OriginFiles))
    }

    /// Keeps the rows whose record keys for this seed are between `least` and `most`, in a pipeline
    /// nested in `depth` combinations.
    #[staticmethod]
    fn split(seed: u64, least: u64, most: u64, depth: u32) -> Self {
        Self(Arc::new(Split(KeptRecords::Keys(RecordKeys { seed, kept: least..=most, depth }))))
    }

    /// Keeps the rows whose records have these numbers. `ranges` has the first number and the end
    /// for each file.
    #[staticmethod]
    fn keep_records(ranges: Vec<(u64, u64)>) -> Self {
        let ranges = ranges.into_iter().map(|(first, end)| first..end).collect();
        Self(Arc::new(Split(KeptRecords::Numbers(ranges))))
    }

    /// Packs groups of lists into rows of a fixed length. `lists` has the name of each, and its
    /// number of axes. With `has_starts`, the lists are pieces from `cut_lists`. The columns in
    /// `along` are collected. With `has_ends`, the ends of the lists follow. `values` has the
    /// padding value of each list.
    #[staticmethod]
    fn pack_rows(
        py: Python<'_>,
        lists: Vec<(String, usize)>,
        length: usize,
        has_starts: bool,
        along: Vec<(String, Option<usize>)>,
        has_ends: bool,
        values: Vec<Typed<'_>>,
    ) -> PyResult<Self> {
        let fillers = values.into_iter().map(|(value, code)| to_tensor(&value, dtype(py, code)?));
        let fillers = fillers.collect::<PyResult<_>>()?;
        let (lists, along) = (list_columns(lists), carried_along(along));
        Ok(Self(Arc::new(PackRows { lists, length, has_starts, along, has_ends, fillers })))
    }

    /// Cuts lists into pieces of at most `length` and adds the start of each piece. The `num_along`
    /// columns after the lists are kept.
    #[staticmethod]
    fn cut_lists(lists: Vec<(String, usize)>, num_along: usize, length: usize) -> Self {
        Self(Arc::new(CutLists { lists: list_columns(lists), num_along, length }))
    }

    /// Packs groups of lists into rows with their prefix trees. The columns from `first_along` on
    /// are collected as in `along`; see `pack_rows`.
    #[staticmethod]
    fn pack_trees(lists: Vec<(String, usize)>, first_along: usize, along: Vec<(String, Option<usize>)>) -> Self {
        let (lists, along) = (list_columns(lists), carried_along(along));
        Self(Arc::new(PackTrees { lists, first_along, along }))
    }

    /// Splits groups, whose columns have these names and a leading axis, into rows. Column number
    /// `marks` of the result marks the last row of each group.
    #[staticmethod]
    fn split_groups(names: Vec<String>, marks: usize) -> Self {
        Self(Arc::new(SplitGroups { names, marks }))
    }

    /// Replaces parsed columns with the features of a data set of TFDS. If `firsts` has the number
    /// of the first episode of each file, each row becomes one row per step.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "the signature of a Python function")]
    fn restore(
        py: Python<'_>,
        features: Vec<Bound<'_, StoredFeatureArgument>>,
        firsts: Option<Vec<i64>>,
    ) -> PyResult<Self> {
        let features = features.iter().map(|feature| feature.get().feature(py)).collect::<PyResult<_>>()?;
        Ok(Self(Arc::new(Restore::new(features, firsts.map(Episodes::new)))))
    }

    /// Replaces encoded images, or sequences of them, with their pixels. Each image has the name
    /// and the number of its column, its shape, its dtype, and whether it is a sequence.
    #[staticmethod]
    fn decode_images(py: Python<'_>, images: Vec<ImageArgument>) -> PyResult<Self> {
        let image = |(name, column, shape, code, is_sequence): ImageArgument| {
            ImageFeature::new(name, column, shape, dtype(py, code)?, is_sequence).into_python(py)
        };
        Ok(Self(Arc::new(DecodeImages(images.into_iter().map(image).collect::<PyResult<_>>()?))))
    }

    /// Converts columns of uint8 images to float32 from 0 to 1, with the channels first.
    #[staticmethod]
    fn float_images(columns: Vec<usize>) -> Self {
        Self(Arc::new(FloatImages(columns)))
    }

    /// Splits batches into rows.
    #[staticmethod]
    fn unbatch() -> Self {
        Self(Arc::new(Unbatch))
    }

    /// Turns windows into columns. A column has a name; the number of the column whose rows are
    /// stacked, or None for bools that are true outside the episode; positions within a window; and
    /// whether its only position adds no axis.
    #[staticmethod]
    fn stack_windows(columns: Vec<(String, Option<usize>, Vec<usize>, bool)>, fills_zeros: bool) -> Self {
        let column = |(name, column, positions, is_single)| WindowColumn { name, column, positions, is_single };
        Self(Arc::new(StackWindows { columns: columns.into_iter().map(column).collect(), fills_zeros }))
    }

    /// Returns the stage, measured as stage `number` of the description.
    fn metered(&self, number: usize) -> Self {
        Self(Arc::new(MeterStage { stage: Arc::clone(&self.0), number }))
    }
}

/// The name and number of a column, and the shape, dtype and kind of its images.
type ImageArgument = (String, usize, Vec<Option<usize>>, u8, bool);

/// A feature of a TFDS data set; see [`StoredFeature`].
#[pyclass(frozen, new = "from_fields", module = "headrace._native", name = "StoredFeature")]
pub struct StoredFeatureArgument {
    name: String,
    /// The column of its values.
    values: usize,
    /// The columns of the lengths of inner sequences.
    lengths: Vec<usize>,
    /// The column of the shapes of encoded arrays.
    sizes: Option<usize>,
    /// The number of its dtype.
    code: u8,
    shape: Vec<Option<usize>>,
    num_sequences: usize,
    /// "none", "bytes" or "zlib".
    encoding: String,
    is_of_steps: bool,
}

impl StoredFeatureArgument {
    fn feature(&self, py: Python<'_>) -> PyResult<StoredFeature> {
        let unknown = || PyValueError::new_err(format!("unknown encoding {}", self.encoding));
        Ok(StoredFeature {
            name: self.name.clone(),
            values: self.values,
            lengths: self.lengths.clone(),
            sizes: self.sizes,
            dtype: dtype(py, self.code)?,
            shape: self.shape.clone(),
            num_sequences: self.num_sequences,
            encoding: Encoding::from_name(&self.encoding).ok_or_else(unknown)?,
            is_of_steps: self.is_of_steps,
        })
    }
}

fn list_columns(lists: Vec<(String, usize)>) -> Vec<ListColumn> {
    lists.into_iter().map(|(name, num_axes)| ListColumn { name, num_axes }).collect()
}

/// How packed rows collect columns: by name, with the number of axes of lists that are joined.
fn carried_along(along: Vec<(String, Option<usize>)>) -> Vec<Along> {
    let column = |(name, num_axes)| match num_axes {
        Some(num_axes) => Along::Joined(ListColumn { name, num_axes }),
        None => Along::Stacked { name },
    };
    along.into_iter().map(column).collect()
}

/// A native function.
#[pyclass(frozen, new = "from_fields", module = "headrace._native", name = "NativeFunction")]
pub struct FunctionArgument {
    name: String,
    /// Its input columns.
    inputs: Vec<usize>,
    /// The program for a single row.
    program: Py<Program>,
    /// The programs for many rows.
    segments: Vec<Py<SegmentArgument>>,
    /// The values that are its results.
    results: Vec<usize>,
    /// True if a row is a batch.
    is_batched: bool,
    /// True if it draws random numbers.
    is_random: bool,
}

/// A part of a native function.
#[pyclass(frozen, get_all, new = "from_fields", module = "headrace._native", name = "Segment")]
pub struct SegmentArgument {
    program: Py<Program>,
    /// The numbers of the values that are fed to it.
    inputs: Vec<usize>,
    /// True if it runs once per row.
    is_looped: bool,
}

impl FunctionArgument {
    fn function(&self) -> Function {
        let segment = |segment: &Py<SegmentArgument>| {
            let SegmentArgument { program, inputs, is_looped } = segment.get();
            Segment { program: Arc::clone(&program.get().program), inputs: inputs.clone(), is_looped: *is_looped }
        };
        Function {
            name: self.name.clone(),
            inputs: self.inputs.clone(),
            program: Arc::clone(&self.program.get().program),
            segments: self.segments.iter().map(segment).collect(),
            results: self.results.clone(),
            is_batched: self.is_batched,
            is_random: self.is_random,
        }
    }
}

fn map_native(function: &Bound<'_, FunctionArgument>, columns: Vec<(usize, bool)>) -> MapNative {
    let source = |(number, is_kept)| if is_kept { Source::Input(number) } else { Source::Result(number) };
    MapNative { function: function.get().function(), columns: columns.into_iter().map(source).collect() }
}

/// Records which of the requested components that a record may lack have occurred.
#[pyclass(frozen, module = "headrace._native")]
pub struct SeenComponents {
    /// The name of the stage that requests them.
    #[pyo3(get)]
    stage: String,
    shared: Arc<seen_components::SeenComponents>,
}

impl SeenComponents {
    pub(crate) fn shared(&self) -> Arc<seen_components::SeenComponents> {
        Arc::clone(&self.shared)
    }
}

#[pymethods]
impl SeenComponents {
    #[new]
    fn new(stage: String) -> Self {
        Self { stage, shared: seen_components::SeenComponents::new() }
    }

    /// Returns true once all components have occurred.
    #[getter]
    fn is_done(&self) -> bool {
        self.shared.is_done()
    }

    /// Returns the components that have not occurred, or None if there was no record or all have
    /// occurred.
    fn unseen(&self) -> Option<UnseenComponents> {
        let unseen = self.shared.unseen()?;
        Some(UnseenComponents { num_records: unseen.num_records, names: unseen.names, present: unseen.there })
    }
}

/// Components that occur in no record.
#[pyclass(frozen, get_all, module = "headrace._native")]
pub struct UnseenComponents {
    /// The number of records.
    num_records: u64,
    /// The names of the missing components.
    names: Vec<String>,
    /// The names that one of the records contains.
    present: Vec<String>,
}

/// Pieces of files: runs of records of about this many bytes. Their boundaries are kept in the
/// index.
#[pyclass(frozen, new = "from_fields", module = "headrace._native", name = "Blocks")]
pub struct BlocksArgument {
    block_bytes: u64,
    index: Py<Index>,
    index_files: Py<IndexFiles>,
}

impl BlocksArgument {
    fn blocks(&self) -> Blocks {
        let borders = Arc::clone(&self.index.get().1);
        Blocks::new(self.block_bytes, borders, Arc::clone(&self.index_files.get().0))
    }
}

/// How rows are drawn with replacement.
#[pyclass(frozen, module = "headrace._native")]
pub struct Sampling(plan::Sampling);

#[pymethods]
impl Sampling {
    /// `ends` has the cumulative sums of the weights, as float64. It must not change afterwards.
    /// The rows with weights belong to a shard; see `Plan.shard`. `num_draws` is the number of
    /// draws in a pass, or None for the number of weights.
    #[new]
    fn new(
        py: Python<'_>,
        ends: &Bound<'_, PyUntypedArray>,
        num_draws: Option<u64>,
        shard: (u64, u64),
        even: Option<&str>,
    ) -> PyResult<Self> {
        let ends = match lent_bytes(ends, DType::Float64) {
            Some((shape, bytes)) => Tensor::from_bytes(DType::Float64, shape, bytes).into_python(py)?,
            None => to_tensor(ends.as_any(), DType::Float64)?,
        };
        let weights = Arc::new(RowWeights::new(ends).into_python(py)?);
        Ok(Self(plan::Sampling { weights, num_draws, shard, even: even_of(even)? }))
    }
}

/// A step of a pipeline, together with the steps before it.
#[pyclass(frozen, module = "headrace._native")]
pub struct Plan(pub(crate) Arc<plan::Plan>);

pub(crate) fn codec(name: &str) -> PyResult<Codec> {
    Codec::from_name(name).ok_or_else(|| PyValueError::new_err(format!("unknown compression {name}")))
}

#[pymethods]
impl Plan {
    /// Reads the records of files. The kind is "tfrecords", "text_lines" or
    /// "fixed_length_records"; the last one requires the sizes of the header, the records and the
    /// footer in bytes.
    #[staticmethod]
    #[pyo3(signature = (kind, paths, compression, *, header_bytes, record_bytes, footer_bytes))]
    fn files(
        kind: &str,
        paths: Vec<Bound<'_, PyBytes>>,
        compression: &str,
        header_bytes: usize,
        record_bytes: usize,
        footer_bytes: usize,
    ) -> PyResult<Self> {
        let codec = codec(compression)?;
        let (format, numbering): (Arc<dyn Format>, _) = match kind {
            "tfrecords" => (Arc::new(TfRecords::new(codec)), Numbering::RECORDS),
            "text_lines" => (Arc::new(Lines { codec, skips_blank: false }), Numbering { word: "line", first: 1 }),
            "fixed_length_records" => {
                (Arc::new(FixedLength { codec, header_bytes, record_bytes, footer_bytes }), Numbering::RECORDS)
            }
            _ => return Err(PyValueError::new_err(format!("unknown kind of file {kind}"))),
        };
        let names = paths.iter().map(|path| FileName::new(path.as_bytes().to_vec()));
        let files = FileProvenance::of_source(names, numbering);
        Ok(Self(Arc::new(plan::Plan::Files(format, files.into()))))
    }

    /// Reads uncompressed TFRecord files. `listed_in` names the file that lists their numbers of
    /// records.
    #[staticmethod]
    fn counted_tfrecords(paths: Vec<Bound<'_, PyBytes>>, counts: Vec<u64>, listed_in: &str) -> Self {
        let counts = Some(RecordCounts { of_files: counts.into(), listed_in: listed_in.into() });
        let format = Arc::new(TfRecords { codec: Codec::Known(Compression::None), counts });
        let names = paths.iter().map(|path| FileName::new(path.as_bytes().to_vec()));
        let files = FileProvenance::of_source(names, Numbering::RECORDS);
        Self(Arc::new(plan::Plan::Files(format, files.into())))
    }

    /// Returns the same files. Parts of remote files are kept in a directory, up to `num_bytes` for
    /// all files.
    fn cached(&self, directory: PathBuf, num_bytes: u64) -> Self {
        let cache = Arc::new(storage::Cache { directory, num_bytes });
        match &*self.0 {
            plan::Plan::Files(format, files) => {
                let files = files.iter().map(|file| file.cached(&cache)).collect();
                Self(Arc::new(plan::Plan::Files(Arc::clone(format), files)))
            }
            _ => Self(Arc::clone(&self.0)),
        }
    }

    /// Reads the rows of C-contiguous arrays, which are passed with their dtypes. Numbers are not
    /// copied.
    #[staticmethod]
    fn arrays(py: Python<'_>, arrays: Vec<(Bound<'_, PyUntypedArray>, u8)>) -> PyResult<Self> {
        let array = |(array, code): (Bound<'_, PyUntypedArray>, u8)| -> PyResult<Array> {
            let dtype = dtype(py, code)?;
            if let Some((shape, bytes)) = lent_bytes(&array, dtype) {
                return Tensor::from_bytes(dtype, shape, bytes).map(Array::Contiguous).into_python(py);
            }
            if !array.is_c_contiguous()
                && let Some((memory, first)) = lent_span(&array, dtype)
            {
                let shape = Shape::new(array.shape());
                return Strided::new(dtype, shape, memory, first, array.strides().to_vec())
                    .map(Array::Strided)
                    .into_python(py);
            }
            to_tensor(array.as_any(), dtype).map(Array::Contiguous)
        };
        let arrays = arrays.into_iter().map(array).collect::<PyResult<_>>()?;
        let rows = Arc::new(Arrays::new(arrays).into_python(py)?);
        Ok(Self(Arc::new(plan::Plan::Indexed(rows))))
    }

    /// Returns the numbers 0, 1, … below `count` as int64, one per row.
    #[staticmethod]
    fn row_numbers(count: u64) -> Self {
        Self(Arc::new(plan::Plan::Indexed(Arc::new(RowNumbers::new(count)))))
    }

    /// Returns rows from a Python worker's thread.
    #[staticmethod]
    fn python_source(python_worker: usize) -> Self {
        Self(Arc::new(plan::Plan::PythonSource(python_worker)))
    }

    #[staticmethod]
    fn concat(plans: Vec<Bound<'_, Self>>) -> Self {
        Self(Arc::new(plan::Plan::Concat(parts(plans))))
    }

    /// Draws rows from several plans by weight until the first or all of them have ended
    /// (`stop_when`: "first" or "all"). `schedule` has the positions from which weights apply,
    /// starting with 0. `ids` has numbers for the names of the parts, if any. `measured` is the
    /// column whose lengths are balanced instead of the number of rows. It continues at `resumed`
    /// instead of the first checkpoint that is not its beginning.
    #[staticmethod]
    #[pyo3(signature = (plans, schedule, stop_when, seed, ids, measured, resumed))]
    fn mix(
        plans: Vec<Bound<'_, Self>>,
        schedule: Vec<(u64, Vec<f64>)>,
        stop_when: &str,
        seed: u64,
        ids: Option<Vec<u64>>,
        measured: Option<usize>,
        resumed: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let resumed = resumed.map(|resumed| checkpoint::from_python(&resumed)).transpose()?;
        let plans = parts(plans);
        let is_whole = schedule.iter().all(|(_, weights)| weights.len() == plans.len());
        if schedule.is_empty() || !is_whole || ids.as_ref().is_some_and(|ids| ids.len() != plans.len()) {
            return Err(PyValueError::new_err("a mixture needs a weight for each part"));
        }
        let stop_when = match stop_when {
            "first" => StopWhen::First,
            "all" => StopWhen::All,
            _ => return Err(PyValueError::new_err(format!("stop_when is '{stop_when}', expected 'first' or 'all'"))),
        };
        let weights = Weights { schedule: schedule.into(), ids: ids.map(Into::into), measured };
        Ok(Self(Arc::new(plan::Plan::Mix(
            plans,
            Mix { weights, stop_when, seed, resumed: Arc::new(Mutex::new(resumed)) },
        ))))
    }

    /// Combines the rows of several plans side by side.
    #[staticmethod]
    fn zip(plans: Vec<Bound<'_, Self>>, is_strict: bool) -> Self {
        Self(Arc::new(plan::Plan::Zip(parts(plans), is_strict)))
    }

    /// Returns all rows in a different order, or with `sampling` rows drawn with replacement. Each
    /// step must return exactly one row per input row.
    #[pyo3(signature = (index, index_files, seed, sampling=None))]
    fn shuffle_all(
        &self,
        index: &Index,
        index_files: &IndexFiles,
        seed: u64,
        sampling: Option<Bound<'_, Sampling>>,
    ) -> Self {
        self.shuffled(index, index_files, seed, sampling, None)
    }

    /// Returns the numbers of a source's rows in a different order, and the stage that reads these
    /// rows.
    #[pyo3(signature = (index, index_files, seed, sampling=None))]
    fn shuffle_numbers(
        &self,
        index: &Index,
        index_files: &IndexFiles,
        seed: u64,
        sampling: Option<Bound<'_, Sampling>>,
    ) -> (Self, Stage) {
        let lookup = Arc::new(SharedLookup::default());
        let fetch = Stage(Arc::new(Fetch(Arc::clone(&lookup))));
        (self.shuffled(index, index_files, seed, sampling, Some(lookup)), fetch)
    }

    /// Stores the rows of a source without random access for a stage that orders them: "shuffle" or
    /// "sample".
    fn kept_for(&self, stage: &str) -> PyResult<Self> {
        let stage = OrderStage::from_name(stage).ok_or_else(|| PyValueError::new_err("expected shuffle or sample"))?;
        Ok(self.then(Step::Cache(Arc::new(Store::kept_for(stage)))))
    }

    fn cache(&self, cache: &Cache) -> Self {
        self.then(Step::Cache(Arc::clone(&cache.0)))
    }

    fn cache_on_disk(&self, cache: &DiskCache) -> Self {
        self.then(Step::CacheOnDisk(Arc::clone(&cache.0)))
    }

    /// Groups rows with similar lengths of a column into batches.
    #[pyo3(signature = (column, boundaries, *, size, max_elements, pads_to_boundary, drops_remainder))]
    fn bucket(
        &self,
        column: usize,
        boundaries: Vec<usize>,
        size: Option<usize>,
        max_elements: Option<usize>,
        pads_to_boundary: bool,
        drops_remainder: bool,
    ) -> Self {
        let buckets = Buckets { column, boundaries, size, max_elements, pads_to_boundary, drops_remainder };
        self.then(Step::Bucket(Arc::new(buckets)))
    }

    /// Groups rows whose lists, in the first columns, together fill a length. `lists` has the name
    /// of each, and its number of axes. `lengths` has the positions from which lengths apply, from
    /// 0. The first row has the first position of `turn`; later ones are as far apart as the
    /// second. At most `limits.0` groups are open, and they are ordered so that `limits.1` ranks
    /// get groups of equal cost. `costs` has columns, how they are measured ("length", "square" for
    /// squared lengths, or "sum" for the sum of the values), and weights. If `trees` is set, groups
    /// have the same value in column `trees.0`, and the length is the length of their prefix tree.
    /// Column `trees.1` marks the last row of a group.
    #[pyo3(signature = (lists, lengths, turn, limits, costs, trees = None))]
    fn pack(
        &self,
        lists: Vec<(String, usize)>,
        lengths: Vec<(u64, usize)>,
        turn: (u64, u64),
        limits: (usize, usize),
        costs: Vec<(usize, String, f64)>,
        trees: Option<(usize, Option<usize>)>,
    ) -> PyResult<Self> {
        let (first, num_ranks) = turn;
        let (lists, lengths) = (list_columns(lists), by_position(lengths, num_ranks)?);
        let (max_open, balance) = limits;
        let costs = costs.into_iter().map(cost_term).collect::<PyResult<_>>()?;
        let packing = Packing { lists, lengths, first, max_open, balance, costs };
        Ok(self.then(match trees {
            Some((id, marks)) => Step::PackTrees(TreePacking { packing, id, marks }),
            None => Step::Pack(packing),
        }))
    }

    fn map(&self, stages: Vec<Bound<'_, Stage>>) -> Self {
        let stages = stages.into_iter().map(|stage| Arc::clone(&stage.get().0)).collect();
        self.then(Step::Map(stages, SizeEstimate::default()))
    }

    /// Adds work for the `num_callers` threads of a Python worker, which calls `num_functions`
    /// functions for each row. Set `in_groups` if it runs faster on many rows at a time.
    fn map_python(
        &self,
        python_worker: usize,
        is_one_to_one: bool,
        num_callers: usize,
        num_functions: usize,
        in_processes: bool,
        in_groups: bool,
    ) -> Self {
        let size_estimate = SizeEstimate::default();
        self.then(Step::MapPython {
            python_worker,
            is_one_to_one,
            num_callers,
            num_functions,
            in_processes,
            in_groups,
            size_estimate,
        })
    }

    /// Orders rows so that each run of `num_rows` rows has one key. A column has the keys, which
    /// are int32 scalars from 0. Rows that don't fill a run at the end are dropped.
    fn in_runs(&self, column: usize, num_keys: usize, num_rows: usize) -> PyResult<Self> {
        if num_rows == 0 {
            return Err(PyValueError::new_err("a run needs at least one row"));
        }
        Ok(self.then(Step::Runs(Runs { column, num_keys, num_rows })))
    }

    fn take(&self, count: u64) -> Self {
        self.then(Step::Take(count))
    }

    fn skip(&self, count: u64) -> Self {
        self.then(Step::Skip(count))
    }

    /// `even` specifies what happens to the last rows if there are fewer than `count`: None, "drop"
    /// or "pad".
    #[pyo3(signature = (index, count, even, lanes=None))]
    fn shard(&self, index: u64, count: u64, even: Option<&str>, lanes: Option<&Lanes>) -> PyResult<Self> {
        let lanes = lanes.map(|lanes| Arc::clone(&lanes.0));
        Ok(self.then(Step::Shard { index, count, even: even_of(even)?, lanes }))
    }

    /// Reads the sources in pieces, up to `num_open` at once. If there is a seed, the order changes
    /// with each pass. Reads every `shard.1`-th piece of that order, starting with number
    /// `shard.0`. Pieces are files, or with `blocks` runs of records. If a step depends on the
    /// order, the steps before it keep their order.
    #[pyo3(signature = (num_open, seed, shard, blocks=None))]
    fn in_pieces(
        &self,
        num_open: usize,
        seed: Option<u64>,
        shard: (u64, u64),
        blocks: Option<Bound<'_, BlocksArgument>>,
    ) -> PyResult<Self> {
        if shard != PieceOptions::ALL && !self.0.has_pieces() {
            return Err(PyValueError::new_err("the plan has no pieces to divide among ranks"));
        }
        let blocks = blocks.map(|blocks| Arc::new(blocks.get().blocks()));
        Ok(Self(self.0.in_pieces(&PieceOptions { seed, num_open, shard, blocks })))
    }

    fn window(&self, size: usize, seed: u64) -> Self {
        self.then(Step::Window { size, seed })
    }

    /// Makes windows of the rows at `distances` from every `stride`-th row. Distances are ascending
    /// and include 0. Windows do not cross changes of column `within`, and extend beyond them only
    /// if `is_padded`. `episodes` has the rows of each episode, for a full shuffle.
    fn windows(
        &self,
        distances: Vec<i64>,
        stride: u64,
        is_padded: bool,
        within: Option<usize>,
        episodes: Option<Vec<(u64, u64)>>,
    ) -> Self {
        let shape = WindowShape::new(&distances, stride, is_padded);
        let episodes = episodes.map(|episodes| episodes.into_iter().map(|(first, end)| first..end).collect());
        self.then(Step::Windows(Arc::new(Windowing { shape, within, episodes })))
    }

    /// Keeps runs of `run` rows, at least 1: the rows of every `count`-th batch.
    fn share(&self, index: u64, count: u64, run: u64) -> Self {
        self.then(Step::Share { index, count, run: run.max(1) })
    }

    /// `share` is the index and the number of the share that the rows belong to.
    fn batch(&self, size: usize, drops_remainder: bool, share: (u64, u64)) -> Self {
        self.batched(Sizes::constant(size), drops_remainder, share)
    }

    /// Like `batch`; `sizes` has the positions from which sizes apply, from 0, in the order of
    /// `num_ranks` ranks.
    fn batch_by_position(
        &self,
        sizes: Vec<(u64, usize)>,
        num_ranks: u64,
        drops_remainder: bool,
        share: (u64, u64),
    ) -> PyResult<Self> {
        Ok(self.batched(by_position(sizes, num_ranks)?, drops_remainder, share))
    }

    fn epochs(&self, count: Option<u64>) -> Self {
        self.then(Step::Epochs(count))
    }

    /// Skips examples that fail in earlier steps. `number` is the number of the stage.
    fn skip_errors(&self, number: usize) -> Self {
        self.then(Step::SkipErrors(number))
    }

    /// Adds the rows to a digest.
    fn digested(&self, digest: &OrderDigest) -> Self {
        self.then(Step::Digest(Arc::clone(&digest.0)))
    }

    /// The pass and the position in the global order of a checkpoint of pass number `pass_number`;
    /// None if the plan has no global order.
    fn order_position(&self, pass_number: u64, checkpoint: &Bound<'_, PyAny>) -> PyResult<Option<(u64, u64)>> {
        let checkpoint = checkpoint::from_python(checkpoint)?;
        let position = self.0.order_position(pass_number, &checkpoint);
        position.map_err(|error| PyValueError::new_err(error.message().to_owned()))
    }

    /// Returns the plan, measured as stage `number` of the description. Its rows are counted if
    /// `counts_rows`.
    fn metered(&self, number: usize, counts_rows: bool) -> Self {
        Self(Arc::new(plan::Plan::Meter { plan: Arc::clone(&self.0), stage: number, counts_rows }))
    }
}

fn by_position(sizes: Vec<(u64, usize)>, num_ranks: u64) -> PyResult<Sizes> {
    Sizes::new(sizes, num_ranks).ok_or_else(|| PyValueError::new_err("sizes need ascending positions from 0"))
}

fn even_of(even: Option<&str>) -> PyResult<Even> {
    match even {
        None => Ok(Even::Uneven),
        Some("drop") => Ok(Even::Drop),
        Some("pad") => Ok(Even::Pad),
        Some(other) => Err(PyValueError::new_err(format!("unknown way to make shards even: {other}"))),
    }
}

fn parts(plans: Vec<Bound<'_, Plan>>) -> Arc<[Arc<plan::Plan>]> {
    plans.into_iter().map(|plan| Arc::clone(&plan.get().0)).collect()
}

impl Plan {
    fn shuffled(
        &self,
        index: &Index,
        index_files: &IndexFiles,
        seed: u64,
        sampling: Option<Bound<'_, Sampling>>,
        lookup: Option<Arc<SharedLookup>>,
    ) -> Self {
        let (kept, index_files) = (Arc::clone(&index.0), Arc::clone(&index_files.0));
        let sampling = sampling.map(|sampling| sampling.get().0.clone());
        let shuffle = Shuffle { seed, kept, index_files, lookup, sampling };
        Self(Arc::new(plan::Plan::Shuffled(Arc::clone(&self.0), shuffle)))
    }

    fn batched(&self, sizes: Sizes, drops_remainder: bool, share: (u64, u64)) -> Self {
        let (index, count) = share;
        self.then(Step::Batch { sizes, drops_remainder, share: ShareIndex { index, count } })
    }

    fn then(&self, step: Step) -> Self {
        Self(Arc::new(plan::Plan::Then(Arc::clone(&self.0), step)))
    }
}
