//! `RandomUniform`, `RandomUniformInt`, `RandomStandardNormal` and `TruncatedNormal`: create
//! tensors of random numbers.

use super::distributions::{RandomFloat, RandomInteger};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::philox::Philox;
use crate::random_generator::RandomGenerator;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::{DType, Numeric};
use crate::tensor::shape::Shape;
use half::f16;
use std::sync::Arc;

/// How many blocks a run reserves for each number, whether they are used or not. This is
/// TensorFlow's value. The truncated distribution needs an unpredictable number of blocks.
pub(super) const BLOCKS_PER_NUMBER: usize = 256;

/// The truncated distribution draws again if a number is at least this far from 0.
const TRUNCATION: f64 = 2.0;

/// The distribution of random floats.
#[derive(Clone, Copy, Debug)]
pub enum Distribution {
    /// Over [0, 1).
    Uniform,
    /// With mean 0 and standard deviation 1.
    Normal,
    /// Like `Normal`, but without numbers that are two or more standard deviations from the mean.
    TruncatedNormal,
}

/// Maps `(shape)` to random floats.
pub struct RandomFloats {
    generator: Arc<RandomGenerator>,
    dtype: DType,
    distribution: Distribution,
}

/// Maps `(shape, low, high)` to random integers in [low, high).
pub struct RandomIntegers {
    generator: Arc<RandomGenerator>,
}

impl RandomFloats {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(distribution: Distribution, attrs: &Attrs, generator: &Arc<RandomGenerator>) -> Result<Self> {
        Ok(Self { generator: Arc::clone(generator), dtype: attrs.dtype("dtype")?, distribution })
    }

    fn make<T: RandomFloat>(&self, run: &Run, shape: Shape) -> Result<Tensor> {
        let mut values = allocate::elements(T::DTYPE, &shape).room()?;
        let length = shape.num_elements();
        let mut random = take(&self.generator, run, length)?;
        match self.distribution {
            Distribution::Uniform => values.extend((0..length).map(|_| T::uniform(&mut random))),
            Distribution::Normal => {
                let pairs = (0..length.div_ceil(2)).flat_map(|_| T::normal_pair(&mut random));
                values.extend(pairs.take(length).map(T::narrow));
            }
            Distribution::TruncatedNormal => {
                let groups = (0..length.div_ceil(T::PER_BLOCK)).flat_map(|_| next_truncated_group::<T>(&mut random));
                values.extend(groups.take(length));
            }
        }
        Tensor::from_values(shape, values)
    }
}

impl RandomIntegers {
    /// Creates the kernel with this generator.
    pub fn new(generator: &Arc<RandomGenerator>) -> Self {
        Self { generator: Arc::clone(generator) }
    }

    fn make<T: RandomInteger>(&self, run: &Run, shape: Shape, low: &Tensor, high: &Tensor) -> Result<Tensor> {
        let (low, high) = (scalar::<T>(low, "minval")?, scalar::<T>(high, "maxval")?);
        let mut values = allocate::elements(T::DTYPE, &shape).room()?;
        let length = shape.num_elements();
        if length > 0 && low >= high {
            return Err(Error::invalid_argument(format!("Need minval < maxval, got {low} >= {high}")));
        }
        let mut random = take(&self.generator, run, length)?;
        values.extend((0..length).map(|_| T::uniform(&mut random, low, high)));
        Tensor::from_values(shape, values)
    }
}

impl Kernel for RandomFloats {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let [sizes] = expect_inputs(&inputs)?;
        let shape = requested_shape(sizes)?;
        let numbers = match self.dtype {
            DType::Float16 => self.make::<f16>(run, shape),
            DType::Float32 => self.make::<f32>(run, shape),
            DType::Float64 => self.make::<f64>(run, shape),
            dtype => Err(Error::unimplemented(format!("random numbers of type {dtype} are not supported"))),
        };
        numbers.map(Step::one)
    }
}

impl Kernel for RandomIntegers {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        let [sizes, low, high] = expect_inputs(&inputs)?;
        let shape = requested_shape(sizes)?;
        let numbers = match low.dtype() {
            DType::Int32 => self.make::<i32>(run, shape, low, high),
            DType::Int64 => self.make::<i64>(run, shape, low, high),
            dtype => Err(Error::unimplemented(format!("random numbers of type {dtype} are not supported"))),
        };
        numbers.map(Step::one)
    }
}

fn take(generator: &RandomGenerator, run: &Run, length: usize) -> Result<Philox> {
    generator.take_blocks(run, length as u128 * BLOCKS_PER_NUMBER as u128)
}

/// Draws the next block's worth of numbers from the truncated distribution. The next group begins a
/// fixed number of blocks later, no matter where this one ends.
fn next_truncated_group<T: RandomFloat>(random: &mut Philox) -> impl Iterator<Item = T> + use<T> {
    let mut own = random.reserve_blocks((T::PER_BLOCK * BLOCKS_PER_NUMBER / 4) as u128);
    let pairs = std::iter::repeat_with(move || T::normal_pair(&mut own)).flatten();
    pairs.filter(|number| (*number).into().abs() < TRUNCATION).map(T::narrow).take(T::PER_BLOCK)
}

/// Converts an integer vector to the shape that it describes.
fn requested_shape(sizes: &Tensor) -> Result<Shape> {
    if sizes.shape().len() != 1 {
        let text = format!("shape must be a vector of {{int32,int64}}, got shape {}", sizes.shape());
        return Err(Error::invalid_argument(text));
    }
    let sizes: Vec<i64> = match sizes.dtype() {
        DType::Int32 => sizes.values::<i32>()?.iter().map(|size| i64::from(*size)).collect(),
        _ => sizes.values::<i64>()?.to_vec(),
    };
    let negative = |size| Error::invalid_argument(format!("Dimension {size} must be >= 0"));
    let shape: Shape =
        sizes.iter().map(|size| usize::try_from(*size).map_err(|_| negative(size))).collect::<Result<_>>()?;
    shape.checked_num_elements().map(|_| shape)
}

fn scalar<T: Numeric>(tensor: &Tensor, what: &str) -> Result<T> {
    match tensor.values::<T>()? {
        [value] if tensor.shape().is_empty() => Ok(*value),
        _ => Err(Error::invalid_argument(format!("{what} must be 0-D, got shape {}", tensor.shape()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attrs::Attr;
    use crate::kernels::testing::{attrs, error_text, run_one};

    fn generator() -> Arc<RandomGenerator> {
        Arc::new(RandomGenerator::new(87_654_321, 7))
    }

    fn floats(distribution: Distribution, dtype: DType) -> RandomFloats {
        RandomFloats::from_attrs(distribution, &attrs([("dtype", Attr::DType(dtype))]), &generator()).unwrap()
    }

    fn sizes(dims: &[i32]) -> Tensor {
        Tensor::from_values(Shape::new(&[dims.len()]), dims.to_vec()).unwrap()
    }

    fn numbers<T: Numeric>(kernel: &dyn Kernel, inputs: &[Tensor]) -> Vec<T> {
        run_one(kernel, inputs).unwrap().values::<T>().unwrap().to_vec()
    }

    /// Draws three numbers in each of two runs.
    fn two_runs<T: Numeric + Into<f64>>(distribution: Distribution) -> Vec<f64> {
        let kernel = floats(distribution, T::DTYPE);
        (0..2).flat_map(|_| numbers::<T>(&kernel, &[sizes(&[3])])).map(Into::into).collect()
    }

    /// TensorFlow's numbers for `seed=7` in two runs of one session.
    #[test]
    fn uniform_numbers_match_tensorflow() {
        let expected: [f32; 6] = [0.483_940_96, 0.506_203_06, 0.255_143_76, 0.879_395_96, 0.070_225_835, 0.937_595_6];
        assert_eq!(two_runs::<f32>(Distribution::Uniform), expected.map(f64::from));
        assert_eq!(
            two_runs::<f64>(Distribution::Uniform),
            [
                0.871_528_382_424_643_4,
                0.041_150_670_730_960_126,
                0.464_081_346_363_964_14,
                0.035_167_953_130_278_43,
                0.500_765_600_021_893_4,
                0.092_042_207_854_490_24
            ]
        );
        assert_eq!(
            two_runs::<f16>(Distribution::Uniform),
            [0.444_335_937_5, 0.815_429_687_5, 0.137_695_312_5, 0.011_718_75, 0.290_039_062_5, 0.783_203_125]
        );
    }

    #[test]
    fn normal_numbers_match_tensorflow() {
        let check = |numbers: Vec<f64>, expected: [f64; 6], tolerance: f64| {
            let is_close = |(x, y): (&f64, &f64)| (x - y).abs() <= tolerance * y.abs();
            assert!(numbers.iter().zip(&expected).all(is_close), "{numbers:?}, expected {expected:?}");
        };
        let singles = [-0.046_945_684, -1.203_902_36, 1.166_835_19, 0.216_517_05, 0.458_432_56, 0.242_468_43];
        let (first, second) = ([0.134_086_241_665_528, 0.506_985_773_221_168], [-0.012_446_957_525_296, 0.0]);
        check(two_runs::<f32>(Distribution::Normal), singles, 1e-6);
        check(two_runs::<f16>(Distribution::Normal), singles, 1e-3);
        check(two_runs::<f32>(Distribution::TruncatedNormal), singles, 1e-6);
        check(two_runs::<f16>(Distribution::TruncatedNormal), singles, 1e-3);
        let [a, b] = first;
        let normal = [a, b, -1.071_293_871_950_879, second[0], -2.587_486_258_948_541, -0.479_048_419_069_201];
        check(two_runs::<f64>(Distribution::Normal), normal, 1e-13);
        let truncated = [a, b, -0.335_315_798_479_195, second[0], -0.479_048_419_069_201, 0.196_394_565_122_321];
        check(two_runs::<f64>(Distribution::TruncatedNormal), truncated, 1e-12);
    }

    #[test]
    fn integers_match_tensorflow() {
        let two_runs = |limits: [Tensor; 2]| {
            let kernel = RandomIntegers::new(&generator());
            let [low, high] = limits;
            let inputs = [sizes(&[3]), low, high];
            [run_one(&kernel, &inputs).unwrap(), run_one(&kernel, &inputs).unwrap()]
        };
        let [first, second] = two_runs([Tensor::scalar(-5_i32), Tensor::scalar(1000_i32)]);
        assert_eq!(first.values::<i32>().unwrap(), [442, 62, 110]);
        assert_eq!(second.values::<i32>().unwrap(), [631, 599, 705]);
        let [first, second] = two_runs([Tensor::scalar(-5_i64), Tensor::scalar(1000_i64)]);
        assert_eq!(first.values::<i64>().unwrap(), [509, 294, 103]);
        assert_eq!(second.values::<i64>().unwrap(), [530, 657, 91]);
    }

    #[test]
    fn widest_ranges_do_not_overflow() {
        let kernel = RandomIntegers::new(&generator());
        let inputs = [sizes(&[64]), Tensor::scalar(i64::MIN), Tensor::scalar(i64::MAX)];
        let signs: Vec<_> = numbers::<i64>(&kernel, &inputs).into_iter().map(i64::signum).collect();
        assert!(signs.contains(&-1) && signs.contains(&1));
    }

    #[test]
    fn every_run_reserves_random_numbers_for_its_size() {
        let kernel = RandomIntegers::new(&generator());
        let run = |length| numbers::<i32>(&kernel, &[sizes(&[length]), Tensor::scalar(0), Tensor::scalar(1000)]);
        assert_eq!(run(5), [687, 987, 325, 894, 560]);
        assert_eq!(run(0), [0; 0]);
        assert_eq!(run(1), [447]);
        assert_eq!(run(2), [230, 517]);
    }

    #[test]
    fn concurrent_runs_share_one_sequence() {
        let alone = floats(Distribution::Uniform, DType::Float32);
        let mut expected: Vec<_> = (0..8).map(|_| numbers::<f32>(&alone, &[sizes(&[2])])).collect();
        let shared = floats(Distribution::Uniform, DType::Float32);
        let run = || numbers::<f32>(&shared, &[sizes(&[2])]);
        let mut sequences: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(run)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let by_first = |x: &Vec<f32>, y: &Vec<f32>| x[0].total_cmp(&y[0]);
        expected.sort_by(by_first);
        sequences.sort_by(by_first);
        assert_eq!(sequences, expected);
    }

    #[test]
    fn errors_name_invalid_arguments() {
        let uniform = floats(Distribution::Uniform, DType::Float32);
        for (shape, text) in [
            (Tensor::scalar(2), "InvalidArgument: shape must be a vector of {int32,int64}, got shape []"),
            (sizes(&[2, -1]), "InvalidArgument: Dimension -1 must be >= 0"),
            (
                sizes(&[i32::MAX, i32::MAX, 3, 0]),
                "InvalidArgument: Shape [2147483647,2147483647,3,0] would have more than 2**63 - 1 elements",
            ),
            (
                sizes(&[i32::MAX, 1 << 29]),
                "ResourceExhausted: OOM when allocating tensor with shape[2147483647,536870912] and type float",
            ),
        ] {
            let error = error_text(&uniform, &[shape]);
            assert!(error.starts_with(text), "{error}");
        }
        let integers = RandomIntegers::new(&generator());
        let text = |low, high| error_text(&integers, &[sizes(&[1]), low, high]);
        let (scalar, vector) = (Tensor::scalar(5), sizes(&[0, 1]));
        assert_eq!(text(scalar.clone(), scalar.clone()), "InvalidArgument: Need minval < maxval, got 5 >= 5");
        assert_eq!(text(vector.clone(), scalar.clone()), "InvalidArgument: minval must be 0-D, got shape [2]");
        assert_eq!(text(scalar.clone(), vector), "InvalidArgument: maxval must be 0-D, got shape [2]");
        let empty = run_one(&integers, &[sizes(&[0]), scalar.clone(), scalar]).unwrap();
        assert_eq!(empty.num_elements(), 0);
    }
}
