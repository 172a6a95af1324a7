//! Operations on readers and on record inputs.

pub mod reader;
pub mod record_input;
