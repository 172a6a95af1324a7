//! The stages: work that the pool's workers do on rows.

pub mod carried;
pub mod collate;
pub mod csv;
pub mod draw_masks;
pub mod fetch;
pub mod float_images;
mod join;
pub mod json;
pub mod meter_stage;
pub mod native;
pub mod pack;
pub mod pack_trees;
pub mod packed_lists;
mod pad_lists;
pub mod parse;
pub mod prefix_tree;
pub mod seen_components;
pub mod select;
pub mod split;
pub mod stack_windows;
mod stage;
pub mod text;
pub mod tfds;
pub mod tokens;
pub mod with_file_rows;
pub mod with_origin;

pub use stage::Stage;
