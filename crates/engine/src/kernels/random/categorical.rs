//! `Multinomial`: draws classes at random.

use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::kernels::math::cast::cast;
use crate::kernels::random::numbers::BLOCKS_PER_NUMBER;
use crate::philox::Philox;
use crate::random_generator::RandomGenerator;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use std::sync::Arc;

/// Maps `(logits, num_samples)` to class numbers, which are drawn for each row of logits.
///
/// The results are the same as in `tensorflow/core/kernels/multinomial_op.cc` in TensorFlow 1.15
/// with one thread.
pub struct Multinomial {
    generator: Arc<RandomGenerator>,
    dtype: DType,
}

impl Multinomial {
    /// Creates the kernel with this generator.
    pub fn from_attrs(attrs: &Attrs, generator: &Arc<RandomGenerator>) -> Result<Self> {
        Ok(Self { generator: Arc::clone(generator), dtype: attrs.dtype("output_dtype")? })
    }
}

impl Kernel for Multinomial {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let [logits, count] = expect_inputs(&inputs)?;
        let &[num_rows, num_classes] = &**logits.shape() else {
            return Err(Error::invalid_argument(format!("logits should be a matrix, got shape {}", logits.shape())));
        };
        if !count.shape().is_empty() {
            return Err(Error::invalid_argument(format!(
                "num_samples should be a scalar, got shape {}",
                count.shape()
            )));
        }
        let count = count.integer_scalar("num_samples")?;
        let num_samples = usize::try_from(count)
            .map_err(|_| Error::invalid_argument(format!("num_samples should be nonnegative, got {count}")))?;
        if num_classes == 0 && num_rows > 0 && num_samples > 0 {
            return Err(Error::invalid_argument("num_classes should be positive, got 0"));
        }
        let shape = Shape::new(&[num_rows, num_samples]);
        allocate::elements(DType::Int64, &shape).check()?;
        // Each draw uses two numbers.
        let num_numbers = 2 * num_samples.next_multiple_of(4);
        let num_blocks = num_rows as u128 * num_numbers as u128 * BLOCKS_PER_NUMBER as u128;
        let mut random = self.generator.take_blocks(run, num_blocks)?;
        let drawn = draw(&cast(logits, DType::Float64)?, num_classes, num_samples, &mut random)?;
        let drawn = match self.dtype {
            DType::Int32 => {
                let classes = drawn.into_iter().map(|class| class as i32);
                let classes = allocate::elements(DType::Int32, &shape).collect(classes)?;
                Tensor::from_values(shape, classes)
            }
            _ => Tensor::from_values(shape, drawn),
        };
        drawn.map(Step::one)
    }
}

fn draw(logits: &Tensor, num_classes: usize, num_samples: usize, random: &mut Philox) -> Result<Vec<i64>> {
    let num_rows = logits.shape().first().copied().unwrap_or(0);
    let mut drawn = allocate::elements(DType::Int64, &Shape::new(&[num_rows, num_samples])).room()?;
    let mut sums = allocate::room(num_classes).map_err(|refusal| refusal.at("the sums of logits"))?;
    for row in logits.values::<f64>()?.chunks_exact(num_classes.max(1)) {
        let finite = |logit: &&f64| logit.is_finite();
        let largest = row.iter().filter(finite).copied().fold(f64::MIN, f64::max);
        let mut total = 0.0;
        sums.clear();
        sums.extend(row.iter().map(|logit| {
            total += Some(logit).filter(finite).map_or(0.0, |logit| (logit - largest).exp());
            total
        }));
        for _ in 0..num_samples {
            let position = next_f64(random) * total;
            drawn.push(sums.partition_point(|sum| *sum <= position) as i64);
        }
    }
    Ok(drawn)
}

/// Returns the next number in [0, 1), with 52 random bits.
fn next_f64(random: &mut Philox) -> f64 {
    let high = u64::from(random.next_u32() & 0xf_ffff);
    let low = u64::from(random.next_u32());
    f64::from_bits(1023 << 52 | high << 32 | low) - 1.0
}
