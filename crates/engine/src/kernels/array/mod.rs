//! Operations on shapes and on the positions of elements.

pub mod gather;
pub mod join;
pub mod keep_rows;
pub mod placeholder;
pub mod reshape;
pub mod select;
pub mod shape;
pub mod slice;
pub mod transpose;

use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernels::attrs::Attrs;
use std::sync::Arc;

/// The kernel for operations of type `op_type`, or `None` if this room has none.
pub fn build(op_type: &str, attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    Ok(Some(match op_type {
        "ConcatV2" => Arc::new(join::Concat),
        "EnsureShape" => Arc::new(reshape::EnsureShape::from_attrs(attrs)?),
        "ExpandDims" => Arc::new(reshape::ExpandDims),
        "GatherV2" => Arc::new(gather::Gather),
        "Identity" | "PlaceholderWithDefault" => Arc::new(placeholder::Identity),
        "KeepRows" => Arc::new(keep_rows::KeepRows),
        "Pack" => Arc::new(join::Pack::from_attrs(attrs)?),
        "Placeholder" => Arc::new(placeholder::Placeholder::from_attrs(attrs)?),
        "Rank" | "Shape" | "Size" => Arc::new(shape::Measure::from_attrs(op_type, attrs)?),
        "Reshape" => Arc::new(reshape::Reshape),
        "Select" => Arc::new(select::Select),
        "Slice" => Arc::new(slice::Slice),
        "Squeeze" => Arc::new(reshape::Squeeze::from_attrs(attrs)?),
        "StridedSlice" => Arc::new(slice::StridedSlice::from_attrs(attrs)?),
        "Transpose" => Arc::new(transpose::Transpose),
        _ => return Ok(None),
    }))
}
