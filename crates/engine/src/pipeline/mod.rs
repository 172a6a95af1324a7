//! Pipelines: from files to batches, in blocks, in an order that depends on nothing but the description.
//!
//! A pipeline is a chain of [nodes](node), serial steps that move row numbers. What takes time (reading, decoding,
//! gathering) is a [task](execution::task) that a node starts, done by a pool of workers; its result waits until its turn
//! has come. The [executor](execution::executor) asks the nodes whenever a task has ended.

pub mod blocks;
pub mod checkpoint;
pub mod execution;
pub mod formats;
pub mod function_states;
pub mod index;
pub mod native;
pub mod node;
pub mod nodes;
pub mod permutation;
pub mod plan;
pub mod skip_event;
pub mod stages;

#[cfg(test)]
mod tests;
