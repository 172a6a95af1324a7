//! `HistogramSummary`: the number of values in each of TensorFlow's buckets.
//!
//! ```text
//! HistogramProto = { min = 1, max = 2, num = 3, sum = 4, sum_squares = 5,
//!                    bucket_limit: repeated = 6, bucket: repeated = 7 }, all double
//! ```
//! Bucket i counts the values from limit i - 1 (included) to limit i (excluded).
//!
//! Source: `tensorflow/core/lib/histogram/histogram.cc` in TensorFlow 1.15.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::math::cast::cast;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::wire::Message;

/// Maps `(tag, values)` to a summary.
pub struct HistogramSummary {
    name: String,
    limits: Vec<f64>,
}

impl HistogramSummary {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { name: attrs.string("name")?.to_owned(), limits: limits() })
    }

    fn histogram(&self, values: &[f64]) -> Result<Message> {
        let (limits, counts) = self.buckets(values)?;
        Ok(Message::default()
            .double(1, values.iter().copied().fold(f64::MAX, f64::min))
            .double(2, values.iter().copied().fold(f64::MIN, f64::max))
            .double(3, values.len() as f64)
            .double(4, values.iter().fold(0.0, |sum, value| sum + value))
            .double(5, values.iter().fold(0.0, |sum, value| sum + value * value))
            .doubles(6, &limits)
            .doubles(7, &counts))
    }

    /// Returns limits and counts. Of consecutive empty buckets, only the last one is kept.
    fn buckets(&self, values: &[f64]) -> Result<(Vec<f64>, Vec<f64>)> {
        #[expect(clippy::disallowed_methods, reason = "one for each bucket")]
        let mut counts = vec![0.0; self.limits.len()];
        for value in values {
            if !value.is_finite() {
                let what = if value.is_nan() { "Nan" } else { "Infinity" };
                return Err(Error::invalid_argument(format!("{what} in summary histogram for: {}", self.name)));
            }
            let bucket = self.limits.partition_point(|limit| limit <= value);
            counts[bucket.min(self.limits.len() - 1)] += 1.0;
        }
        let is_kept = |bucket: &usize| counts[*bucket] > 0.0 || counts.get(bucket + 1).is_none_or(|next| *next > 0.0);
        Ok((0..counts.len()).filter(is_kept).map(|bucket| (self.limits[bucket], counts[bucket])).unzip())
    }
}

impl Kernel for HistogramSummary {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tag, values] = expect_inputs(&inputs)?;
        let values = cast(values, DType::Float64)?;
        let value =
            Message::default().bytes(1, tag.string_scalar("tag")?).message(5, self.histogram(values.values()?)?);
        Ok(Step::one(Tensor::string(Message::default().message(1, value).into_bytes())))
    }
}

/// The limits. Each is 10 % larger than the previous one, in both directions from 0.
fn limits() -> Vec<f64> {
    let growing = std::iter::successors(Some(1e-12), |limit| Some(limit * 1.1)).take_while(|limit| *limit < 1e20);
    let positive: Vec<f64> = growing.chain([f64::MAX]).collect();
    positive.iter().rev().map(|limit| -limit).chain([0.0]).chain(positive.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text};
    use crate::tensor::shape::Shape;

    fn kernel() -> HistogramSummary {
        HistogramSummary::from_attrs(&attrs([("name", Attr::String("h".into()))])).unwrap()
    }

    fn buckets(values: &[f64]) -> Vec<(f64, f64)> {
        let (limits, counts) = kernel().buckets(values).unwrap();
        limits.into_iter().zip(counts).collect()
    }

    #[test]
    fn buckets_match_tensorflow() {
        assert_eq!(buckets(&[]), [(f64::MAX, 0.0)]);
        assert_eq!(buckets(&[0.0]), [(0.0, 0.0), (1e-12, 1.0), (f64::MAX, 0.0)]);
        let five = [(4.636_194_617_418_625, 0.0), (5.099_814_079_160_488, 2.0), (f64::MAX, 0.0)];
        assert_eq!(buckets(&[5.0, 5.0]), five);
        assert_eq!(buckets(&[-3.0])[..2], [(-3.1665833053880363, 0.0), (-2.8787120958073054, 1.0)]);
    }

    #[test]
    fn nan_and_infinity_are_rejected() {
        for (value, text) in [(f32::NAN, "Nan in summary histogram for: h"), (f32::INFINITY, "Infinity in summary")] {
            let values = Tensor::from_values(Shape::new(&[1]), vec![value]).unwrap();
            let error = error_text(&kernel(), &[Tensor::string("t"), values]);
            assert!(error.contains(text), "{error}");
        }
    }
}
