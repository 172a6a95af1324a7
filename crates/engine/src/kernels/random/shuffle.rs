//! `RandomShuffle`: shuffles the rows of a tensor.

use crate::error::Result;
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::philox::Philox;
use crate::random_generator::RandomGenerator;
use crate::run::Run;
use crate::tensor::allocate;
use std::sync::Arc;

/// Permutes its input along the first dimension.
pub struct RandomShuffle {
    generator: Arc<RandomGenerator>,
}

impl RandomShuffle {
    /// Creates the kernel with this generator.
    pub fn new(generator: &Arc<RandomGenerator>) -> Self {
        Self { generator: Arc::clone(generator) }
    }
}

impl Kernel for RandomShuffle {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let [tensor] = expect_inputs(&inputs)?;
        let num_rows = tensor.shape().first().copied().unwrap_or(1);
        if num_rows <= 1 {
            return Ok(Step::one(tensor.clone()));
        }
        let order = permutation(num_rows, self.generator.take(run, num_rows - 1)?)?;
        tensor.take_rows(&order, &[num_rows]).map(Step::one)
    }
}

/// Shuffles the numbers below `length` with the Fisher-Yates algorithm, front to back.
fn permutation(length: usize, mut random: Philox) -> Result<Vec<usize>> {
    let order = allocate::collected(length, 0..length);
    let mut order: Vec<usize> = order.map_err(|refusal| refusal.at("the order of the rows"))?;
    for index in 0..length.saturating_sub(1) {
        // TensorFlow truncates the number of choices to 32 bits. More than 2^32 rows are unlikely
        // here.
        order.swap(index, index + random.next_u32() as usize % (length - index));
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::run_one;
    use crate::tensor::Tensor;
    use crate::tensor::shape::Shape;
    use bytes::Bytes;

    fn shuffle(seed: i64, seed2: i64) -> RandomShuffle {
        RandomShuffle::new(&Arc::new(RandomGenerator::new(seed, seed2)))
    }

    fn range(length: i32) -> Tensor {
        Tensor::from_values(Shape::new(&[length as usize]), (0..length).collect()).unwrap()
    }

    /// The result of `tf.random_shuffle(tf.range(10), seed=7)` in TensorFlow 1.15, run twice in one
    /// session.
    #[test]
    fn order_matches_tensorflow() {
        let kernel = shuffle(87_654_321, 7);
        let first = run_one(&kernel, &[range(10)]).unwrap();
        assert_eq!(first.values::<i32>().unwrap(), [7, 2, 0, 9, 8, 4, 5, 1, 6, 3]);
        let second = run_one(&kernel, &[range(10)]).unwrap();
        assert_eq!(second.values::<i32>().unwrap(), [3, 7, 9, 5, 8, 4, 2, 0, 6, 1]);
    }

    #[test]
    fn rows_and_strings_are_shuffled_like_numbers() {
        let order = run_one(&shuffle(1, 2), &[range(4)]).unwrap().values::<i32>().unwrap().to_vec();
        let rows = Tensor::from_values(Shape::new(&[4, 2]), vec![0_i64, 0, 1, 10, 2, 20, 3, 30]).unwrap();
        let rows = run_one(&shuffle(1, 2), &[rows]).unwrap();
        let expected: Vec<i64> = order.iter().flat_map(|row| [i64::from(*row), i64::from(*row) * 10]).collect();
        assert_eq!((rows.shape(), rows.values::<i64>().unwrap()), (&Shape::new(&[4, 2]), &expected[..]));
        let strings = (0..4).map(|row| Bytes::from(row.to_string())).collect();
        let strings = run_one(&shuffle(1, 2), &[Tensor::strings(Shape::new(&[4]), strings).unwrap()]).unwrap();
        assert!(strings.string_values().iter().zip(&order).all(|(value, row)| *value == row.to_string()));
    }

    #[test]
    fn shuffling_at_most_one_row_draws_no_random_numbers() {
        let kernel = shuffle(87_654_321, 7);
        for inputs in [[range(0)], [range(1)], [Tensor::scalar(5_i32)]] {
            assert_eq!(run_one(&kernel, &inputs).unwrap(), inputs[0]);
        }
        assert_eq!(run_one(&kernel, &[range(10)]).unwrap().values::<i32>().unwrap()[..3], [7, 2, 0]);
    }

    #[test]
    fn generators_without_seeds_have_different_orders() {
        let orders: Vec<_> = (0..2).map(|_| run_one(&shuffle(0, 0), &[range(100)]).unwrap()).collect();
        assert_ne!(orders[0], orders[1]);
    }
}
