//! Conversions between Python and the engine: arrays, tensors, bytes and attributes.

pub mod array;
pub mod attrs;
pub mod bytes;
pub mod view;
