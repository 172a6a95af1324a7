//! `Select`: picks each element from one of two tensors. Python calls it `where`, which is a
//! keyword in Rust.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;

/// Maps `(condition, then, else)` to the picked elements. The condition is a scalar, a vector that
/// picks rows, or has the shape of the other inputs.
///
/// Source: `tf.where` in TensorFlow 1.15.
pub struct Select;

impl Kernel for Select {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [condition, x, y] = expect_inputs(&inputs)?;
        select(condition, x, y).map(Step::one)
    }
}

fn select(condition: &Tensor, x: &Tensor, y: &Tensor) -> Result<Tensor> {
    if x.shape() != y.shape() {
        let text = format!("'then' and 'else' must have the same size. but received: {} vs. {}", x.shape(), y.shape());
        return Err(Error::invalid_argument(text));
    }
    if condition.shape().is_empty() {
        return Ok(if condition.bool_scalar("condition")? { x.clone() } else { y.clone() });
    }
    let is_each = condition.shape() == x.shape();
    let is_rows = condition.shape().len() == 1 && condition.shape().first() == x.shape().first();
    if !is_each && !is_rows {
        return Err(Error::invalid_argument(format!(
            "Inputs to operation Select of type Select must have the same size and shape. Input 0: {} != input 1: {}",
            condition.shape(),
            x.shape()
        )));
    }
    let run = if is_each { 1 } else { x.shape().row().num_elements() };
    let room = allocate::elements(x.dtype(), x.shape());
    let sources = condition.bytes().iter().enumerate().map(|(row, is_x)| (row * run, if *is_x != 0 { x } else { y }));
    if x.dtype() == DType::String {
        let strings = sources.flat_map(|(start, from)| &from.string_values()[start..start + run]);
        return Tensor::strings(x.shape().clone(), room.collect(strings.cloned())?);
    }
    let size = run * x.dtype().size();
    let (x_bytes, y_bytes) = (x.stored()?, y.stored()?);
    let mut bytes: Vec<u8> = room.room()?;
    for (row, is_x) in condition.bytes().iter().enumerate() {
        let from = if *is_x != 0 { x_bytes } else { y_bytes };
        bytes.extend_from_slice(&from[row * size..][..size]);
    }
    Tensor::from_bytes(x.dtype(), x.shape().clone(), bytes.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};
    use crate::tensor::shape::Shape;

    fn matrix(values: [i32; 4]) -> Tensor {
        Tensor::from_values(Shape::new(&[2, 2]), values.to_vec()).unwrap()
    }

    fn bools(dims: &[usize], values: &[u8]) -> Tensor {
        let tensor = Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap();
        tensor.with_dtype(DType::Bool).unwrap()
    }

    #[test]
    fn elements_rows_and_whole_tensors_are_selected() {
        let (x, y) = (matrix([1, 2, 3, 4]), matrix([5, 6, 7, 8]));
        let pick = |condition| run_one(&Select, &[condition, x.clone(), y.clone()]).unwrap();
        assert_eq!(pick(bools(&[2, 2], &[1, 0, 0, 1])), matrix([1, 6, 7, 4]));
        assert_eq!(pick(bools(&[2], &[0, 1])), matrix([5, 6, 3, 4]));
        assert_eq!(pick(Tensor::bool(false)), y);
        let strings = |values: [&'static str; 2]| {
            Tensor::strings(Shape::new(&[2]), values.map(|value| value.as_bytes().into()).to_vec()).unwrap()
        };
        let picked = run_one(&Select, &[bools(&[2], &[1, 0]), strings(["a", "b"]), strings(["c", "d"])]).unwrap();
        assert_eq!(picked, strings(["a", "d"]));
    }

    #[test]
    fn incompatible_shapes_are_rejected() {
        let (x, row) = (matrix([1, 2, 3, 4]), Tensor::from_values(Shape::new(&[2]), vec![1, 2]).unwrap());
        let text = error_text(&Select, &[Tensor::bool(true), x.clone(), row]);
        assert_eq!(text, "InvalidArgument: 'then' and 'else' must have the same size. but received: [2,2] vs. [2]");
        let text = error_text(&Select, &[bools(&[3], &[1, 0, 0]), x.clone(), x]);
        assert!(text.contains("Input 0: [3] != input 1: [2,2]"), "{text}");
    }
}
