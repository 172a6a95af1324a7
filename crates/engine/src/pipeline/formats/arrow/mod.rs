//! Arrow's types and arrays as those of the engine.

pub mod columns;
pub mod types;
