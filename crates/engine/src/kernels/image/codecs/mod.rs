//! File formats of images.

pub mod bmp;
pub mod gif;
pub mod jpeg;
pub mod png;
pub mod sniff;
