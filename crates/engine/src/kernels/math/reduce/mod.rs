//! Reductions over axes: sum, product, mean, maximum, minimum, all and any.

pub mod arg;

use crate::dispatch_numeric;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::math::accumulate::Accumulate;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use smallvec::SmallVec;

/// The function that reduces several elements to one.
#[derive(Clone, Copy, Debug)]
pub enum Function {
    /// The sum. Integers wrap.
    Sum,
    /// The product. Integers wrap.
    Prod,
    /// The sum divided by the count. Integers lose the fraction.
    Mean,
    /// The largest element, or NaN if any is NaN.
    Max,
    /// The smallest element, or NaN if any is NaN.
    Min,
    /// True if all bools are true.
    All,
    /// True if any bool is true.
    Any,
}

/// Reduces `(input, axes)` over these axes. The order in which elements are combined depends only
/// on the reduced axes. Floats are added and multiplied in double precision.
///
/// Source: `tf.reduce_sum` and similar functions in TensorFlow 1.15.
pub struct Reduce {
    function: Function,
    keeps_dims: bool,
}

impl Reduce {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(function: Function, attrs: &Attrs) -> Result<Self> {
        Ok(Self { function, keeps_dims: attrs.bool("keep_dims")? })
    }
}

impl Kernel for Reduce {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [x, axes] = expect_inputs(&inputs)?;
        let walk = Walk::new(x.shape(), &axes.integers()?, self.keeps_dims)?;
        let reduced = match (self.function, x.dtype()) {
            (Function::All, DType::Bool) => {
                let all = walk.reduce(DType::Bool, x.bytes(), Folding::of(1, |all: u8, x: u8| all & x))?;
                Tensor::from_values(walk.shape, all)?.with_dtype(DType::Bool)
            }
            (Function::Any, DType::Bool) => {
                let any = walk.reduce(DType::Bool, x.bytes(), Folding::of(0, |any: u8, x: u8| any | x))?;
                Tensor::from_values(walk.shape, any)?.with_dtype(DType::Bool)
            }
            (function, dtype) => {
                let unsupported = || Error::unimplemented(format!("{function:?} of {dtype} is not supported"));
                dispatch_numeric!(dtype, T => number::<T>(function, x, walk), else => Err(unsupported()))
            }
        };
        reduced.map(Step::one)
    }
}

fn number<T: Accumulate>(function: Function, x: &Tensor, walk: Walk) -> Result<Tensor> {
    let values = x.values::<T>()?;
    let sums = Folding { first: T::ZERO, add: T::plus, combine: T::sum };
    let products = Folding { first: T::ONE, add: T::times, combine: T::product };
    let reduced = match function {
        Function::Max => walk.reduce(T::DTYPE, values, Folding::of(T::LEAST, T::larger))?,
        Function::Min => walk.reduce(T::DTYPE, values, Folding::of(T::GREATEST, T::smaller))?,
        Function::Sum => narrowed(walk.reduce(T::DTYPE, values, sums)?, T::narrow)?,
        Function::Prod => narrowed(walk.reduce(T::DTYPE, values, products)?, T::narrow)?,
        Function::Mean => {
            let count = walk.count;
            narrowed(walk.reduce(T::DTYPE, values, sums)?, |sum| T::mean(sum, count))?
        }
        Function::All | Function::Any => return Err(Error::unimplemented(format!("{function:?} of {}", T::DTYPE))),
    };
    Tensor::from_values(walk.shape, reduced)
}

fn narrowed<T: Accumulate>(wide: Vec<T::Wide>, narrow: impl Fn(T::Wide) -> T) -> Result<Vec<T>> {
    let narrowed = allocate::collected(wide.len(), wide.into_iter().map(narrow));
    narrowed.map_err(|refusal| refusal.at("reduced elements"))
}

/// The functions that combine several elements into one.
#[derive(Clone, Copy)]
struct Folding<A, F, C> {
    /// The result if there are no elements.
    first: A,
    /// Adds an element to a result.
    add: F,
    /// Combines the results of two parts.
    combine: C,
}

impl<A: Copy, F: Fn(A, A) -> A + Copy> Folding<A, F, F> {
    /// Creates a folding whose elements and results have the same type.
    fn of(first: A, function: F) -> Self {
        Self { first, add: function, combine: function }
    }
}

impl<A: Copy, F, C: Fn(A, A) -> A> Folding<A, F, C> {
    /// Combines consecutive elements. They are distributed over eight partial results, so that no
    /// step has to wait for the previous one.
    fn run<T: Copy>(&self, values: &[T]) -> A
    where
        F: Fn(A, T) -> A,
    {
        const NUM_PARTS: usize = 8;
        let (chunks, rest) = values.as_chunks::<NUM_PARTS>();
        let mut parts = [self.first; NUM_PARTS];
        for chunk in chunks {
            parts.iter_mut().zip(chunk).for_each(|(part, value)| *part = (self.add)(*part, *value));
        }
        let whole = parts.into_iter().reduce(&self.combine).unwrap_or(self.first);
        rest.iter().fold(whole, |whole, value| (self.add)(whole, *value))
    }
}

/// Maps a tensor's elements to the elements of its reduction.
struct Walk {
    /// The shape of the result.
    shape: Shape,
    /// The number of elements that are combined into one.
    count: usize,
    /// Outermost first. Neighbouring axes are merged if both or neither are reduced.
    dims: SmallVec<[Dim; 4]>,
}

struct Dim {
    length: usize,
    /// The distance in the result between neighbouring elements of this dimension, or 0 if it is
    /// reduced.
    step: usize,
}

impl Walk {
    fn new(shape: &Shape, axes: &[i64], keeps_dims: bool) -> Result<Self> {
        let rank = shape.len();
        let mut is_reduced: SmallVec<[bool; 4]> = shape.iter().map(|_| false).collect();
        for axis in axes {
            let position = if *axis < 0 { axis + rank as i64 } else { *axis };
            let flag = usize::try_from(position).ok().and_then(|position| is_reduced.get_mut(position));
            match flag {
                None => {
                    let text = format!("Invalid reduction dimension ({axis} for input with {rank} dimension(s)");
                    return Err(Error::invalid_argument(text));
                }
                Some(true) => {
                    let text = format!("Invalid reduction arguments: Axes contains duplicate dimension: {position}");
                    return Err(Error::invalid_argument(text));
                }
                Some(flag) => *flag = true,
            }
        }
        let sizes = || shape.iter().zip(&is_reduced);
        let kept = sizes().filter(|(_, is_reduced)| keeps_dims || !**is_reduced);
        let result = kept.map(|(size, is_reduced)| if *is_reduced { 1 } else { *size }).collect();
        let count = sizes().filter(|(_, is_reduced)| **is_reduced).map(|(size, _)| size).product();
        let mut dims: SmallVec<[Dim; 4]> = SmallVec::new();
        let mut step = 1;
        for (size, is_reduced) in sizes().rev() {
            let own = if *is_reduced { 0 } else { step };
            match dims.last_mut() {
                Some(inner) if (inner.step == 0) == *is_reduced => inner.length *= size,
                _ => dims.push(Dim { length: *size, step: own }),
            }
            step *= if *is_reduced { 1 } else { *size };
        }
        dims.reverse();
        Ok(Self { shape: result, count, dims })
    }

    /// Computes the elements of the result.
    fn reduce<T: Copy, A: Copy>(
        &self,
        dtype: DType,
        values: &[T],
        folding: Folding<A, impl Fn(A, T) -> A, impl Fn(A, A) -> A>,
    ) -> Result<Vec<A>> {
        let num_results = self.shape.checked_num_elements()?;
        let refused = |refusal: allocate::Refusal| refusal.of_tensor(dtype, &self.shape);
        let mut results = allocate::copies(num_results, folding.first).map_err(refused)?;
        if !values.is_empty() {
            fold(&self.dims, values, &mut results, &folding);
        }
        Ok(results)
    }
}

fn fold<T: Copy, A: Copy, F: Fn(A, T) -> A, C: Fn(A, A) -> A>(
    dims: &[Dim],
    values: &[T],
    results: &mut [A],
    folding: &Folding<A, F, C>,
) {
    match dims {
        [] => results[0] = (folding.add)(results[0], values[0]),
        [Dim { step: 0, .. }] => results[0] = (folding.combine)(results[0], folding.run(values)),
        [Dim { .. }] => {
            results.iter_mut().zip(values).for_each(|(result, value)| *result = (folding.add)(*result, *value));
        }
        [outer, inner @ ..] => {
            let length = values.len() / outer.length;
            for (index, values) in values.chunks_exact(length).enumerate() {
                fold(inner, values, &mut results[index * outer.step..], folding);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};
    use crate::tensor::dtype::Numeric;

    fn tensor<T: Numeric>(dims: &[usize], values: &[T]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    fn reduce(function: Function, keeps_dims: bool) -> Reduce {
        Reduce::from_attrs(function, &attrs([("keep_dims", Attr::Bool(keeps_dims))])).unwrap()
    }

    fn run(function: Function, x: &Tensor, axes: &[i32]) -> Tensor {
        run_one(&reduce(function, false), &[x.clone(), tensor(&[axes.len()], axes)]).unwrap()
    }

    #[test]
    fn any_axes_are_reduced() {
        let x = tensor(&[2, 3, 2], &(1..=12).collect::<Vec<i32>>());
        assert_eq!(run(Function::Sum, &x, &[0, 1, 2]), Tensor::scalar(78));
        assert_eq!(run(Function::Sum, &x, &[]), x);
        assert_eq!(run(Function::Sum, &x, &[1]), tensor(&[2, 2], &[9, 12, 27, 30]));
        assert_eq!(run(Function::Sum, &x, &[-1, 0]), tensor(&[3], &[18, 26, 34]));
        assert_eq!(run(Function::Max, &x, &[0, 2]), tensor(&[3], &[8, 10, 12]));
        assert_eq!(run(Function::Min, &x, &[1, 2]), tensor(&[2], &[1, 7]));
        assert_eq!(run(Function::Prod, &x, &[0]), tensor(&[3, 2], &[7, 16, 27, 40, 55, 72]));
        let kept = run_one(&reduce(Function::Mean, true), &[x, tensor(&[1], &[1])]).unwrap();
        assert_eq!(kept, tensor(&[2, 1, 2], &[3, 4, 9, 10]));
    }

    #[test]
    fn long_runs_are_reduced_in_parts() {
        let values: Vec<_> = (0..1003).map(|number| (number % 7) as f32 - 2.5).collect();
        let x = tensor(&[1003], &values);
        let sum: f32 = values.iter().sum();
        assert_eq!(run(Function::Sum, &x, &[0]), Tensor::scalar(sum));
        assert_eq!(run(Function::Max, &x, &[0]), Tensor::scalar(3.5_f32));
        assert_eq!(run(Function::Min, &x, &[0]), Tensor::scalar(-2.5_f32));
        let rows = tensor(&[17, 59], &values);
        let sums: Vec<f32> = values.chunks(59).map(|row| row.iter().sum()).collect();
        assert_eq!(run(Function::Sum, &rows, &[1]), tensor(&[17], &sums));
    }

    #[test]
    fn means_of_integers_are_truncated_and_means_of_floats_are_not() {
        assert_eq!(run(Function::Mean, &tensor(&[2], &[-3_i8, -4]), &[0]), Tensor::scalar(-3_i8));
        assert_eq!(run(Function::Mean, &tensor(&[2], &[255_u8, 254]), &[0]), Tensor::scalar(254_u8));
        assert_eq!(run(Function::Mean, &tensor(&[2], &[1.0_f32, 2.0]), &[0]), Tensor::scalar(1.5_f32));
        let none = run(Function::Mean, &tensor::<f32>(&[0], &[]), &[0]);
        assert!(none.values::<f32>().unwrap()[0].is_nan());
        assert_eq!(run(Function::Mean, &tensor::<i32>(&[0], &[]), &[0]), Tensor::scalar(0));
    }

    #[test]
    fn empty_axis_is_reduced_to_the_neutral_element() {
        let none = tensor::<f32>(&[0, 2], &[]);
        assert_eq!(run(Function::Sum, &none, &[0]), tensor(&[2], &[0.0_f32, 0.0]));
        assert_eq!(run(Function::Max, &none, &[0]), tensor(&[2], &[f32::NEG_INFINITY; 2]));
        assert_eq!(run(Function::Sum, &none, &[1]), tensor::<f32>(&[0], &[]));
        assert_eq!(run(Function::Min, &tensor::<u8>(&[0], &[]), &[0]), Tensor::scalar(255_u8));
    }

    #[test]
    fn bools_are_reduced() {
        let x = tensor(&[2, 2], &[1_u8, 0, 1, 1]).with_dtype(DType::Bool).unwrap();
        assert_eq!(run(Function::All, &x, &[1]).bytes(), [0, 1]);
        assert_eq!(run(Function::Any, &x, &[0]).bytes(), [1, 1]);
        assert_eq!(run(Function::All, &x, &[0, 1]), Tensor::bool(false));
    }

    #[test]
    fn axes_out_of_range_are_rejected() {
        let x = tensor(&[2], &[1, 2]);
        let text = error_text(&reduce(Function::Sum, false), &[x.clone(), tensor(&[1], &[1])]);
        assert_eq!(text, "InvalidArgument: Invalid reduction dimension (1 for input with 1 dimension(s)");
        let text = error_text(&reduce(Function::Sum, false), &[x, tensor(&[2], &[0, -1])]);
        assert!(text.contains("duplicate dimension: 0"), "{text}");
    }
}
