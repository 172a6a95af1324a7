//! The steps in which deferred floats are computed.

use super::Deferred;
use crate::tensor::dtype::DType;
use crate::tensor::memory::Memory;
use smallvec::SmallVec;
use std::sync::OnceLock;

/// Computes floats from elements of a different dtype in several steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    source_dtype: DType,
    steps: SmallVec<[Step; 2]>,
}

/// An operation on each element. No operand is NaN, so the sign of a NaN does not matter.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// `x * scale + shift`, rounded after each operation.
    Affine {
        /// The factor.
        scale: f32,
        /// The summand.
        shift: f32,
    },
    /// `x / divisor`.
    Divide(f32),
}

/// The number of floats to compute at a time.
const BLOCK_LENGTH: usize = 512;

/// The shift that changes nothing. Unlike 0.0, it preserves the sign of a zero.
const NOTHING: f32 = -0.0;

impl Step {
    /// `x + shift`.
    pub fn add(shift: f32) -> Self {
        Self::Affine { scale: 1.0, shift }
    }

    /// `x * scale`.
    pub fn multiply(scale: f32) -> Self {
        Self::Affine { scale, shift: NOTHING }
    }
}

impl PartialEq for Step {
    /// Returns true if both give the same result to the last bit. The sign of a zero matters.
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

impl Recipe {
    /// Converts the elements of a dtype to floats.
    pub fn new(source_dtype: DType) -> Self {
        Self { source_dtype, steps: SmallVec::new() }
    }

    /// Adds a step.
    pub fn push(&mut self, step: Step) {
        match (self.steps.last_mut(), step) {
            // A product and the sum after it form one step.
            (Some(Step::Affine { shift, .. }), Step::Affine { scale: 1.0, shift: added })
                if shift.to_bits() == NOTHING.to_bits() =>
            {
                *shift = added;
            }
            _ => self.steps.push(step),
        }
    }

    /// The dtype of the elements that the floats are computed from.
    pub fn source_dtype(&self) -> DType {
        self.source_dtype
    }

    /// Creates floats that are computed from `source` when they are read.
    pub fn of(self, source: Memory) -> Deferred {
        Deferred { source, recipe: self, values: OnceLock::new() }
    }

    /// The size in bytes of the element that a float is computed from.
    pub fn source_size(&self) -> usize {
        self.source_dtype.size()
    }

    /// Computes floats from `bytes` and appends them to `out`.
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
    /// Appends floats. If there are several steps, works in blocks that stay in the L1 cache
    /// throughout.
    #[inline(always)]
    fn extend<T: Copy>(&self, out: &mut Vec<f32>, source: &[T], to_float: impl Fn(T) -> f32) {
        // The first step is applied while the block is being filled.
        let (scale, shift, rest) = match self.steps[..] {
            [Step::Affine { scale, shift }, ref rest @ ..] => (scale, shift, rest),
            ref steps => (1.0, NOTHING, steps),
        };
        let first = |source: &T| to_float(*source) * scale + shift;
        if rest.is_empty() {
            out.extend(source.iter().map(first));
            return;
        }
        let mut block = [0.0; BLOCK_LENGTH];
        for source in source.chunks(BLOCK_LENGTH) {
            let block = &mut block[..source.len()];
            block.iter_mut().zip(source).for_each(|(x, source)| *x = first(source));
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
