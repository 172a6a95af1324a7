//! The kernels of operations on resources, in one module for each family of operations.

pub mod lookup;
pub mod queues;
pub mod readers;
pub mod variables;
