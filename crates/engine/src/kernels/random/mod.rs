//! Operations with random results. Each has a stream of numbers of its own, which every run goes on with; for a given
//! seed the results are TensorFlow's.

pub mod distributions;
pub mod numbers;
pub mod shuffle;

use crate::error::Result;
use crate::kernels::attrs::Attrs;
use crate::philox::Philox;
use crate::sync::Mutex;

/// The stream of one operation. A run takes out what it needs, under a lock that is held for the taking alone.
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
