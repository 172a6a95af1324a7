//! Native functions: programs over the rows of blocks.
//!
//! A [`Function`](function::Function) has one program that defines it for a single row. If
//! operations can process many rows at once, [segments](function::Segment) compute the same results
//! in fewer calls.

pub mod function;
pub mod stacking;
