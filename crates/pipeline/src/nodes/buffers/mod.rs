//! Buffered rows of nodes: their blocks, their checkpoints, and how to read them again.

pub mod buffered_checkpoint;
mod moving;
pub mod pending_rows;
pub mod replay;
mod row_bits;
pub mod row_by_row;
