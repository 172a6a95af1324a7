//! ParseExample: a vector of serialized Examples.

use super::feature::{DenseFeature, Extent, SparseFeature};
use super::features::Features;
use super::values::{MALFORMED_LIST, Values};
use super::wire::Feature;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::run::Run;
use crate::shape::Shape;
use crate::tensor::Tensor;
use bytes::Bytes;

/// `(serialized, names, default of each dense feature)` to the indices, then the values, then the shapes of the sparse
/// features, then the dense ones.
///
/// `serialized` is a vector; `names` is one of the same length, for messages, or empty. Dense features of an open
/// number of rows are filled up to the longest with their default. Otherwise as [`ParseSingleExample`].
///
/// [`ParseSingleExample`]: super::single::ParseSingleExample
pub struct ParseExample {
    features: Features,
}

impl ParseExample {
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { features: Features::from_attrs(attrs)? })
    }
}

impl Kernel for ParseExample {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [serialized, names, defaults @ ..] = inputs.as_slice() else {
            return Err(Error::internal("no serialized Examples or no names given"));
        };
        check_shapes(serialized, names)?;
        self.features.check_defaults(defaults)?;
        let Features { sparse, dense, .. } = &self.features;
        let mut sparse_columns = sparse.iter().map(|key| Column::new(key.dtype)).collect::<Result<Vec<_>>>()?;
        let mut dense_columns = dense.iter().map(|key| Column::new(key.dtype)).collect::<Result<Vec<_>>>()?;
        for (index, bytes) in serialized.string_values().iter().enumerate() {
            let example = Example { bytes, index, name: names.string_values().get(index) };
            let found = self.features.find(bytes)?;
            for ((feature, found), column) in sparse.iter().zip(found.sparse()).zip(&mut sparse_columns) {
                column.push_sparse(feature, *found, &example)?;
            }
            for (number, column) in dense_columns.iter_mut().enumerate() {
                column.push_dense(&dense[number], found.dense()[number], &defaults[number], &example)?;
            }
        }
        let mut outputs = Tensors::new();
        for column in &sparse_columns {
            outputs.push(column.indices()?);
        }
        let shapes = sparse_columns.iter().map(Column::dense_shape).collect::<Result<Vec<_>>>()?;
        for column in sparse_columns {
            let shape = Shape::new(&[column.values.len()]);
            outputs.push(column.values.into_tensor(shape)?);
        }
        outputs.extend(shapes);
        for ((feature, column), default) in dense.iter().zip(dense_columns).zip(defaults) {
            outputs.push(column.into_dense(feature, default)?);
        }
        Ok(Step::Done(outputs))
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

/// One element of the vector.
struct Example<'a> {
    bytes: &'a Bytes,
    index: usize,
    name: Option<&'a Bytes>,
}

impl Example<'_> {
    fn name(&self) -> String {
        self.name.map_or("<unknown>".to_owned(), |name| String::from_utf8_lossy(name).into_owned())
    }

    fn failure(&self, key: &str, text: &str) -> Error {
        let (name, index) = (self.name(), self.index);
        Error::invalid_argument(format!("Name: {name}, Key: {key}, Index: {index}.  {text}"))
    }
}

/// The values of one feature in all Examples so far.
struct Column {
    values: Values,
    /// Behind the values of each Example.
    ends: Vec<usize>,
}

impl Column {
    fn new(dtype: DType) -> Result<Self> {
        Ok(Self { values: Values::new(dtype)?, ends: Vec::new() })
    }

    fn push_sparse(&mut self, feature: &SparseFeature, found: Option<Feature>, example: &Example) -> Result<()> {
        if let Some(found) = found {
            feature.check_type(found.dtype).map_err(|misfit| example.failure(&feature.key, &misfit))?;
            self.decode(&feature.key, found, example)?;
        }
        self.ends.push(self.values.len());
        Ok(())
    }

    fn push_dense(
        &mut self,
        feature: &DenseFeature,
        found: Option<Feature>,
        default: &Tensor,
        example: &Example,
    ) -> Result<()> {
        match (found, &feature.extent) {
            (Some(found), _) => {
                let before = self.values.len();
                feature.check_type(found.dtype).map_err(|misfit| example.failure(&feature.key, &misfit))?;
                self.decode(&feature.key, found, example)?;
                let count = self.values.len() - before;
                feature.check_count(count).map_err(|misfit| example.failure(&feature.key, &misfit))?;
            }
            (None, Extent::Rows(_)) => {}
            (None, Extent::Fixed(_)) if default.num_elements() == 0 => {
                let text = format!("Name: {}, {}", example.name(), feature.missing());
                return Err(Error::invalid_argument(text));
            }
            (None, Extent::Fixed(_)) => self.values.extend_from_tensor(default)?,
        }
        self.ends.push(self.values.len());
        Ok(())
    }

    fn decode(&mut self, key: &str, found: Feature, example: &Example) -> Result<()> {
        self.values.decode(found, example.bytes).ok_or_else(|| example.failure(key, MALFORMED_LIST))
    }

    /// The number of values of each Example.
    fn lengths(&self) -> impl Iterator<Item = usize> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| end - start)
    }

    fn longest(&self) -> usize {
        self.lengths().max().unwrap_or(0)
    }

    /// The place of each value: number of the Example, number in the Example.
    fn indices(&self) -> Result<Tensor> {
        let rows = self.lengths().enumerate();
        let indices = rows.flat_map(|(row, length)| (0..length).flat_map(move |column| [row as i64, column as i64]));
        Tensor::from_values(Shape::new(&[self.values.len(), 2]), indices.collect())
    }

    fn dense_shape(&self) -> Result<Tensor> {
        Tensor::from_values(Shape::new(&[2]), vec![self.ends.len() as i64, self.longest() as i64])
    }

    fn into_dense(self, feature: &DenseFeature, default: &Tensor) -> Result<Tensor> {
        let num_examples = self.ends.len();
        match &feature.extent {
            Extent::Fixed(shape) => self.values.into_tensor(shape.batched(num_examples)),
            Extent::Rows(row) => {
                let longest = self.longest();
                let shape = row.batched(longest / row.num_elements()).batched(num_examples);
                self.values.padded(&self.ends, longest, default)?.into_tensor(shape)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::example::testing::{asking_for, example, floats, int64s, strings};
    use crate::kernels::testing::{error_text, run};

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
    fn sparse_features_say_where_their_values_are() {
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
    fn rows_are_filled_up_to_the_longest() {
        let kernel = kernel(&[], &[("a", DType::Int64, &[None, Some(2)])]);
        let examples = vector(&[ints(&[1, 2]), Bytes::new(), ints(&[1, 2, 3, 4])]);
        let outputs = run(&kernel, &[examples, vector(&[]), Tensor::scalar(9_i64)]).unwrap();
        assert_eq!(outputs, [int64s_of(&[3, 2, 2], &[1, 2, 9, 9, 9, 9, 9, 9, 1, 2, 3, 4])]);
    }

    #[test]
    fn no_examples_give_empty_tensors() {
        let kernel = kernel(&[("s", DType::Int64)], &[("a", DType::Int64, &[Some(2)]), ("v", DType::Int64, &[None])]);
        let outputs = run(&kernel, &[vector(&[]), vector(&[]), required(DType::Int64), Tensor::scalar(0_i64)]).unwrap();
        assert_eq!(outputs[0], int64s_of(&[0, 2], &[]));
        assert_eq!(outputs[2..], [int64s_of(&[2], &[0, 0]), int64s_of(&[0, 2], &[]), int64s_of(&[0, 0], &[])]);
    }

    #[test]
    fn misfits_name_the_example_and_the_key() {
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
            "InvalidArgument: Name: <unknown>, Feature: b (data type: int64) is required but could not be found."
        );
        let sparse = kernel(&[("a", DType::Int64)], &[]);
        assert_eq!(
            error_text(&sparse, &[vector(&[example(&[("a", floats(&[1.0]))])]), vector(&[])]),
            "InvalidArgument: Name: <unknown>, Key: a, Index: 0.  Data types don't match. Expected type: int64, \
             Actual type: float"
        );
    }

    #[test]
    fn only_a_vector_is_parsed() {
        assert_eq!(
            error_text(&kernel(&[], &[]), &[Tensor::string(""), vector(&[])]),
            "InvalidArgument: Expected serialized to be a vector, got shape: []"
        );
    }
}
