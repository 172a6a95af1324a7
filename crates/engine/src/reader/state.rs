//! A reader's state as bytes: TensorFlow's message, and where the reader is in its file.
//!
//! Fields 1 to 4 are those of `ReaderBaseState` in TensorFlow 1.15. Two of our own, which TensorFlow skips, stand
//! there while a file is being read: the number of its next record (100) and that one's offset (101).

use super::format::Position;
use bytes::Bytes;

/// What of a reader goes into its state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SavedState {
    pub num_started: i64,
    pub num_finished: i64,
    pub num_records: i64,
    /// The current work item, or the last one.
    pub work: Bytes,
    /// Where the reader is in the file it is reading.
    pub position: Option<Position>,
}

const STARTED: u64 = 1;
const FINISHED: u64 = 2;
const RECORDS: u64 = 3;
const WORK: u64 = 4;
const NEXT_RECORD: u64 = 100;
const OFFSET_BYTES: u64 = 101;

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const DELIMITED: u64 = 2;
const FIXED32: u64 = 5;

impl SavedState {
    pub(super) fn encode(&self) -> Bytes {
        let mut bytes = Vec::new();
        for (field, value) in [(STARTED, self.num_started), (FINISHED, self.num_finished), (RECORDS, self.num_records)]
        {
            if value != 0 {
                write_varints(&mut bytes, [field << 3 | VARINT, value as u64]);
            }
        }
        if !self.work.is_empty() {
            write_varints(&mut bytes, [WORK << 3 | DELIMITED, self.work.len() as u64]);
            bytes.extend_from_slice(&self.work);
        }
        if let Some(Position { record, offset_bytes }) = self.position {
            let fields = [NEXT_RECORD << 3 | VARINT, record, OFFSET_BYTES << 3 | VARINT, offset_bytes];
            write_varints(&mut bytes, fields);
        }
        bytes.into()
    }

    /// The state that `bytes` stand for, or `None` if they are no such message.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut state = Self::default();
        while !rest.is_empty() {
            let tag = read_varint(&mut rest)?;
            match (tag >> 3, tag & 7) {
                (0, _) => return None,
                (STARTED, VARINT) => state.num_started = read_varint(&mut rest)? as i64,
                (FINISHED, VARINT) => state.num_finished = read_varint(&mut rest)? as i64,
                (RECORDS, VARINT) => state.num_records = read_varint(&mut rest)? as i64,
                (WORK, DELIMITED) => state.work = Bytes::copy_from_slice(read_delimited(&mut rest)?),
                (NEXT_RECORD, VARINT) => {
                    state.position.get_or_insert_default().record = read_varint(&mut rest)?;
                }
                (OFFSET_BYTES, VARINT) => {
                    state.position.get_or_insert_default().offset_bytes = read_varint(&mut rest)?;
                }
                (_, kind) => skip_value(&mut rest, kind)?,
            }
        }
        Some(state)
    }

    /// What contradicts itself in the state, in the words of TensorFlow.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        if self.num_started.min(self.num_finished).min(self.num_records) < 0 {
            return Some("Unexpected negative value when restoring in");
        }
        // Only a state of ours can be restored in the middle of a file.
        let is_in_file = i64::from(self.position.is_some());
        let is_consistent = self.num_started <= self.num_finished || self.num_started - self.num_finished == is_in_file;
        (!is_consistent).then_some("Inconsistent work started vs. finished when restoring in")
    }

    /// The message as text, as TensorFlow shows it in errors.
    pub(super) fn describe(&self) -> String {
        let counts = [
            ("work_started", self.num_started),
            ("work_finished", self.num_finished),
            ("num_records_produced", self.num_records),
        ];
        let set = counts.iter().filter(|(_, value)| *value != 0);
        let mut parts: Vec<_> = set.map(|(name, value)| format!("{name}: {value}")).collect();
        if !self.work.is_empty() {
            parts.push(format!("current_work: \"{}\"", escape(&self.work)));
        }
        parts.join(" ")
    }
}

/// Bytes as C writes them in a string.
pub(super) fn escape(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            b'"' | b'\'' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    text
}

fn write_varints<const N: usize>(bytes: &mut Vec<u8>, values: [u64; N]) {
    for mut value in values {
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
    }
}

fn read_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for index in 0..10 {
        let byte = read_bytes(rest, 1)?[0];
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Moves past the value of a field that means nothing here.
fn skip_value(rest: &mut &[u8], kind: u64) -> Option<()> {
    match kind {
        VARINT => read_varint(rest).map(|_| ()),
        FIXED64 => read_bytes(rest, 8).map(|_| ()),
        DELIMITED => read_delimited(rest).map(|_| ()),
        FIXED32 => read_bytes(rest, 4).map(|_| ()),
        _ => None,
    }
}

fn read_delimited<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(read_varint(rest)?).ok()?;
    read_bytes(rest, length)
}

fn read_bytes<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(length)?;
    *rest = left;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_state_between_files_is_the_message_of_tensorflow() {
        let state = SavedState { num_started: 1, num_finished: 1, num_records: 1, work: "A".into(), position: None };
        assert_eq!(state.encode(), &b"\x08\x01\x10\x01\x18\x01\"\x01A"[..]);
        assert_eq!(SavedState::decode(b"\x08\x01\x10\x01\x18\x01\"\x01A"), Some(state));
    }

    #[test]
    fn unknown_fields_are_skipped_and_junk_is_refused() {
        assert_eq!(SavedState::decode(b"\x48\x07\x0a\x01x\x4d1234\x4912345678\x10\x02").unwrap().num_finished, 2);
        for junk in [&b"junk"[..], b"\xff", b"\x08", b"\"\x05a", b"\x02\x00", b"\x0b"] {
            assert_eq!(SavedState::decode(junk), None, "{junk:?}");
        }
    }

    #[test]
    fn bytes_are_escaped_as_in_c() {
        assert_eq!(escape(b"a'\"\\\n\t\r\0\xff"), r#"a\'\"\\\n\t\r\000\377"#);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            counts: [i64; 3], work: Vec<u8>, position: Option<(u64, u64)>, junk: Vec<u8>
        ) {
            let [num_started, num_finished, num_records] = counts;
            let position = position.map(|(record, offset_bytes)| Position { record, offset_bytes });
            let state = SavedState { num_started, num_finished, num_records, work: work.into(), position };
            prop_assert_eq!(SavedState::decode(&state.encode()), Some(state));
            // Any bytes do.
            let _ = SavedState::decode(&junk);
        }
    }
}
