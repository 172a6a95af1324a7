//! `ParseExample`: parses a vector of serialized Examples.

use super::column::{Column, Example};
use super::features::Features;
use super::wire::Feature;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::dtype::DType;

/// Maps `(serialized, names, default of each dense feature)` to the indices, then the values, then
/// the shapes of the sparse features, and finally the dense features.
///
/// `serialized` is a vector; `names` is a vector of the same length, for messages, or empty. Dense
/// features with any number of rows are padded to the longest with their default. The rest is as in
/// [`ParseSingleExample`].
///
/// [`ParseSingleExample`]: super::single::ParseSingleExample
pub struct ParseExample {
    features: Features,
}

impl ParseExample {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { features: Features::from_attrs(attrs, "")? })
    }
}

impl Kernel for ParseExample {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [serialized, names, defaults @ ..] = inputs.as_slice() else {
            return Err(Error::internal("the serialized Examples or their names are missing"));
        };
        check_shapes(serialized, names)?;
        self.features.check_defaults(defaults)?;
        let Features { sparse, dense, .. } = &self.features;
        let mut sparse_columns = sparse.iter().map(|key| Column::new(key.dtype)).collect::<Result<Vec<_>>>()?;
        let mut dense_columns = dense.iter().map(|key| Column::new(key.dtype)).collect::<Result<Vec<_>>>()?;
        for (index, bytes) in serialized.string_values().iter().enumerate() {
            let example = Example { record: bytes.into(), index, name: names.string_values().get(index) };
            self.parse(&example, defaults, &mut sparse_columns, &mut dense_columns)
                .map_err(|error| error.at_element(index))?;
        }
        let mut outputs = Outputs::new();
        for column in &sparse_columns {
            outputs.push(column.indices()?);
        }
        let shapes = sparse_columns.iter().map(Column::dense_shape).collect::<Result<Vec<_>>>()?;
        for column in sparse_columns {
            outputs.push(column.into_values()?);
        }
        outputs.extend(shapes);
        for ((feature, column), default) in dense.iter().zip(dense_columns).zip(defaults) {
            outputs.push(column.into_dense(feature, default)?);
        }
        Ok(Step::Done(outputs))
    }
}

impl ParseExample {
    /// Appends the features of one Example to the columns.
    fn parse(&self, example: &Example, defaults: &[Tensor], sparse: &mut [Column], dense: &mut [Column]) -> Result<()> {
        let feature_bytes = self.features.find(example.record.bytes()).map_err(|error| example.named(error))?;
        for ((feature, bytes), column) in self.features.with_sparse(&feature_bytes).zip(sparse) {
            column.push_sparse(feature, Feature::parse(bytes.unwrap_or_default())?, example)?;
        }
        for (((feature, bytes), default), column) in self.features.with_dense(&feature_bytes).zip(defaults).zip(dense) {
            column.push_dense(feature, Feature::parse(bytes.unwrap_or_default())?, default, example)?;
        }
        Ok(())
    }
}

fn check_shapes(serialized: &Tensor, names: &Tensor) -> Result<()> {
    if serialized.dtype() != DType::String || names.dtype() != DType::String {
        return Err(Error::internal("serialized Examples and their names must be strings"));
    }
    if serialized.shape().len() != 1 {
        let text = format!("Expected serialized to be a vector, got shape: {}", serialized.shape());
        return Err(Error::invalid_argument(text));
    }
    if names.num_elements() > 0 && names.shape() != serialized.shape() {
        return Err(Error::invalid_argument(format!(
            "Expected len(names) == len(serialized), but got: {} vs. {}",
            names.num_elements(),
            serialized.num_elements()
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::records::parse_example::testing::{asking_for, example, floats, int64s, strings};
    use crate::kernels::testing::{error_text, run};
    use crate::tensor::shape::Shape;
    use bytes::Bytes;

    fn kernel(sparse: &[(&str, DType)], dense: &[(&str, DType, &[Option<usize>])]) -> ParseExample {
        ParseExample::from_attrs(&asking_for(sparse, dense)).unwrap()
    }

    fn vector(values: &[Bytes]) -> Tensor {
        Tensor::strings(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    fn int64s_of(dims: &[usize], values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    fn required(dtype: DType) -> Tensor {
        Tensor::empty(dtype, Shape::new(&[0])).unwrap()
    }

    fn ints(values: &[i64]) -> Bytes {
        example(&[("a", int64s(values))])
    }

    #[test]
    fn dense_features_are_stacked() {
        let kernel = kernel(&[], &[("a", DType::Int64, &[Some(2)]), ("s", DType::String, &[])]);
        let examples =
            [example(&[("a", int64s(&[1, 2])), ("s", strings(&[b"x"]))]), example(&[("s", strings(&[b"y"]))])];
        let inputs = [vector(&examples), vector(&[]), int64s_of(&[2], &[8, 9]), required(DType::String)];
        let outputs = run(&kernel, &inputs).unwrap();
        assert_eq!(outputs, [int64s_of(&[2, 2], &[1, 2, 8, 9]), vector(&["x".into(), "y".into()])]);
    }

    #[test]
    fn sparse_features_have_the_indices_of_their_values() {
        let kernel = kernel(&[("a", DType::Int64), ("b", DType::Float32)], &[]);
        let outputs =
            run(&kernel, &[vector(&[ints(&[1, 2]), ints(&[]), Bytes::new(), ints(&[5])]), vector(&[])]).unwrap();
        assert_eq!(outputs[0], int64s_of(&[3, 2], &[0, 0, 0, 1, 3, 0]));
        assert_eq!(outputs[1], int64s_of(&[0, 2], &[]));
        assert_eq!(outputs[2], int64s_of(&[3], &[1, 2, 5]));
        assert_eq!(outputs[3], required(DType::Float32));
        assert_eq!(outputs[4..], [int64s_of(&[2], &[4, 2]), int64s_of(&[2], &[4, 0])]);
    }

    #[test]
    fn rows_are_padded_to_the_longest() {
        let kernel = kernel(&[], &[("a", DType::Int64, &[None, Some(2)])]);
        let examples = vector(&[ints(&[1, 2]), Bytes::new(), ints(&[1, 2, 3, 4])]);
        let outputs = run(&kernel, &[examples, vector(&[]), Tensor::scalar(9_i64)]).unwrap();
        assert_eq!(outputs, [int64s_of(&[3, 2, 2], &[1, 2, 9, 9, 9, 9, 9, 9, 1, 2, 3, 4])]);
    }

    #[test]
    fn empty_batch_yields_empty_tensors() {
        let kernel = kernel(&[("s", DType::Int64)], &[("a", DType::Int64, &[Some(2)]), ("v", DType::Int64, &[None])]);
        let outputs = run(&kernel, &[vector(&[]), vector(&[]), required(DType::Int64), Tensor::scalar(0_i64)]).unwrap();
        assert_eq!(outputs[0], int64s_of(&[0, 2], &[]));
        assert_eq!(outputs[2..], [int64s_of(&[2], &[0, 0]), int64s_of(&[0, 2], &[]), int64s_of(&[0, 0], &[])]);
    }

    #[test]
    fn mismatch_errors_name_the_example_and_the_key() {
        let text = |names: &[Bytes], dtype: DType, default: Tensor| {
            let kernel = kernel(&[], &[("a", dtype, &[Some(3)])]);
            error_text(&kernel, &[vector(&[ints(&[1, 2, 3]), ints(&[1, 2])]), vector(names), default])
        };
        let names = ["one".into(), "two".into()];
        assert_eq!(
            text(&names, DType::Int64, required(DType::Int64)),
            "InvalidArgument: Name: two, Key: a, Index: 1.  Number of int64 values != expected.  Values size: 2 but \
             output shape: [3]"
        );
        assert_eq!(
            text(&[], DType::Float32, required(DType::Float32)),
            "InvalidArgument: Name: <unknown>, Key: a, Index: 0.  Data types don't match. Data type: int64 but \
             expected type: float"
        );
        assert_eq!(
            text(&names[..1], DType::Int64, required(DType::Int64)),
            "InvalidArgument: Expected len(names) == len(serialized), but got: 1 vs. 2"
        );
        assert_eq!(
            error_text(
                &kernel(&[], &[("b", DType::Int64, &[])]),
                &[vector(&[ints(&[])]), vector(&[]), required(DType::Int64)]
            ),
            "InvalidArgument: Name: <unknown>, Feature: b (data type: int64) is required but could not be found. The \
             Example has: a. Correct the name, or set default_value"
        );
        let sparse = kernel(&[("a", DType::Int64)], &[]);
        assert_eq!(
            error_text(&sparse, &[vector(&[example(&[("a", floats(&[1.0]))])]), vector(&[])]),
            "InvalidArgument: Name: <unknown>, Key: a, Index: 0.  Data types don't match. Expected type: int64, \
             Actual type: float"
        );
    }

    #[test]
    fn non_vector_is_rejected() {
        assert_eq!(
            error_text(&kernel(&[], &[]), &[Tensor::string(""), vector(&[])]),
            "InvalidArgument: Expected serialized to be a vector, got shape: []"
        );
    }
}
