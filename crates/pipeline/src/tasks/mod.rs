//! The work of workers: tasks and their results, the size of results, and measurements.

pub mod meters;
pub mod size_estimate;
pub mod task;
