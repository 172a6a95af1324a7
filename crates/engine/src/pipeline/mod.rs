//! Pipelines: from files to batches, in blocks, in an order that depends on nothing but the description.
//!
//! A pipeline is a chain of [nodes](node), serial steps that move row numbers. What takes time (reading, decoding,
//! gathering) is a [task](task) that a node starts, done by a pool of workers; its result waits until its turn has come.
//! The [executor] asks the nodes whenever a task has ended.

pub mod arrays;
pub mod arrow;
pub mod batches;
pub mod block;
pub mod budget;
pub mod column;
pub mod executor;
pub mod file_origin;
pub mod formats;
pub mod function_states;
mod gathering;
pub mod index;
pub mod mark;
pub mod meters;
pub mod native;
pub mod node;
pub mod nodes;
pub mod origin;
pub mod permutation;
pub mod place;
pub mod plan;
pub mod report;
pub mod rows;
mod shuffle_plan;
pub mod skipped;
pub mod stages;
pub mod task;

#[cfg(test)]
mod tests;
