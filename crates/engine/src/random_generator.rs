//! Random generators. Each operation with random results has one.

use crate::error::{Error, Result};
use crate::philox::Philox;
use crate::philox::mix;
use crate::run::Run;
use crate::saved::{self, Chunks, Content, Reading, Restore, SavedChunks};
use crate::sync::Mutex;
use std::sync::Arc;

/// Where an operation's random numbers come from.
pub enum RandomGenerator {
    /// A stream that continues from one run of a session to the next. A run reserves the part it
    /// needs, and only holds the lock while doing so.
    Stream(Mutex<Philox>),
    /// A separate stream for each row of a pipeline, derived from this seed.
    Rows(u64),
}

impl RandomGenerator {
    /// Creates the generator for a pair of seeds; see [`Philox::from_seeds`].
    pub fn new(seed: i64, seed2: i64) -> Self {
        Self::Stream(Mutex::new(Philox::from_seeds(seed, seed2)))
    }

    /// Creates the generator for operation number `number` of a native function with a seed.
    pub fn of_rows(seed: u64, number: u64) -> Self {
        Self::Rows(mix(seed, number))
    }

    /// The position of the stream; see [`crate::saved`].
    pub fn save(&self) -> Result<Chunks> {
        let Self::Stream(stream) = self else { return Err(stateless()) };
        let mut content = Content::default();
        stream.lock().save(&mut content);
        Ok(saved::one(content))
    }

    /// Restores the saved stream and its position.
    pub fn prepare(self: &Arc<Self>, chunks: SavedChunks) -> Result<Restore> {
        let chunk = saved::only(chunks)?;
        let mut reading = Reading::new(&chunk);
        let restored = Philox::restored(&mut reading)?;
        reading.end()?;
        let Self::Stream(_) = **self else { return Err(stateless()) };
        let generator = Arc::clone(self);
        Ok(Box::new(move || {
            if let Self::Stream(stream) = &*generator {
                *stream.lock() = restored;
            }
        }))
    }

    /// Takes the next `count` numbers.
    pub fn take(&self, run: &Run, count: usize) -> Result<Philox> {
        match self {
            Self::Stream(stream) => Ok(stream.lock().reserve(count)),
            Self::Rows(seed) => run.row_key().map(|key| Philox::of_row(*seed, key)),
        }
    }

    /// Takes the next `count` blocks of four numbers.
    pub fn take_blocks(&self, run: &Run, count: u128) -> Result<Philox> {
        match self {
            Self::Stream(stream) => Ok(stream.lock().reserve_blocks(count)),
            Self::Rows(_) => self.take(run, 0),
        }
    }
}

fn stateless() -> Error {
    Error::internal("a generator for the rows of a pipeline has no state")
}
