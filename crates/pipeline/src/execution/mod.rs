//! Polls the nodes, and reports what a running pipeline is doing.

pub mod executor;
pub mod snapshot;
