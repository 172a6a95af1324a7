//! Indexes that a pipeline keeps between iterations.

use super::FileIndex;
use crate::blocks::block::FileProvenance;
use bytes::Bytes;
use headrace_engine::sync::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// The indexes of scanned files, kept for later passes and iterations.
#[derive(Default)]
pub struct KeptIndexes(Mutex<HashMap<(usize, Bytes), Arc<FileIndex>>>);

impl KeptIndexes {
    /// The index of a file of part `part`.
    pub fn get(&self, part: usize, file: &FileProvenance) -> Option<Arc<FileIndex>> {
        self.0.lock().get(&(part, file.name.bytes().clone())).cloned()
    }

    /// Stores the index of a file of part `part`.
    pub fn put(&self, part: usize, index: &Arc<FileIndex>) {
        self.0.lock().insert((part, index.file_name().bytes().clone()), Arc::clone(index));
    }

    /// For each scanned file, its part, its name, its size in bytes and its number of records.
    pub fn counts(&self) -> Vec<(usize, Bytes, u64, u64)> {
        let kept = self.0.lock();
        let count =
            |(key, index): (&(usize, Bytes), &Arc<FileIndex>)| (key.0, key.1.clone(), index.status().len, index.len());
        kept.iter().map(count).collect()
    }
}
