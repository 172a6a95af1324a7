//! Restores the features of TFDS and RLDS data sets from parsed `Example`s.
//!
//! An `Example` stores flat lists of int64, float32 or strings. TFDS stores an array as its
//! elements in row-major order, and a sequence as the elements of all items. For a sequence of
//! sequences, it also stores the length of each inner sequence.
//!
//! Source: `example_serializer.py` and `example_parser.py` of TensorFlow Datasets 4.9.

mod convert;
mod images;
mod steps;
mod stored;

pub use images::{DecodeImages, ImageFeature};
pub use steps::Episodes;
pub use stored::{Encoding, StoredFeature};

use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::Column;
use crate::blocks::rows::Rows;
use crate::stages::Stage;
use headrace_engine::error::{Error, Result};

/// Replaces parsed columns with one column per feature.
pub struct Restore {
    features: Vec<StoredFeature>,
    /// If set, each example is an episode and becomes one row per step.
    episodes: Option<Episodes>,
}

impl Restore {
    /// Restores these features. With `episodes`, each row becomes one row per step.
    pub fn new(features: Vec<StoredFeature>, episodes: Option<Episodes>) -> Self {
        Self { features, episodes }
    }
}

impl Stage for Restore {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        if let Some(episodes) = &self.episodes {
            return episodes.apply(&self.features, &rows);
        }
        let inputs = rows.gather()?;
        let columns = self.features.iter().map(|feature| feature.restored(&inputs.columns, &rows));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        Block::new(columns, rows.len(), Provenance::of(rows)).map(Rows::all)
    }

    fn is_one_to_one(&self) -> bool {
        self.episodes.is_none()
    }
}

/// The column at this index.
fn column(columns: &[Column], number: usize) -> Result<&Column> {
    columns.get(number).ok_or_else(|| Error::internal(format!("feature column {number} does not exist")))
}
