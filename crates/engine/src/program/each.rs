//! Runs another program for each element of a list, and combines the results.
//!
//! The inputs are the lists, whose elements are fed to the program, and values that are the same
//! for all elements. Unlike [a loop](super::Loop), the elements of a row draw different random
//! numbers, and results of different lengths can be joined.

use super::Program;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::array::join;
use crate::philox::mix;
use crate::run::{Run, check_current};
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::{PartialShape, Shape};
use std::sync::Arc;

/// A program that runs once for each element of a list.
pub struct Each {
    /// The program for one element.
    pub body: Arc<Program>,
    /// The number of lists.
    pub num_lists: usize,
    /// How the results of the program are combined.
    pub results: Vec<EachResult>,
}

/// How the results of all elements are combined.
pub struct EachResult {
    /// The type of the values.
    pub dtype: DType,
    /// The shape of one element's result, as far as it is known. Needed if there are no elements.
    pub shape: Option<PartialShape>,
    /// True to join the results along their first axis. Otherwise they are stacked along a new one.
    pub is_joined: bool,
}

impl Kernel for Each {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let (lists, shared) = inputs.split_at(self.num_lists);
        let count = num_elements(lists)?;
        let new_results = || allocate::room(count).map_err(|refusal| refusal.at("each"));
        let mut results = self.results.iter().map(|_| new_results()).collect::<Result<Vec<Vec<Tensor>>>>()?;
        // Its nodes belong to the other program.
        let run_of_element = run.beside()();
        // Only rows that draw random numbers have a key. Without it, an operation that draws fails.
        let row_key = run.current_row_key();
        let mut repeated = self.body.repeated();
        for index in 0..count {
            check_current()?;
            run_of_element.set_row_key(row_key.map(|key| mix(key, index as u64)));
            let elements = lists.iter().map(|list| list.row(index));
            let ran = repeated.run(elements.chain(shared.iter().cloned().map(Ok)), &run_of_element);
            ran.map_err(|error| error.in_list(index))?;
            for (results, value) in results.iter_mut().zip(repeated.fetched()) {
                results.push(value?.into_materialised()?);
            }
        }
        let combined = self.results.iter().zip(results).map(|(result, values)| result.combined(values));
        combined.collect::<Result<Outputs>>().map(Step::Done)
    }
}

impl EachResult {
    fn combined(&self, mut values: Vec<Tensor>) -> Result<Tensor> {
        let Some(first) = values.first() else { return self.empty() };
        let varying = usize::from(self.is_joined);
        let is_alike = |value: &Tensor| value.shape().get(varying..) == first.shape().get(varying..);
        if let Some(other) = values.iter().position(|value| !is_alike(value)) {
            let remedy = match self.is_joined {
                true => {
                    "expected the same shape except for the first axis. Resize or crop them in the function, or return \
                     reshape(result, [-1]) and shape(result) instead"
                }
                false => {
                    "expected the same shape. Resize or crop images in the function. To keep their sizes, return \
                     {'values': reshape(result, [-1]), 'shape': shape(result)} and pass join='values'. Results that \
                     differ only in their first axis can be joined with join=True"
                }
            };
            return Err(Error::invalid_argument(format!(
                "each: the result has shape {} for element 0 of the list, but {} for element {other}, {remedy}",
                first.shape(),
                values[other].shape(),
            )));
        }
        if let [_] = values[..]
            && let Some(only) = values.pop()
        {
            let shape = if self.is_joined { only.shape().clone() } else { only.shape().batched(1) };
            return only.reshaped(shape);
        }
        match self.is_joined {
            // If the sum overflows, there are too many elements for any tensor.
            true => {
                let length = values.iter().fold(0, |sum: usize, value| sum.saturating_add(value.shape()[0]));
                join::concatenate(&values, length)
            }
            false => join::stack(&values),
        }
    }

    /// The result if the list has no elements.
    fn empty(&self) -> Result<Tensor> {
        let known = self.shape.as_ref().map(PartialShape::dims);
        let sizes = match (known, self.is_joined) {
            (Some([_, rest @ ..]), true) => Some(rest),
            (known, _) => known,
        };
        let sizes: Option<Vec<usize>> = sizes.and_then(|sizes| sizes.iter().copied().collect());
        match sizes {
            Some(sizes) => Tensor::empty(self.dtype, Shape::new(&sizes).batched(0)),
            None => Err(Error::invalid_argument(
                "each: the list has no elements, so the shape of the result is unknown. Set the shape with \
                 ensure_shape in the function, or drop such examples with filter",
            )),
        }
    }
}

/// The number of elements in each list.
fn num_elements(lists: &[Tensor]) -> Result<usize> {
    let lengths = lists.iter().map(|list| list.shape().first().copied());
    let lengths: Option<Vec<usize>> = lengths.collect();
    match lengths.as_deref() {
        Some([first, rest @ ..]) => match rest.iter().find(|length| *length != first) {
            Some(other) => Err(Error::invalid_argument(format!(
                "each: one list has {first} elements, another {other}, expected lists of the same length"
            ))),
            None => Ok(*first),
        },
        _ => Err(Error::invalid_argument("each: got a scalar, expected a list")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::random;
    use crate::kernels::testing::{attrs, error_text, run, run_one};
    use crate::kernels::{self, attrs::Attr, attrs::Attrs};
    use crate::program::ProgramBuilder;
    use crate::random_generator::RandomGenerator;
    use crate::sync::cancellation::Cancellation;

    fn vector(values: &[i32]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    /// Applies an operation of two inputs: an element and a shared value.
    fn each(op_type: &str, is_joined: bool, shape: Option<Vec<Option<usize>>>) -> Each {
        let mut builder = ProgramBuilder::new();
        let inputs = [builder.feed(), builder.feed()];
        let kernel = kernels::build(op_type, &Attrs::default()).unwrap().unwrap();
        let (_, result) = builder.node(op_type.into(), kernel, &inputs, &[], &[], 1).unwrap();
        let body = Arc::new(builder.build(vec![result]).unwrap());
        let shape = shape.map(PartialShape::new);
        Each { body, num_lists: 1, results: vec![EachResult { dtype: DType::Int32, shape, is_joined }] }
    }

    #[test]
    fn results_are_stacked_or_joined() {
        let add = |is_joined, list| run_one(&each("Add", is_joined, None), &[list, vector(&[10])]).unwrap();
        let (rows, numbers) = (Tensor::from_values(Shape::new(&[2, 1]), vec![1, 2]).unwrap(), vector(&[3, 4]));
        assert_eq!(add(false, rows.clone()), Tensor::from_values(Shape::new(&[2, 1]), vec![11, 12]).unwrap());
        assert_eq!(add(true, rows), vector(&[11, 12]));
        assert_eq!(add(true, numbers), vector(&[13, 14]));
        assert_eq!(add(false, vector(&[1])), Tensor::from_values(Shape::new(&[1, 1]), vec![11]).unwrap());
    }

    #[test]
    fn results_of_different_lengths_can_only_be_joined() {
        let repeat = |is_joined| each("Fill", is_joined, Some(vec![None]));
        let lengths = Tensor::from_values(Shape::new(&[3, 1]), vec![2, 0, 1]).unwrap();
        let inputs = [lengths, Tensor::scalar(7_i32)];
        assert_eq!(run_one(&repeat(true), &inputs).unwrap(), vector(&[7, 7, 7]));
        let text = error_text(&repeat(false), &inputs);
        assert!(
            text.contains(
                "shape [2] for element 0 of the list, but [0] for element 1, expected the same shape. Resize"
            ),
            "{text}"
        );
    }

    #[test]
    fn empty_list_has_a_result_if_its_shape_is_known() {
        let empty = |is_joined, shape| each("Add", is_joined, shape);
        let inputs = [vector(&[]), Tensor::scalar(1_i32)];
        let shape_of = |each: &Each| run_one(each, &inputs).unwrap().shape().to_vec();
        assert_eq!(shape_of(&empty(false, Some(vec![Some(2)]))), [0, 2]);
        assert_eq!(shape_of(&empty(true, Some(vec![None, Some(2)]))), [0, 2]);
        for each in [empty(false, None), empty(false, Some(vec![None]))] {
            let text = error_text(&each, &inputs);
            assert!(text.contains("no elements, so the shape of the result is unknown. Set the shape"), "{text}");
        }
    }

    #[test]
    fn errors_name_the_element() {
        let divide = each("FloorDiv", false, None);
        let text = error_text(&divide, &[vector(&[1, 2]), Tensor::scalar(0_i32)]);
        assert!(text.contains("[element 0 of the list]"), "{text}");
        let pairs = Each { num_lists: 2, ..each("Add", false, None) };
        let text = error_text(&pairs, &[vector(&[1]), vector(&[1, 2])]);
        assert!(text.contains("one list has 1 elements, another 2"), "{text}");
        assert!(error_text(&divide, &[Tensor::scalar(1_i32), Tensor::scalar(1_i32)]).contains("got a scalar"));
        assert_eq!(run(&pairs, &[vector(&[1]), vector(&[2])]).unwrap()[0], vector(&[3]));
    }

    #[test]
    fn each_element_of_each_row_draws_different_numbers() {
        let mut builder = ProgramBuilder::new();
        let (_, shape) = (builder.feed(), builder.constant(vector(&[])));
        let generator = Arc::new(RandomGenerator::of_rows(7, 0));
        let kernel = random::build("RandomUniform", &attrs([("dtype", Attr::DType(DType::Float32))]), &generator);
        let (_, result) = builder.node("draw".into(), kernel.unwrap().unwrap(), &[shape], &[], &[], 1).unwrap();
        let body = Arc::new(builder.build(vec![result]).unwrap());
        let result = EachResult { dtype: DType::Float32, shape: Some(PartialShape::new(vec![])), is_joined: false };
        let each = Each { body, num_lists: 1, results: vec![result] };
        let run = |key| {
            let cancellation = Cancellation::new();
            let run = Run::new(&cancellation);
            run.set_row_key(key);
            each.run(&run, [vector(&[0, 0])].into_iter().collect())
        };
        let draw = |key| {
            let Step::Done(outputs) = run(Some(key)).unwrap() else { panic!("it waits") };
            outputs[0].values::<f32>().unwrap().to_vec()
        };
        let mut draws = [draw(1), draw(2)].concat();
        assert_eq!(draws, [draw(1), draw(2)].concat());
        draws.sort_by(f32::total_cmp);
        draws.dedup();
        assert_eq!(draws.len(), 4);
        let Err(error) = run(None) else { panic!("it draws for an unknown row") };
        assert!(error.to_string().contains("cannot draw random numbers for a row without an identity"), "{error}");
    }
}
