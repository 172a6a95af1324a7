//! `ScalarSummary`: stores one number per tag.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::kernels::math::cast::cast;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::wire::Message;

/// Maps `(tags, values)`, which have the same shape, to a summary.
pub struct ScalarSummary;

impl Kernel for ScalarSummary {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tags, values] = expect_inputs(&inputs)?;
        if tags.shape() != values.shape() {
            return Err(Error::invalid_argument(format!(
                "tags and values are not the same shape: {} != {}{}",
                tags.shape(),
                values.shape(),
                single_tag(tags)
            )));
        }
        let values = cast(values, DType::Float32)?;
        let pairs = tags.string_values().iter().zip(values.values::<f32>()?);
        let summary = pairs.fold(Message::default(), |summary, (tag, value)| {
            summary.message(1, Message::default().bytes(1, tag).float(2, *value))
        });
        Ok(Step::one(Tensor::string(summary.into_bytes())))
    }
}

fn single_tag(tags: &Tensor) -> String {
    match tags.string_values() {
        [tag] => format!(" (tag '{}')", String::from_utf8_lossy(tag)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};
    use crate::tensor::shape::Shape;

    #[test]
    fn tag_and_value_are_written() {
        let summary = run_one(&ScalarSummary, &[Tensor::string("ab"), Tensor::scalar(3_i64)]).unwrap();
        let expected: &[u8] = &[10, 9, 10, 2, b'a', b'b', 21, 0, 0, 0x40, 0x40];
        assert_eq!(summary.string_values(), [expected]);
    }

    #[test]
    fn vector_under_one_tag_is_rejected() {
        let values = Tensor::from_values(Shape::new(&[2]), vec![1_f32, 2.0]).unwrap();
        let text = error_text(&ScalarSummary, &[Tensor::string("ab"), values]);
        assert!(text.contains("tags and values are not the same shape: [] != [2] (tag 'ab')"), "{text}");
    }
}
