//! The serial steps of pipelines.

pub mod batch;
pub mod bucket;
pub mod cache;
pub mod counted;
pub mod epochs;
pub mod expected;
pub mod files;
pub mod held;
pub mod hosted;
pub mod map;
pub mod merge;
pub mod sampled;
pub mod shuffled;
pub mod take;
pub mod window;
pub mod zip;
