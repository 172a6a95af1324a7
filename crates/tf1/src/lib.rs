//! The parts that only TensorFlow 1's input system needs: queues, readers, lookup tables,
//! barriers, staging areas and variables, and the kernels of their operations.
//!
//! It builds on `headrace_engine`; pipelines don't need it. See `README.md` in this directory for
//! its layers.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests allocate what they like"))]

pub mod barrier;
pub mod kernels;
pub mod lookup;
pub mod queue;
pub mod reader;
pub mod record_input;
pub mod staging;
pub mod variable;
