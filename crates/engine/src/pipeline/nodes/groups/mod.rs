//! Nodes that put rows into groups.

pub mod batch;
pub mod bucket;
pub mod group_by;
pub mod pack;
