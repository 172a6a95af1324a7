//! `ParseSequenceExample`: parses a vector of serialized `tf.train.SequenceExample`s and returns
//! their features as tensors of the batch.
//!
//! Source: `tf.io.parse_sequence_example` in TensorFlow 1.15.

use super::ParseSingleSequenceExample;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::array::join;
use crate::kernels::attrs::Attrs;
use crate::kernels::records::parse_example::feature::{DenseFeature, Extent};
use crate::kernels::records::parse_example::features::Features;
use crate::run::Run;
use crate::sparse::SparseTensor;
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// Maps `(serialized, names, default of each dense context feature)` to the features of the
/// context, the features of the lists, and the number of rows in each dense list.
///
/// Each feature is the feature of [`ParseSingleSequenceExample`] with one more dimension in front.
/// Dense lists are padded with zeros or empty strings to the longest of the batch. There are as
/// many names as examples, or none.
pub struct ParseSequenceExample(ParseSingleSequenceExample);

impl ParseSequenceExample {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        ParseSingleSequenceExample::from_attrs(attrs).map(Self)
    }
}

impl Kernel for ParseSequenceExample {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [serialized, names, defaults @ ..] = inputs.as_slice() else {
            return Err(Error::internal("the serialized SequenceExamples or their names are missing"));
        };
        let [num_examples] = serialized.shape()[..] else {
            let text = format!("Expected serialized to be a vector, got shape: {}", serialized.shape());
            return Err(Error::invalid_argument(text));
        };
        if ![0, num_examples].contains(&names.num_elements()) {
            let text =
                format!("Expected len(debug_name) == len(serialized), but got {} and {num_examples}", names.shape());
            return Err(Error::invalid_argument(text));
        }
        let unnamed = bytes::Bytes::new();
        let rows = serialized.string_values().iter().enumerate().map(|(number, example)| {
            let name = names.string_values().get(number).unwrap_or(&unnamed);
            let mut single = Tensors::from_iter([Tensor::string(example.clone()), Tensor::string(name.clone())]);
            single.extend(defaults.iter().cloned());
            self.0.parse(single.as_slice())
        });
        let rows = rows.collect::<Result<Vec<Outputs>>>()?;
        let mut outputs = Outputs::new();
        let mut first = 0;
        for (features, are_lists) in [(&self.0.context, false), (&self.0.lists, true)] {
            push_sparse(features, are_lists, first, &rows, &mut outputs)?;
            first += 3 * features.sparse.len();
            for (number, feature) in features.dense.iter().enumerate() {
                outputs.push(dense(feature, are_lists, first + number, &rows)?);
            }
            first += features.dense.len();
        }
        for number in first - self.0.lists.dense.len()..first {
            outputs.push(lengths(number, &rows)?);
        }
        Ok(Step::Done(outputs))
    }
}

/// Appends the indices of all sparse features, then the values, then the shapes.
fn push_sparse(
    features: &Features,
    are_lists: bool,
    first: usize,
    rows: &[Outputs],
    outputs: &mut Outputs,
) -> Result<()> {
    let count = features.sparse.len();
    let stack = |(number, dtype): (usize, DType)| {
        let parts = |row: &Outputs| {
            let [indices, values, shape] = [0, 1, 2].map(|part| row[first + part * count + number].clone());
            // A single example's indices have only one column.
            SparseTensor::new(&indices, values, &shape)
        };
        let all = rows.iter().map(parts).collect::<Result<Vec<_>>>()?;
        if all.is_empty() {
            no_rows(dtype, if are_lists { 3 } else { 2 })
        } else {
            SparseTensor::stack(&all, dtype)?.into_parts()
        }
    };
    let stacked = features.sparse.iter().map(|feature| feature.dtype).enumerate().map(stack);
    let stacked = stacked.collect::<Result<Vec<_>>>()?;
    for part in 0..3 {
        outputs.extend(stacked.iter().map(|parts| parts[part].clone()));
    }
    Ok(())
}

/// The parts of a sparse tensor without examples.
fn no_rows(dtype: DType, rank: usize) -> Result<[Tensor; 3]> {
    Ok([
        Tensor::empty(DType::Int64, Shape::new(&[0, rank]))?,
        Tensor::empty(dtype, Shape::new(&[0]))?,
        Tensor::from_values(Shape::new(&[rank]), [0_i64; 3][..rank].to_vec())?,
    ])
}

/// Stacks the tensors of one dense feature. Lists are padded to the longest.
fn dense(feature: &DenseFeature, is_list: bool, number: usize, rows: &[Outputs]) -> Result<Tensor> {
    let mut all: Vec<Tensor> = rows.iter().map(|row| row[number].clone()).collect();
    if all.is_empty() {
        let Extent::Fixed(shape) = &feature.extent else {
            return Err(Error::internal(format!("feature '{}' has no fixed shape", feature.key)));
        };
        let shape = if is_list { shape.batched(0) } else { shape.clone() };
        return Tensor::empty(feature.dtype, shape.batched(0));
    }
    if is_list {
        let longest = all.iter().map(|list| list.shape()[0]).max().unwrap_or(0);
        for list in &mut all {
            let shape = list.shape().with_size(0, longest);
            *list = list.padded(&[], shape, None)?;
        }
    }
    join::stack(&all)
}

/// The number of rows that each example has in a dense list.
fn lengths(number: usize, rows: &[Outputs]) -> Result<Tensor> {
    let lengths = rows.iter().map(|row| row[number].shape()[0] as i64).collect();
    Tensor::from_values(Shape::new(&[rows.len()]), lengths)
}
