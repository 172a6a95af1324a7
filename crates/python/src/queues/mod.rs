//! Queues without a graph.

pub mod call;
pub mod queue;
