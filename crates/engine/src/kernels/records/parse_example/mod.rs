//! `ParseSingleExample` and `ParseExample`: the features of serialized `tf.train.Example` messages
//! as tensors.
//!
//! `wire` walks over the bytes of a message, `features` finds the requested ones, each described by
//! a `feature`, and `values` decodes them. `single` is the kernel for one message, `batch` for a
//! vector of them, with a `column` for each feature. A message is
//!
//! ```text
//! Example  = { features: Features = 1 }
//! Features = { feature: map<string, Feature> = 1 }
//! Feature  = one of { bytes_list: BytesList = 1, float_list: FloatList = 2, int64_list: Int64List = 3 }
//! any list = { repeated value = 1 }, numbers packed or not
//! ```
//!
//! Source: `tensorflow/core/example/{example,feature}.proto`; accepts the same bytes and gives the
//! same error messages as TensorFlow 1.15's fast parser.

pub mod batch;
pub(super) mod column;
pub(super) mod feature;
pub(super) mod features;
pub mod single;
pub(super) mod values;
pub(super) mod wire;

pub use column::{Column, Example};
pub use feature::{DenseFeature, Extent};
pub use features::Features;
pub use values::Record;
pub use wire::{Feature, for_each_feature};

#[cfg(test)]
pub(super) mod testing;
