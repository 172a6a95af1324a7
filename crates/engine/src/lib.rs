//! The engine of headrace: tensors, files, queues, readers, decoders, and programs that run them in
//! a loop.
//!
//! It does not depend on Python. See the `README.md` beside this file for the layers.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests allocate what they like"))]

pub mod barrier;
pub mod checksum;
pub mod error;
pub mod files;
pub mod kernel;
pub mod kernels;
pub mod lookup;
pub mod numbering;
pub mod order;
pub mod philox;
pub mod program;
pub mod queue;
pub mod random_generator;
pub mod reader;
pub mod record_input;
pub mod run;
pub mod saved;
pub mod sparse;
pub mod staging;
pub mod sync;
pub mod tensor;
mod tensor_array;
pub mod text;
pub mod tfrecord;
pub mod variable;
pub mod waits;
mod wire;
