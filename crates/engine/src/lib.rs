//! The engine of headrace: tensors, files, decoders, and programs that run operations in a loop.
//!
//! The crate does not depend on Python. See `README.md` in this directory for its layers.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests allocate what they like"))]

pub mod checksum;
pub mod error;
pub mod files;
pub mod kernel;
pub mod kernels;
pub mod numbering;
pub mod order;
pub mod philox;
pub mod program;
pub mod random_generator;
pub mod run;
pub mod saved;
pub mod sparse;
pub mod sync;
pub mod tensor;
mod tensor_array;
pub mod text;
pub mod tfrecord;
pub mod waits;
pub mod wire;
