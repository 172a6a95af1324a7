//! `Transpose`: permutes the axes of a tensor.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::view::{Dim, View, steps_of};

/// Maps `(tensor, perm)` to the tensor with its axes permuted. `perm` has the old axis for each new
/// one.
///
/// Source: `tf.transpose` in TensorFlow 1.15.
pub struct Transpose;

impl Kernel for Transpose {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor, perm] = expect_inputs(&inputs)?;
        let (perm, shape) = (perm.integers()?, tensor.shape());
        let (rank, steps) = (shape.len(), steps_of(shape));
        if perm.len() != rank {
            return Err(Error::invalid_argument(format!(
                "transpose expects a vector of size {rank}. But input(1) is a vector of size {}",
                perm.len()
            )));
        }
        let out_of_range = |axis: &&i64| !(0..rank as i64).contains(*axis);
        if let Some(axis) = perm.iter().find(out_of_range) {
            return Err(Error::invalid_argument(format!("{axis} is out of range [0 .. {rank})")));
        }
        if let Some(axis) = (0..rank as i64).find(|axis| !perm.contains(axis)) {
            let all: Vec<String> = perm.iter().map(i64::to_string).collect();
            return Err(Error::invalid_argument(format!("{axis} is missing from {{{}}}.", all.join(","))));
        }
        let old = || perm.iter().map(|axis| *axis as usize);
        let view = View::new(0, old().map(|axis| Dim { length: shape[axis], step: steps[axis] }));
        view.of(tensor, old().map(|axis| shape[axis]).collect()).map(Step::one)
    }
}
