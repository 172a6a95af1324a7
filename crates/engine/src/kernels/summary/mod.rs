//! Summaries for TensorBoard, as serialized `Summary` messages.

pub mod histogram;
pub mod image;
pub mod merge;
pub mod scalar;
use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernels::attrs::Attrs;
use std::sync::Arc;

/// Creates the kernel for operations of type `op_type`. Returns `None` if this module has none.
pub fn build(op_type: &str, attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    Ok(Some(match op_type {
        "HistogramSummary" => Arc::new(histogram::HistogramSummary::from_attrs(attrs)?),
        "ImageSummary" => Arc::new(image::ImageSummary::from_attrs(attrs)?),
        "MergeSummary" => Arc::new(merge::MergeSummary),
        "ScalarSummary" => Arc::new(scalar::ScalarSummary),
        _ => return Ok(None),
    }))
}
