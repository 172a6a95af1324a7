//! File formats of images.

pub mod bmp;
mod bmp_masks;
pub mod channels;
pub mod exif;
pub mod gif;
pub mod jpeg;
pub mod png;
pub mod sniff;
pub mod tiff;
mod tiff_bits;
mod tiff_directory;
mod tiff_palette;
pub mod webp;
mod webp_animation;
