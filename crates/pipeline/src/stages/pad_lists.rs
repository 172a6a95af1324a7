//! Pads nested lists to equal lengths at each depth.

use crate::blocks::column::Column;
use bytes::Bytes;
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use std::ops::Range;

/// All rows of a column of lists of lists, padded with `filler`, a scalar. `widths` has the padded
/// length at each depth, each at least the longest.
pub fn pad_lists_of_lists(column: &Column, widths: &[usize], filler: &Tensor) -> Result<Tensor> {
    let dims: Vec<_> = std::iter::once(column.len()).chain(widths.iter().copied()).collect();
    let shape = Shape::new(&dims);
    let room = allocate::elements(filler.dtype(), &shape);
    if filler.dtype() == DType::String {
        let filler = filler.string_values().first().cloned().unwrap_or_default();
        let mut strings = Strings { strings: room.room()?, filler };
        fill(column, 0..column.len(), widths, &mut strings)?;
        return Tensor::strings(shape, strings.strings);
    }
    let mut numbers = Numbers { bytes: room.room()?, filler: filler.bytes() };
    fill(column, 0..column.len(), widths, &mut numbers)?;
    Tensor::from_bytes(filler.dtype(), shape, numbers.bytes.into())
}

trait Filled {
    fn add(&mut self, values: &Tensor, range: Range<usize>);

    fn pad(&mut self, count: usize);
}

struct Numbers<'a> {
    bytes: Vec<u8>,
    filler: &'a [u8],
}

impl Filled for Numbers<'_> {
    fn add(&mut self, values: &Tensor, range: Range<usize>) {
        let size = self.filler.len();
        self.bytes.extend_from_slice(&values.bytes()[range.start * size..range.end * size]);
    }

    fn pad(&mut self, count: usize) {
        (0..count).for_each(|_| self.bytes.extend_from_slice(self.filler));
    }
}

struct Strings {
    strings: Vec<Bytes>,
    filler: Bytes,
}

impl Filled for Strings {
    fn add(&mut self, values: &Tensor, range: Range<usize>) {
        self.strings.extend_from_slice(&values.string_values()[range]);
    }

    fn pad(&mut self, count: usize) {
        self.strings.extend(std::iter::repeat_n(self.filler.clone(), count));
    }
}

fn fill(column: &Column, rows: Range<usize>, widths: &[usize], filled: &mut dyn Filled) -> Result<()> {
    let unlike = || Error::internal("nested lists have the wrong depth");
    let (width, inner) = widths.split_first().ok_or_else(unlike)?;
    for row in rows {
        let length = match column {
            Column::Ragged(ragged) if inner.is_empty() => {
                filled.add(ragged.values(), ragged.range(row));
                ragged.row_length(row)
            }
            Column::Lists(lists) if !inner.is_empty() => {
                fill(lists.inner(), lists.range(row), inner, filled)?;
                lists.range(row).len()
            }
            _ => return Err(unlike()),
        };
        filled.pad((width - length) * inner.iter().product::<usize>());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::column::{Lists, Ragged};

    #[test]
    fn lists_of_lists_are_padded_at_each_depth() {
        let values = Tensor::from_values(Shape::new(&[4]), vec![1, 2, 3, 4]).unwrap();
        let inner = Column::Ragged(Ragged::new(values, vec![1, 1, 3, 4]));
        let column = Column::Lists(Lists::new(inner, vec![2, 2, 4]));
        let padded = pad_lists_of_lists(&column, &[2, 3], &Tensor::scalar(-1)).unwrap();
        assert_eq!(&padded.shape()[..], [3, 2, 3]);
        let expected = [1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 3, -1, 4, -1, -1];
        assert_eq!(padded.values::<i32>().unwrap(), expected);
    }

    #[test]
    fn strings_are_padded_with_strings() {
        let strings = ["a", "b"].map(|string| Bytes::from_static(string.as_bytes()));
        let values = Tensor::strings(Shape::new(&[2]), strings.to_vec()).unwrap();
        let inner = Column::Ragged(Ragged::new(values, vec![0, 2]));
        let column = Column::Lists(Lists::new(inner, vec![2]));
        let padded = pad_lists_of_lists(&column, &[2, 2], &Tensor::string("-")).unwrap();
        assert_eq!(padded.string_values(), ["-", "-", "a", "b"]);
    }
}
