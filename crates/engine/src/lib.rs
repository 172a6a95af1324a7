//! The engine of headrace: tensors, queues, readers, decoders, and programs that run them in a loop.
//!
//! It knows no Python. See `DESIGN.md` at the root of the repository for the map.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests allocate what they like"))]

pub mod allocate;
pub mod atomic_file;
pub mod cancellation;
pub mod compression;
mod deferred;
pub mod dtype;
pub mod error;
mod excerpt;
mod farmhash;
pub mod kernel;
pub mod kernels;
pub mod memory;
pub mod memory_limit;
pub mod number;
pub mod output;
pub mod parker;
pub mod philox;
pub mod program;
pub mod queue;
mod re2;
pub mod reader;
mod retain;
pub mod run;
pub mod shape;
pub mod sparse;
pub mod sync;
pub mod tensor;
pub mod tfrecord;
pub mod turn;
pub mod variable;
mod view;
mod wire;
