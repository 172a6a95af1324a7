//! Pipelines: from files to batches, in blocks of rows. The order depends only on the
//! description.
//!
//! A pipeline is a chain of [nodes](node), which are serial steps that move row numbers. Slow work
//! such as reading, decoding and gathering is done in [tasks](tasks::task). A node starts a task
//! and a worker of the pool runs it. Results are used in the order in which their tasks were
//! started. The [executor](execution::executor) polls the nodes whenever a task has ended.
//!
//! The crate does not depend on Python. See `README.md` in this directory for an overview.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests allocate what they like"))]

pub mod blocks;
pub mod budget;
pub mod checkpoint;
pub mod execution;
pub mod formats;
pub mod function_states;
pub mod index;
pub mod native;
pub mod node;
pub mod nodes;
pub mod order_digest;
pub mod permutation;
pub mod plan;
pub mod records;
pub mod row_order;
pub mod skip_event;
pub mod stages;
pub mod tasks;

#[cfg(test)]
mod tests;
