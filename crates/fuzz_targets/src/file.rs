//! A file that exists while a target is running.

use headrace_engine::files::name::FileName;
use headrace_engine::numbering::Numbering;
use headrace_pipeline::blocks::block::FileProvenance;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, io, process};

/// A file, in memory if the system supports that. It is removed at the end.
pub struct File(PathBuf);

impl File {
    /// Creates a file with these bytes.
    pub fn new(bytes: &[u8]) -> io::Result<Self> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let in_memory = Path::new("/dev/shm");
        let directory = if in_memory.is_dir() { in_memory.to_owned() } else { env::temp_dir() };
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = directory.join(format!("headrace-fuzz-targets-{}-{number}", process::id()));
        fs::write(&path, bytes)?;
        Ok(Self(path))
    }

    /// Its name.
    pub fn name(&self) -> FileName {
        FileName::new(self.0.to_string_lossy().into_owned())
    }

    /// The file as the first file of a pipeline.
    pub fn file_provenance(&self) -> Arc<FileProvenance> {
        Arc::new(FileProvenance::new(self.name(), Numbering { word: "record", first: 0 }, 0))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
