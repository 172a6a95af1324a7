//! `Pad`, `PadV2` and `MirrorPad`: add elements before and after each axis.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::shape::Shape;
use smallvec::SmallVec;

/// Pads a tensor. The inputs are `(tensor, paddings)` and, if it is not 0, false or the empty
/// string, the value to add. `paddings` is a matrix with the number of elements to add before and
/// after each axis.
///
/// Source: `tf.pad` in TensorFlow 1.15.
pub struct Pad;

/// Maps `(tensor, paddings)` to the tensor padded with its mirror image.
pub struct MirrorPad {
    /// True if the element at the edge is mirrored too.
    has_edge: bool,
}

/// The number of elements to add before and after an axis.
#[derive(Clone, Copy)]
struct Amounts {
    before: usize,
    after: usize,
}

impl Amounts {
    /// The size of an axis including the padding. If the sum overflows, there are too many elements
    /// for any tensor.
    fn added_to(self, size: usize) -> usize {
        size.saturating_add(self.before).saturating_add(self.after)
    }
}

impl Kernel for Pad {
    fn run(&self, _run: &Run, mut inputs: Tensors) -> Result<Step> {
        let value = if inputs.len() == 3 { inputs.pop() } else { None };
        let [tensor, paddings] = expect_inputs(&inputs)?;
        if let Some(value) = value.as_ref().filter(|value| !value.shape().is_empty()) {
            let text = format!("constant_values must be a scalar. Found: {}", value.shape());
            return Err(Error::invalid_argument(text));
        }
        let amounts = checked(paddings, tensor.shape())?;
        if amounts.iter().all(|amounts| amounts.before == 0 && amounts.after == 0) {
            return Ok(Step::one(inputs.swap_remove(0)));
        }
        let shape = tensor.shape().iter().zip(&amounts).map(|(size, amounts)| amounts.added_to(*size)).collect();
        let begin: SmallVec<[usize; 4]> = amounts.iter().map(|amounts| amounts.before).collect();
        tensor.padded(&begin, shape, value.as_ref()).map(Step::one)
    }
}

impl MirrorPad {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        match attrs.string("mode")? {
            "REFLECT" => Ok(Self { has_edge: false }),
            "SYMMETRIC" => Ok(Self { has_edge: true }),
            mode => Err(Error::internal(format!("MirrorPad: unknown mode {mode}"))),
        }
    }

    /// Fails if an axis of this size has too few elements to mirror.
    fn check(&self, size: usize, Amounts { before, after }: Amounts) -> Result<()> {
        let most = before.max(after);
        let (fits, words) = match self.has_edge {
            true => (most <= size, ["no greater than", "greater than"]),
            false => (most < size, ["less than", "not less than"]),
        };
        let text = || {
            let [expected, relation] = words;
            format!("paddings must be {expected} the dimension size: {before}, {after} {relation} {size}")
        };
        if fits { Ok(()) } else { Err(Error::invalid_argument(text())) }
    }

    /// Returns, for each position along a padded axis, the position that its elements come from.
    /// The size must have been checked.
    fn order(&self, size: usize, amounts: Amounts) -> Result<Vec<usize>> {
        let skipped = usize::from(!self.has_edge);
        let before = (0..amounts.before).rev().map(|distance| distance + skipped);
        let after = (0..amounts.after).map(|distance| size - 1 - skipped - distance);
        let positions = before.chain(0..size).chain(after);
        let order = allocate::collected(amounts.added_to(size), positions);
        order.map_err(|refusal| refusal.at("the places of padding"))
    }
}

impl Kernel for MirrorPad {
    fn run(&self, _run: &Run, mut inputs: Tensors) -> Result<Step> {
        let [tensor, paddings] = expect_inputs(&inputs)?;
        let amounts = checked(paddings, tensor.shape())?;
        for (size, amounts) in tensor.shape().iter().zip(&amounts) {
            self.check(*size, *amounts)?;
        }
        let mut padded = inputs.swap_remove(0);
        for (axis, amounts) in amounts.into_iter().enumerate() {
            if amounts.before > 0 || amounts.after > 0 {
                padded = padded.take_along(axis, &self.order(padded.shape()[axis], amounts)?)?;
            }
        }
        Ok(Step::one(padded))
    }
}

/// Returns the amounts for each axis of a tensor.
fn checked(paddings: &Tensor, shape: &Shape) -> Result<SmallVec<[Amounts; 4]>> {
    let [rows, 2] = paddings.shape()[..] else {
        let text = format!("paddings must be a matrix with 2 columns: {}", paddings.shape());
        return Err(Error::invalid_argument(text));
    };
    if rows != shape.len() {
        return Err(Error::invalid_argument(format!(
            "The first dimension of paddings must be the rank of inputs{} {shape}",
            paddings.shape()
        )));
    }
    let amounts = |[before, after]: &[i64; 2]| match (usize::try_from(*before), usize::try_from(*after)) {
        (Ok(before), Ok(after)) => Ok(Amounts { before, after }),
        _ => Err(Error::invalid_argument(format!("Paddings must be non-negative: {before} {after}"))),
    };
    paddings.integers()?.as_chunks().0.iter().map(amounts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Code;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run, run_one};

    fn vector(values: &[i32]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    fn paddings(rows: &[[i64; 2]]) -> Tensor {
        Tensor::from_values(Shape::new(&[rows.len(), 2]), rows.as_flattened().to_vec()).unwrap()
    }

    fn mirror(mode: &str) -> MirrorPad {
        MirrorPad::from_attrs(&attrs([("mode", Attr::String(mode.to_owned()))])).unwrap()
    }

    #[test]
    fn constants_are_added_on_all_sides() {
        let column = vector(&[1, 2]).reshaped(Shape::new(&[2, 1])).unwrap();
        let padded = run_one(&Pad, &[column.clone(), paddings(&[[1, 0], [0, 2]])]).unwrap();
        assert_eq!(padded, vector(&[0, 0, 0, 1, 0, 0, 2, 0, 0]).reshaped(Shape::new(&[3, 3])).unwrap());
        let padded = run_one(&Pad, &[column, paddings(&[[0, 0], [1, 0]]), Tensor::scalar(7)]).unwrap();
        assert_eq!(padded, vector(&[7, 1, 7, 2]).reshaped(Shape::new(&[2, 2])).unwrap());
        let words = Tensor::strings(Shape::new(&[1]), vec!["a".into()]).unwrap();
        assert_eq!(run_one(&Pad, &[words, paddings(&[[1, 0]])]).unwrap().string_values(), ["", "a"]);
        assert_eq!(run_one(&Pad, &[Tensor::bool(true), paddings(&[])]).unwrap(), Tensor::bool(true));
        let nothing = run_one(&Pad, &[vector(&[]), paddings(&[[1, 1]]), Tensor::scalar(7)]).unwrap();
        assert_eq!(nothing, vector(&[7, 7]));
    }

    #[test]
    fn mirror_padding_includes_or_excludes_the_edge() {
        let padded = |mode, values: &[i32], amounts| {
            run_one(&mirror(mode), &[vector(values), paddings(&[amounts])]).unwrap().values::<i32>().unwrap().to_vec()
        };
        assert_eq!(padded("REFLECT", &[1, 2, 3], [2, 1]), [3, 2, 1, 2, 3, 2]);
        assert_eq!(padded("SYMMETRIC", &[1, 2, 3], [2, 3]), [2, 1, 1, 2, 3, 3, 2, 1]);
        assert_eq!(padded("SYMMETRIC", &[], [0, 0]), [0; 0]);
        let matrix = vector(&[1, 2, 3, 4]).reshaped(Shape::new(&[2, 2])).unwrap();
        let both = run_one(&mirror("REFLECT"), &[matrix, paddings(&[[0, 1], [1, 0]])]).unwrap();
        assert_eq!(both.values::<i32>().unwrap(), [2, 1, 2, 4, 3, 4, 2, 1, 2]);
    }

    #[test]
    fn invalid_paddings_are_rejected() {
        let text = |rows: &[[i64; 2]]| error_text(&Pad, &[vector(&[1, 2]), paddings(rows)]);
        assert_eq!(text(&[[1, -1]]), "InvalidArgument: Paddings must be non-negative: 1 -1");
        let expected = "InvalidArgument: The first dimension of paddings must be the rank of inputs[2,2] [2]";
        assert_eq!(text(&[[1, 1], [1, 1]]), expected);
        let text = error_text(&Pad, &[vector(&[1]), vector(&[1, 1])]);
        assert_eq!(text, "InvalidArgument: paddings must be a matrix with 2 columns: [2]");
        let text = error_text(&Pad, &[vector(&[1]), paddings(&[[1, 1]]), vector(&[7])]);
        assert_eq!(text, "InvalidArgument: constant_values must be a scalar. Found: [1]");
        let text = |mode| error_text(&mirror(mode), &[vector(&[1, 2]), paddings(&[[0, 3]])]);
        assert_eq!(
            text("REFLECT"),
            "InvalidArgument: paddings must be less than the dimension size: 0, 3 not less than 2"
        );
        assert_eq!(
            text("SYMMETRIC"),
            "InvalidArgument: paddings must be no greater than the dimension size: 0, 3 greater than 2"
        );
    }

    #[test]
    fn sizes_beyond_the_memory_limit_are_rejected() {
        let code = |amounts| {
            let square = vector(&[1]).reshaped(Shape::new(&[1, 1])).unwrap();
            run(&Pad, &[square, paddings(&[amounts, amounts])]).unwrap_err().code()
        };
        assert_eq!(code([0, 1 << 25]), Code::ResourceExhausted);
        assert_eq!(code([0, 1 << 40]), Code::InvalidArgument);
        assert_eq!(code([i64::MAX, i64::MAX]), Code::InvalidArgument);
    }
}
