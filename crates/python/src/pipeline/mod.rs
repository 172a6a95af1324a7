//! Pipelines: plans, executions, and the tasks of Python functions.

pub mod checkpoint;
pub mod column;
pub mod column_builder;
pub mod execution;
pub mod index_files;
pub mod job;
pub mod kept;
pub mod lanes;
pub mod order_digest;
pub mod plan;
pub mod readings;
pub mod skip_event;
pub mod sources;
pub mod tables;
pub mod tokens;
