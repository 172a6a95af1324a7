//! Reads a protocol buffer without copying it. The bytes are not trusted: if they are malformed,
//! the result is `None`.

use super::{DELIMITED, FIXED32, FIXED64, VARINT, tag};

/// The tag of a value in a list of strings.
pub const DELIMITED_VALUE: u8 = tag(1, DELIMITED);
/// The tag of a value in a list of integers.
pub const VARINT_VALUE: u8 = tag(1, VARINT);
/// The tag of a value in a list of floats.
pub const FIXED32_VALUE: u8 = tag(1, FIXED32);

/// The rest of a message.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    /// Starts at the beginning of a message.
    pub fn new(message: &'a [u8]) -> Self {
        Self(message)
    }

    /// Returns true if nothing is left.
    pub fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads `length` bytes.
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Number of bytes left.
    pub fn num_left(&self) -> usize {
        self.0.len()
    }

    /// Reads a byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// Reads a variable-length integer.
    pub fn varint(&mut self) -> Option<u64> {
        match self.0 {
            [first, rest @ ..] if *first < 0x80 => {
                self.0 = rest;
                Some(u64::from(*first))
            }
            [first, second, rest @ ..] if *second < 0x80 => {
                self.0 = rest;
                Some(u64::from(*first & 0x7f) | u64::from(*second) << 7)
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for (index, byte) in self.0.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * index);
            if *byte < 0x80 {
                self.0 = &self.0[index + 1..];
                return Some(value);
            }
        }
        None
    }

    /// Reads a length and that many bytes.
    pub fn delimited(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        self.take(length)
    }

    /// Reads a length and a message of that length. If it claims more bytes than there are, it ends
    /// with the available ones, which is how TensorFlow reads it too.
    pub fn message(&mut self) -> Option<Cursor<'a>> {
        let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        self.take(length.min(self.0.len())).map(Cursor)
    }

    /// Skips `tag` if it comes next. Returns whether it did.
    pub fn skip_tag(&mut self, tag: u8) -> bool {
        let is_next = self.0.first() == Some(&tag);
        if is_next {
            self.0 = &self.0[1..];
        }
        is_next
    }

    /// Skips `tag`, which must come next.
    pub fn expect_tag(&mut self, tag: u8) -> Option<()> {
        self.skip_tag(tag).then_some(())
    }

    /// Skips a field with any number. As in TensorFlow, a field that claims more bytes than there
    /// are is the last one.
    pub fn skip_field(&mut self) -> Option<()> {
        match self.varint()? as u8 & 7 {
            VARINT => self.varint().map(drop),
            FIXED64 => self.take(8).map(drop),
            DELIMITED => self.message().map(drop),
            FIXED32 => self.take(4).map(drop),
            _ => None,
        }
    }
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A variable-length integer.
    Varint(u64),
    /// Eight bytes.
    Fixed64(&'a [u8]),
    /// Bytes, a string or a message.
    Bytes(&'a [u8]),
    /// Four bytes.
    Fixed32(&'a [u8]),
}

/// Calls `visit` with the number and the value of each field of a message. This is strict: groups,
/// and fields that claim more bytes than there are, are malformed.
pub fn for_each_field<'a>(message: &'a [u8], mut visit: impl FnMut(u64, Value<'a>) -> Option<()>) -> Option<()> {
    let mut message = Cursor::new(message);
    while !message.is_at_end() {
        let tag = message.varint()?;
        let value = match tag as u8 & 7 {
            VARINT => Value::Varint(message.varint()?),
            FIXED64 => Value::Fixed64(message.take(8)?),
            DELIMITED => Value::Bytes(message.delimited()?),
            FIXED32 => Value::Fixed32(message.take(4)?),
            _ => return None,
        };
        match tag >> 3 {
            0 => return None,
            number => visit(number, value)?,
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Message;
    use proptest::prelude::*;

    #[test]
    fn numbers_of_every_length_are_read() {
        let mut cursor = Cursor::new(b"\x05\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
        assert_eq!([(); 3].map(|()| cursor.varint()), [Some(5), Some(300), Some(u64::MAX)]);
        assert_eq!(cursor.varint(), None);
        assert_eq!(Cursor::new(&[0x80; 11]).varint(), None);
        assert_eq!(Cursor::new(&[0x80]).varint(), None);
    }

    #[test]
    fn each_field_is_visited_with_its_value() {
        let mut fields = Vec::new();
        let bytes = b"\x08\x96\x01\x11abcdefgh\x1a\x02hi\x25wxyz\x80\x01\x05";
        for_each_field(bytes, |number, value| {
            fields.push((number, value));
            Some(())
        })
        .unwrap();
        let (eight, four) = (Value::Fixed64(b"abcdefgh"), Value::Fixed32(b"wxyz"));
        assert_eq!(fields[..3], [(1, Value::Varint(150)), (2, eight), (3, Value::Bytes(b"hi"))]);
        assert_eq!(fields[3..], [(4, four), (16, Value::Varint(5))]);
        for malformed in [&b"\x0a\x02a"[..], b"\x0b", b"\x02\0", b"\x25\0", b"\x08", b"\x11\0", b"\x80"] {
            assert_eq!(for_each_field(malformed, |_, _| Some(())), None, "{malformed:?}");
        }
        assert_eq!(for_each_field(bytes, |_, _| None), None);
    }

    proptest! {
        #[test]
        fn fields_round_trip(number: u64, bytes: Vec<u8>, double: f64, float: f32) {
            let message = Message::default().varint(1, number).bytes(2, &bytes).double(3, double).float(4, float);
            let message = message.into_bytes();
            let mut fields = Vec::new();
            for_each_field(&message, |number, value| {
                fields.push((number, value));
                Some(())
            })
            .unwrap();
            let (double, float) = (double.to_le_bytes(), float.to_le_bytes());
            prop_assert_eq!(&fields[..2], &[(1, Value::Varint(number)), (2, Value::Bytes(&bytes))]);
            prop_assert_eq!(&fields[2..], &[(3, Value::Fixed64(&double)), (4, Value::Fixed32(&float))]);
        }

        #[test]
        fn reading_arbitrary_bytes_never_panics(bytes: Vec<u8>) {
            let _ = for_each_field(&bytes, |_, _| Some(()));
        }
    }
}
