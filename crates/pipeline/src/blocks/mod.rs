//! Blocks of rows: columns, selections of rows, and the records that rows come from.

pub mod arrays;
pub mod arrow;
pub mod batches;
pub mod block;
pub mod column;
pub mod file_provenance;
pub mod gather;
pub mod indexed;
pub mod opaque;
pub mod packed_rows;
pub mod packing;
pub mod part_counts;
pub mod provenance;
pub mod row_id;
pub mod row_numbers;
pub mod rows;
mod span;
mod stack;
pub mod strided;
pub mod windows;
