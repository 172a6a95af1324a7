//! Broadcasts two shapes and iterates over both.

use crate::error::{Error, Result};
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use smallvec::SmallVec;
use std::iter::repeat_n;

/// Repeated values are copied into a buffer of up to this length. Short rows, such as the channels
/// of a pixel, are repeated because a loop over a few elements costs more than the elements. A
/// single value of the first operand is repeated because another loop per function and type would
/// make the binary much larger.
const TILE: usize = 256;

/// Iterates over two tensors, repeating dimensions of size 1.
///
/// Adjacent dimensions that behave alike are merged. Equal shapes, or a scalar and any shape,
/// therefore form a single row, and the loop is as tight as one over slices.
pub struct Broadcast {
    shape: Shape,
    /// At least one dimension, outermost first.
    dims: SmallVec<[Dim; 4]>,
}

/// The elements of the second operand that match a piece of the first.
#[derive(Clone, Copy)]
enum Partners<'a, T> {
    /// One element per element of the piece.
    Each(&'a [T]),
    /// The same element for the whole piece.
    One(T),
}

/// One dimension of the iteration. Steps are counted in elements and are 0 if the operand is
/// repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Dim {
    length: usize,
    x_step: usize,
    y_step: usize,
}

impl Broadcast {
    /// Broadcasts `x` and `y` as NumPy does. Fails if they are incompatible or the result has too
    /// many elements.
    pub fn new(x: &Shape, y: &Shape) -> Result<Self> {
        if x == y {
            let row = Dim { length: x.num_elements(), x_step: 1, y_step: 1 };
            return Ok(Self { shape: x.clone(), dims: SmallVec::from_iter([row]) });
        }
        let rank = x.len().max(y.len());
        let padded = |shape: &Shape, axis: usize| (axis + shape.len()).checked_sub(rank).map_or(1, |axis| shape[axis]);
        let common = |axis| match (padded(x, axis), padded(y, axis)) {
            (size, 1) | (1, size) => Some(size),
            (x_size, y_size) => Some(x_size).filter(|_| x_size == y_size),
        };
        let shape: Option<Shape> = (0..rank).map(common).collect();
        let shape = shape.ok_or_else(|| Error::invalid_argument(format!("Incompatible shapes: {x} vs. {y}")))?;
        shape.checked_num_elements()?;
        let mut dims = SmallVec::<[Dim; 4]>::new();
        let (mut x_step, mut y_step) = (1, 1);
        for axis in (0..rank).rev() {
            let (x_size, y_size, length) = (padded(x, axis), padded(y, axis), shape[axis]);
            let step = |size, step| if size == 1 { 0 } else { step };
            push_outer(&mut dims, Dim { length, x_step: step(x_size, x_step), y_step: step(y_size, y_step) });
            x_step *= x_size;
            y_step *= y_size;
        }
        if dims.is_empty() {
            dims.push(Dim { length: 1, x_step: 0, y_step: 0 });
        }
        dims.reverse();
        Ok(Self { shape, dims })
    }

    /// The shape of the result.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Applies `function` to each pair of elements in row-major order. Returns the elements of a
    /// tensor of dtype `dtype`.
    pub fn map<T: Copy, U: Copy>(
        &self,
        dtype: DType,
        x: &[T],
        y: &[T],
        function: impl Fn(T, T) -> U,
    ) -> Result<Vec<U>> {
        let mut out = allocate::elements(dtype, &self.shape).room()?;
        // These two loops are instantiated for hundreds of functions and types.
        self.for_each_piece(x, y, &mut |x, y| match y {
            Partners::Each(y) => out.extend(x.iter().zip(y).map(|(x, y)| function(*x, *y))),
            Partners::One(y) => out.extend(x.iter().map(|x| function(*x, y))),
        });
        Ok(out)
    }

    /// Calls `visit` with pieces of `x` and the matching elements of `y`, in row-major order.
    /// Repeated parts of `x` are written out.
    fn for_each_piece<T: Copy>(&self, x: &[T], y: &[T], visit: &mut dyn FnMut(&[T], Partners<'_, T>)) {
        if let [outer, Dim { length, x_step: 1, y_step: 1 }] = self.dims[..]
            && length < TILE
        {
            match outer {
                Dim { y_step: 0, .. } => return for_each_tile(x, y, &mut |x, y| visit(x, Partners::Each(y))),
                Dim { x_step: 0, .. } => return for_each_tile(y, x, &mut |y, x| visit(x, Partners::Each(y))),
                _ => {}
            }
        }
        let row = self.dims[self.dims.len() - 1];
        let mut tile = SmallVec::<[T; TILE]>::new();
        self.for_each_row(|x_start, y_start| {
            let partners = |start: usize, length: usize| match row.y_step {
                1 => Partners::Each(&y[y_start + start..][..length]),
                _ => Partners::One(y[y_start]),
            };
            if row.x_step == 1 {
                visit(&x[x_start..][..row.length], partners(0, row.length));
                return;
            }
            tile.clear();
            tile.extend(repeat_n(x[x_start], TILE.min(row.length)));
            for start in (0..row.length).step_by(TILE) {
                let length = TILE.min(row.length - start);
                visit(&tile[..length], partners(start, length));
            }
        });
    }

    /// Calls `visit` with the offsets in `x` and `y` at which each innermost row begins.
    fn for_each_row(&self, mut visit: impl FnMut(usize, usize)) {
        if self.shape.num_elements() == 0 {
            return;
        }
        let outer = &self.dims[..self.dims.len() - 1];
        #[expect(clippy::disallowed_methods, reason = "one for each axis")]
        let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer.len());
        let (mut x, mut y) = (0, 0);
        loop {
            visit(x, y);
            let mut axis = outer.len();
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                let dim = outer[axis];
                index[axis] += 1;
                x += dim.x_step;
                y += dim.y_step;
                if index[axis] < dim.length {
                    break;
                }
                index[axis] = 0;
                x -= dim.x_step * dim.length;
                y -= dim.y_step * dim.length;
            }
        }
    }
}

/// Calls `visit` with pieces of `x` and matching pieces of `y`, which is repeated as a whole.
fn for_each_tile<T: Copy>(x: &[T], y: &[T], visit: &mut dyn FnMut(&[T], &[T])) {
    #[expect(clippy::disallowed_methods, reason = "less than twice as long as a tile")]
    let tile = y.repeat(TILE.div_ceil(y.len().max(1)));
    for piece in x.chunks(tile.len().max(1)) {
        visit(piece, &tile[..piece.len()]);
    }
}

/// Adds the next outer dimension to `dims`, which is ordered from the innermost. It is merged with
/// the previous one if both operands continue with the same step, and dropped if its length is 1.
fn push_outer(dims: &mut SmallVec<[Dim; 4]>, outer: Dim) {
    if outer.length == 1 {
        return;
    }
    match dims.last_mut() {
        Some(inner) if outer.x_step == inner.x_step * inner.length && outer.y_step == inner.y_step * inner.length => {
            inner.length *= outer.length;
        }
        _ => dims.push(outer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A shape, and the offsets of each of its elements in both operands.
    type Walk = (Vec<usize>, Vec<(i64, i64)>);

    fn walk(x: &[usize], y: &[usize]) -> Result<Walk> {
        let (x, y) = (Shape::new(x), Shape::new(y));
        let broadcast = Broadcast::new(&x, &y)?;
        // Two offsets in one number, with the x offset in the high digits.
        let xs: Vec<i64> = (0..x.num_elements() as i64).map(|offset| offset * 1000).collect();
        let ys: Vec<i64> = (0..y.num_elements() as i64).collect();
        let pairs = broadcast
            .map(DType::Int64, &xs, &ys, |x, y| x + y)?
            .into_iter()
            .map(|pair| (pair / 1000, pair % 1000))
            .collect();
        Ok((broadcast.shape().to_vec(), pairs))
    }

    /// The definition, without any optimisation.
    fn expected(x: &[usize], y: &[usize], shape: &[usize]) -> Vec<(i64, i64)> {
        let offset = |dims: &[usize], index: &[usize]| {
            let index = &index[index.len() - dims.len()..];
            dims.iter().zip(index).fold(0, |offset, (dim, at)| offset * dim + if *dim == 1 { 0 } else { *at })
        };
        let count: usize = shape.iter().product();
        let pairs = (0..count).map(|flat| {
            let mut rest = flat;
            let mut index: Vec<usize> = shape
                .iter()
                .rev()
                .map(|dim| {
                    let at = rest % dim;
                    rest /= dim;
                    at
                })
                .collect();
            index.reverse();
            (offset(x, &index) as i64, offset(y, &index) as i64)
        });
        pairs.collect()
    }

    #[test]
    fn every_pair_of_small_shapes_matches_the_definition() {
        let sizes = [1, 2, 3];
        let mut shapes = vec![vec![]];
        for rank in 1..=3_u32 {
            for code in 0..3_usize.pow(rank) {
                shapes.push((0..rank).map(|axis| sizes[code / 3_usize.pow(axis) % 3]).collect());
            }
        }
        let mut num_compatible = 0;
        for x in &shapes {
            for y in &shapes {
                if let Ok((shape, pairs)) = walk(x, y) {
                    assert_eq!(pairs, expected(x, y, &shape), "{x:?} {y:?}");
                    num_compatible += 1;
                }
            }
        }
        assert!(num_compatible > 600, "{num_compatible}");
    }

    #[test]
    fn equivalent_dimensions_are_merged() {
        let dims = |x: &[usize], y: &[usize]| Broadcast::new(&Shape::new(x), &Shape::new(y)).unwrap().dims.len();
        assert_eq!(dims(&[4, 5, 6], &[4, 5, 6]), 1);
        assert_eq!(dims(&[4, 5, 6], &[]), 1);
        assert_eq!(dims(&[1, 1], &[4, 5, 6]), 1);
        assert_eq!(dims(&[4, 5, 3], &[3]), 2);
    }

    #[test]
    fn zero_size_yields_no_elements() {
        assert_eq!(walk(&[0, 2], &[2]).unwrap(), (vec![0, 2], vec![]));
        assert_eq!(walk(&[0], &[1]).unwrap(), (vec![0], vec![]));
        assert_eq!(walk(&[], &[0]).unwrap(), (vec![0], vec![]));
    }

    #[test]
    fn error_names_incompatible_shapes() {
        let text = format!("{:?}", walk(&[2], &[3]).unwrap_err());
        assert_eq!(text, "InvalidArgument: Incompatible shapes: [2] vs. [3]");
    }
}
