//! Random generators: the position in its stream of numbers of each operation with random results.

use crate::philox::Philox;
use crate::sync::Mutex;

/// The stream of one operation, which every run of a session continues. A run reserves the part it needs; only that is
/// done under the lock.
pub struct RandomGenerator(Mutex<Philox>);

impl RandomGenerator {
    /// The generator for a pair of seeds; see [`Philox::from_seeds`].
    pub fn new(seed: i64, seed2: i64) -> Self {
        Self(Mutex::new(Philox::from_seeds(seed, seed2)))
    }

    /// Takes the next `count` numbers.
    pub fn take(&self, count: usize) -> Philox {
        self.0.lock().reserve(count)
    }

    /// Takes the next `count` blocks of four numbers.
    pub fn take_blocks(&self, count: u128) -> Philox {
        self.0.lock().reserve_blocks(count)
    }
}
