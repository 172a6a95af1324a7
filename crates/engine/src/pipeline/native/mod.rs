//! Native functions: programs over the rows of blocks.
//!
//! A [`Function`](function::Function) is one program for a row, which says what the function means. Where operations know how
//! to take many rows at once, [segments](function::Segment) compute the same in fewer calls.

pub mod function;
pub mod stacking;
