//! Replaces files atomically: a file gets its name when it is complete. All files that headrace
//! replaces are replaced in this way.
//!
//! The data is written to a temporary file in the same directory, which is then renamed. Readers
//! see either the old file or the new one, and a writer that fails or is killed leaves the old one
//! in place. The temporary file of a remote file is local and is uploaded; storages replace whole
//! files.

use crate::files::name::FileName;
use crate::files::output::{Output, WrittenFile, open_in_place};
use crate::files::storage;
use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::hash::BuildHasher;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The longest chain of symbolic links to follow, as in Linux.
const MOST_LINKS: usize = 40;
/// The maximum number of bytes of the file's name to keep in the temporary name. File names are
/// limited to 255 bytes.
const MOST_NAME_BYTES: usize = 230;

/// The remedy for a failed write to a file that already has its final name.
pub const INCOMPLETE: &str = "The file is incomplete and accepts no more writes. Write it again.";

/// A file that is being written. If it is dropped before it is published, it is removed.
pub struct AtomicFile {
    target: Target,
    /// The path of the file until it is published, then `None`.
    temporary: Option<PathBuf>,
}

enum Target {
    Path(PathBuf),
    Url {
        url: Arc<str>,
        /// The number of bytes uploaded so far, or `None` before the first upload.
        uploaded: Option<u64>,
    },
}

impl AtomicFile {
    /// Creates a file that will replace the file with this name and keep its mode. Returns it with
    /// a handle for writing.
    ///
    /// Pipes and devices are written directly, and so are files in a directory where no files may
    /// be created. If the name is a symbolic link, the link stays and its target is replaced.
    pub fn create(name: &FileName) -> io::Result<(Self, Output<WrittenFile>)> {
        match name.url() {
            Some(url) => Self::to_upload(url),
            None => Self::at(&name.path()),
        }
    }

    /// Creates a local file that is uploaded each time it is published.
    fn to_upload(url: &str) -> io::Result<(Self, Output<WrittenFile>)> {
        storage::storage().and_then(|storage| storage.check_writable(url)).map_err(storage::as_io)?;
        let (temporary, file) = create_temporary(&std::env::temp_dir().join("headrace-upload"))?;
        let target = Target::Url { url: url.into(), uploaded: None };
        Ok((Self { target, temporary: Some(temporary) }, Output::new(WrittenFile::new(file))))
    }

    /// Like `create`, for a local file.
    pub fn at(path: &Path) -> io::Result<(Self, Output<WrittenFile>)> {
        let path = without_links(path)?;
        if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
            return Err(ErrorKind::IsADirectory.into());
        }
        let existing = metadata_if_exists(fs::metadata(&path))?;
        if existing.as_ref().is_some_and(Metadata::is_dir) {
            return Err(ErrorKind::IsADirectory.into());
        }
        if existing.as_ref().is_some_and(|metadata| !metadata.is_file()) {
            return Self::in_place(path);
        }
        match create_temporary(&path) {
            Ok((temporary, file)) => {
                let this = Self { target: Target::Path(path), temporary: Some(temporary) };
                existing.map_or(Ok(()), |metadata| file.set_permissions(metadata.permissions()))?;
                Ok((this, Output::new(WrittenFile::new(file))))
            }
            Err(error) if error.kind() == ErrorKind::PermissionDenied && existing.is_some() => Self::in_place(path),
            Err(error) => Err(error),
        }
    }

    /// Creates a file that will replace whatever has this path, including a symbolic link. It never
    /// writes in place, because others may have mapped the old file.
    pub fn over(path: PathBuf) -> io::Result<(Self, Output<WrittenFile>)> {
        let (temporary, file) = create_temporary(&path)?;
        Ok((Self { target: Target::Path(path), temporary: Some(temporary) }, Output::new(WrittenFile::new(file))))
    }

    fn in_place(path: PathBuf) -> io::Result<(Self, Output<WrittenFile>)> {
        let file = open_in_place(&path)?;
        Ok((Self { target: Target::Path(path), temporary: None }, Output::new(WrittenFile::new(file))))
    }

    /// Copies the mode of another local file. Nothing may have been written yet.
    pub fn keep_mode_of(&self, other: &FileName) -> io::Result<()> {
        match &self.temporary {
            Some(temporary) if other.url().is_none() => {
                fs::set_permissions(temporary, fs::metadata(other.path())?.permissions())
            }
            _ => Ok(()),
        }
    }

    /// Returns true if the file is written under its final name. Writing to a pipe, for example,
    /// may have to wait for its reader.
    pub fn is_in_place(&self) -> bool {
        self.temporary.is_none() && matches!(self.target, Target::Path(_))
    }

    /// Describes the state of the file after a failed write, and the remedy.
    pub fn remedy(&self) -> &'static str {
        match self.temporary {
            Some(_) => "The target was not changed. Write the file again.",
            None => INCOMPLETE,
        }
    }

    /// Renames the file to its final name, if that has not happened yet. The output must have been
    /// flushed. A remote file is uploaded as far as it has been written; more may be written and
    /// published later.
    pub fn publish(&mut self) -> io::Result<()> {
        let Some(temporary) = &self.temporary else { return Ok(()) };
        match &mut self.target {
            Target::Path(path) => {
                fs::rename(temporary, path)?;
                self.temporary = None;
            }
            Target::Url { url, uploaded } => {
                let length = fs::metadata(temporary)?.len();
                if *uploaded != Some(length) {
                    storage::storage().map_err(storage::as_io)?.upload(temporary, url)?;
                    *uploaded = Some(length);
                }
            }
        }
        Ok(())
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Ignore errors, because nothing can be done here about a file that cannot be removed.
            fs::remove_file(temporary).unwrap_or_default();
        }
    }
}

/// Follows symbolic links to the end of the chain. The target need not exist.
fn without_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if !metadata_if_exists(fs::symlink_metadata(&path))?.is_some_and(|metadata| metadata.is_symlink()) {
            return Ok(path);
        }
        let target = fs::read_link(&path)?;
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    // Return the system's own error for a loop of links.
    fs::metadata(&path).map(|_| path)
}

fn metadata_if_exists(metadata: io::Result<Metadata>) -> io::Result<Option<Metadata>> {
    match metadata {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// Creates a file next to `path`. Its name cannot be guessed, so nobody can place a link there and
/// no two writers use the same name.
fn create_temporary(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().ok_or(ErrorKind::NotFound)?;
    loop {
        // Each of these states has its own keys, which come from the system's random numbers.
        let number = RandomState::new().hash_one(name);
        let temporary = path.with_file_name(temporary_name(name, number));
        match File::create_new(&temporary) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            created => return created.map(|file| (temporary, file)),
        }
    }
}

fn temporary_name(name: &OsStr, number: u64) -> OsString {
    let start = match name.len() {
        ..=MOST_NAME_BYTES => name.to_owned(),
        // The name may be cut anywhere. It only helps users who find the file after a crash.
        _ => name.to_string_lossy().chars().take(MOST_NAME_BYTES / 4).collect::<String>().into(),
    };
    // Hidden, so that directory listings and patterns such as `train-*` don't include a file that a
    // killed process left.
    let mut temporary = OsString::from(".");
    temporary.push(start);
    temporary.push(format!(".tmp{number:016x}"));
    temporary
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    /// A temporary directory for one test, which is removed at its end.
    struct Directory(PathBuf);

    impl Directory {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("headrace-atomic-{}-{name}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn write(&self, name: &str, data: &str) -> io::Result<()> {
            let (mut file, mut output) = AtomicFile::at(&self.0.join(name))?;
            output.write_all(data.as_bytes())?;
            output.flush()?;
            file.publish()
        }

        fn read(&self, name: &str) -> String {
            fs::read_to_string(self.0.join(name)).unwrap()
        }

        fn mode(&self, name: &str) -> u32 {
            fs::metadata(self.0.join(name)).unwrap().permissions().mode() & 0o777
        }

        fn names(&self) -> Vec<OsString> {
            let mut names: Vec<_> = fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Directory {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn replaced_file_keeps_its_mode_and_new_file_has_the_default_mode() {
        let directory = Directory::new("mode");
        fs::write(directory.0.join("usual"), "").unwrap();
        directory.write("new", "1").unwrap();
        assert_eq!(directory.mode("new"), directory.mode("usual"));
        for mode in [0o600, 0o444, 0o775] {
            fs::set_permissions(directory.0.join("new"), PermissionsExt::from_mode(mode)).unwrap();
            directory.write("new", "2").unwrap();
            assert_eq!(directory.mode("new"), mode);
        }
    }

    #[test]
    fn symbolic_link_is_kept_and_its_target_replaced_or_created() {
        let directory = Directory::new("links");
        fs::create_dir(directory.0.join("sub")).unwrap();
        symlink("sub/target", directory.0.join("link")).unwrap();
        symlink("link", directory.0.join("link to it")).unwrap();
        for data in ["made", "replaced"] {
            directory.write("link to it", data).unwrap();
            assert_eq!(directory.read("sub/target"), data);
            assert!(fs::symlink_metadata(directory.0.join("link")).unwrap().is_symlink());
        }
        symlink("circle", directory.0.join("circle")).unwrap();
        assert!(directory.write("circle", "").unwrap_err().raw_os_error().is_some());
    }

    #[test]
    fn temporary_names_are_random_and_different() {
        let directory = Directory::new("names");
        let files: Vec<_> = (0..20).map(|_| AtomicFile::at(&directory.0.join("file")).unwrap()).collect();
        let names = directory.names();
        assert_eq!(names.len(), 20);
        assert!(names.iter().all(|name| name.to_str().unwrap().starts_with(".file.tmp") && name.len() == 25));
        drop(files);
        assert!(directory.names().is_empty());
    }

    #[test]
    fn file_names_up_to_the_system_limit_can_be_written() {
        let directory = Directory::new("long");
        for name in ["x".repeat(255), "\u{e4}".repeat(127)] {
            directory.write(&name, "data").unwrap();
            assert_eq!(directory.read(&name), "data");
        }
        let error = directory.write(&"x".repeat(256), "").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidFilename);
        assert_eq!(directory.names().len(), 2);
    }

    #[test]
    fn invalid_file_name_is_rejected_at_once() {
        let directory = Directory::new("refused");
        for name in ["", "new/", "..", "."] {
            assert_eq!(directory.write(name, "").unwrap_err().kind(), ErrorKind::IsADirectory, "{name:?}");
        }
        assert_eq!(AtomicFile::at(Path::new("")).err().unwrap().kind(), ErrorKind::NotFound);
        assert_eq!(directory.write("no/such", "").unwrap_err().kind(), ErrorKind::NotFound);
        assert!(directory.names().is_empty());
    }
}
