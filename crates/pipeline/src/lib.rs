//! Pipelines: from files to batches, in blocks of rows. The order depends only on the description.
//!
//! A pipeline is a chain of [nodes](node), serial steps that move row numbers. Slow work (reading,
//! decoding, gathering) is a [task](tasks::task) that a node starts and a worker of the pool runs;
//! results are used in the order in which their tasks were started. The
//! [executor](execution::executor) polls the nodes whenever a task has ended.
//!
//! It does not depend on Python. See `README.md` in this directory for an overview.
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
pub mod skip_event;
pub mod stages;
pub mod tasks;

#[cfg(test)]
mod tests;
