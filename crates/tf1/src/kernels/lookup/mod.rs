//! Lookup tables.

pub mod table;
