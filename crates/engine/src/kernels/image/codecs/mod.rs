//! Image file formats.

pub mod bmp;
mod bmp_masks;
pub mod channels;
pub mod exif;
pub mod gif;
pub mod jpeg;
mod packed_bits;
pub mod png;
pub mod sniff;
pub mod tiff;
mod tiff_chunks;
mod tiff_directory;
mod tiff_fault;
pub mod webp;
mod webp_animation;
