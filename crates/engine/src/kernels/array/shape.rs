//! `Shape`, `Size` and `Rank`: return the dimensions of a tensor as a tensor.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// Which property of a tensor to return.
pub enum Measure {
    /// The size of each dimension, as int64 or int32.
    Shape {
        /// True for int64.
        is_wide: bool,
    },
    /// The number of elements, as int64 or int32.
    Size {
        /// True for int64.
        is_wide: bool,
    },
    /// The number of dimensions, as int32.
    Rank,
}

impl Measure {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(op_type: &str, attrs: &Attrs) -> Result<Self> {
        let is_wide = || Ok(attrs.dtype("out_type")? == DType::Int64);
        Ok(match op_type {
            "Shape" => Self::Shape { is_wide: is_wide()? },
            "Size" => Self::Size { is_wide: is_wide()? },
            _ => Self::Rank,
        })
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
