//! The work of workers: tasks and their results, estimated result sizes, and measurements.

pub mod meters;
pub mod size_estimate;
pub mod task;
