//! Reads and writes protocol buffers without a schema.
//!
//! Source: the encoding page of the protocol buffers documentation.

mod read;
mod write;

pub use read::{Cursor, DELIMITED_VALUE, FIXED32_VALUE, VARINT_VALUE, Value, for_each_field};
pub use write::Message;

/// Encodes the tag of a field in one byte, from the field's number and the type of its value.
pub const fn tag(number: u8, kind: u8) -> u8 {
    number << 3 | kind
}

const VARINT: u8 = 0;
const FIXED64: u8 = 1;
/// The type of values that are preceded by a length: bytes, strings and messages.
pub const DELIMITED: u8 = 2;
const FIXED32: u8 = 5;
