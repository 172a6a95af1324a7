//! Operations on shapes and on the positions of elements.

pub mod broadcast;
pub mod fill;
pub mod gather;
pub mod join;
pub mod keep_rows;
pub mod one_hot;
pub mod pad;
pub mod placeholder;
pub mod range;
pub mod reshape;
pub mod reverse;
pub mod select;
pub mod shape;
pub mod slice;
pub mod tensor_array;
pub mod tile;
pub mod transpose;

use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernels::attrs::Attrs;
use std::sync::Arc;

/// Creates the kernel for operations of type `op_type`. Returns `None` if this module has none.
pub fn build(op_type: &str, attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    if op_type.starts_with("TensorArray") {
        return tensor_array::build(op_type, attrs);
    }
    Ok(Some(match op_type {
        "BooleanMask" => Arc::new(gather::BooleanMask::from_attrs(attrs)?),
        "BroadcastTo" => Arc::new(broadcast::BroadcastTo),
        "ConcatV2" => Arc::new(join::Concat),
        "EnsureShape" => Arc::new(reshape::EnsureShape::from_attrs(attrs)?),
        "ExpandDims" => Arc::new(reshape::ExpandDims),
        "Fill" => Arc::new(fill::Fill),
        "GatherV2" => Arc::new(gather::Gather),
        "Exit" | "Identity" | "PlaceholderWithDefault" | "StopGradient" => Arc::new(placeholder::Identity),
        "KeepRows" => Arc::new(keep_rows::KeepRows),
        "MirrorPad" => Arc::new(pad::MirrorPad::from_attrs(attrs)?),
        "OneHot" => Arc::new(one_hot::OneHot::from_attrs(attrs)?),
        "Pack" => Arc::new(join::Pack::from_attrs(attrs)?),
        "Pad" | "PadV2" => Arc::new(pad::Pad),
        "Placeholder" => Arc::new(placeholder::Placeholder::from_attrs(attrs)?),
        "Range" => Arc::new(range::Range),
        "Rank" | "Shape" | "Size" => Arc::new(shape::Measure::from_attrs(op_type, attrs)?),
        "Reshape" => Arc::new(reshape::Reshape),
        "ReverseV2" => Arc::new(reverse::Reverse),
        "Roll" => Arc::new(reverse::Roll),
        "Select" => Arc::new(select::Select),
        "Slice" => Arc::new(slice::Slice),
        "Split" => Arc::new(join::split::Split::from_attrs(attrs)?),
        "SplitV" => Arc::new(join::split::SplitBySizes::from_attrs(attrs)?),
        "Squeeze" => Arc::new(reshape::Squeeze::from_attrs(attrs)?),
        "StridedSlice" => Arc::new(slice::StridedSlice::from_attrs(attrs)?),
        "Tile" => Arc::new(tile::Tile),
        "Transpose" => Arc::new(transpose::Transpose),
        "Unpack" => Arc::new(join::split::Unpack::from_attrs(attrs)?),
        "ZerosLike" => Arc::new(fill::ZerosLike),
        _ => return Ok(None),
    }))
}
