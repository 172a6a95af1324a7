//! Caches rows in files, for later passes and later runs.

pub mod encoding;
pub mod entry;
pub mod formats;
mod links;
pub mod numbers;
mod provenance;
mod read;
pub mod store;
mod stored_rows;
mod write;

pub use read::Read;
pub use stored_rows::StoredRows;
pub use write::Write;
