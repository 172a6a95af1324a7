//! Files that are written beside their name, and get it once what is in them is whole.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A file that is being written. Dropping it before it has its name removes it.
pub struct BesideFile {
    path: PathBuf,
    /// Where it is, until it gets its name.
    beside: Option<PathBuf>,
}

impl BesideFile {
    /// A new file that is to replace `path`. What is no regular file (a pipe, a device) is written itself, and so is a
    /// file in a directory where none may be made.
    pub fn create(path: &Path) -> io::Result<(Self, File)> {
        let existing = fs::metadata(path).ok();
        if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(ErrorKind::IsADirectory.into());
        }
        // A link stays, and what it points to is replaced.
        let path = if existing.is_some() { fs::canonicalize(path)? } else { path.to_owned() };
        let in_place = |path: PathBuf| File::create(&path).map(|file| (Self { path, beside: None }, file));
        if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            return in_place(path);
        }
        match create_beside(&path) {
            Ok((beside, file)) => Ok((Self { path, beside: Some(beside) }, file)),
            Err(error) if error.kind() == ErrorKind::PermissionDenied && existing.is_some() => in_place(path),
            Err(error) => Err(error),
        }
    }

    /// Gives the file its name, if it has not got it yet.
    pub fn publish(&mut self) -> io::Result<()> {
        if let Some(beside) = &self.beside {
            fs::rename(beside, &self.path)?;
            self.beside = None;
        }
        Ok(())
    }
}

impl Drop for BesideFile {
    fn drop(&mut self) {
        if let Some(beside) = &self.beside {
            // Nothing can be done here about a file that cannot be removed.
            fs::remove_file(beside).unwrap_or_default();
        }
    }
}

/// A new file next to `path` under a name that nobody has.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let mut number = std::process::id() as u64;
    loop {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".tmp-{number}"));
        match File::create_new(&name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            created => return created.map(|file| (name.into(), file)),
        }
    }
}
