//! Uses the file names themselves as records, without opening any file.
//!
//! Source: `tf.IdentityReader` in TensorFlow 1.15.

use super::format::{Format, Position, Record, RecordFile};
use headrace_engine::error::Result;
use headrace_engine::files::name::FileName;

/// Both the key and the value are the name.
pub struct IdentityFormat;

impl Format for IdentityFormat {
    fn class(&self) -> &'static str {
        "IdentityReader"
    }

    fn open(&self, name: &FileName, _at: Option<Position>) -> Result<Box<dyn RecordFile>> {
        Ok(Box::new(Item(name.clone())))
    }
}

struct Item(FileName);

impl RecordFile for Item {
    fn next(&mut self, _number: u64) -> Result<Option<Record>> {
        let item = self.0.bytes();
        Ok(Some(Record { number: None, value: item.clone(), offset_bytes: 0, next_bytes: item.len() as u64 }))
    }

    fn is_over(&self) -> bool {
        true
    }
}
