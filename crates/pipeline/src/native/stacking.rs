//! Stacks the values of an output into a column, row by row.

use crate::blocks::column::Column;
use bytes::Bytes;
use headrace_engine::error::Result;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;

/// A column under construction. As long as all rows have the same dtype and shape, they are stored
/// end to end. Each row is then copied only once, and deferred floats are computed directly in the
/// column.
pub struct Stacking {
    /// The number of rows still to be added.
    num_rows: usize,
    rows: Rows,
}

enum Rows {
    /// Rows of the same dtype and shape, and their number.
    Alike { dtype: DType, shape: Shape, values: Values, count: usize },
    /// Rows of different shapes or dtypes, or rows that are too large to allocate at once. Also
    /// used if there are no rows.
    Each(Vec<Tensor>),
}

enum Values {
    Floats(Vec<f32>),
    /// Numbers of any other dtype.
    Bytes(Vec<u8>),
    Strings(Vec<Bytes>),
}

impl Stacking {
    /// Starts a column to which `num_rows` rows will be added.
    pub fn new(num_rows: usize) -> Self {
        Self { num_rows, rows: Rows::Each(Vec::new()) }
    }

    /// Adds the next row.
    pub fn push(&mut self, mut row: Tensor) -> Result<()> {
        if matches!(&self.rows, Rows::Each(rows) if rows.is_empty())
            && let Some(values) = Values::room(&row, self.num_rows)
        {
            self.rows = Rows::Alike { dtype: row.dtype(), shape: row.shape().clone(), values, count: 0 };
        }
        match &mut self.rows {
            Rows::Alike { dtype, shape, values, count } if row.dtype() == *dtype && row.shape() == shape => {
                *count += 1;
                values.extend(&mut row)
            }
            _ => self.push_unlike(row),
        }
    }

    fn push_unlike(&mut self, row: Tensor) -> Result<()> {
        let mut rows = std::mem::replace(&mut self.rows, Rows::Each(Vec::new())).into_tensors()?;
        rows.push(row.into_materialised()?);
        self.rows = Rows::Each(rows);
        Ok(())
    }

    /// The column of the rows.
    pub fn finish(self) -> Result<Column> {
        match self.rows {
            Rows::Each(rows) => Ok(Column::Each(rows.into())),
            Rows::Alike { dtype, shape, values, count } => {
                values.into_tensor(dtype, shape.batched(count)).map(Column::Dense)
            }
        }
    }
}

impl Rows {
    fn into_tensors(self) -> Result<Vec<Tensor>> {
        match self {
            Self::Each(rows) => Ok(rows),
            Self::Alike { dtype, shape, values, count } => {
                let rows = values.into_tensor(dtype, shape.batched(count))?;
                (0..count).map(|row| rows.row(row)).collect()
            }
        }
    }
}

impl Values {
    /// Reserves memory for `num_rows` rows like this one. Returns `None` if they can never fit into
    /// memory.
    fn room(row: &Tensor, num_rows: usize) -> Option<Self> {
        let shape = row.shape().batched(num_rows);
        let room = allocate::elements(row.dtype(), &shape);
        match row.dtype() {
            DType::String => room.room().map(Self::Strings),
            DType::Float32 => room.room().map(Self::Floats),
            _ => room.room().map(Self::Bytes),
        }
        .ok()
    }

    fn extend(&mut self, row: &mut Tensor) -> Result<()> {
        match self {
            Self::Floats(floats) => return row.extend_floats(floats),
            Self::Bytes(bytes) => bytes.extend_from_slice(row.stored()?),
            Self::Strings(strings) => row.take_strings(strings),
        }
        Ok(())
    }

    fn into_tensor(self, dtype: DType, shape: Shape) -> Result<Tensor> {
        match self {
            Self::Floats(floats) => Tensor::from_values(shape, floats),
            Self::Bytes(bytes) => Tensor::from_bytes(dtype, shape, bytes.into()),
            Self::Strings(strings) => Tensor::strings(shape, strings),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(values: &[i32]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    fn stacked(rows: &[Tensor]) -> Column {
        let mut stacking = Stacking::new(rows.len());
        rows.iter().for_each(|row| stacking.push(row.clone()).unwrap());
        stacking.finish().unwrap()
    }

    fn is_dense(column: &Column) -> bool {
        matches!(column, Column::Dense(_))
    }

    #[test]
    fn rows_of_equal_shape_are_stored_contiguously() {
        for rows in [
            [vector(&[1, 2, 3, 4, 5]), vector(&[6, 7, 8, 9, 10])],
            [Tensor::scalar(1.5_f32), Tensor::scalar(2.5_f32)],
            [Tensor::string("a"), Tensor::string("")],
            [vector(&[]), vector(&[])],
        ] {
            let column = stacked(&rows);
            assert!(is_dense(&column));
            assert_eq!([column.row(0).unwrap(), column.row(1).unwrap()], rows);
        }
    }

    #[test]
    fn rows_of_different_shapes_stay_separate() {
        let rows = [vector(&[1]), vector(&[2]), vector(&[]), Tensor::scalar(4.0_f32)];
        let column = stacked(&rows);
        assert_eq!((is_dense(&column), column.len()), (false, 4));
        let again: Vec<_> = (0..4).map(|row| column.row(row).unwrap()).collect();
        assert_eq!(again, rows);
        assert!(stacked(&[]).is_empty());
    }

    #[test]
    fn deferred_floats_are_computed() {
        let mut row = Tensor::from_values(Shape::new(&[100]), vec![7_u8; 100]).unwrap();
        assert!(row.defer());
        let column = stacked(&[row.clone(), row]);
        assert!(!column.to_tensor().unwrap().is_deferred());
        assert_eq!(column.row(1).unwrap().values::<f32>().unwrap(), [7.0; 100]);
    }
}
