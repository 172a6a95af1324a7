//! Target for index files, including damaged ones and hostile ones with correct checksums.

use crate::file::File;
use crate::pipelines::{read, shuffled_by};
use crate::records::correct_checksums;
use headrace_engine::checksum::crc32c;
use headrace_engine::files::compression::Compression;
use headrace_pipeline::formats::{Lines, TfRecords};
use headrace_pipeline::index::IndexFiles;
use headrace_pipeline::index::index_files::{Mode, beside};
use headrace_pipeline::plan::Shuffle;
use headrace_pipeline::records::{Codec, Format};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The size of a change in bytes: a position, and the value to combine with its byte.
const CHANGE_BYTES: usize = 3;
const RUN_BYTES: usize = 4096;

/// `[kind, options, changes..., file...]`: reads a file of lines or TFRecords with a modified
/// index. The lower half of the options is the number of changes. If option 16 is set, the index's
/// checksums are corrected. The records must match the file, or there must be an error if the index
/// is hostile.
pub fn index(data: &[u8]) -> usize {
    let [kind, options, rest @ ..] = data else { return 0 };
    let num_changes = usize::from(options & 15);
    let is_hostile = options & 16 == 16;
    let Some((changes, content)) = rest.split_at_checked(CHANGE_BYTES * num_changes) else { return 0 };
    let mut content = content.to_vec();
    let codec = Codec::Known(Compression::None);
    let (format, is_dense): (Arc<dyn Format>, bool) = match kind % 3 {
        0 => (Arc::new(Lines { codec, skips_blank: false }), true),
        1 => (Arc::new(Lines { codec, skips_blank: true }), false),
        _ => {
            correct_checksums(&mut content);
            (Arc::new(TfRecords::new(codec)), true)
        }
    };
    let Ok(file) = File::new(&content) else { return 0 };
    if set_old(&file).is_err() {
        return 0;
    }
    let (expected, error) = read(&*format, &file.file_provenance(), None);
    let path = Removed(beside(&file.name().path()));
    let shuffled = || {
        let index_files = Arc::new(IndexFiles::new(Mode::Auto, Vec::new()));
        let shuffle = Shuffle { index_files, ..Shuffle::new(3) };
        shuffled_by(shuffle, Arc::clone(&format), &file.file_provenance())
    };
    if error.is_some() || shuffled().1.is_some() {
        return content.len();
    }
    let Ok(mut index) = fs::read(&path.0) else { return content.len() };
    for change in changes.chunks_exact(CHANGE_BYTES) {
        let position = usize::from(u16::from_le_bytes([change[0], change[1]])) % index.len();
        index[position] ^= change[2];
    }
    if is_hostile {
        correct(&mut index);
    }
    if fs::write(&path.0, &index).is_err() {
        return content.len();
    }
    match shuffled() {
        (records, None) if is_dense || !is_hostile => {
            assert!(records == expected, "with the index {records:?}, without {expected:?}");
        }
        (_, failure) => assert!(is_hostile || failure.is_none(), "only a damaged index fails: {failure:?}"),
    }
    content.len()
}

/// A file that is removed at the end.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Makes a file older than the clock's smallest step, which scans would otherwise wait for.
fn set_old(file: &File) -> std::io::Result<()> {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    fs::File::options().write(true).open(file.name().path())?.set_modified(time)
}

/// Corrects the checksums of an index, as far as its header locates them.
fn correct(index: &mut [u8]) {
    let word = |at: usize| {
        index.get(at..at + 4).map(|word| word.iter().rev().fold(0, |all, byte| all << 8 | usize::from(*byte)))
    };
    let Some(header_bytes) = word(12).filter(|bytes| (96..=index.len()).contains(bytes)) else { return };
    let sum = crc32c(&[&index[..16], &index[20..header_bytes]].concat());
    index[16..20].copy_from_slice(&sum.to_le_bytes());
    // The tables are followed by one checksum per run.
    let rest = &mut index[header_bytes..];
    let num_runs = rest.len().div_ceil(RUN_BYTES + 4);
    let Some((tables, sums)) = rest.split_at_mut_checked(rest.len().saturating_sub(4 * num_runs)) else { return };
    for (run, sum) in tables.chunks(RUN_BYTES).zip(sums.chunks_exact_mut(4)) {
        sum.copy_from_slice(&crc32c(run).to_le_bytes());
    }
}
