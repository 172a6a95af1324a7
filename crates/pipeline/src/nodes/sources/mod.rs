//! Source nodes.

pub mod files;
pub mod indexed;
pub mod python_source;
pub mod shuffled;
