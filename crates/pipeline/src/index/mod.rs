//! Record offsets: random access for the full shuffle.

mod borders;
mod file_index;
mod file_pieces;
mod idx_files;
pub mod index_files;
mod kept;
mod make;
mod record_lookup;
mod shared_handle;
pub mod sidecar;

pub use file_index::FileIndex;
pub use file_pieces::{FilePiece, FilePieces, KeptBorders};
pub use index_files::IndexFiles;
pub use kept::KeptIndexes;
pub use make::make_index;
pub use record_lookup::RecordLookup;
