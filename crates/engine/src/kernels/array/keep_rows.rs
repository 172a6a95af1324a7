//! `KeepRows`: selects some rows of a tensor.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;

/// Maps `(tensor, keep)` to the rows of `tensor` for which the bool vector `keep` is true.
///
/// Source: `maybe_batch` in TensorFlow 1.15 does this with `tf.dynamic_partition`, so the error
/// messages are the same.
pub struct KeepRows;

impl Kernel for KeepRows {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor, keep] = expect_inputs(&inputs)?;
        if keep.dtype() != DType::Bool || keep.shape().len() != 1 || keep.shape().first() != tensor.shape().first() {
            return Err(Error::invalid_argument(format!(
                "data.shape must start with partitions.shape, got data.shape = {}, partitions.shape = {}",
                tensor.shape(),
                keep.shape()
            )));
        }
        let kept = (0..keep.num_elements()).filter(|row| keep.bytes()[*row] != 0);
        let kept = allocate::gathered(kept).map_err(|refusal| refusal.at("rows to keep"))?;
        tensor.take_rows(&kept, &[kept.len()]).map(Step::one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};
    use crate::tensor::Tensor;
    use crate::tensor::shape::Shape;

    fn keep(bools: &[u8]) -> Tensor {
        Tensor::from_bytes(DType::Bool, Shape::new(&[bools.len()]), bools.to_vec().into()).unwrap()
    }

    #[test]
    fn rows_of_numbers_and_strings_are_kept_in_order() {
        let pairs = Tensor::from_values(Shape::new(&[3, 2]), vec![1_i16, 2, 3, 4, 5, 6]).unwrap();
        let kept = run_one(&KeepRows, &[pairs, keep(&[1, 0, 1])]).unwrap();
        assert_eq!(kept, Tensor::from_values(Shape::new(&[2, 2]), vec![1_i16, 2, 5, 6]).unwrap());
        let words = Tensor::strings(Shape::new(&[2]), vec!["a".into(), "b".into()]).unwrap();
        assert_eq!(run_one(&KeepRows, &[words, keep(&[0, 1])]).unwrap().string_values(), ["b"]);
    }

    #[test]
    fn wrong_number_of_bools_is_rejected() {
        let text = error_text(&KeepRows, &[keep(&[1, 1]), keep(&[1])]);
        assert!(text.contains("got data.shape = [2], partitions.shape = [1]"), "{text}");
        assert!(error_text(&KeepRows, &[Tensor::scalar(1), keep(&[])]).contains("data.shape = []"));
    }
}
