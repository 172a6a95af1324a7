//! Lookup tables.

pub mod mutable;
pub mod table;
