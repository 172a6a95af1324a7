//! What workers do with rows.

pub mod collate;
pub mod metered;
pub mod native;
pub mod parse;
pub mod select;
