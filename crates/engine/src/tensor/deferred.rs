//! Element-wise arithmetic that is put off until somebody reads the elements.
//!
//! A picture decoded to bytes, made floats, scaled and shifted, takes four times its memory and three passes over it.
//! Put off, it waits in a queue as bytes, and is computed in one pass, straight into the batch it becomes part of.
//! What is computed is the same to the last bit: the same operations on the same elements in the same order.

use crate::tensor::allocate::{self, Refusal};
use crate::tensor::dtype::DType;
use crate::tensor::memory::Memory;
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::OnceLock;

/// Below this many elements, computing at once costs less than putting it off.
pub const MIN_ELEMENTS: usize = 64;

/// Floats to be computed from small integers.
pub struct Deferred {
    source: Memory,
    recipe: Recipe,
    values: OnceLock<Vec<f32>>,
}

/// How floats are computed: from elements of a type, in steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    source_dtype: DType,
    steps: SmallVec<[Step; 2]>,
}

/// What is done with each element. No operand is NaN, so that signs of NaN are nobody's concern.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// `x * scale + shift`, rounded after each operation.
    Affine {
        scale: f32,
        shift: f32,
    },
    Divide(f32),
}

/// Floats that are computed at a time.
const BLOCK_LENGTH: usize = 512;

/// What is added where nothing is: it also keeps the sign of a zero.
const NOTHING: f32 = -0.0;

impl Step {
    pub fn add(shift: f32) -> Self {
        Self::Affine { scale: 1.0, shift }
    }

    pub fn multiply(scale: f32) -> Self {
        Self::Affine { scale, shift: NOTHING }
    }
}

impl PartialEq for Step {
    /// Whether both do the same to the last bit: the sign of a zero matters.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Affine { scale, shift }, Self::Affine { scale: other_scale, shift: other_shift }) => {
                scale.to_bits() == other_scale.to_bits() && shift.to_bits() == other_shift.to_bits()
            }
            (Self::Divide(divisor), Self::Divide(other)) => divisor.to_bits() == other.to_bits(),
            _ => false,
        }
    }
}

impl Deferred {
    /// Whether so many elements of a type are worth putting off.
    pub fn is_worth_it(source_dtype: DType, num_elements: usize) -> bool {
        let is_small_integer = matches!(source_dtype, DType::UInt8 | DType::Int8 | DType::UInt16 | DType::Int16);
        is_small_integer && num_elements >= MIN_ELEMENTS
    }

    /// The elements of `source`, which must be worth it, as floats.
    pub fn new(source: Memory, source_dtype: DType) -> Self {
        Recipe { source_dtype, steps: SmallVec::new() }.of(source)
    }

    /// How many floats they are.
    pub fn len(&self) -> usize {
        self.source.as_ref().len() / self.recipe.source_size()
    }

    /// Whether the elements are yet to be computed.
    pub fn is_open(&self) -> bool {
        self.values.get().is_none()
    }

    /// Adds a step.
    pub fn push(&mut self, step: Step) {
        self.values.take();
        match (self.recipe.steps.last_mut(), step) {
            // A product that a sum follows is one step.
            (Some(Step::Affine { shift, .. }), Step::Affine { scale: 1.0, shift: added })
                if shift.to_bits() == NOTHING.to_bits() =>
            {
                *shift = added;
            }
            _ => self.recipe.steps.push(step),
        }
    }

    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The same of the elements at `places`, which are copied.
    pub fn part(&self, places: Range<usize>) -> Result<Self, Refusal> {
        let size = self.recipe.source_size();
        Ok(self.over(Memory::copied(&self.source.as_ref()[places.start * size..places.end * size])?))
    }

    /// Copies what the floats are computed from if it may lie in the buffer of a batch of strings.
    pub fn unshare(&mut self) {
        self.source.unshare();
    }

    /// What the floats are computed from, and its type.
    pub fn source(&self) -> (DType, &Memory) {
        (self.recipe.source_dtype, &self.source)
    }

    /// The same steps over other elements.
    pub fn over(&self, source: Memory) -> Self {
        self.recipe.clone().of(source)
    }

    /// Computes the elements now. Fails if there is no memory for them.
    pub fn compute(&self) -> Result<(), Refusal> {
        if self.is_open() {
            let values = self.computed(allocate::room(self.len())?);
            self.values.get_or_init(|| values);
        }
        Ok(())
    }

    /// The elements, computed once.
    pub fn values(&self) -> &[f32] {
        #[expect(
            clippy::disallowed_methods,
            reason = "four times what is there, and no more than the limit: see put_off"
        )]
        self.values.get_or_init(|| self.computed(Vec::with_capacity(self.len())))
    }

    fn computed(&self, mut values: Vec<f32>) -> Vec<f32> {
        self.recipe.compute(self.source.as_ref(), &mut values);
        values
    }

    /// Adds the elements to `out`.
    pub fn extend(&self, out: &mut Vec<f32>) {
        match self.values.get() {
            Some(values) => out.extend_from_slice(values),
            None => self.recipe.compute(self.source.as_ref(), out),
        }
    }

    pub fn into_values(mut self) -> Vec<f32> {
        self.values();
        self.values.take().unwrap_or_default()
    }
}

impl Recipe {
    /// Floats that are computed from `source` when they are read.
    pub fn of(self, source: Memory) -> Deferred {
        Deferred { source, recipe: self, values: OnceLock::new() }
    }

    /// Size in bytes of the element that a float is computed from.
    pub fn source_size(&self) -> usize {
        self.source_dtype.size()
    }

    /// Adds what is computed from `bytes` to `out`.
    pub fn compute(&self, bytes: &[u8], out: &mut Vec<f32>) {
        pulp::Arch::new().dispatch(Computation { recipe: self, bytes, out });
    }
}

/// A computation that uses the widest vectors that the machine has.
struct Computation<'a> {
    recipe: &'a Recipe,
    bytes: &'a [u8],
    out: &'a mut Vec<f32>,
}

impl pulp::WithSimd for Computation<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _simd: S) {
        let words = self.bytes.as_chunks().0;
        match self.recipe.source_dtype {
            DType::UInt8 => self.recipe.extend(self.out, self.bytes, |x: u8| f32::from(x)),
            DType::Int8 => self.recipe.extend(self.out, self.bytes, |x: u8| f32::from(x as i8)),
            DType::UInt16 => self.recipe.extend(self.out, words, |x| f32::from(u16::from_ne_bytes(x))),
            _ => self.recipe.extend(self.out, words, |x| f32::from(i16::from_ne_bytes(x))),
        }
    }
}

impl Recipe {
    /// Adds floats a block at a time, which stays in the nearest cache while the steps are done.
    #[inline(always)]
    fn extend<T: Copy>(&self, out: &mut Vec<f32>, source: &[T], to_float: impl Fn(T) -> f32) {
        let mut block = [0.0; BLOCK_LENGTH];
        // The first step is done while the block is filled.
        let (scale, shift, rest) = match self.steps[..] {
            [Step::Affine { scale, shift }, ref rest @ ..] => (scale, shift, rest),
            ref steps => (1.0, NOTHING, steps),
        };
        for source in source.chunks(BLOCK_LENGTH) {
            let block = &mut block[..source.len()];
            block.iter_mut().zip(source).for_each(|(x, source)| *x = to_float(*source) * scale + shift);
            for step in rest {
                match *step {
                    Step::Affine { scale, shift } => block.iter_mut().for_each(|x| *x = *x * scale + shift),
                    Step::Divide(divisor) => block.iter_mut().for_each(|x| *x /= divisor),
                }
            }
            out.extend_from_slice(block);
        }
    }
}

impl Clone for Deferred {
    fn clone(&self) -> Self {
        self.over(self.source.clone())
    }
}

impl AsRef<[u8]> for Deferred {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(self.values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::math::arithmetic::Binary;
    use crate::kernels::math::cast::cast;
    use crate::kernels::testing::run_one;
    use crate::tensor::Tensor;
    use crate::tensor::shape::Shape;
    use proptest::prelude::*;

    /// `values`, enough of them to be put off, as a tensor of one of the types.
    fn source(dtype: DType, values: &[u16]) -> Tensor {
        let shape = Shape::new(&[values.len()]);
        let tensor = match dtype {
            DType::UInt8 => Tensor::from_values(shape, values.iter().map(|value| *value as u8).collect()),
            DType::Int8 => Tensor::from_values(shape, values.iter().map(|value| *value as i8).collect()),
            DType::UInt16 => Tensor::from_values(shape, values.to_vec()),
            _ => Tensor::from_values(shape, values.iter().map(|value| *value as i16).collect()),
        };
        tensor.unwrap()
    }

    fn then(mut floats: Tensor, step: Step) -> Tensor {
        floats.push_step(step).unwrap();
        floats
    }

    fn bits(tensor: &Tensor) -> Vec<u32> {
        tensor.values::<f32>().unwrap().iter().map(|value| value.to_bits()).collect()
    }

    const FUNCTIONS: [Binary; 4] = [Binary::Add, Binary::Sub, Binary::Mul, Binary::RealDiv];
    const OPERANDS: [f32; 9] = [0.0, -0.0, 1.0, -1.5, 1.0 / 255.0, 1e-40, 3.4e38, f32::INFINITY, f32::NAN];

    proptest! {
        #[test]
        fn what_is_put_off_is_the_same_to_the_last_bit(
            dtype in prop::sample::select(vec![DType::UInt8, DType::Int8, DType::UInt16, DType::Int16]),
            values in prop::collection::vec(any::<u16>(), MIN_ELEMENTS..80),
            steps in prop::collection::vec(
                (prop::sample::select(&FUNCTIONS[..]), prop::sample::select(&OPERANDS[..]), any::<bool>()),
                0..5,
            ),
        ) {
            let mut deferred = cast(&source(dtype, &values), DType::Float32).unwrap();
            prop_assert!(deferred.is_deferred());
            // The same numbers, which are there.
            let mut eager = Tensor::from_values(deferred.shape().clone(), deferred.values::<f32>().unwrap().to_vec());
            deferred = cast(&source(dtype, &values), DType::Float32).unwrap();
            for (function, operand, is_left) in steps {
                let apply = |tensor: Tensor| {
                    let mut inputs = [tensor, Tensor::scalar(operand)];
                    if is_left {
                        inputs.reverse();
                    }
                    run_one(&function, &inputs)
                };
                (deferred, eager) = (apply(deferred).unwrap(), apply(eager.unwrap()));
            }
            let eager = eager.unwrap();
            let floats = deferred.to_floats().unwrap();
            let floats = Tensor::from_values(deferred.shape().clone(), floats).unwrap();
            prop_assert_eq!(bits(&floats), bits(&eager));
            prop_assert_eq!(bits(&deferred), bits(&eager));
        }
    }

    #[test]
    fn steps_do_not_change_what_others_hold() {
        let floats = cast(&source(DType::UInt8, &[7; MIN_ELEMENTS]), DType::Float32).unwrap();
        let shared = floats.clone();
        let more = then(floats, Step::add(1.0));
        assert_eq!((shared.values::<f32>().unwrap()[0], more.values::<f32>().unwrap()[0]), (7.0, 8.0));
        assert!(!more.is_deferred());
        let again = then(more, Step::multiply(2.0));
        assert_eq!(again.values::<f32>().unwrap()[0], 16.0);
    }

    #[test]
    fn a_row_is_put_off_as_its_batch_is() {
        let batch = source(DType::UInt8, &(0..200).collect::<Vec<u16>>()).reshaped(Shape::new(&[2, 100])).unwrap();
        let batch = then(cast(&batch, DType::Float32).unwrap(), Step::add(0.5));
        let row = batch.row(1).unwrap();
        assert!(row.is_deferred());
        assert_eq!(row.values::<f32>().unwrap()[..2], [100.5, 101.5]);
    }

    #[test]
    fn what_moves_elements_leaves_them_to_be_computed() {
        let bytes = source(DType::UInt8, &(0..192).collect::<Vec<u16>>()).reshaped(Shape::new(&[3, 8, 8])).unwrap();
        let shifted = |tensor: &Tensor| then(cast(tensor, DType::Float32).unwrap(), Step::add(0.5));
        let window = |tensor: &Tensor| tensor.window(&[0, 1, 2], Shape::new(&[3, 6, 5])).unwrap();
        let moved = window(&shifted(&bytes));
        assert!(moved.is_deferred());
        assert_eq!(moved, shifted(&window(&bytes)));
        let tiny = shifted(&bytes).window(&[1, 0, 0], Shape::new(&[1, 1, 1])).unwrap();
        assert_eq!(tiny.values::<f32>().unwrap(), [64.5]);
    }

    #[test]
    fn little_is_computed_at_once() {
        let few = source(DType::UInt8, &[1; MIN_ELEMENTS - 1]);
        assert!(!cast(&few, DType::Float32).unwrap().is_deferred());
    }
}
