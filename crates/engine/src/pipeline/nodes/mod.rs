//! The serial steps of pipelines.

pub mod apart;
pub mod batch;
pub mod bucket;
pub mod cache;
pub mod counted;
pub mod epochs;
pub mod expected;
pub mod files;
pub mod grouped;
pub mod held;
pub mod hosted;
pub mod map;
pub mod merge;
pub mod numbered;
pub mod pack;
pub mod sampled;
pub mod shuffled;
pub mod skip_errors;
pub mod take;
mod waiting;
pub mod window;
mod window_draws;
pub mod zip;
