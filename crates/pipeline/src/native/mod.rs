//! Native functions: programs over the rows of blocks.
//!
//! A [`Function`](function::Function) has one program for a row, which defines it. If operations
//! can process many rows at once, [segments](function::Segment) compute the same in fewer calls.

pub mod function;
pub mod stacking;
