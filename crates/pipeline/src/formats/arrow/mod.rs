//! Converts Arrow types and arrays to those of the engine.

pub mod columns;
pub mod fields;
pub mod int96;
mod json_text;
mod leaves;
mod normal;
pub mod reader;
pub mod selection;
pub mod types;
pub mod wide_integers;
