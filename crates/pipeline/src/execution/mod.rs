//! Polls the nodes, and shows what a running pipeline does.

pub mod executor;
pub mod snapshot;
