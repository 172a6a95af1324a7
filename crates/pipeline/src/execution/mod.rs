//! Polls the nodes, and reports the activity of a running pipeline.

pub mod executor;
pub mod snapshot;
