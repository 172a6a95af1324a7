//! `SparseSlice`, `SparseSplit`: return parts of a sparse tensor.

use super::numbers;
use super::parts::{Parts, vector};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::array::join;
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::sparse::bracketed;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;

/// Maps `(indices, values, shape, start, size)` to the parts of the slice. Its elements keep their
/// order. The slice is cut off at the end of the tensor.
///
/// Source: `tf.sparse_slice` in TensorFlow 1.15.
pub struct SparseSlice;

impl Kernel for SparseSlice {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [indices, values, shape, start, size] = expect_inputs(&inputs)?;
        let parts = Parts::new(indices, values, shape)?;
        let (starts, sizes) = (vector_of(start, "start", parts.rank())?, vector_of(size, "size", parts.rank())?);
        if let Some(size) = sizes.iter().find(|size| **size < 0) {
            return Err(Error::invalid_argument(format!("The size of a slice is {size}, expected at least 0")));
        }
        let end = |axis: usize| starts[axis].saturating_add(sizes[axis]);
        let is_inside = |row: &[i64]| (0..row.len()).all(|axis| (starts[axis]..end(axis)).contains(&row[axis]));
        let inside = allocate::gathered((0..parts.num_values()).filter(|element| is_inside(parts.row(*element))));
        let inside = inside.map_err(refused)?;
        let shape = Shape::new(&[inside.len(), parts.rank()]);
        let shifted = inside.iter().flat_map(|element| parts.row(*element).iter().zip(starts));
        let rows =
            allocate::elements(DType::Int64, &shape).collect(shifted.map(|(at, start)| at.wrapping_sub(*start)))?;
        let rest = |axis: usize| match end(axis) < parts.sizes[axis] {
            true => sizes[axis],
            false => parts.sizes[axis].saturating_sub(starts[axis]).max(0),
        };
        let new_sizes: Vec<_> = (0..parts.rank()).map(rest).collect();
        Ok(Step::Done(Outputs::from_iter([
            Tensor::from_values(shape, rows)?,
            values.take_rows(&inside, &[inside.len()])?,
            vector(&new_sizes)?,
        ])))
    }
}

/// The error if memory is short.
fn refused(refusal: allocate::Refusal) -> Error {
    refusal.at("the elements of a sparse slice")
}

fn vector_of<'t>(tensor: &'t Tensor, what: &str, length: usize) -> Result<&'t [i64]> {
    let elements = numbers(tensor, 1, what)?;
    match elements.len() == length {
        true => Ok(elements),
        false => Err(Error::invalid_argument(format!(
            "Expected {what} to be a vector of length {length} but got length {}",
            elements.len()
        ))),
    }
}

/// Maps `(axis, indices, values, shape)` to the indices of each piece, then the values, then the
/// shapes. If the pieces cannot all be equal, the first ones are larger by one.
///
/// Source: `tf.sparse_split` in TensorFlow 1.15.
pub struct SparseSplit {
    num_pieces: usize,
}

impl SparseSplit {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let num_split = attrs.int("num_split")?;
        let num_pieces = usize::try_from(num_split).ok().filter(|number| *number > 0);
        let refused = || Error::invalid_argument(format!("num_split is {num_split}, expected at least 1"));
        Ok(Self { num_pieces: num_pieces.ok_or_else(refused)? })
    }
}

/// One piece along the axis.
#[derive(Default)]
struct Piece {
    elements: Vec<usize>,
    indices: Vec<i64>,
}

impl Kernel for SparseSplit {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [axis, indices, values, shape] = expect_inputs(&inputs)?;
        let parts = Parts::new(indices, values, shape)?;
        let (rank, axis) = (parts.rank(), axis.integer_scalar("split_dim")?);
        let Some(position) = join::position(axis, rank) else {
            let text = format!("Input split_dim should be between [-{rank}, {rank}), got {axis}");
            return Err(Error::invalid_argument(text));
        };
        let size = usize::try_from(parts.sizes[position]).unwrap_or(0);
        if self.num_pieces > size {
            let (size, got) = (parts.sizes[position], self.num_pieces);
            return Err(Error::invalid_argument(format!(
                "Input num_split should be between 1 and the splitting dimension size ({size}), got {got}"
            )));
        }
        let (least, num_larger) = (size / self.num_pieces, size % self.num_pieces);
        let begin = |piece: usize| piece * least + piece.min(num_larger);
        let in_larger = num_larger * (least + 1);
        let mut pieces: Vec<Piece> =
            allocate::collected(self.num_pieces, (0..self.num_pieces).map(|_| Piece::default())).map_err(refused)?;
        for (element, row) in parts.rows().enumerate() {
            let Some(at) = usize::try_from(row[position]).ok().filter(|at| *at < size) else {
                let (row, sizes) = (bracketed(row), bracketed(parts.sizes));
                return Err(Error::invalid_argument(format!(
                    "indices[{element}] = {row} is out of bounds: need 0 <= index < {sizes}"
                )));
            };
            let number = if at < in_larger { at / (least + 1) } else { num_larger + (at - in_larger) / least };
            let piece = &mut pieces[number];
            allocate::grow(&mut piece.elements, 1).map_err(refused)?;
            allocate::grow(&mut piece.indices, rank).map_err(refused)?;
            piece.elements.push(element);
            piece.indices.extend_from_slice(row);
            let last = piece.indices.len() - rank + position;
            piece.indices[last] = (at - begin(number)) as i64;
        }
        let mut outputs: [Vec<Tensor>; 3] = Default::default();
        for (number, piece) in pieces.into_iter().enumerate() {
            let count = piece.elements.len();
            let mut sizes = parts.sizes.to_vec();
            sizes[position] = (begin(number + 1) - begin(number)) as i64;
            outputs[0].push(Tensor::from_values(Shape::new(&[count, rank]), piece.indices)?);
            outputs[1].push(values.take_rows(&piece.elements, &[count])?);
            outputs[2].push(vector(&sizes)?);
        }
        Ok(Step::Done(outputs.into_iter().flatten().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run};

    fn int64s(dims: &[usize], values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    /// Five elements of a 4×5 matrix.
    fn matrix() -> [Tensor; 3] {
        let indices = int64s(&[5, 2], &[0, 0, 0, 2, 1, 1, 2, 3, 3, 0]);
        [indices, int64s(&[5], &[1, 2, 3, 4, 5]), int64s(&[2], &[4, 5])]
    }

    fn slice(start: &[i64], size: &[i64]) -> Vec<Tensor> {
        matrix().into_iter().chain([int64s(&[start.len()], start), int64s(&[size.len()], size)]).collect()
    }

    fn split(num_split: i64) -> SparseSplit {
        SparseSplit::from_attrs(&attrs([("num_split", Attr::Int(num_split))])).unwrap()
    }

    fn along(axis: i64) -> Vec<Tensor> {
        std::iter::once(Tensor::scalar(axis)).chain(matrix()).collect()
    }

    #[test]
    fn slice_is_clipped_at_the_end_of_the_tensor() {
        let outputs = run(&SparseSlice, &slice(&[0, 1], &[3, 2])).unwrap();
        assert_eq!(outputs, [int64s(&[2, 2], &[0, 1, 1, 0]), int64s(&[2], &[2, 3]), int64s(&[2], &[3, 2])]);
        let outputs = run(&SparseSlice, &slice(&[1, 1], &[30, i64::MAX])).unwrap();
        assert_eq!(outputs, [int64s(&[2, 2], &[0, 0, 1, 2]), int64s(&[2], &[3, 4]), int64s(&[2], &[3, 4])]);
        let outputs = run(&SparseSlice, &slice(&[9, 0], &[1, 2])).unwrap();
        assert_eq!(outputs, [int64s(&[0, 2], &[]), int64s(&[0], &[]), int64s(&[2], &[0, 2])]);
    }

    #[test]
    fn invalid_slices_are_rejected() {
        assert_eq!(
            error_text(&SparseSlice, &slice(&[0], &[1, 1])),
            "InvalidArgument: Expected start to be a vector of length 2 but got length 1"
        );
        assert_eq!(
            error_text(&SparseSlice, &slice(&[0, 0], &[1, -1])),
            "InvalidArgument: The size of a slice is -1, expected at least 0"
        );
    }

    #[test]
    fn first_pieces_of_an_uneven_split_are_larger() {
        let outputs = run(&split(3), &along(1)).unwrap();
        let indices = [&[0, 0, 1, 1, 3, 0][..], &[0, 0, 2, 1], &[]];
        let (values, widths) = ([&[1, 3, 5][..], &[2, 4], &[]], [2, 2, 1]);
        for piece in 0..3 {
            let count = values[piece].len();
            assert_eq!(outputs[piece], int64s(&[count, 2], indices[piece]));
            assert_eq!(outputs[3 + piece], int64s(&[count], values[piece]));
            assert_eq!(outputs[6 + piece], int64s(&[2], &[4, widths[piece]]));
        }
        assert_eq!(run(&split(1), &along(-2)).unwrap(), matrix());
    }

    #[test]
    fn invalid_splits_are_rejected() {
        assert_eq!(
            error_text(&split(2), &along(2)),
            "InvalidArgument: Input split_dim should be between [-2, 2), got 2"
        );
        assert_eq!(
            error_text(&split(6), &along(1)),
            "InvalidArgument: Input num_split should be between 1 and the splitting dimension size (5), got 6"
        );
        let mut inputs = along(0);
        inputs[3] = int64s(&[2], &[3, 5]);
        assert_eq!(
            error_text(&split(2), &inputs),
            "InvalidArgument: indices[4] = [3,0] is out of bounds: need 0 <= index < [3,5]"
        );
        let error = SparseSplit::from_attrs(&attrs([("num_split", Attr::Int(0))])).map(drop).unwrap_err();
        assert_eq!(format!("{error:?}"), "InvalidArgument: num_split is 0, expected at least 1");
    }
}
