//! A target for zip archives.

use crate::file::File;
use headrace_engine::files::zip::Archive;
use std::sync::Arc;

/// Opens a zip archive, and reads all of its members.
pub fn zip(data: &[u8]) -> usize {
    let Ok(file) = File::new(data) else { return 0 };
    let Ok(archive) = Archive::open(file.name()).map(Arc::new) else { return data.len() };
    let mut num_bytes = data.len();
    for (name, length) in archive.members() {
        if let Ok(contents) = archive.member(name).and_then(|member| member.read()) {
            assert_eq!(contents.len() as u64, length);
            num_bytes += contents.len();
        }
    }
    num_bytes
}
