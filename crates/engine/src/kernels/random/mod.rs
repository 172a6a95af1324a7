//! Operations with random results. Each has its own generator, which the session keeps. For a
//! given seed, the results are the same as TensorFlow's.

pub mod bounding_box;
pub mod categorical;
pub mod distributions;
pub mod numbers;
pub mod shuffle;

use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernels::attrs::Attrs;
use crate::random_generator::RandomGenerator;
use std::sync::Arc;

/// Creates the kernel for an operation with random results. Returns `None` if `op_type` is not one.
pub fn build(op_type: &str, attrs: &Attrs, generator: &Arc<RandomGenerator>) -> Result<Option<Arc<dyn Kernel>>> {
    let floats = |distribution| numbers::RandomFloats::from_attrs(distribution, attrs, generator).map(Arc::new);
    Ok(Some(match op_type {
        "Multinomial" => Arc::new(categorical::Multinomial::from_attrs(attrs, generator)?),
        "RandomShuffle" => Arc::new(shuffle::RandomShuffle::new(generator)),
        "RandomStandardNormal" => floats(numbers::Distribution::Normal)?,
        "RandomUniform" => floats(numbers::Distribution::Uniform)?,
        "RandomUniformInt" => Arc::new(numbers::RandomIntegers::new(generator)),
        "SampleDistortedBoundingBoxV2" => {
            Arc::new(bounding_box::SampleDistortedBoundingBox::from_attrs(attrs, generator)?)
        }
        "TruncatedNormal" => floats(numbers::Distribution::TruncatedNormal)?,
        _ => return Ok(None),
    }))
}
