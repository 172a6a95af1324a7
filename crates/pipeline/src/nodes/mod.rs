//! The nodes, which are the serial steps of a pipeline.

pub mod bisect_failures;
pub mod buffers;
pub mod cache;
pub mod count_rows;
pub mod digest_order;
pub mod disk_cache;
pub mod epochs;
pub mod groups;
pub mod interleave;
pub mod lanes;
pub mod map;
pub mod mixture;
pub mod pieces;
pub mod shard;
pub mod skip_errors;
pub mod sources;
pub mod step_facts;
pub mod take;
pub mod window;
pub mod windows;
pub mod zip;
