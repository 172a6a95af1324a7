//! Writes a protocol buffer field by field.

use super::{DELIMITED, FIXED32, FIXED64, VARINT};

/// The fields of a message in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

impl From<Vec<u8>> for Message {
    /// Starts a message with these bytes.
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl Message {
    /// Adds an integer.
    pub fn varint(mut self, number: u64, value: u64) -> Self {
        self.push_tag(number, VARINT);
        self.push_varint(value);
        self
    }

    /// Adds a number without a field. The content of a string tensor begins with the lengths of its
    /// strings.
    pub fn length(mut self, value: u64) -> Self {
        self.push_varint(value);
        self
    }

    /// Adds bytes or a string.
    pub fn bytes(mut self, number: u64, value: &[u8]) -> Self {
        self.push_tag(number, DELIMITED);
        self.push_varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    /// Adds a float.
    pub fn float(mut self, number: u64, value: f32) -> Self {
        self.push_tag(number, FIXED32);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Adds a double.
    pub fn double(mut self, number: u64, value: f64) -> Self {
        self.push_tag(number, FIXED64);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// A packed list.
    pub fn doubles(self, number: u64, values: &[f64]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.bytes(number, &bytes)
    }

    /// Adds a message.
    pub fn message(self, number: u64, value: Message) -> Self {
        self.bytes(number, &value.0)
    }

    /// The encoded message.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn push_tag(&mut self, number: u64, kind: u8) {
        self.push_varint(number << 3 | u64::from(kind));
    }

    fn push_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}
