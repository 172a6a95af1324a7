//! Operations with random results. Each has its own stream of numbers, which every run continues. For a given seed the
//! results are TensorFlow's.

pub mod distributions;
pub mod numbers;
pub mod shuffle;

use crate::error::Result;
use crate::kernel::Kernel;
use crate::kernels::attrs::Attrs;
use crate::philox::Philox;
use crate::sync::Mutex;
use std::sync::Arc;

/// The stream of one operation. A run reserves the part it needs; only that is done under the lock.
struct Stream(Mutex<Philox>);

impl Stream {
    fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self(Mutex::new(Philox::from_seeds(attrs.int("seed")?, attrs.int("seed2")?))))
    }

    /// The part of the stream that holds the next `count` blocks.
    fn take_blocks(&self, count: u128) -> Philox {
        self.0.lock().reserve_blocks(count)
    }

    /// The part of the stream that holds the next `count` numbers.
    fn take(&self, count: usize) -> Philox {
        self.0.lock().reserve(count)
    }
}

/// The kernel for operations of type `op_type`, or `None` if this room has none.
pub fn build(op_type: &str, attrs: &Attrs) -> Result<Option<Arc<dyn Kernel>>> {
    Ok(Some(match op_type {
        "RandomShuffle" => Arc::new(shuffle::RandomShuffle::from_attrs(attrs)?),
        "RandomStandardNormal" => Arc::new(numbers::RandomFloats::from_attrs(numbers::Distribution::Normal, attrs)?),
        "RandomUniform" => Arc::new(numbers::RandomFloats::from_attrs(numbers::Distribution::Uniform, attrs)?),
        "RandomUniformInt" => Arc::new(numbers::RandomIntegers::from_attrs(attrs)?),
        "TruncatedNormal" => {
            Arc::new(numbers::RandomFloats::from_attrs(numbers::Distribution::TruncatedNormal, attrs)?)
        }
        _ => return Ok(None),
    }))
}
