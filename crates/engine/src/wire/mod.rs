//! Protocol buffers, read and written without a schema.
//!
//! Source: the encoding page of the protocol buffers documentation.

mod read;
mod write;

pub use read::{Cursor, DELIMITED_VALUE, FIXED32_VALUE, VARINT_VALUE, Value, for_each_field};
pub use write::Message;

/// The tag of a field that fits into one byte: the field's number and the kind of its value.
pub const fn tag(number: u8, kind: u8) -> u8 {
    number << 3 | kind
}

const VARINT: u8 = 0;
const FIXED64: u8 = 1;
/// The kind of a value with a length before it: bytes, a string, a message.
pub const DELIMITED: u8 = 2;
const FIXED32: u8 = 5;
