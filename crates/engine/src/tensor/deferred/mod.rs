//! Lazy element-wise arithmetic, which is computed when the elements are read.
//!
//! An image that is decoded to bytes, cast to floats, scaled and shifted needs four times its
//! memory and three passes. If this is deferred, it waits in a queue as bytes and is computed in a
//! single pass, directly into its batch. The result is the same to the last bit, because the same
//! operations are applied to the same elements in the same order.

mod recipe;

pub use recipe::{Recipe, Step};

use crate::error::{Error, Result};
use crate::tensor::allocate::{self, Refusal};
use crate::tensor::dtype::DType;
use crate::tensor::memory::Memory;
use crate::tensor::shape::Shape;
use crate::tensor::{Data, Tensor, check_length};
use bytes::Bytes;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// With fewer elements than this, computing them immediately costs less than deferring them.
pub const MIN_ELEMENTS: usize = 64;

/// Floats that will be computed from small integers.
pub struct Deferred {
    source: Memory,
    recipe: Recipe,
    values: OnceLock<Vec<f32>>,
}

impl Deferred {
    /// Returns true if this many elements of a dtype are worth deferring.
    pub fn is_worth_it(source_dtype: DType, num_elements: usize) -> bool {
        let is_small_integer = matches!(source_dtype, DType::UInt8 | DType::Int8 | DType::UInt16 | DType::Int16);
        is_small_integer && num_elements >= MIN_ELEMENTS
    }

    /// Converts the elements of `source` to floats.
    pub fn new(source: Memory, source_dtype: DType) -> Self {
        Recipe::new(source_dtype).of(source)
    }

    /// The number of floats.
    pub fn num_elements(&self) -> usize {
        self.source.as_ref().len() / self.recipe.source_size()
    }

    /// Returns true until the elements are computed.
    pub fn is_open(&self) -> bool {
        self.values.get().is_none()
    }

    /// Adds a step.
    pub fn push(&mut self, step: Step) {
        self.values.take();
        self.recipe.push(step);
    }

    /// How the floats are computed.
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Applies the same steps to a copy of some elements.
    pub fn part(&self, positions: Range<usize>) -> std::result::Result<Self, Refusal> {
        let size = self.recipe.source_size();
        Ok(self.over(Memory::copied(&self.source.as_ref()[positions.start * size..positions.end * size])?))
    }

    /// Copies the source of the floats if it may be in the buffer of a batch of strings.
    pub fn unshare(&mut self) {
        self.source.unshare();
    }

    /// The elements that the floats are computed from, and their dtype.
    pub fn source(&self) -> (DType, &Memory) {
        (self.recipe.source_dtype(), &self.source)
    }

    /// Applies the same steps to other elements.
    pub fn over(&self, source: Memory) -> Self {
        self.recipe.clone().of(source)
    }

    /// Computes the elements now. Fails if there is no memory for them.
    pub fn compute(&self) -> std::result::Result<(), Refusal> {
        if self.is_open() {
            let values = self.computed(allocate::room(self.num_elements())?);
            self.values.get_or_init(|| values);
        }
        Ok(())
    }

    /// The elements, which are only computed once.
    pub fn values(&self) -> &[f32] {
        #[expect(
            clippy::disallowed_methods,
            reason = "four times the source's size, and within the limit: see `Tensor::defer`"
        )]
        self.values.get_or_init(|| self.computed(Vec::with_capacity(self.num_elements())))
    }

    fn computed(&self, mut values: Vec<f32>) -> Vec<f32> {
        self.recipe.compute(self.source.as_ref(), &mut values);
        values
    }

    /// Appends the elements to `out`.
    pub fn extend(&self, out: &mut Vec<f32>) {
        match self.values.get() {
            Some(values) => out.extend_from_slice(values),
            None => self.recipe.compute(self.source.as_ref(), out),
        }
    }

    /// The computed elements.
    pub fn into_values(mut self) -> Vec<f32> {
        self.values();
        self.values.take().unwrap_or_default()
    }
}

impl Tensor {
    /// Casts small integers to floats lazily, so that they are computed when they are read. If that
    /// is not worthwhile, changes nothing and returns false.
    pub fn defer(&mut self) -> bool {
        // Floats that don't fit into memory are not deferred, so that computing them now fails
        // properly.
        let is_worth_it = Deferred::is_worth_it(self.dtype, self.num_elements())
            && allocate::check(self.num_elements().saturating_mul(size_of::<f32>())).is_ok();
        let Data::Buffer(memory) = &mut self.data else { return false };
        if is_worth_it {
            let source = std::mem::replace(memory, Memory::Bytes(Bytes::new()));
            self.data = Data::Deferred(Arc::new(Deferred::new(source, self.dtype)));
            self.dtype = DType::Float32;
        }
        is_worth_it
    }

    /// Creates a tensor of deferred floats. Fails if their number does not match the shape.
    pub fn deferred(shape: Shape, floats: Deferred) -> Result<Self> {
        check_length(&shape, floats.num_elements())?;
        Ok(Self { dtype: DType::Float32, shape, data: Data::Deferred(Arc::new(floats)) })
    }

    /// How the elements are computed, unless they already have been.
    pub fn recipe(&self) -> Option<&Recipe> {
        self.open_deferred().map(Deferred::recipe)
    }

    /// The deferred elements, unless they have already been computed.
    fn open_deferred(&self) -> Option<&Deferred> {
        match &self.data {
            Data::Deferred(deferred) if deferred.is_open() => Some(deferred),
            _ => None,
        }
    }

    /// Returns part `run` of deferred elements in the shape `shape`, if it is worth deferring.
    pub(super) fn deferred_part(&self, run: &Range<usize>, shape: &Shape) -> Result<Option<Self>> {
        let Some(deferred) = self.open_deferred().filter(|_| run.len() >= MIN_ELEMENTS) else { return Ok(None) };
        let part = deferred.part(run.clone()).map_err(|refusal| refusal.of_tensor(self.dtype, shape))?;
        Ok(Some(Self { dtype: self.dtype, shape: shape.clone(), data: Data::Deferred(Arc::new(part)) }))
    }

    /// The bytes that deferred elements are computed from. Empty for other tensors.
    pub fn deferred_source(&self) -> &[u8] {
        match &self.data {
            Data::Deferred(deferred) => deferred.source().1.as_ref(),
            _ => &[],
        }
    }

    /// Applies `work`, which may move and drop elements but must not change them. Deferred elements
    /// stay deferred: `work` is applied to the elements that they are computed from.
    pub fn rearranged(&self, work: impl FnOnce(&Self) -> Result<Self>) -> Result<Self> {
        let Some(deferred) = self.open_deferred() else { return work(self) };
        let (dtype, source) = deferred.source();
        let moved = work(&Self { dtype, shape: self.shape.clone(), data: Data::Buffer(source.clone()) })?;
        let shape = moved.shape.clone();
        let data = Data::Deferred(Arc::new(deferred.over(moved.into_memory()?)));
        Ok(Self { dtype: self.dtype, shape, data })
    }

    /// Returns true if the elements have not been computed yet.
    pub fn is_deferred(&self) -> bool {
        self.recipe().is_some()
    }

    /// Adds a step to the computation of deferred floats. Fails if they were never deferred.
    pub fn push_step(&mut self, step: Step) -> Result<()> {
        let Data::Deferred(deferred) = &mut self.data else {
            return Err(Error::internal("a step was added after the floats were computed"));
        };
        Arc::make_mut(deferred).push(step);
        Ok(())
    }

    /// Returns the same elements without deferring any. Fails if there is no memory for them.
    pub fn into_materialised(self) -> Result<Self> {
        if !matches!(self.data, Data::Deferred(_)) {
            return Ok(self);
        }
        let (dtype, shape) = (self.dtype, self.shape.clone());
        Ok(Self { dtype, shape, data: Data::Buffer(self.into_memory()?) })
    }

    /// Computes deferred elements now. Fails if there is no memory for them.
    pub fn materialise(&self) -> Result<()> {
        match &self.data {
            Data::Deferred(deferred) => {
                deferred.compute().map_err(|refusal| refusal.of_tensor(self.dtype, &self.shape))
            }
            _ => Ok(()),
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
    use proptest::prelude::*;

    /// Creates a tensor of one of the dtypes from `values`, with enough of them to be deferred.
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
        fn deferred_results_are_identical_bit_for_bit(
            dtype in prop::sample::select(vec![DType::UInt8, DType::Int8, DType::UInt16, DType::Int16]),
            values in prop::collection::vec(any::<u16>(), MIN_ELEMENTS..80),
            steps in prop::collection::vec(
                (prop::sample::select(&FUNCTIONS[..]), prop::sample::select(&OPERANDS[..]), any::<bool>()),
                0..5,
            ),
        ) {
            let mut deferred = cast(&source(dtype, &values), DType::Float32).unwrap();
            prop_assert!(deferred.is_deferred());
            // The same numbers, not deferred.
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
    fn adding_a_step_does_not_change_other_references_to_the_tensor() {
        let floats = cast(&source(DType::UInt8, &[7; MIN_ELEMENTS]), DType::Float32).unwrap();
        let shared = floats.clone();
        let more = then(floats, Step::add(1.0));
        assert_eq!((shared.values::<f32>().unwrap()[0], more.values::<f32>().unwrap()[0]), (7.0, 8.0));
        assert!(!more.is_deferred());
        let again = then(more, Step::multiply(2.0));
        assert_eq!(again.values::<f32>().unwrap()[0], 16.0);
    }

    #[test]
    fn row_of_a_deferred_batch_is_deferred() {
        let batch = source(DType::UInt8, &(0..200).collect::<Vec<u16>>()).reshaped(Shape::new(&[2, 100])).unwrap();
        let batch = then(cast(&batch, DType::Float32).unwrap(), Step::add(0.5));
        let row = batch.row(1).unwrap();
        assert!(row.is_deferred());
        assert_eq!(row.values::<f32>().unwrap()[..2], [100.5, 101.5]);
    }

    #[test]
    fn moving_elements_keeps_them_deferred() {
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
    fn small_tensors_are_computed_immediately() {
        let few = source(DType::UInt8, &[1; MIN_ELEMENTS - 1]);
        assert!(!cast(&few, DType::Float32).unwrap().is_deferred());
    }
}
