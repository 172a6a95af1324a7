//! Nodes that group rows.

pub mod balanced;
pub mod batch;
pub mod bucket;
pub mod group_by;
pub mod pack;
pub mod pack_trees;
pub mod runs;
pub mod sizes;
