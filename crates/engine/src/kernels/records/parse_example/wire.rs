//! Finds the features in the bytes of an Example.

use crate::error::{Error, Result};
use crate::tensor::dtype::DType;
use crate::wire::{Cursor, DELIMITED, Value, for_each_field, tag};

/// Calls `visit` with each key of an Example and its Feature, in the order in which they are
/// stored.
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

/// Calls `visit` with the key and the value of each entry of a map, which is field 1 of `message`.
pub fn for_each_entry<'a>(message: &'a [u8], mut visit: impl FnMut(&'a [u8], &'a [u8])) -> Option<()> {
    for_each_field(message, |number, value| {
        if let (1, Value::Bytes(entry)) = (number, value) {
            let (mut key, mut value) = (&entry[..0], &entry[..0]);
            for_each_field(entry, |number, part| {
                match (number, part) {
                    (1, Value::Bytes(part)) => key = part,
                    (2, Value::Bytes(part)) => value = part,
                    _ => {}
                }
                Some(())
            })?;
            visit(key, value);
        }
        Some(())
    })
}

/// A Feature that has a list.
#[derive(Clone, Copy, Debug)]
pub struct Feature<'a> {
    /// The dtype of the list's values.
    pub dtype: DType,
    /// The list, preceded by its length.
    list: Cursor<'a>,
}

const UNSUPPORTED: &str = "Unsupported datatype. A feature holds bytes, floats or integers; check that the file \
                           contains such messages, or copy it again";

impl<'a> Feature<'a> {
    /// Parses a feature. Returns `None` if it has no list.
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
            Some(_) => return Err(Error::invalid_argument(UNSUPPORTED)),
        };
        Ok(Some(Self { dtype, list }))
    }

    /// Returns the values of the list, each after its tag.
    pub fn values(mut self) -> Option<Cursor<'a>> {
        self.list.message()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::records::parse_example::testing::{example, int64s};
    use proptest::prelude::*;

    fn keys(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
        let mut keys = Vec::new();
        for_each_feature(bytes, |key, _| keys.push(key.to_vec()))?;
        Some(keys)
    }

    #[test]
    fn every_key_is_visited_in_order() {
        let bytes = example(&[("b", int64s(&[1])), ("a", int64s(&[2])), ("b", vec![])]);
        assert_eq!(keys(&bytes), Some(vec![b"b".to_vec(), b"a".to_vec(), b"b".to_vec()]));
        assert_eq!(keys(b""), Some(vec![]));
    }

    #[test]
    fn unknown_fields_next_to_the_features_are_skipped() {
        let mut bytes = b"\x10\x96\x01\x19\0\0\0\0\0\0\0\0\x25\0\0\0\0\x2a\x02hi".to_vec();
        bytes.extend_from_slice(&example(&[("a", int64s(&[1]))]));
        assert_eq!(keys(&bytes), Some(vec![b"a".to_vec()]));
        assert_eq!(keys(b"\x0b"), None, "groups");
        assert_eq!(keys(b"bogus"), Some(vec![]), "a field 12 of 111 bytes, cut short");
    }

    #[test]
    fn truncated_message_is_malformed_unless_it_ends_between_two_features() {
        let bytes = example(&[("a", int64s(&[1, 2])), ("b", int64s(&[3]))]);
        let whole: Vec<_> = (0..=bytes.len()).filter(|length| keys(&bytes[..*length]).is_some()).collect();
        assert_eq!(whole, [0, 2, 15, bytes.len()]);
    }

    #[test]
    fn key_and_value_of_a_map_entry_can_be_in_any_order() {
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
    fn feature_has_the_type_of_its_list() {
        let dtype = |bytes: &[u8]| Feature::parse(bytes).map(|feature| feature.map(|feature| feature.dtype));
        assert_eq!(dtype(b"").unwrap(), None);
        assert_eq!(dtype(b"\x0a\0").unwrap(), Some(DType::String));
        assert_eq!(dtype(b"\x12\0").unwrap(), Some(DType::Float32));
        assert_eq!(dtype(b"\x1a\0").unwrap(), Some(DType::Int64));
        assert_eq!(
            format!("{:?}", dtype(b"\x22\0").unwrap_err()),
            "InvalidArgument: Unsupported datatype. A feature holds bytes, floats or integers; check that the file \
             contains such messages, or copy it again"
        );
    }

    proptest! {
        #[test]
        fn reading_arbitrary_bytes_never_panics(bytes: Vec<u8>) {
            let _ = keys(&bytes);
            let _ = for_each_entry(&bytes, |_, _| {});
        }
    }
}
