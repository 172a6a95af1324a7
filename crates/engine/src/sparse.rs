//! Sparse tensors, and a table that stores them while their handles pass through a queue.

use crate::error::{Error, Result};
use crate::order;
use crate::saved::{self, Chunks, Content, Reading, Restore, SavedChunks};
use crate::sync::Mutex;
use crate::tensor::Tensor;
use crate::tensor::allocate::{self, Refusal};
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use std::collections::HashMap;
use std::sync::Arc;

/// A sparse tensor: the indices and values of its elements, and its dense shape.
#[derive(Clone, Debug, PartialEq)]
pub struct SparseTensor {
    /// One row per element, with an index for each dimension.
    indices: Vec<i64>,
    values: Tensor,
    dense_shape: Vec<i64>,
}

impl SparseTensor {
    /// Creates a sparse tensor from its three parts. Fails if their sizes don't match.
    pub fn new(indices: &Tensor, values: Tensor, dense_shape: &Tensor) -> Result<Self> {
        let check = |tensor: &Tensor, rank: usize, what: &str| match tensor.shape().len() == rank {
            true => Ok(()),
            false => Err(Error::invalid_argument(format!("Input {what} but received shape {}", tensor.shape()))),
        };
        check(indices, 2, "indices should be a matrix")?;
        check(&values, 1, "values should be a vector")?;
        check(dense_shape, 1, "shape should be a vector")?;
        let (num_indices, rank) = (indices.shape()[0], indices.shape()[1]);
        if num_indices != values.num_elements() || rank != dense_shape.num_elements() {
            return Err(Error::invalid_argument(format!(
                "a sparse tensor has indices of shape {}, values of shape {} and a dense shape of shape {}, expected \
                 [n,rank], [n] and [rank]",
                indices.shape(),
                values.shape(),
                dense_shape.shape()
            )));
        }
        let indices = allocate::collected(indices.num_elements(), indices.values()?.iter().copied());
        let indices = indices.map_err(|refusal| refusal.at("the indices of a sparse tensor"))?;
        let sparse = Self { indices, values, dense_shape: dense_shape.values::<i64>()?.to_vec() };
        sparse.check_bounds()?;
        Ok(sparse)
    }

    fn rank(&self) -> usize {
        self.dense_shape.len()
    }

    fn num_values(&self) -> usize {
        self.values.num_elements()
    }

    /// The indices of element `element`.
    fn index(&self, element: usize) -> &[i64] {
        &self.indices[element * self.rank()..(element + 1) * self.rank()]
    }

    fn check_bounds(&self) -> Result<()> {
        let is_inside = |index: &[i64]| index.iter().zip(&self.dense_shape).all(|(at, size)| (0..*size).contains(at));
        match (0..self.num_values()).find(|element| !is_inside(self.index(*element))) {
            None => Ok(()),
            Some(element) => Err(Error::invalid_argument(format!(
                "indices[{element}] = {} is out of bounds: need 0 <= index < {}",
                bracketed(self.index(element)),
                bracketed(&self.dense_shape)
            ))),
        }
    }

    /// Splits the tensor into the rows of its first dimension for which `keep` is true, or into all
    /// rows if `keep` is `None`.
    pub fn rows(&self, keep: Option<&Tensor>) -> Result<Vec<Self>> {
        let (Some(num_rows), true) = (self.dense_shape.first(), self.rank() > 1) else {
            let text = format!("Rank of input SparseTensor should be > 1, but saw rank: {}", self.rank());
            return Err(Error::invalid_argument(text));
        };
        let num_rows = usize::try_from(*num_rows).unwrap_or(0);
        if let Some(keep) = keep.filter(|keep| keep.dtype() != DType::Bool || keep.shape()[..] != [num_rows]) {
            return Err(Error::invalid_argument(format!(
                "data.shape must start with partitions.shape, got data.shape = {}, partitions.shape = {}",
                bracketed(&self.dense_shape),
                keep.shape()
            )));
        }
        // Even a row without elements takes memory for its shape and its empty tensor.
        allocate::probe_pieces(num_rows, MIN_ROW_BYTES).map_err(|refusal| too_many(num_rows, refusal))?;
        let rows = allocate::copies(num_rows, Vec::new());
        let mut elements = rows.map_err(|refusal| too_many(num_rows, refusal))?;
        for element in 0..self.num_values() {
            elements[self.index(element)[0] as usize].push(element);
        }
        let is_kept = |row: usize| keep.is_none_or(|keep| keep.bytes()[row] != 0);
        let mut rows = allocate::room(num_rows).map_err(|refusal| too_many(num_rows, refusal))?;
        for (_, elements) in elements.iter().enumerate().filter(|(row, _)| is_kept(*row)) {
            rows.push(self.row_of(elements)?);
        }
        Ok(rows)
    }

    /// Selects some elements and drops their first index.
    fn row_of(&self, elements: &[usize]) -> Result<Self> {
        Ok(Self {
            indices: elements.iter().flat_map(|element| &self.index(*element)[1..]).copied().collect(),
            values: self.values.take_rows(elements, &[elements.len()])?,
            dense_shape: self.dense_shape[1..].to_vec(),
        })
    }

    /// Stacks sparse tensors of the same rank. Each dimension of the result is as large as the
    /// largest input requires. Fails if there are no inputs, because their rank is unknown.
    pub fn stack(rows: &[Self], dtype: DType) -> Result<Self> {
        let Some(first) = rows.first() else {
            let text = "Must have at least 1 serialized SparseTensor, but input matrix has 0 rows";
            return Err(Error::invalid_argument(text));
        };
        let count = rows.iter().map(|row| row.indices.len() + row.num_values()).sum();
        let mut indices =
            allocate::room(count).map_err(|refusal| refusal.at("the indices of stacked sparse tensors"))?;
        let mut dense_shape = first.dense_shape.clone();
        for (number, row) in rows.iter().enumerate() {
            if row.rank() != first.rank() {
                return Err(Error::invalid_argument(format!(
                    "Inconsistent rank across SparseTensors: rank prior to SparseTensor[{number}] was: {} but rank of \
                     SparseTensor[{number}] is: {}",
                    first.rank(),
                    row.rank()
                )));
            }
            if row.values.dtype() != dtype {
                return Err(Error::invalid_argument(format!(
                    "Requested SparseTensor of type {dtype} but SparseTensor[{number}].values.dtype() == {}",
                    row.values.dtype()
                )));
            }
            dense_shape.iter_mut().zip(&row.dense_shape).for_each(|(size, other)| *size = *other.max(size));
            for element in 0..row.num_values() {
                indices.push(number as i64);
                indices.extend_from_slice(row.index(element));
            }
        }
        dense_shape.insert(0, rows.len() as i64);
        Ok(Self { indices, values: concatenate(dtype, rows)?, dense_shape })
    }

    /// Converts the indices, values and dense shape to tensors.
    pub fn into_parts(self) -> Result<[Tensor; 3]> {
        let (num_values, rank) = (self.num_values(), self.rank());
        Ok([
            Tensor::from_values(Shape::new(&[num_values, rank]), self.indices)?,
            self.values,
            Tensor::from_values(Shape::new(&[rank]), self.dense_shape)?,
        ])
    }
}

/// The minimum memory of one row when a sparse tensor is split.
const MIN_ROW_BYTES: usize = size_of::<Vec<usize>>() + size_of::<SparseTensor>() + 192;

fn too_many(num_rows: usize, refusal: Refusal) -> Error {
    refusal.at(format_args!("a sparse tensor has {num_rows} rows, more than memory can hold"))
}

fn concatenate(dtype: DType, rows: &[SparseTensor]) -> Result<Tensor> {
    let shape = Shape::new(&[rows.iter().map(SparseTensor::num_values).sum()]);
    if dtype == DType::String {
        let strings = rows.iter().flat_map(|row| row.values.string_values()).cloned();
        let strings = allocate::elements(dtype, &shape).collect(strings)?;
        return Tensor::strings(shape, strings);
    }
    let mut bytes = allocate::elements(dtype, &shape).room()?;
    for row in rows {
        bytes.extend_from_slice(row.values.stored()?);
    }
    Tensor::from_bytes(dtype, shape, bytes.into())
}

/// Formats numbers for an error message.
pub(crate) fn bracketed(numbers: &[i64]) -> String {
    format!("[{}]", numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(","))
}

/// A table of sparse tensors by handle. Each tensor stays until it is taken. Any thread may use the
/// table.
#[derive(Debug, Default)]
pub struct SparseTable(Mutex<Parked>);

#[derive(Debug, Default)]
struct Parked {
    next_handle: i64,
    tensors: HashMap<i64, SparseTensor>,
}

impl SparseTable {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of tensors in the table.
    pub fn size(&self) -> usize {
        self.0.lock().tensors.len()
    }

    /// Stores a tensor and returns a unique handle.
    pub fn park(&self, mut tensor: SparseTensor) -> i64 {
        tensor.values.unshare();
        let mut parked = self.0.lock();
        let handle = parked.next_handle;
        parked.next_handle += 1;
        parked.tensors.insert(handle, tensor);
        handle
    }

    /// The tensors and their handles; see [`crate::saved`].
    pub fn save(&self) -> Result<Chunks> {
        let parked = self.0.lock();
        let mut content = Content::default();
        content.number(parked.next_handle.cast_unsigned());
        let handles: Vec<_> = parked.tensors.keys().copied().collect();
        for position in order::by_key(handles.len(), |position| handles[position]) {
            let handle = handles[position];
            content.number(handle.cast_unsigned());
            let parts = parked.tensors[&handle].clone().into_parts()?;
            parts.iter().try_for_each(|part| content.tensor(part))?;
        }
        Ok(saved::one(content))
    }

    /// Replaces the tensors with saved ones.
    pub fn prepare(self: &Arc<Self>, chunks: SavedChunks) -> Result<Restore> {
        let chunk = saved::only(chunks)?;
        let mut reading = Reading::new(&chunk);
        let next_handle = reading.number()?.cast_signed();
        let mut tensors = HashMap::new();
        while !reading.is_at_end() {
            let handle = reading.number()?.cast_signed();
            let (indices, values, dense_shape) = (reading.tensor()?, reading.tensor()?, reading.tensor()?);
            let tensor = SparseTensor::new(&indices, values, &dense_shape).map_err(|_| saved::damaged())?;
            if handle >= next_handle || tensors.insert(handle, tensor).is_some() {
                return Err(saved::damaged());
            }
        }
        let table = Arc::clone(self);
        Ok(Box::new(move || *table.0.lock() = Parked { next_handle, tensors }))
    }

    /// Removes tensors and returns them in the order of the handles.
    pub fn take(&self, handles: &[i64]) -> Result<Vec<SparseTensor>> {
        let mut parked = self.0.lock();
        let missing = |handle| Error::invalid_argument(format!("Unable to find SparseTensor: {handle} in map"));
        handles.iter().map(|handle| parked.tensors.remove(handle).ok_or_else(|| missing(handle))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sparse(indices: &[&[i64]], values: &[i32], dense_shape: &[i64]) -> Result<SparseTensor> {
        let indices_shape = Shape::new(&[indices.len(), indices.first().map_or(dense_shape.len(), |row| row.len())]);
        SparseTensor::new(
            &Tensor::from_values(indices_shape, indices.concat()).unwrap(),
            Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap(),
            &Tensor::from_values(Shape::new(&[dense_shape.len()]), dense_shape.to_vec()).unwrap(),
        )
    }

    #[test]
    fn stacking_split_rows_restores_their_order() {
        let matrix = sparse(&[&[2, 1], &[0, 0], &[2, 0]], &[5, 6, 7], &[3, 4]).unwrap();
        let rows = matrix.rows(None).unwrap();
        assert_eq!(rows[2], sparse(&[&[1], &[0]], &[5, 7], &[4]).unwrap());
        let stacked = SparseTensor::stack(&rows, DType::Int32).unwrap();
        assert_eq!(stacked, sparse(&[&[0, 0], &[2, 1], &[2, 0]], &[6, 5, 7], &[3, 4]).unwrap());
    }

    #[test]
    fn stack_is_as_large_as_the_largest_row() {
        let rows = [sparse(&[], &[], &[2, 7]).unwrap(), sparse(&[&[4, 0]], &[1], &[5, 1]).unwrap()];
        let stacked = SparseTensor::stack(&rows, DType::Int32).unwrap();
        assert_eq!(stacked, sparse(&[&[1, 4, 0]], &[1], &[2, 5, 7]).unwrap());
    }

    #[test]
    fn only_selected_rows_are_split_off() {
        let matrix = sparse(&[&[0, 0], &[1, 1]], &[5, 6], &[2, 4]).unwrap();
        let keep = Tensor::from_bytes(DType::Bool, Shape::new(&[2]), vec![0, 1].into()).unwrap();
        assert_eq!(matrix.rows(Some(&keep)).unwrap(), [sparse(&[&[1]], &[6], &[4]).unwrap()]);
        let short = Tensor::from_bytes(DType::Bool, Shape::new(&[1]), vec![1].into()).unwrap();
        let text = matrix.rows(Some(&short)).unwrap_err().message().to_owned();
        assert_eq!(text, "data.shape must start with partitions.shape, got data.shape = [2,4], partitions.shape = [1]");
    }

    #[test]
    fn strings_are_split_and_stacked() {
        let values = Tensor::strings(Shape::new(&[2]), vec!["a".into(), "b".into()]).unwrap();
        let numbers =
            |shape: &[usize], values: &[i64]| Tensor::from_values(Shape::new(shape), values.to_vec()).unwrap();
        let matrix = SparseTensor::new(&numbers(&[2, 2], &[0, 0, 1, 0]), values, &numbers(&[2], &[2, 1])).unwrap();
        let rows = matrix.rows(None).unwrap();
        assert_eq!(rows[1].values.string_values(), ["b"]);
        assert_eq!(SparseTensor::stack(&rows, DType::String).unwrap(), matrix);
    }

    #[test]
    fn invalid_sparse_tensors_are_rejected() {
        let text = |result: Result<SparseTensor>| result.unwrap_err().message().to_owned();
        assert_eq!(
            text(sparse(&[&[0, 4]], &[1], &[2, 4])),
            "indices[0] = [0,4] is out of bounds: need 0 <= index < [2,4]"
        );
        assert!(text(sparse(&[&[0]], &[1, 2], &[2])).contains("values of shape [2]"));
        let (vector, matrix) = (sparse(&[], &[], &[1]).unwrap(), sparse(&[], &[], &[1, 1]).unwrap());
        assert_eq!(
            vector.rows(None).unwrap_err().message(),
            "Rank of input SparseTensor should be > 1, but saw rank: 1"
        );
        assert!(text(SparseTensor::stack(&[vector.clone(), matrix], DType::Int32)).contains("Inconsistent rank"));
        assert!(text(SparseTensor::stack(&[vector], DType::Int64)).contains("Requested SparseTensor of type int64"));
        assert!(text(SparseTensor::stack(&[], DType::Int64)).contains("Must have at least 1"));
    }

    #[test]
    fn more_rows_than_fit_in_memory_are_an_error() {
        let huge = sparse(&[], &[], &[i64::MAX, 1]).unwrap();
        assert_eq!(huge.rows(None).unwrap_err().code(), crate::error::Code::ResourceExhausted);
    }

    #[test]
    fn tensor_can_be_taken_once() {
        let table = SparseTable::new();
        let (first, second) = (sparse(&[], &[], &[1]).unwrap(), sparse(&[], &[], &[2]).unwrap());
        let handles = [table.park(first.clone()), table.park(second.clone())];
        assert_eq!(table.take(&[handles[1], handles[0]]).unwrap(), [second, first]);
        assert_eq!(table.size(), 0);
        assert_eq!(table.take(&handles).unwrap_err().message(), "Unable to find SparseTensor: 0 in map");
    }
}
