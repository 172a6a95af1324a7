//! The serial steps of pipelines.

pub mod batch;
pub mod counted;
pub mod epochs;
pub mod files;
pub mod hosted;
pub mod map;
pub mod sampled;
pub mod take;
pub mod window;
