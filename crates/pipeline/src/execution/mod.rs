//! The execution of a chain of nodes: tasks, workers, the memory budget, and measurements.

pub mod budget;
pub mod executor;
pub mod meters;
pub mod snapshot;
pub mod task;
