//! Text: parsing numbers, regular expressions, hashing strings, excerpts for error messages.

pub(crate) mod excerpt;
pub(crate) mod farmhash;
pub mod number;
pub(crate) mod re2;
