//! Array rows that are not contiguous in memory, such as transposed arrays and overlapping windows.

use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;

/// An array whose elements may skip or repeat parts of its memory.
///
/// Element `[i, j, …]` begins at byte `first + i * strides[0] + j * strides[1] + …` of `memory`.
pub struct Strided {
    dtype: DType,
    shape: Shape,
    memory: Bytes,
    first: usize,
    strides: Vec<isize>,
    /// The number of axes before the contiguous ones.
    num_outer: usize,
    /// The number of contiguous bytes in a row.
    run_bytes: usize,
}

impl Strided {
    /// Fails for strings, for arrays without axes, and if an element lies outside the memory.
    pub fn new(dtype: DType, shape: Shape, memory: Bytes, first: usize, strides: Vec<isize>) -> Result<Self> {
        if dtype == DType::String || shape.is_empty() || shape.len() != strides.len() {
            return Err(Error::internal(format!("{dtype} of shape {shape} with the strides {strides:?}")));
        }
        let (num_outer, run_bytes) = run(&shape, &strides, dtype.size());
        let array = Self { dtype, shape, memory, first, strides, num_outer, run_bytes };
        match array.is_within() {
            true => Ok(array),
            false => Err(Error::internal("an array has elements outside its memory")),
        }
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    /// The size of a row in bytes.
    pub fn row_bytes(&self) -> usize {
        self.shape.row().num_elements() * self.dtype.size()
    }

    /// Copies the rows at these indices.
    pub fn gather(&self, numbers: &[u64]) -> Result<Tensor> {
        let shape = self.shape.row().batched(numbers.len());
        let mut bytes = allocate::elements(self.dtype, &shape).room()?;
        if shape.num_elements() > 0 {
            for number in numbers {
                self.copy(1, self.start(self.first, 0, *number as usize)?, &mut bytes)?;
            }
        }
        if self.dtype == DType::Bool {
            // NumPy also treats bytes other than 0 and 1 as true.
            bytes.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        Tensor::from_bytes(self.dtype, shape, bytes.into())
    }

    /// Copies the elements of `axis` and all later axes. The first one begins at `start`.
    fn copy(&self, axis: usize, start: usize, bytes: &mut Vec<u8>) -> Result<()> {
        if axis >= self.num_outer {
            let run = self.memory.get(start..start + self.run_bytes).ok_or_else(outside)?;
            bytes.extend_from_slice(run);
            return Ok(());
        }
        (0..self.shape[axis]).try_for_each(|index| self.copy(axis + 1, self.start(start, axis, index)?, bytes))
    }

    /// Returns where element `index` of an axis begins, if the axis begins at `start`.
    fn start(&self, start: usize, axis: usize, index: usize) -> Result<usize> {
        let way = self.strides[axis].checked_mul(index as isize).ok_or_else(outside)?;
        start.checked_add_signed(way).ok_or_else(outside)
    }

    /// Returns true if all elements lie inside the memory.
    fn is_within(&self) -> bool {
        if self.shape.contains(&0) {
            return true;
        }
        let mut ends = (Some(self.first), Some(self.first));
        for (stride, dim) in self.strides.iter().zip(self.shape.iter()) {
            let way = stride.checked_mul(*dim as isize - 1);
            let end = if *stride < 0 { &mut ends.0 } else { &mut ends.1 };
            *end = end.zip(way).and_then(|(end, way)| end.checked_add_signed(way));
        }
        let last = ends.1.and_then(|last| last.checked_add(self.dtype.size()));
        ends.0.is_some() && last.is_some_and(|last| last <= self.memory.len())
    }
}

fn outside() -> Error {
    Error::internal("a row is outside the memory of its array")
}

/// Returns the number of axes before the contiguous ones, including the first, and the number of
/// contiguous bytes.
fn run(dims: &[usize], strides: &[isize], element_bytes: usize) -> (usize, usize) {
    let mut bytes = element_bytes;
    for axis in (1..dims.len()).rev() {
        if dims[axis] != 1 && usize::try_from(strides[axis]) != Ok(bytes) {
            return (axis + 1, bytes);
        }
        bytes = bytes.saturating_mul(dims[axis]);
    }
    (1, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: u16) -> Bytes {
        (0..count).flat_map(u16::to_ne_bytes).collect::<Vec<_>>().into()
    }

    fn rows(shape: &[usize], first: usize, strides: &[isize], row_numbers: &[u64]) -> Vec<u16> {
        let array = Strided::new(DType::UInt16, Shape::new(shape), numbers(24), first, strides.to_vec()).unwrap();
        let rows = array.gather(row_numbers).unwrap();
        assert_eq!(rows.shape().row(), Shape::new(&shape[1..]));
        rows.values::<u16>().unwrap().to_vec()
    }

    #[test]
    fn overlapping_windows_are_rows() {
        assert_eq!(rows(&[22, 3], 0, &[2, 2], &[21, 0]), [21, 22, 23, 0, 1, 2]);
    }

    #[test]
    fn transposed_and_reversed_arrays_are_read_element_by_element() {
        assert_eq!(rows(&[4, 6], 0, &[2, 8], &[1]), [1, 5, 9, 13, 17, 21]);
        assert_eq!(rows(&[24], 46, &[-2], &[0, 23]), [23, 0]);
        assert_eq!(rows(&[2, 2, 3], 0, &[24, 6, 2], &[1]), [12, 13, 14, 15, 16, 17]);
        assert_eq!(rows(&[2, 3, 2], 0, &[24, 2, 6], &[1]), [12, 15, 13, 16, 14, 17]);
        assert_eq!(rows(&[5, 3], 4, &[0, 2], &[4, 2]), [2, 3, 4, 2, 3, 4]);
        assert_eq!(rows(&[5, 0], 4, &[0, 2], &[4, 2]), [0; 0]);
    }

    #[test]
    fn bools_are_0_or_1() {
        let array = Strided::new(DType::Bool, Shape::new(&[3]), vec![0, 9, 7, 9, 1].into(), 0, vec![2]).unwrap();
        assert_eq!(array.gather(&[0, 1, 2]).unwrap().bytes(), [0, 1, 1]);
    }

    #[test]
    fn element_outside_the_memory_is_rejected() {
        for (shape, first, stride) in [(24, 2, 2), (2, 0, -2), (25, 0, 2), (2, 0, isize::MAX)] {
            let array = Strided::new(DType::UInt16, Shape::new(&[shape]), numbers(24), first, vec![stride]);
            assert!(array.is_err(), "{shape} {first} {stride}");
        }
    }
}
