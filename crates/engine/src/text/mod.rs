//! Text: parsing numbers, regular expressions, hashing strings, excerpts for error messages.

pub mod excerpt;
pub(crate) mod farmhash;
pub(crate) mod murmur;
pub mod number;
pub(crate) mod printable;
pub(crate) mod re2;
pub mod written;
