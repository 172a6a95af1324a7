//! What workers do with rows.

pub mod collate;
pub mod parse;
pub mod select;
