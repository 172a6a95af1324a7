//! The native module `headrace._native`: a thin Python layer over the engine. This file only
//! registers it.

mod allocator;
mod array;
mod atomic_file;
mod attrs;
mod call;
mod cancellation;
mod checkpoint;
mod column;
mod detach;
mod error;
mod execution;
mod exit;
mod function;
mod given;
mod job;
mod kept;
mod pipeline;
mod program;
mod queue;
mod records;
mod remote;
mod resource;
mod saved;
mod skip_event;
mod sources;
mod view;
mod waits;
mod watch;

use pyo3::prelude::*;

// All state shared by threads is behind its own locks and atomics, so a free-threaded Python needs
// no lock around the module.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    detach::remember_main_thread(module.py())?;
    headrace_remote::register();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("EngineError", module.py().get_type::<error::EngineError>())?;
    module.add_class::<cancellation::Cancellation>()?;
    module.add_class::<program::StopFlag>()?;
    module.add_class::<program::ProgramBuilder>()?;
    module.add_class::<program::KernelHandle>()?;
    module.add_class::<program::Program>()?;
    module.add_class::<program::Trace>()?;
    module.add_class::<function::PythonCall>()?;
    module.add_class::<kept::Cache>()?;
    module.add_class::<kept::Index>()?;
    module.add_class::<column::Column>()?;
    module.add_class::<execution::Execution>()?;
    module.add_class::<job::Job>()?;
    module.add_class::<skip_event::Failure>()?;
    module.add_class::<skip_event::Passed>()?;
    module.add_class::<pipeline::Plan>()?;
    module.add_class::<pipeline::Sightings>()?;
    module.add_class::<pipeline::Stage>()?;
    module.add_class::<queue::Queue>()?;
    module.add_class::<resource::Reader>()?;
    module.add_class::<resource::RandomGenerator>()?;
    module.add_class::<resource::SparseTable>()?;
    module.add_class::<resource::LookupTable>()?;
    module.add_class::<resource::Barrier>()?;
    module.add_class::<resource::MutableTable>()?;
    module.add_class::<resource::RecordInput>()?;
    module.add_class::<resource::StagingArea>()?;
    module.add_class::<resource::Variable>()?;
    module.add_class::<saved::SavedChunks>()?;
    module.add_class::<saved::Prepared>()?;
    module.add_class::<atomic_file::AtomicFile>()?;
    module.add_class::<records::RecordWriter>()?;
    module.add_class::<records::RecordIterator>()?;
    module.add_class::<remote::RemoteFile>()?;
    module.add_function(wrap_pyfunction!(remote::remote_copy, module)?)?;
    module.add_function(wrap_pyfunction!(remote::remote_is_directory, module)?)?;
    module.add_function(wrap_pyfunction!(remote::remote_list, module)?)?;
    module.add_function(wrap_pyfunction!(remote::remote_remove, module)?)?;
    module.add_function(wrap_pyfunction!(remote::remote_statuses, module)?)?;
    module.add_function(wrap_pyfunction!(sources::codec_of, module)?)?;
    module.add_function(wrap_pyfunction!(sources::content_of, module)?)?;
    module.add_function(wrap_pyfunction!(sources::csv_fields, module)?)?;
    module.add_function(wrap_pyfunction!(sources::csv_records, module)?)?;
    module.add_function(wrap_pyfunction!(sources::infer_csv, module)?)?;
    module.add_function(wrap_pyfunction!(sources::infer_json, module)?)?;
    module.add_function(wrap_pyfunction!(sources::infer_tar, module)?)?;
    module.add_function(wrap_pyfunction!(sources::is_compressed, module)?)?;
    module.add_function(wrap_pyfunction!(sources::tar_samples, module)?)?;
    module.add_function(wrap_pyfunction!(sources::json_fields, module)?)?;
    module.add_function(wrap_pyfunction!(sources::json_records, module)?)?;
    module.add_function(wrap_pyfunction!(sources::labelled_files, module)?)?;
    module.add_function(wrap_pyfunction!(records::crc32c, module)?)?;
    module.add_function(wrap_pyfunction!(exit::begin_exit, module)?)?;
    module.add_function(wrap_pyfunction!(exit::wait_for_python_functions, module)?)?;
    module.add_function(wrap_pyfunction!(exit::linger_at_exit, module)?)?;
    module.add_function(wrap_pyfunction!(resource::memory_limit, module)?)?;
    module.add_function(wrap_pyfunction!(saved::prepare_resource, module)?)?;
    module.add_function(wrap_pyfunction!(saved::save_resource, module)?)?;
    module.add_function(wrap_pyfunction!(saved::settle_queue, module)?)?;
    module.add_function(wrap_pyfunction!(waits::waits, module)?)?;
    module.add_function(wrap_pyfunction!(waits::storage_requests, module)?)?;
    Ok(())
}
