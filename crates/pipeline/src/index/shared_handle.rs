//! An open file that is shared by its pieces.

use headrace_engine::error::Result;
use headrace_engine::files::positioned::Positioned;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The maximum number of files that an iteration keeps open for small pieces. Others are opened for
/// each piece.
const MAX_OPEN: usize = 256;

/// A file that is kept open for its pieces.
#[derive(Clone)]
pub struct SharedHandle {
    file: Arc<OnceLock<Arc<Positioned>>>,
    /// The number of files that the iteration keeps open.
    num_open: Arc<AtomicUsize>,
}

impl SharedHandle {
    /// Creates a handle for a file that is not open yet. `num_open` counts the open files of the
    /// iteration.
    pub fn new(num_open: &Arc<AtomicUsize>) -> Self {
        Self { file: Arc::default(), num_open: Arc::clone(num_open) }
    }

    /// Returns the open file, or `None` if too many files are open.
    pub fn get(&self, open: impl FnOnce() -> Result<Arc<Positioned>>) -> Result<Option<Arc<Positioned>>> {
        if let Some(file) = self.file.get() {
            return Ok(Some(Arc::clone(file)));
        }
        if self.num_open.fetch_add(1, Ordering::Relaxed) >= MAX_OPEN {
            self.num_open.fetch_sub(1, Ordering::Relaxed);
            return Ok(None);
        }
        let file = open()?;
        Ok(Some(Arc::clone(self.file.get_or_init(|| file))))
    }
}
