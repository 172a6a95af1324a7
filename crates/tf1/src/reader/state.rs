//! The saved state of a reader: TensorFlow's message, plus the reader's position in its file.
//!
//! Fields 1 to 4 are the same as in `ReaderBaseState` in TensorFlow 1.15. While a file is being
//! read, there are two more, which TensorFlow ignores: the number of the next record (100) and its
//! offset (101).

use super::format::Position;
use bytes::Bytes;
use headrace_engine::wire::{Message, Value, for_each_field};

/// The contents of a reader's saved state.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SavedState {
    pub num_started: i64,
    pub num_finished: i64,
    pub num_records: i64,
    /// The current or most recent file name.
    pub work: Bytes,
    /// The position in the current file.
    pub position: Option<Position>,
}

const STARTED: u64 = 1;
const FINISHED: u64 = 2;
const RECORDS: u64 = 3;
const WORK: u64 = 4;
const NEXT_RECORD: u64 = 100;
const OFFSET_BYTES: u64 = 101;

impl SavedState {
    pub(super) fn encode(&self) -> Bytes {
        let counts = [(STARTED, self.num_started), (FINISHED, self.num_finished), (RECORDS, self.num_records)];
        let mut message = Message::default();
        for (field, value) in counts.into_iter().filter(|(_, value)| *value != 0) {
            message = message.varint(field, value as u64);
        }
        if !self.work.is_empty() {
            message = message.bytes(WORK, &self.work);
        }
        if let Some(Position { record, offset_bytes }) = self.position {
            message = message.varint(NEXT_RECORD, record).varint(OFFSET_BYTES, offset_bytes);
        }
        message.into_bytes().into()
    }

    /// Decodes a state. Returns `None` if `bytes` are not a valid message.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut state = Self::default();
        for_each_field(bytes, |field, value| {
            match (field, value) {
                (STARTED, Value::Varint(value)) => state.num_started = value as i64,
                (FINISHED, Value::Varint(value)) => state.num_finished = value as i64,
                (RECORDS, Value::Varint(value)) => state.num_records = value as i64,
                (WORK, Value::Bytes(work)) => state.work = Bytes::copy_from_slice(work),
                (NEXT_RECORD, Value::Varint(value)) => state.position.get_or_insert_default().record = value,
                (OFFSET_BYTES, Value::Varint(value)) => state.position.get_or_insert_default().offset_bytes = value,
                _ => {}
            }
            Some(())
        })?;
        Some(state)
    }

    /// Describes the contradiction in the state, if there is one, worded as in TensorFlow.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        if self.num_started.min(self.num_finished).min(self.num_records) < 0 {
            return Some("Unexpected negative value when restoring in");
        }
        // Only headrace's own states can be restored in the middle of a file.
        let is_in_file = i64::from(self.position.is_some());
        let is_consistent = self.num_started <= self.num_finished || self.num_started - self.num_finished == is_in_file;
        (!is_consistent).then_some("Inconsistent work started vs. finished when restoring in")
    }

    /// Formats the message as text, as TensorFlow does in errors.
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

/// Escapes bytes as in a C string.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn state_between_files_matches_tensorflow() {
        let state = SavedState { num_started: 1, num_finished: 1, num_records: 1, work: "A".into(), position: None };
        assert_eq!(state.encode(), &b"\x08\x01\x10\x01\x18\x01\"\x01A"[..]);
        assert_eq!(SavedState::decode(b"\x08\x01\x10\x01\x18\x01\"\x01A"), Some(state));
    }

    #[test]
    fn unknown_fields_are_skipped_and_invalid_messages_are_rejected() {
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
        fn state_round_trips(
            counts: [i64; 3], work: Vec<u8>, position: Option<(u64, u64)>, junk: Vec<u8>
        ) {
            let [num_started, num_finished, num_records] = counts;
            let position = position.map(|(record, offset_bytes)| Position { record, offset_bytes });
            let state = SavedState { num_started, num_finished, num_records, work: work.into(), position };
            prop_assert_eq!(SavedState::decode(&state.encode()), Some(state));
            // Any bytes are allowed here.
            let _ = SavedState::decode(&junk);
        }
    }
}
