//! Source nodes.

pub mod files;
pub mod indexed;
pub mod part_rows;
pub mod python_source;
pub mod shuffled;
pub mod window_rows;
