//! Summaries: what TensorBoard shows, as serialized `Summary` messages.
//!
//! ```text
//! Summary = { value: repeated Value = 1 }
//! Value   = { tag: string = 1, one of { simple_value: float = 2, image: Image = 4, histo: HistogramProto = 5 } }
//! ```
//!
//! Source: `tensorflow/core/framework/summary.proto`; `tf.summary` of TensorFlow 1.15.

pub mod histogram;
pub mod image;
pub mod merge;
pub mod scalar;
