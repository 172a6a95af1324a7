//! Strided views of tensors, and how to copy their elements.

use crate::error::Result;
use crate::tensor::Tensor;
use crate::tensor::allocate::{self, Elements};
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use bytemuck::Pod;
use smallvec::SmallVec;

/// A selection of a tensor's elements in a certain order: a start, and a length and a step for each
/// dimension.
#[derive(Debug)]
pub struct View {
    start: isize,
    /// Outermost first. Adjacent dimensions that continue with the same step are merged, and
    /// dimensions of length 1 are dropped.
    dims: SmallVec<[Dim; 4]>,
    num_elements: usize,
}

/// One dimension of a view. The step is counted in elements. It may be negative, or 0 to repeat the
/// inner dimensions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dim {
    pub length: usize,
    pub step: isize,
}

const ONE: Dim = Dim { length: 1, step: 0 };

/// The number of pixels to interleave at a time.
const BLOCK_LENGTH: usize = 64;

/// The step of each dimension in a tensor of this shape.
pub fn steps_of(shape: &Shape) -> SmallVec<[isize; 4]> {
    let mut step = 1;
    #[expect(clippy::disallowed_methods, reason = "one for each axis")]
    let mut steps: SmallVec<[isize; 4]> = SmallVec::from_elem(0, shape.len());
    for (axis, length) in shape.iter().enumerate().rev() {
        steps[axis] = step;
        step *= *length as isize;
    }
    steps
}

impl View {
    /// Selects the elements at `start` plus every combination of the dimensions' steps. All of them
    /// must be elements of the tensor.
    pub fn new(start: isize, dims: impl IntoIterator<Item = Dim>) -> Self {
        let mut joined: SmallVec<[Dim; 4]> = SmallVec::new();
        let mut num_elements = 1;
        for dim in dims {
            num_elements *= dim.length;
            match joined.last_mut() {
                _ if dim.length == 1 => {}
                Some(outer) if outer.step == dim.step * dim.length as isize => {
                    *outer = Dim { length: outer.length * dim.length, step: dim.step };
                }
                _ => joined.push(dim),
            }
        }
        Self { start, dims: joined, num_elements }
    }

    /// The range of the elements, if they are contiguous.
    fn run(&self) -> Option<std::ops::Range<usize>> {
        match self.dims[..] {
            [] | [Dim { step: 1, .. }] => Some(self.start as usize..self.start as usize + self.num_elements),
            _ => None,
        }
    }

    /// Creates a tensor of shape `shape` from the selected elements of `tensor`. It may alias the
    /// memory of `tensor` if it has most of its elements.
    pub fn of(&self, tensor: &Tensor, shape: Shape) -> Result<Tensor> {
        if self.num_elements == 0 {
            return Tensor::empty(tensor.dtype(), shape);
        }
        tensor.rearranged(|tensor| self.of_stored(tensor, shape))
    }

    /// Like [`View::of`], for elements that are not deferred.
    fn of_stored(&self, tensor: &Tensor, shape: Shape) -> Result<Tensor> {
        if let Some(run) = self.run() {
            return tensor.part(run, shape);
        }
        let (dtype, bytes) = (tensor.dtype(), tensor.stored()?);
        if dtype == DType::String {
            let strings = self.collected(tensor.string_values(), allocate::elements(dtype, &shape), extend)?;
            return Tensor::strings(shape, strings);
        }
        let elements = allocate::elements(dtype, &shape);
        let copied: Vec<u8> = match dtype.size() {
            1 => self.collected(bytes, elements, extend_numbers)?,
            2 => self.collected(bytes.as_chunks::<2>().0, elements, extend_numbers)?.into_flattened(),
            4 => self.collected(bytes.as_chunks::<4>().0, elements, extend_numbers)?.into_flattened(),
            8 => self.collected(bytes.as_chunks::<8>().0, elements, extend_numbers)?.into_flattened(),
            _ => self.collected(bytes.as_chunks::<16>().0, elements, extend_numbers)?.into_flattened(),
        };
        Tensor::from_bytes(dtype, shape, copied.into())
    }

    fn collected<T>(&self, elements: &[T], memory: Elements, extend: Extend<T>) -> Result<Vec<T>> {
        let mut out = memory.room()?;
        self.collect(elements, &mut out, extend);
        Ok(out)
    }

    /// Appends the selected elements to `out`. `extend` appends the elements of the two innermost
    /// dimensions. A counter runs over the outer dimensions.
    fn collect<T>(&self, elements: &[T], out: &mut Vec<T>, extend: Extend<T>) {
        let (outer, rows, columns) = match self.dims[..] {
            [ref outer @ .., rows, columns] => (outer, rows, columns),
            [columns] => (&[][..], ONE, columns),
            [] => (&[][..], ONE, ONE),
        };
        #[expect(clippy::disallowed_methods, reason = "one for each axis")]
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer.len());
        let mut start = self.start;
        loop {
            extend(out, elements, start, rows, columns);
            let mut axis = outer.len();
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                index[axis] += 1;
                start += outer[axis].step;
                if index[axis] < outer[axis].length {
                    break;
                }
                index[axis] = 0;
                start -= outer[axis].step * outer[axis].length as isize;
            }
        }
    }
}

/// Appends rows of elements to a vector. They are described by the first element and two
/// dimensions.
type Extend<T> = fn(&mut Vec<T>, &[T], isize, Dim, Dim);

/// Like [`extend`], with a fast path for a common case: colour planes that become interleaved
/// pixels.
fn extend_numbers<T: Pod>(out: &mut Vec<T>, elements: &[T], start: isize, rows: Dim, columns: Dim) {
    match (rows.step, columns) {
        (1, Dim { length: 3, step }) => {
            let planes = [0, 1, 2].map(|plane| &elements[(start + plane * step) as usize..][..rows.length]);
            pulp::Arch::new().dispatch(Interleaving { planes, out });
        }
        _ => extend(out, elements, start, rows, columns),
    }
}

/// Interleaves the elements of planes, with the widest vectors that the machine has.
struct Interleaving<'a, T> {
    planes: [&'a [T]; 3],
    out: &'a mut Vec<T>,
}

impl<T: Pod> pulp::WithSimd for Interleaving<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) {
        let [red, green, blue] = self.planes.map(|plane| plane.chunks(BLOCK_LENGTH));
        let mut block = [[T::zeroed(); 3]; BLOCK_LENGTH];
        for ((red, green), blue) in red.zip(green).zip(blue) {
            let pixels = block.iter_mut().zip(red).zip(green).zip(blue);
            pixels.for_each(|(((pixel, red), green), blue)| *pixel = [*red, *green, *blue]);
            self.out.extend_from_slice(block[..red.len()].as_flattened());
        }
    }
}

/// Appends rows of elements to `out`.
fn extend<T: Clone>(out: &mut Vec<T>, elements: &[T], start: isize, rows: Dim, columns: Dim) {
    let at = |row: usize| start + row as isize * rows.step;
    for row in 0..rows.length {
        let first = at(row) as usize;
        match columns.step {
            0 => out.extend(std::iter::repeat_n(&elements[first], columns.length).cloned()),
            1 => out.extend_from_slice(&elements[first..first + columns.length]),
            step if step > 0 => {
                out.extend(elements[first..].iter().step_by(step as usize).take(columns.length).cloned());
            }
            step => {
                let backwards = elements[..=first].iter().rev().step_by(step.unsigned_abs());
                out.extend(backwards.take(columns.length).cloned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn elements_are_in_the_defined_order(
            lengths in prop::collection::vec(0_usize..4, 0..5),
            steps in prop::collection::vec(-5_isize..6, 5),
        ) {
            let dims: Vec<Dim> = lengths.iter().zip(&steps).map(|(l, s)| Dim { length: *l, step: *s }).collect();
            let start = 60;
            let mut expected = vec![start];
            for dim in &dims {
                expected = expected
                    .iter()
                    .flat_map(|at| (0..dim.length).map(move |index| at + index as isize * dim.step))
                    .collect();
            }
            let values: Vec<i32> = (0..121).collect();
            let tensor = Tensor::from_values(Shape::new(&[121]), values).unwrap();
            let picked = View::new(start, dims).of(&tensor, lengths.into_iter().collect()).unwrap();
            let got: Vec<isize> = picked.values::<i32>().unwrap().iter().map(|value| *value as isize).collect();
            prop_assert_eq!(got, expected);
        }
    }

    #[test]
    fn contiguous_dimensions_are_merged() {
        let dims = |lengths: &[usize], steps: &[isize]| {
            let dims = lengths.iter().zip(steps).map(|(length, step)| Dim { length: *length, step: *step });
            View::new(0, dims).dims.len()
        };
        assert_eq!(dims(&[2, 3, 4], &[12, 4, 1]), 1);
        assert_eq!(dims(&[2, 1, 4], &[12, 7, 1]), 2);
        assert_eq!(dims(&[4, 3], &[1, 4]), 2);
        assert_eq!(dims(&[1, 1], &[3, 3]), 0);
    }

    #[test]
    fn planes_are_interleaved_into_pixels_of_every_type() {
        let pixels = |tensor: &Tensor| {
            let dims = [Dim { length: 2, step: 1 }, Dim { length: 3, step: 2 }];
            View::new(0, dims).of(tensor, Shape::new(&[2, 3])).unwrap()
        };
        let bytes = Tensor::from_values(Shape::new(&[3, 2]), vec![1_u8, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(pixels(&bytes).bytes(), [1, 3, 5, 2, 4, 6]);
        let doubles = Tensor::from_values(Shape::new(&[3, 2]), vec![1_f64, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(pixels(&doubles).values::<f64>().unwrap(), [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]);
        let strings = Tensor::strings(Shape::new(&[3, 2]), ["a", "b", "c", "d", "e", "f"].map(Into::into).to_vec());
        assert_eq!(pixels(&strings.unwrap()).string_values(), ["a", "c", "e", "b", "d", "f"]);
    }
}
