//! The native module `headrace._native`: a thin Python layer over the engine. This file only
//! registers it.

mod allocator;
mod boundary;
mod error;
mod files;
mod graph;
mod pipeline;
mod queues;
mod waiting;

use pyo3::prelude::*;

// All state shared by threads is behind its own locks and atomics, so a free-threaded Python needs
// no lock around the module.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    waiting::detach::remember_main_thread(module.py())?;
    headrace_remote::register();
    headrace_engine::files::mapping::register(boundary::array::mapped);
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("EngineError", module.py().get_type::<error::EngineError>())?;
    module.add_class::<waiting::cancellation::Cancellation>()?;
    module.add_class::<graph::program::StopFlag>()?;
    module.add_class::<graph::program::ProgramBuilder>()?;
    module.add_class::<graph::program::KernelHandle>()?;
    module.add_class::<graph::program::Program>()?;
    module.add_class::<graph::program::Trace>()?;
    module.add_class::<graph::function::PythonCall>()?;
    module.add_class::<pipeline::kept::Cache>()?;
    module.add_class::<pipeline::kept::DiskCache>()?;
    module.add_class::<pipeline::kept::Index>()?;
    module.add_class::<pipeline::kept::IndexFiles>()?;
    module.add_class::<pipeline::column::Column>()?;
    module.add_class::<pipeline::column_builder::ColumnBuilder>()?;
    module.add_class::<pipeline::execution::Execution>()?;
    module.add_class::<pipeline::job::Job>()?;
    module.add_class::<pipeline::skip_event::Failure>()?;
    module.add_class::<pipeline::skip_event::Passed>()?;
    module.add_class::<pipeline::plan::Plan>()?;
    module.add_class::<pipeline::order_digest::OrderDigest>()?;
    module.add_class::<pipeline::plan::Sightings>()?;
    module.add_class::<pipeline::plan::Stage>()?;
    module.add_class::<queues::queue::Queue>()?;
    module.add_class::<graph::resource::Reader>()?;
    module.add_class::<graph::resource::RandomGenerator>()?;
    module.add_class::<graph::resource::SparseTable>()?;
    module.add_class::<graph::resource::LookupTable>()?;
    module.add_class::<graph::resource::Barrier>()?;
    module.add_class::<graph::resource::MutableTable>()?;
    module.add_class::<graph::resource::RecordInput>()?;
    module.add_class::<graph::resource::StagingArea>()?;
    module.add_class::<graph::resource::Variable>()?;
    module.add_class::<graph::saved::SavedChunks>()?;
    module.add_class::<graph::saved::Prepared>()?;
    module.add_class::<files::atomic_file::AtomicFile>()?;
    module.add_class::<files::records::RecordWriter>()?;
    module.add_class::<files::records::RecordIterator>()?;
    module.add_class::<files::remote::RemoteFile>()?;
    module.add_function(wrap_pyfunction!(files::remote::remote_copy, module)?)?;
    module.add_function(wrap_pyfunction!(files::remote::remote_is_directory, module)?)?;
    module.add_function(wrap_pyfunction!(files::remote::remote_list, module)?)?;
    module.add_function(wrap_pyfunction!(files::remote::remote_remove, module)?)?;
    module.add_function(wrap_pyfunction!(files::remote::remote_revision, module)?)?;
    module.add_function(wrap_pyfunction!(files::remote::remote_statuses, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::sources::codec_of, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::sources::content_of, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::sources::csv_fields, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::sources::csv_records, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::index_files::index_counts, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::index_files::make_index, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::index_files::read_index, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::sources::infer_csv, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::sources::infer_json, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::sources::infer_tar, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::sources::is_compressed, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::tokens::megatron_index, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::tokens::token_windows, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::tables::arrow_columns, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::tables::parquet_columns, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::tables::arrow_counts, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::tables::parquet_counts, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::tables::arrow_rows, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::tables::parquet_rows, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::sources::tar_samples, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::sources::json_fields, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::sources::json_records, module)?)?;
    module.add_function(wrap_pyfunction!(pipeline::sources::labelled_files, module)?)?;
    module.add_function(wrap_pyfunction!(files::records::crc32c, module)?)?;
    module.add_function(wrap_pyfunction!(waiting::exit::begin_exit, module)?)?;
    module.add_function(wrap_pyfunction!(waiting::exit::wait_for_python_functions, module)?)?;
    module.add_function(wrap_pyfunction!(waiting::exit::linger_at_exit, module)?)?;
    module.add_function(wrap_pyfunction!(graph::resource::memory_limit, module)?)?;
    module.add_function(wrap_pyfunction!(graph::saved::prepare_resource, module)?)?;
    module.add_function(wrap_pyfunction!(graph::saved::save_resource, module)?)?;
    module.add_function(wrap_pyfunction!(graph::saved::settle_queue, module)?)?;
    module.add_function(wrap_pyfunction!(waiting::waits::waits, module)?)?;
    module.add_function(wrap_pyfunction!(waiting::waits::storage_requests, module)?)?;
    Ok(())
}
