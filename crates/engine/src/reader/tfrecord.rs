//! TFRecord files for a reader; a key is `PATH:OFFSET` of the record.

use super::format::{Format, RecordFile};
use crate::error::Result;
use crate::tfrecord::TfRecordFile;
use std::sync::Arc;

/// TFRecord files without compression.
pub struct TfRecordFormat;

impl Format for TfRecordFormat {
    fn open(&self, path: &Arc<str>) -> Result<Box<dyn RecordFile>> {
        Ok(Box::new(TfRecordFile::open(path)?))
    }
}
