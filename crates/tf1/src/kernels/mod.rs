//! Kernels of operations on resources, in one module per family of operations.

pub mod lookup;
pub mod queues;
pub mod readers;
pub mod variables;
