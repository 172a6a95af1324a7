//! `ScatterUpdate`, `ScatterAdd`, `ScatterNdUpdate` and similar operations: change rows of a
//! variable.
//!
//! They follow the rules of `tf.scatter_update` and `tf.scatter_nd_update` in TensorFlow 1.15, with
//! one difference. If an index is out of range, TensorFlow has already changed the rows before it
//! when the run fails. Here, nothing changes.

use crate::variable::Variable;
use half::f16;
use headrace_engine::dispatch_numeric;
use headrace_engine::error::{Error, Result};
use headrace_engine::kernel::{Kernel, Step, Tensors};
use headrace_engine::kernels::expect_inputs;
use headrace_engine::kernels::math::element::Arithmetic;
use headrace_engine::run::Run;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::DType;
use std::sync::Arc;

struct ScatterKernel {
    variable: Arc<Variable>,
    change: Change,
    /// True if indices are tuples along their last axis, which select slices rather than rows.
    is_nd: bool,
}

/// How an element is combined with its update.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Update,
    Add,
    Sub,
    Mul,
    Div,
    Min,
    Max,
}

/// Creates the kernel for operations that change rows of a variable. Returns `None` for other
/// operations.
pub fn build(op_type: &str, variable: &Arc<Variable>) -> Option<Arc<dyn Kernel>> {
    let (change, is_nd) = match op_type {
        "ScatterUpdate" => (Change::Update, false),
        "ScatterAdd" => (Change::Add, false),
        "ScatterSub" => (Change::Sub, false),
        "ScatterMul" => (Change::Mul, false),
        "ScatterDiv" => (Change::Div, false),
        "ScatterMin" => (Change::Min, false),
        "ScatterMax" => (Change::Max, false),
        "ScatterNdUpdate" => (Change::Update, true),
        "ScatterNdAdd" => (Change::Add, true),
        "ScatterNdSub" => (Change::Sub, true),
        _ => return None,
    };
    Some(Arc::new(ScatterKernel { variable: Arc::clone(variable), change, is_nd }))
}

impl Kernel for ScatterKernel {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [indices, updates] = expect_inputs(&inputs)?;
        let changed = self.variable.update(|current| {
            let slices = if self.is_nd { slices(current, indices, updates)? } else { rows(current, indices)? };
            let value = slices.change(current, indices, updates, self.change)?;
            Ok((value.clone(), value))
        })?;
        Ok(Step::one(changed))
    }
}

/// The slices of a tensor to change.
struct Slices {
    /// The number of axes in a slice.
    rank: usize,
    /// How many leading axes of the indices enumerate the slices.
    num_index_axes: usize,
    /// The number of each slice, in the order of the indices.
    numbers: Vec<usize>,
}

/// Selects rows with integers.
fn rows(current: &Tensor, indices: &Tensor) -> Result<Slices> {
    let Some(num_rows) = current.shape().first() else {
        let shape = current.shape();
        return Err(Error::invalid_argument(format!("params must be at least 1-D, got shape {shape}")));
    };
    let number = |(position, index): (usize, &i64)| {
        usize::try_from(*index).ok().filter(|index| index < num_rows).ok_or_else(|| {
            let position = coordinates(indices.shape(), position);
            Error::invalid_argument(format!("indices{position} = {index} is not in [0, {num_rows})"))
        })
    };
    let numbers = indices.integers()?;
    let numbers = allocate::try_gathered(numbers.iter().enumerate().map(number), refused)?;
    Ok(Slices { rank: current.shape().len() - 1, num_index_axes: 0, numbers })
}

/// Selects slices with tuples of integers along the last axis.
fn slices(current: &Tensor, indices: &Tensor, updates: &Tensor) -> Result<Slices> {
    let Some((depth, leading)) = indices.shape().split_last() else {
        return Err(Error::invalid_argument("Indices shape must have rank at least one. Found:[]"));
    };
    let (depth, rank) = (*depth, current.shape().len());
    let Some(sizes) = current.shape().get(..depth) else {
        return Err(wrong_slices(current, depth, updates));
    };
    let integers = indices.integers()?;
    let tuple = |position: usize| &integers[position * depth..(position + 1) * depth];
    let number = |position: usize| {
        let index = tuple(position).iter().zip(sizes).try_fold(0, |number, (index, size)| {
            usize::try_from(*index).ok().filter(|index| index < size).map(|index| number * size + index)
        });
        index.ok_or_else(|| {
            let indices_text: Vec<_> = tuple(position).iter().map(i64::to_string).collect();
            Error::invalid_argument(format!(
                "indices{} = [{}] does not index into shape {}",
                coordinates(leading, position),
                indices_text.join(", "),
                current.shape()
            ))
        })
    };
    let numbers = allocate::try_gathered((0..leading.iter().product()).map(number), refused)?;
    Ok(Slices { rank: rank - depth, num_index_axes: 1, numbers })
}

fn refused(refusal: allocate::Refusal) -> Error {
    refusal.at("the positions in a variable")
}

/// The error for updates that don't have the shape of the slices after indices with `depth`
/// numbers.
fn wrong_slices(current: &Tensor, depth: usize, updates: &Tensor) -> Error {
    let (params, update_shape) = (current.shape(), updates.shape());
    let (rank, given_rank) = (params.len(), update_shape.len());
    Error::invalid_argument(format!(
        "Dimensions [{depth},{rank}) of input[shape={params}] must match dimensions [{depth},{given_rank}) of \
         updates[shape={update_shape}]"
    ))
}

/// Formats the coordinates of an element, given its number, as in `[1,2]`.
fn coordinates(shape: &[usize], mut position: usize) -> String {
    let mut numbers: Vec<String> = shape
        .iter()
        .rev()
        .map(|size| {
            let number = position % size;
            position /= size;
            number.to_string()
        })
        .collect();
    numbers.reverse();
    format!("[{}]", numbers.join(","))
}

impl Slices {
    fn change(&self, current: &Tensor, indices: &Tensor, updates: &Tensor, change: Change) -> Result<Tensor> {
        if updates.dtype() != current.dtype() {
            let (expected, dtype) = (current.dtype(), updates.dtype());
            return Err(Error::invalid_argument(format!("a variable of type {expected} got updates of type {dtype}")));
        }
        let slice = &current.shape()[current.shape().len() - self.rank..];
        let leading = &indices.shape()[..indices.shape().len() - self.num_index_axes];
        // A scalar is used for all elements of all rows.
        let is_scalar = updates.shape().is_empty() && self.num_index_axes == 0;
        if !is_scalar && !updates.shape().iter().eq(leading.iter().chain(slice)) {
            return Err(self.mismatch(current, indices, updates));
        }
        let length = slice.iter().product();
        match (current.dtype(), change) {
            (DType::String, Change::Update) => {
                let strings = allocate::elements(DType::String, current.shape());
                let mut strings = strings.collect(current.string_values().iter().cloned())?;
                self.each(length, &mut strings, updates.string_values(), |_, update| update.clone());
                Tensor::strings(current.shape().clone(), strings)
            }
            (dtype, _) => {
                dispatch_numeric!(dtype, T => self.change_numbers::<T>(current, updates, length, change), else => match change {
                    Change::Update => self.change_bytes(current, updates, length * dtype.size()),
                    _ => Err(Error::invalid_argument(format!("arithmetic on a variable of type {dtype} is not supported"))),
                })
            }
        }
    }

    fn mismatch(&self, current: &Tensor, indices: &Tensor, updates: &Tensor) -> Error {
        if self.num_index_axes > 0 {
            return wrong_slices(current, current.shape().len() - self.rank, updates);
        }
        Error::invalid_argument(format!(
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], got updates.shape {}, \
             indices.shape {}, params.shape {}",
            updates.shape(),
            indices.shape(),
            current.shape()
        ))
    }

    fn change_numbers<T: Arithmetic + Quotient>(
        &self,
        current: &Tensor,
        updates: &Tensor,
        length: usize,
        change: Change,
    ) -> Result<Tensor> {
        let updates = updates.values::<T>()?;
        if change == Change::Div && updates.iter().any(|divisor| divisor.divides_nothing()) {
            return Err(Error::invalid_argument("Integer division by zero"));
        }
        let function: fn(T, T) -> T = match change {
            Change::Update => |_, update| update,
            Change::Add => T::add,
            Change::Sub => T::sub,
            Change::Mul => T::mul,
            Change::Div => T::quotient,
            Change::Min => T::smaller,
            Change::Max => T::larger,
        };
        let room = allocate::elements(current.dtype(), current.shape());
        let mut values: Vec<T> = room.collect(current.values::<T>()?.iter().copied())?;
        self.each(length, &mut values, updates, |value, update| function(*value, *update));
        Tensor::from_values(current.shape().clone(), values)
    }

    /// Replaces slices of `length` bytes.
    fn change_bytes(&self, current: &Tensor, updates: &Tensor, length: usize) -> Result<Tensor> {
        let mut bytes: Vec<u8> = allocate::elements(current.dtype(), current.shape()).room()?;
        bytes.extend_from_slice(current.stored()?);
        self.each(length, &mut bytes, updates.stored()?, |_, update| *update);
        Tensor::from_bytes(current.dtype(), current.shape().clone(), bytes.into())
    }

    /// Changes the elements of the slices, `length` per slice, in order. `updates` has the same
    /// number of elements, or one for all.
    fn each<T>(&self, length: usize, values: &mut [T], updates: &[T], change: impl Fn(&T, &T) -> T) {
        for (position, number) in self.numbers.iter().enumerate() {
            let slices = match updates {
                [one] => std::slice::from_ref(one).iter().cycle(),
                _ => updates[position * length..(position + 1) * length].iter().cycle(),
            };
            let slice = &mut values[number * length..(number + 1) * length];
            slice.iter_mut().zip(slices).for_each(|(value, update)| *value = change(value, update));
        }
    }
}

/// Division with the semantics of C++.
trait Quotient: Sized {
    /// The quotient. Integers are rounded towards 0.
    fn quotient(self, divisor: Self) -> Self;

    /// Returns true for an integer 0.
    fn divides_nothing(&self) -> bool;
}

macro_rules! integer_quotient {
    ($($T:ty),*) => {
        $(impl Quotient for $T {
            fn quotient(self, divisor: Self) -> Self {
                self.wrapping_div(divisor)
            }

            fn divides_nothing(&self) -> bool {
                *self == 0
            }
        })*
    };
}

integer_quotient!(u8, u16, u32, u64, i8, i16, i32, i64);

macro_rules! float_quotient {
    ($($T:ty),*) => {
        $(impl Quotient for $T {
            fn quotient(self, divisor: Self) -> Self {
                self / divisor
            }

            fn divides_nothing(&self) -> bool {
                false
            }
        })*
    };
}

float_quotient!(f16, f32, f64);
