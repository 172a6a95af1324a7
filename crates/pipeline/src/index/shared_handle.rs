//! An open file that its pieces share.

use headrace_engine::error::Result;
use headrace_engine::files::positioned::Positioned;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The number of files that the small pieces of an iteration keep open. Others are opened for each
/// piece.
const MAX_OPEN: usize = 256;

/// A file that is kept open for its pieces.
#[derive(Clone)]
pub struct SharedHandle {
    file: Arc<OnceLock<Arc<Positioned>>>,
    /// The number of files of the iteration that are kept open.
    num_open: Arc<AtomicUsize>,
}

impl SharedHandle {
    /// A file that is not open yet. `num_open` counts those of the iteration.
    pub fn new(num_open: &Arc<AtomicUsize>) -> Self {
        Self { file: Arc::default(), num_open: Arc::clone(num_open) }
    }

    /// The open file; `None` if there are too many.
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
