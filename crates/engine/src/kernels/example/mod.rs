//! ParseSingleExample, ParseExample and ParseSingleSequenceExample: the features of serialized `tf.train.Example` and
//! `tf.train.SequenceExample` messages as tensors.
//!
//! `wire` walks over the bytes of a message, `features` finds in it what was asked for, each a `feature`, `values`
//! decodes that, and three kernels put it together: `single` of one message, `batch` of a vector of them, with a
//! `column` for each feature, and `sequence` of one SequenceExample, with a `column` for each list. A message is
//! ```text
//! Example  = { features: Features = 1 }
//! Features = { feature: map<string, Feature> = 1 }
//! Feature  = one of { bytes_list: BytesList = 1, float_list: FloatList = 2, int64_list: Int64List = 3 }
//! any list = { repeated value = 1 }, numbers packed or not
//!
//! SequenceExample = { context: Features = 1, feature_lists: FeatureLists = 2 }
//! FeatureLists    = { feature_list: map<string, FeatureList> = 1 }
//! FeatureList     = { repeated feature: Feature = 1 }
//! ```
//!
//! Source: `tensorflow/core/example/{example,feature}.proto`; what is accepted, and the words of the errors, are those
//! of TensorFlow 1.15's fast parser.

pub mod batch;
mod column;
mod feature;
mod features;
pub mod sequence;
pub mod single;
mod values;
mod wire;

#[cfg(test)]
mod testing;
