//! The bytes of a protocol buffer, walked over without a copy and without trust: `None` wherever they make no sense.

use crate::dtype::DType;
use crate::error::{Error, Result};

/// A field's number and its kind of value, as they stand before it in one byte.
const fn tag(number: u8, kind: u8) -> u8 {
    number << 3 | kind
}

const VARINT: u8 = 0;
const FIXED64: u8 = 1;
const DELIMITED: u8 = 2;
const FIXED32: u8 = 5;

/// The tags of the values of a list.
pub const DELIMITED_VALUE: u8 = tag(1, DELIMITED);
pub const VARINT_VALUE: u8 = tag(1, VARINT);
pub const FIXED32_VALUE: u8 = tag(1, FIXED32);

/// What is left of a message.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    pub fn new(message: &'a [u8]) -> Self {
        Self(message)
    }

    pub fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub fn varint(&mut self) -> Option<u64> {
        match self.0 {
            [first, rest @ ..] if *first < 0x80 => {
                self.0 = rest;
                Some(u64::from(*first))
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

    /// A length and as many bytes.
    pub fn delimited(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.varint()?).ok()?;
        self.take(length)
    }

    /// A length and a message of that length, or of all there is: TensorFlow takes a message that claims more for one
    /// that ends there, and looks at the messages inside it.
    pub fn message(&mut self) -> Option<Cursor<'a>> {
        let length = usize::try_from(self.varint()?).unwrap_or(usize::MAX);
        self.take(length.min(self.0.len())).map(Cursor)
    }

    /// Moves past `tag` if it is next.
    pub fn skip_tag(&mut self, tag: u8) -> bool {
        let is_next = self.0.first() == Some(&tag);
        if is_next {
            self.0 = &self.0[1..];
        }
        is_next
    }

    fn expect_tag(&mut self, tag: u8) -> Option<()> {
        self.skip_tag(tag).then_some(())
    }

    /// Moves past a field of any number. One that claims more bytes than there are is the last one, as in TensorFlow.
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

/// Calls `visit` with each key of an Example and the Feature that belongs to it, in the order of the bytes.
pub fn for_each_feature<'a>(example: &'a [u8], mut visit: impl FnMut(&'a [u8], &'a [u8])) -> Option<()> {
    let mut example = Cursor::new(example);
    while !example.is_at_end() {
        if !example.skip_tag(tag(1, DELIMITED)) {
            example.skip_field()?;
            continue;
        }
        let mut features = example.message()?;
        while !features.is_at_end() {
            features.expect_tag(tag(1, DELIMITED))?;
            let mut entry = features.message()?;
            entry.expect_tag(tag(1, DELIMITED))?;
            let key = entry.delimited()?;
            entry.expect_tag(tag(2, DELIMITED))?;
            let feature = entry.delimited()?;
            if !entry.is_at_end() {
                return None;
            }
            visit(key, feature);
        }
    }
    Some(())
}

/// Calls `visit` with the number and the bytes of each field of a message that has bytes, strictly: what claims more than
/// there is is malformed.
pub fn for_each_field<'a>(message: &'a [u8], mut visit: impl FnMut(u64, &'a [u8]) -> Option<()>) -> Option<()> {
    let mut message = Cursor::new(message);
    while !message.is_at_end() {
        let tag = message.varint()?;
        match (tag >> 3, tag as u8 & 7) {
            (0, _) => return None,
            (_, VARINT) => message.varint().map(drop)?,
            (_, FIXED64) => message.take(8).map(drop)?,
            (number, DELIMITED) => visit(number, message.delimited()?)?,
            (_, FIXED32) => message.take(4).map(drop)?,
            _ => return None,
        }
    }
    Some(())
}

/// Calls `visit` with the key and the value of each entry of a map, which is field 1 of `message`.
pub fn for_each_entry<'a>(message: &'a [u8], mut visit: impl FnMut(&'a [u8], &'a [u8])) -> Option<()> {
    for_each_field(message, |number, entry| {
        let mut parts = [&entry[..0]; 2];
        for_each_field(entry, |number, part| {
            match number {
                1 => parts[0] = part,
                2 => parts[1] = part,
                _ => {}
            }
            Some(())
        })?;
        if number == 1 {
            visit(parts[0], parts[1]);
        }
        Some(())
    })
}

/// A Feature in which a list is set.
#[derive(Clone, Copy, Debug)]
pub struct Feature<'a> {
    pub dtype: DType,
    /// The length of the list and the list.
    list: Cursor<'a>,
}

impl<'a> Feature<'a> {
    /// The feature, or `None` if no list is set in it.
    pub fn parse(feature: &'a [u8]) -> Result<Option<Self>> {
        const BYTES_LIST: u8 = tag(1, DELIMITED);
        const FLOAT_LIST: u8 = tag(2, DELIMITED);
        const INT64_LIST: u8 = tag(3, DELIMITED);
        let mut list = Cursor::new(feature);
        let dtype = match list.byte() {
            None => return Ok(None),
            Some(BYTES_LIST) => DType::String,
            Some(FLOAT_LIST) => DType::Float32,
            Some(INT64_LIST) => DType::Int64,
            Some(_) => return Err(Error::invalid_argument("Unsupported datatype.")),
        };
        Ok(Some(Self { dtype, list }))
    }

    /// The values of the list, each behind its tag.
    pub fn values(mut self) -> Option<Cursor<'a>> {
        self.list.message()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::example::testing::{example, int64s};
    use proptest::prelude::*;

    fn keys(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
        let mut keys = Vec::new();
        for_each_feature(bytes, |key, _| keys.push(key.to_vec()))?;
        Some(keys)
    }

    #[test]
    fn numbers_of_every_length_are_read() {
        let mut cursor = Cursor::new(b"\x05\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
        assert_eq!([(); 3].map(|()| cursor.varint()), [Some(5), Some(300), Some(u64::MAX)]);
        assert_eq!(cursor.varint(), None);
        assert_eq!(Cursor::new(&[0x80; 11]).varint(), None);
        assert_eq!(Cursor::new(&[0x80]).varint(), None);
    }

    #[test]
    fn every_key_is_visited_in_order() {
        let bytes = example(&[("b", int64s(&[1])), ("a", int64s(&[2])), ("b", vec![])]);
        assert_eq!(keys(&bytes), Some(vec![b"b".to_vec(), b"a".to_vec(), b"b".to_vec()]));
        assert_eq!(keys(b""), Some(vec![]));
    }

    #[test]
    fn unknown_fields_beside_the_features_are_skipped() {
        let mut bytes = b"\x10\x96\x01\x19\0\0\0\0\0\0\0\0\x25\0\0\0\0\x2a\x02hi".to_vec();
        bytes.extend_from_slice(&example(&[("a", int64s(&[1]))]));
        assert_eq!(keys(&bytes), Some(vec![b"a".to_vec()]));
        assert_eq!(keys(b"\x0b"), None, "groups");
        assert_eq!(keys(b"bogus"), Some(vec![]), "a field 12 of 111 bytes, cut short");
    }

    #[test]
    fn a_message_that_is_cut_short_is_malformed_except_between_two_features() {
        let bytes = example(&[("a", int64s(&[1, 2])), ("b", int64s(&[3]))]);
        let whole: Vec<_> = (0..=bytes.len()).filter(|length| keys(&bytes[..*length]).is_some()).collect();
        assert_eq!(whole, [0, 2, 15, bytes.len()]);
    }

    #[test]
    fn the_entries_of_a_map_may_have_their_parts_in_any_order() {
        let entries = |bytes: &[u8]| {
            let mut entries = Vec::new();
            for_each_entry(bytes, |key, value| entries.push([key.to_vec(), value.to_vec()].concat()))?;
            Some(entries)
        };
        assert_eq!(entries(b"\x0a\x06\x0a\x01a\x12\x01b\x10\x07"), Some(vec![b"ab".to_vec()]));
        assert_eq!(entries(b"\x0a\x08\x12\x01b\x1a\0\x0a\x01a"), Some(vec![b"ab".to_vec()]));
        assert_eq!(entries(b"\x12\x03\x0a\x01a\x25\0\0\0\0\x21\0\0\0\0\0\0\0\0"), Some(vec![]));
        for malformed in [&b"\x0a\x06\x0a\x01a"[..], b"\x0a\x02\x0a\x01", b"\x0b", b"\x02\0", b"\x25\0", b"\x08"] {
            assert_eq!(entries(malformed), None, "{malformed:?}");
        }
    }

    #[test]
    fn a_feature_says_its_type() {
        let dtype = |bytes: &[u8]| Feature::parse(bytes).map(|feature| feature.map(|feature| feature.dtype));
        assert_eq!(dtype(b"").unwrap(), None);
        assert_eq!(dtype(b"\x0a\0").unwrap(), Some(DType::String));
        assert_eq!(dtype(b"\x12\0").unwrap(), Some(DType::Float32));
        assert_eq!(dtype(b"\x1a\0").unwrap(), Some(DType::Int64));
        assert_eq!(format!("{:?}", dtype(b"\x22\0").unwrap_err()), "InvalidArgument: Unsupported datatype.");
    }

    proptest! {
        #[test]
        fn any_bytes_are_walked_over(bytes: Vec<u8>) {
            let _ = keys(&bytes);
            let _ = for_each_entry(&bytes, |_, _| {});
        }
    }
}
