//! Operations on whole files.

pub mod files;

use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernels::attrs::Attrs;
use std::sync::Arc;

/// Creates the kernel for operations of type `op_type`. Returns `None` if this module has none.
pub fn build(op_type: &str, _attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    Ok(Some(match op_type {
        "ReadFile" => Arc::new(files::ReadFile),
        "WriteFile" => Arc::new(files::WriteFile),
        _ => return Ok(None),
    }))
}
