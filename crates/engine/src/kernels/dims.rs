//! ExpandDims, Squeeze, Shape, Size and Rank: what concerns a tensor's dimensions and no element.

use super::attrs::Attrs;
use super::expect_inputs;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::run::Run;
use crate::shape::Shape;
use crate::tensor::Tensor;

/// `(tensor, axis)`: the same elements with a new axis of size 1.
pub struct ExpandDims;

/// The same elements without some axes of size 1; all of them if none is named.
pub struct Squeeze {
    axes: Vec<i64>,
}

/// What is asked about a tensor.
pub enum Measure {
    Shape { is_wide: bool },
    Size { is_wide: bool },
    Rank,
}

impl Squeeze {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let axis = |attr: &super::attrs::Attr| match attr {
            super::attrs::Attr::Int(axis) => Some(*axis),
            _ => None,
        };
        Ok(Self { axes: attrs.list("squeeze_dims", axis)? })
    }

    fn shape(&self, shape: &Shape) -> Result<Shape> {
        let rank = shape.len() as i64;
        #[expect(clippy::disallowed_methods, reason = "one for each axis")]
        let mut is_removed = vec![false; shape.len()];
        for axis in &self.axes {
            let place = if *axis < 0 { axis + rank } else { *axis };
            let size = usize::try_from(place).ok().and_then(|place| shape.get(place));
            let size = size.ok_or_else(|| {
                let text = format!("Tried to squeeze dim index {axis} for tensor with {rank} dimensions.");
                Error::invalid_argument(text)
            })?;
            if *size != 1 {
                let text = format!("Can not squeeze dim[{place}], expected a dimension of 1, got {size}");
                return Err(Error::invalid_argument(text));
            }
            is_removed[place as usize] = true;
        }
        let is_kept = |axis: usize, size: usize| if self.axes.is_empty() { size != 1 } else { !is_removed[axis] };
        Ok(shape.iter().enumerate().filter(|(axis, size)| is_kept(*axis, **size)).map(|(_, size)| *size).collect())
    }
}

impl Measure {
    pub fn from_attrs(op_type: &str, attrs: &Attrs) -> Result<Self> {
        let is_wide = || Ok(attrs.dtype("out_type")? == DType::Int64);
        Ok(match op_type {
            "Shape" => Self::Shape { is_wide: is_wide()? },
            "Size" => Self::Size { is_wide: is_wide()? },
            _ => Self::Rank,
        })
    }
}

impl Kernel for ExpandDims {
    fn run(&self, _run: &Run, mut inputs: Tensors) -> Result<Step> {
        let [tensor, axis] = expect_inputs(&inputs)?;
        if axis.num_elements() != 1 {
            return Err(Error::invalid_argument("'dim' must be a tensor with a single value"));
        }
        let (rank, axis) = (tensor.shape().len(), axis.integer_scalar("dim")?);
        let place = if axis < 0 { axis + rank as i64 + 1 } else { axis };
        let place = usize::try_from(place).ok().filter(|place| *place <= rank).ok_or_else(|| {
            Error::invalid_argument(format!("Tried to expand dim index {axis} for tensor with {rank} dimensions."))
        })?;
        let (before, after) = tensor.shape().split_at(place);
        let shape = before.iter().chain(&[1]).chain(after).copied().collect();
        inputs.swap_remove(0).reshaped(shape).map(Step::one)
    }
}

impl Kernel for Squeeze {
    fn run(&self, _run: &Run, mut inputs: Tensors) -> Result<Step> {
        let [tensor] = expect_inputs(&inputs)?;
        let shape = self.shape(tensor.shape())?;
        inputs.swap_remove(0).reshaped(shape).map(Step::one)
    }
}

impl Kernel for Measure {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor] = expect_inputs(&inputs)?;
        let too_large = |size: &usize| Error::invalid_argument(format!("{size} does not fit an int32"));
        let narrow = |size: &usize| i32::try_from(*size).map_err(|_| too_large(size));
        let shape = tensor.shape();
        let measure = match self {
            Self::Rank => Tensor::scalar(shape.len() as i32),
            Self::Size { is_wide: true } => Tensor::scalar(shape.num_elements() as i64),
            Self::Size { is_wide: false } => Tensor::scalar(narrow(&shape.num_elements())?),
            Self::Shape { is_wide: true } => {
                Tensor::from_values(Shape::new(&[shape.len()]), shape.iter().map(|size| *size as i64).collect())?
            }
            Self::Shape { is_wide: false } => {
                let sizes = shape.iter().map(narrow).collect::<Result<_>>()?;
                Tensor::from_values(Shape::new(&[shape.len()]), sizes)?
            }
        };
        Ok(Step::one(measure))
    }
}
