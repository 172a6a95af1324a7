//! Converts Arrow types and arrays to the engine's types and tensors.

pub mod columns;
mod directory_values;
pub mod fields;
pub mod int96;
mod json_text;
mod leaves;
mod normal;
pub mod reader;
pub mod selection;
pub mod types;
pub mod wide_integers;
