//! `SparseCross`: combines the features of each example in all possible ways, as strings or as
//! hashes.

use super::parts::{Parts, vector};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Outputs, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use crate::text::farmhash;
use bytes::Bytes;

const SEPARATOR: &[u8] = b"_X_";

/// Crosses features. The inputs are the indices of each sparse matrix, then the values, then the
/// shapes, and then dense matrices. Returns the three parts of a sparse matrix. Each of its rows
/// has all combinations of one feature per matrix; the last matrix varies fastest. Features are
/// strings or integers.
///
/// Source: `tf.sparse.cross` and `tf.sparse.cross_hashed` in TensorFlow 1.15.
pub struct SparseCross {
    num_sparse: usize,
    hashing: Option<Hashing>,
}

/// How combinations are hashed to integers.
#[derive(Clone, Copy)]
struct Hashing {
    key: u64,
    /// The modulus for hashes: the number of buckets, or the largest integer.
    modulus: u64,
}

impl SparseCross {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        let (count, num_buckets) = (attrs.int("N")?, attrs.int("num_buckets")?);
        let num_sparse = usize::try_from(count).map_err(|_| Error::internal(format!("{count} sparse tensors")))?;
        let modulus = match num_buckets {
            ..0 => return Err(Error::invalid_argument(format!("num_buckets is {num_buckets}, expected at least 0"))),
            0 => i64::MAX,
            _ => num_buckets,
        };
        let hashing = Hashing { key: attrs.int("hash_key")?.cast_unsigned(), modulus: modulus.cast_unsigned() };
        Ok(Self { num_sparse, hashing: attrs.bool("hashed_output")?.then_some(hashing) })
    }
}

impl Kernel for SparseCross {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let count = self.num_sparse;
        let (Some(sparse), Some(dense)) = (inputs.get(..3 * count), inputs.get(3 * count..)) else {
            return Err(Error::internal(format!("got {} inputs for {count} sparse tensors", inputs.len())));
        };
        let of_sparse = (0..count).map(|n| Column::of_sparse(&sparse[n], &sparse[count + n], &sparse[2 * count + n]));
        let columns: Vec<_> = of_sparse.chain(dense.iter().map(Column::of_dense)).collect::<Result<_>>()?;
        let num_rows = columns.first().map_or(0, Column::num_rows);
        if let Some(other) = columns.iter().find(|column| column.num_rows() != num_rows) {
            let got = other.num_rows();
            return Err(Error::invalid_argument(format!("Expected batch size {num_rows}, got {got}")));
        }
        let mut crossed = Crossed::new(&columns, num_rows, self.hashing)?;
        for row in 0..num_rows {
            crossed.push_row(row)?;
        }
        let width = crossed.width;
        let count = crossed.indices.len() / 2;
        let values = match self.hashing {
            Some(_) => Tensor::from_values(Shape::new(&[count]), crossed.hashes)?,
            None => Tensor::strings(Shape::new(&[count]), crossed.strings)?,
        };
        Ok(Step::Done(Outputs::from_iter([
            Tensor::from_values(Shape::new(&[count, 2]), crossed.indices)?,
            values,
            vector(&[num_rows as i64, width])?,
        ])))
    }
}

/// The features of one kind in all examples.
struct Column<'t> {
    values: &'t Tensor,
    /// Where each row's features begin in `order`, and where the last row ends.
    begins: Vec<usize>,
    /// The positions of the features, row by row.
    order: Vec<usize>,
}

impl<'t> Column<'t> {
    fn of_sparse(indices: &'t Tensor, values: &'t Tensor, shape: &'t Tensor) -> Result<Self> {
        let parts = Parts::new(indices, values, shape)?;
        if parts.rank() != 2 {
            let text = format!("Expected indices with 2 columns, got {} columns", parts.rank());
            return Err(Error::invalid_argument(text));
        }
        let num_rows = usize::try_from(parts.sizes[0]).unwrap_or(0);
        let refused = |refusal: allocate::Refusal| refusal.at(format_args!("the rows of a sparse tensor: {num_rows}"));
        let mut begins = allocate::copies(num_rows.saturating_add(1), 0).map_err(refused)?;
        for (element, row) in parts.rows().enumerate() {
            let Some(number) = usize::try_from(row[0]).ok().filter(|number| *number < num_rows) else {
                let at = row[0];
                return Err(Error::invalid_argument(format!(
                    "indices({element}, 0) is {at}, expected a row in [0, {num_rows})"
                )));
            };
            begins[number + 1] += 1;
        }
        (0..num_rows).for_each(|row| begins[row + 1] += begins[row]);
        let mut order = allocate::collected(parts.num_values(), 0..parts.num_values()).map_err(refused)?;
        order.sort_unstable_by_key(|element| (parts.row(*element)[0], *element));
        Ok(Self { values, begins, order })
    }

    fn of_dense(values: &'t Tensor) -> Result<Self> {
        let [num_rows, width] = values.shape()[..] else {
            let text = format!("Dense inputs should be matrices, got shape {}", values.shape());
            return Err(Error::invalid_argument(text));
        };
        let refused = |refusal: allocate::Refusal| refusal.at(format_args!("the rows of a dense tensor: {num_rows}"));
        let begins = allocate::collected(num_rows + 1, (0..=num_rows).map(|row| row * width)).map_err(refused)?;
        let order = allocate::collected(values.num_elements(), 0..values.num_elements()).map_err(refused)?;
        Ok(Self { values, begins, order })
    }

    fn num_rows(&self) -> usize {
        self.begins.len() - 1
    }

    /// The positions of the features of a row.
    fn row(&self, number: usize) -> &[usize] {
        &self.order[self.begins[number]..self.begins[number + 1]]
    }

    fn push_text(&self, position: usize, text: &mut Vec<u8>) -> Result<()> {
        match self.values.dtype() {
            DType::String => allocate::append(text, &self.values.string_values()[position]),
            _ => allocate::append(text, self.values.values::<i64>()?[position].to_string().as_bytes()),
        }
        .map_err(|refusal| refusal.at("a crossed feature"))
    }

    fn hash(&self, position: usize) -> Result<u64> {
        Ok(match self.values.dtype() {
            DType::String => farmhash::fingerprint(&self.values.string_values()[position]),
            _ => self.values.values::<i64>()?[position].cast_unsigned(),
        })
    }
}

/// The combinations so far.
struct Crossed<'c> {
    columns: &'c [Column<'c>],
    hashing: Option<Hashing>,
    indices: Vec<i64>,
    strings: Vec<Bytes>,
    hashes: Vec<i64>,
    /// The maximum number of combinations in a row.
    width: i64,
}

impl<'c> Crossed<'c> {
    /// Starts without combinations but with room for all of them.
    fn new(columns: &'c [Column<'c>], num_rows: usize, hashing: Option<Hashing>) -> Result<Self> {
        let in_row =
            |row: usize| columns.iter().try_fold(1_usize, |product, column| product.checked_mul(column.row(row).len()));
        let count = (0..num_rows).try_fold(0_usize, |sum, row| sum.checked_add(in_row(row)?));
        let dtype = if hashing.is_some() { DType::Int64 } else { DType::String };
        let shape = Shape::new(&[count.unwrap_or(usize::MAX)]);
        let room = allocate::elements(dtype, &shape);
        let (mut strings, mut hashes) = (Vec::new(), Vec::new());
        match hashing {
            Some(_) => hashes = room.room()?,
            None => strings = room.room()?,
        }
        let indices = allocate::elements(DType::Int64, &shape.of_rows(2)).room()?;
        Ok(Self { columns, hashing, indices, strings, hashes, width: 0 })
    }

    fn push_row(&mut self, row: usize) -> Result<()> {
        let features: Vec<_> = self.columns.iter().map(|column| column.row(row)).collect();
        let count: usize = features.iter().map(|positions| positions.len()).product();
        self.width = self.width.max(count as i64);
        let mut chosen: Vec<usize> = features.iter().map(|_| 0).collect();
        for number in 0..count {
            self.indices.extend([row as i64, number as i64]);
            let positions = features.iter().zip(&chosen).map(|(positions, choice)| positions[*choice]);
            let of_each = self.columns.iter().zip(positions);
            match self.hashing {
                Some(hashing) => {
                    let mut hash = hashing.key;
                    for (column, position) in of_each {
                        hash = concatenated(hash, column.hash(position)?);
                    }
                    self.hashes.push((hash % hashing.modulus).cast_signed());
                }
                None => {
                    let mut text = Vec::new();
                    for (number, (column, position)) in of_each.enumerate() {
                        if number > 0 {
                            allocate::append(&mut text, SEPARATOR)
                                .map_err(|refusal| refusal.at("a crossed feature"))?;
                        }
                        column.push_text(position, &mut text)?;
                    }
                    self.strings.push(text.into());
                }
            }
            for (choice, positions) in chosen.iter_mut().zip(&features).rev() {
                *choice += 1;
                if *choice < positions.len() {
                    break;
                }
                *choice = 0;
            }
        }
        Ok(())
    }
}

/// Combines two hashes in order.
///
/// Source: `FingerprintCat64` in TensorFlow 1.15.
fn concatenated(first: u64, second: u64) -> u64 {
    const MULTIPLIER: u64 = 0xc6a4_a793_5bd1_e995;
    let shift_mix = |value: u64| value ^ (value >> 47);
    let mixed = shift_mix(second.wrapping_mul(MULTIPLIER)).wrapping_mul(MULTIPLIER);
    let result = (first ^ MULTIPLIER ^ mixed).wrapping_mul(MULTIPLIER);
    shift_mix(shift_mix(result).wrapping_mul(MULTIPLIER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run};

    fn int64s(dims: &[usize], values: &[i64]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    fn kernel(num_sparse: i64, num_buckets: Option<i64>) -> SparseCross {
        SparseCross::from_attrs(&attrs([
            ("N", Attr::Int(num_sparse)),
            ("hashed_output", Attr::Bool(num_buckets.is_some())),
            ("num_buckets", Attr::Int(num_buckets.unwrap_or(0))),
            ("hash_key", Attr::Int(956_888_297_470)),
        ]))
        .unwrap()
    }

    fn strings(values: [&'static str; 3]) -> Tensor {
        Tensor::strings(Shape::new(&[3]), values.map(Into::into).to_vec()).unwrap()
    }

    /// Two columns, each with two features in the first row and one in the second.
    fn pair() -> [Tensor; 6] {
        let (indices, shape) = (int64s(&[3, 2], &[0, 0, 0, 1, 1, 0]), int64s(&[2], &[2, 2]));
        [indices.clone(), indices, strings(["a", "b", "c"]), strings(["d", "e", "f"]), shape.clone(), shape]
    }

    #[test]
    fn all_combinations_of_a_row_are_generated() {
        let outputs = run(&kernel(2, None), &pair()).unwrap();
        assert_eq!(outputs[0], int64s(&[5, 2], &[0, 0, 0, 1, 0, 2, 0, 3, 1, 0]));
        assert_eq!(outputs[1].string_values(), ["a_X_d", "a_X_e", "b_X_d", "b_X_e", "c_X_f"]);
        assert_eq!(outputs[2], int64s(&[2], &[2, 4]));
    }

    #[test]
    fn dense_matrices_come_last_and_can_be_integers() {
        let sparse = [int64s(&[1, 2], &[1, 7]), int64s(&[1], &[-5]), int64s(&[2], &[2, 9])];
        let inputs: Vec<_> = sparse.into_iter().chain([int64s(&[2, 2], &[1, 2, 3, 4])]).collect();
        let outputs = run(&kernel(1, None), &inputs).unwrap();
        assert_eq!(outputs[0], int64s(&[2, 2], &[1, 0, 1, 1]));
        assert_eq!(outputs[1].string_values(), ["-5_X_3", "-5_X_4"]);
        assert_eq!(outputs[2], int64s(&[2], &[2, 2]));
    }

    #[test]
    fn hashes_match_tensorflow() {
        let outputs = run(&kernel(2, Some(0)), &pair()).unwrap();
        let hashes = [
            1_584_069_791_037_555_375,
            3_927_666_362_714_511_010,
            2_292_520_902_626_215_647,
            4_171_697_120_956_746_554,
            4_546_572_711_251_652_368,
        ];
        assert_eq!(outputs[1], int64s(&[5], &hashes));
        assert_eq!(run(&kernel(2, Some(100)), &pair()).unwrap()[1], int64s(&[5], &[82, 17, 54, 61, 68]));
    }

    #[test]
    fn incompatible_rows_are_rejected() {
        let mut inputs = pair();
        inputs[5] = int64s(&[2], &[3, 2]);
        assert_eq!(error_text(&kernel(2, None), &inputs), "InvalidArgument: Expected batch size 2, got 3");
        inputs[5] = int64s(&[2], &[1, 2]);
        assert_eq!(
            error_text(&kernel(2, None), &inputs),
            "InvalidArgument: indices(2, 0) is 1, expected a row in [0, 1)"
        );
        assert_eq!(
            error_text(&kernel(0, None), &[int64s(&[1], &[0])]),
            "InvalidArgument: Dense inputs should be matrices, got shape [1]"
        );
        assert_eq!(run(&kernel(0, None), &[]).unwrap()[2], int64s(&[2], &[0, 0]));
    }
}
