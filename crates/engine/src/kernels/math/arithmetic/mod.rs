//! Element-wise arithmetic on one or two tensors of the same real dtype, with NumPy's
//! broadcasting.

pub mod of_floats;

use crate::dispatch_numeric;
use crate::error::{Error, Result};
use crate::kernel::rewrite::{InPlace, Rewritable, run_in_place};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::expect_inputs;
use crate::kernels::math::accumulate::Accumulate;
use crate::kernels::math::broadcast::Broadcast;
use crate::kernels::math::element::Arithmetic;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::deferred;
use crate::tensor::dtype::DType;
use half::f16;
use std::sync::Arc;

/// A function of two tensors of the same dtype.
#[derive(Clone, Copy, Debug)]
pub enum Binary {
    /// `x + y`
    Add,
    /// `x - y`
    Sub,
    /// `x * y`
    Mul,
    /// `x / y`, for floats only.
    RealDiv,
    /// Rounded towards minus infinity, like Python's `//`.
    FloorDiv,
    /// With the sign of the divisor, like Python's `%`.
    FloorMod,
    /// The larger number, or NaN if either is NaN.
    Maximum,
    /// The smaller number, or NaN if either is NaN.
    Minimum,
    /// `x` to the power of `y`, for floats only.
    Pow,
    /// `(x - y) * (x - y)`
    SquaredDifference,
    /// `x / y`, or 0 if y is 0; for floats only.
    DivNoNan,
}

/// Adds one or more tensors of the same dtype and shape.
pub struct AddN;

/// A [`Binary`] whose input `position` is constant.
struct WithOperand {
    function: Binary,
    operand: Tensor,
    position: usize,
    /// The step that it adds to deferred floats.
    step: Option<deferred::Step>,
}

/// A function of one tensor.
#[derive(Clone, Copy, Debug)]
pub enum Unary {
    /// `-x`
    Neg,
    /// The absolute value.
    Abs,
    /// `x * x`
    Square,
    /// -1, 0 or 1, or NaN for NaN.
    Sign,
}

impl Kernel for Binary {
    fn run(&self, _run: &Run, mut inputs: Tensors) -> Result<Step> {
        if let Some((step, position)) = self.deferred_step(&inputs) {
            let mut floats = inputs.swap_remove(position);
            floats.push_step(step)?;
            return Ok(Step::one(floats));
        }
        let [x, y] = expect_inputs(&inputs)?;
        self.compute(x, y).map(Step::one)
    }

    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        Some(self)
    }
}

impl Rewritable for Binary {
    fn with_constants(&self, inputs: &[Option<&Tensor>]) -> Option<Arc<dyn Kernel>> {
        let (operand, position) = match inputs {
            [Some(operand), None] => (*operand, 0),
            [None, Some(operand)] => (*operand, 1),
            _ => return None,
        };
        let step = self.step(operand, position);
        Some(Arc::new(WithOperand { function: *self, operand: operand.clone(), position, step }))
    }
}

impl Kernel for WithOperand {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        run_in_place(self, inputs)
    }

    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        Some(self)
    }
}

impl Rewritable for WithOperand {
    fn in_place(self: Arc<Self>) -> Option<Arc<dyn InPlace>> {
        Some(self)
    }
}

impl InPlace for WithOperand {
    fn change(&self, value: &mut Tensor) -> Result<()> {
        let Self { function, operand, position, step } = self;
        match step {
            Some(step) if can_take_step(value, operand) => value.push_step(*step)?,
            _ if *position == 0 => *value = function.compute(operand, value)?,
            _ => *value = function.compute(value, operand)?,
        }
        Ok(())
    }
}

impl Binary {
    fn compute(self, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        let dtype = x.dtype();
        if y.dtype() != dtype {
            return Err(Error::internal(format!("{self:?} of {dtype} and {}, expected the same type", y.dtype())));
        }
        match self {
            Self::RealDiv => real_div(x, y),
            Self::Pow => pow(x, y),
            Self::DivNoNan => div_no_nan(x, y),
            _ => dispatch_numeric!(dtype, T => self.apply::<T>(x, y), else => Err(unsupported(&self, dtype))),
        }
    }
}

impl Kernel for Unary {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let [x] = expect_inputs(&inputs)?;
        dispatch_numeric!(x.dtype(), T => self.apply::<T>(x), else => Err(unsupported(self, x.dtype()))).map(Step::one)
    }
}

impl Binary {
    /// If one input is deferred and the other is a finite float, returns the step to add to the
    /// deferred input, and that input's number.
    fn deferred_step(self, inputs: &Tensors) -> Option<(deferred::Step, usize)> {
        let [x, y] = inputs.as_slice() else { return None };
        let position = usize::from(x.num_elements() == 1);
        let (tensor, operand) = if position == 0 { (x, y) } else { (y, x) };
        if !can_take_step(tensor, operand) {
            return None;
        }
        Some((self.step(operand, 1 - position)?, position))
    }

    /// Returns the step for the other input, if `operand` (input `position`) is a single
    /// finite float.
    fn step(self, operand: &Tensor, position: usize) -> Option<deferred::Step> {
        let [operand] = operand.values::<f32>().ok()? else { return None };
        let operand = Some(*operand).filter(|operand| operand.is_finite())?;
        Some(match (self, position) {
            (Self::Add, _) => deferred::Step::add(operand),
            (Self::Sub, 1) => deferred::Step::add(-operand),
            (Self::Sub, _) => deferred::Step::Affine { scale: -1.0, shift: operand },
            (Self::Mul, _) => deferred::Step::multiply(operand),
            (Self::RealDiv, 1) => deferred::Step::Divide(operand),
            _ => return None,
        })
    }

    fn apply<T: Arithmetic>(self, x: &Tensor, y: &Tensor) -> Result<Tensor> {
        match self {
            Self::Add => map_pairs(x, y, T::add),
            Self::Sub => map_pairs(x, y, T::sub),
            Self::Mul => map_pairs(x, y, T::mul),
            Self::FloorDiv => divide(x, y, T::floor_div),
            Self::FloorMod => divide(x, y, T::floor_mod),
            Self::Maximum => map_pairs(x, y, T::larger),
            Self::Minimum => map_pairs(x, y, T::smaller),
            Self::SquaredDifference => map_pairs(x, y, |x: T, y| {
                let difference = x.sub(y);
                difference.mul(difference)
            }),
            Self::RealDiv | Self::Pow | Self::DivNoNan => Err(unsupported(&self, T::DTYPE)),
        }
    }
}

impl Unary {
    fn apply<T: Accumulate>(self, x: &Tensor) -> Result<Tensor> {
        match self {
            Self::Neg => map(x, T::neg),
            Self::Abs => map(x, T::abs),
            Self::Square => map(x, |value: T| value.mul(value)),
            Self::Sign => map(x, sign::<T>),
        }
    }
}

fn sign<T: Accumulate>(value: T) -> T {
    let (zero, one) = (T::zeroed(), T::narrow(T::ONE));
    if value > zero {
        one
    } else if value < zero {
        one.neg()
    } else if value == zero {
        zero
    } else {
        value
    }
}

impl Kernel for AddN {
    fn run(&self, _run: &Run, inputs: Tensors) -> Result<Step> {
        let (first, others) = inputs.split_first().ok_or_else(|| Error::internal("AddN needs at least one input"))?;
        if let Some((index, other)) = others.iter().enumerate().find(|(_, other)| other.shape() != first.shape()) {
            return Err(Error::invalid_argument(format!(
                "Inputs to operation AddN of type AddN must have the same size and shape.  Input 0: {} != input {}: {}",
                first.shape(),
                index + 1,
                other.shape()
            )));
        }
        others.iter().try_fold(first.clone(), |sum, other| Binary::Add.compute(&sum, other)).map(Step::one)
    }
}

/// Returns true if `tensor` is deferred and an operation with a single `operand` keeps its shape.
fn can_take_step(tensor: &Tensor, operand: &Tensor) -> bool {
    tensor.is_deferred() && operand.shape().len() <= tensor.shape().len()
}

fn unsupported(function: &impl std::fmt::Debug, dtype: DType) -> Error {
    Error::unimplemented(format!("{function:?} of {dtype} is not supported"))
}

fn real_div(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    match x.dtype() {
        DType::Float16 => map_pairs(x, y, |x: f16, y: f16| x / y),
        DType::Float32 => map_pairs(x, y, |x: f32, y: f32| x / y),
        DType::Float64 => map_pairs(x, y, |x: f64, y: f64| x / y),
        dtype => Err(unsupported(&Binary::RealDiv, dtype)),
    }
}

fn div_no_nan(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    match x.dtype() {
        DType::Float16 => map_pairs(x, y, |x: f16, y: f16| if y == f16::ZERO { y.abs() } else { x / y }),
        DType::Float32 => map_pairs(x, y, |x: f32, y: f32| if y == 0.0 { 0.0 } else { x / y }),
        DType::Float64 => map_pairs(x, y, |x: f64, y: f64| if y == 0.0 { 0.0 } else { x / y }),
        dtype => Err(unsupported(&Binary::DivNoNan, dtype)),
    }
}

fn pow(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    of_floats::map_pairs_of_floats(&Binary::Pow, x, y, f32::powf, f64::powf)
}

pub(super) fn map<T: Arithmetic>(x: &Tensor, function: impl Fn(T) -> T) -> Result<Tensor> {
    let values = x.values::<T>()?.iter().map(|value| function(*value));
    let values = allocate::elements(T::DTYPE, x.shape()).collect(values)?;
    Tensor::from_values(x.shape().clone(), values)
}

fn map_pairs<T: Arithmetic>(x: &Tensor, y: &Tensor, function: impl Fn(T, T) -> T) -> Result<Tensor> {
    let broadcast = Broadcast::new(x.shape(), y.shape())?;
    let values = broadcast.map(T::DTYPE, x.values()?, y.values()?, function)?;
    Tensor::from_values(broadcast.shape().clone(), values)
}

/// Divides. Fails if an integer divisor is 0, unless there are no elements.
fn divide<T: Arithmetic>(x: &Tensor, y: &Tensor, function: impl Fn(T, T) -> T) -> Result<Tensor> {
    if T::IS_INTEGER && x.num_elements() > 0 && y.values::<T>()?.contains(&T::zeroed()) {
        // Check the shapes first.
        Broadcast::new(x.shape(), y.shape())?;
        return Err(Error::invalid_argument("Integer division by zero"));
    }
    map_pairs(x, y, function)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::testing::{error_text, run_one};
    use crate::tensor::dtype::Numeric;
    use crate::tensor::shape::Shape;

    fn tensor<T: Numeric>(dims: &[usize], values: &[T]) -> Tensor {
        Tensor::from_values(Shape::new(dims), values.to_vec()).unwrap()
    }

    #[test]
    fn every_binary_function_works_on_floats_and_integers() {
        let compute = |function: Binary| {
            let floats = run_one(&function, &[tensor(&[2], &[7.0_f32, -7.0]), Tensor::scalar(2.0_f32)]).unwrap();
            let floats = floats.values::<f32>().unwrap().to_vec();
            let integers = run_one(&function, &[tensor(&[2], &[7_i32, -7]), Tensor::scalar(2_i32)]);
            (floats, integers.map_or(vec![], |integers| integers.values::<i32>().unwrap().to_vec()))
        };
        assert_eq!(compute(Binary::Add), (vec![9.0, -5.0], vec![9, -5]));
        assert_eq!(compute(Binary::Sub), (vec![5.0, -9.0], vec![5, -9]));
        assert_eq!(compute(Binary::Mul), (vec![14.0, -14.0], vec![14, -14]));
        assert_eq!(compute(Binary::RealDiv), (vec![3.5, -3.5], vec![]));
        assert_eq!(compute(Binary::FloorDiv), (vec![3.0, -4.0], vec![3, -4]));
        assert_eq!(compute(Binary::FloorMod), (vec![1.0, 1.0], vec![1, 1]));
        assert_eq!(compute(Binary::Pow), (vec![49.0, 49.0], vec![]));
        assert_eq!(compute(Binary::Maximum), (vec![7.0, 2.0], vec![7, 2]));
        assert_eq!(compute(Binary::Minimum), (vec![2.0, -7.0], vec![2, -7]));
        assert_eq!(compute(Binary::SquaredDifference), (vec![25.0, 81.0], vec![25, 81]));
        assert_eq!(compute(Binary::DivNoNan), (vec![3.5, -3.5], vec![]));
        let quotients = run_one(&Binary::DivNoNan, &[tensor(&[2], &[1.0, 0.0]), tensor(&[2], &[-0.0, 0.0])]).unwrap();
        assert_eq!(quotients, tensor(&[2], &[0.0, 0.0]));
    }

    #[test]
    fn every_unary_function_works() {
        let x = [tensor(&[2], &[-3_i64, 2])];
        assert_eq!(run_one(&Unary::Neg, &x).unwrap(), tensor(&[2], &[3_i64, -2]));
        assert_eq!(run_one(&Unary::Abs, &x).unwrap(), tensor(&[2], &[3_i64, 2]));
        assert_eq!(run_one(&Unary::Square, &x).unwrap(), tensor(&[2], &[9_i64, 4]));
        assert_eq!(run_one(&Unary::Sign, &x).unwrap(), tensor(&[2], &[-1_i64, 1]));
        let signs = run_one(&Unary::Sign, &[tensor(&[4], &[-0.5_f32, -0.0, f32::INFINITY, f32::NAN])]).unwrap();
        assert_eq!(signs, tensor(&[4], &[-1.0_f32, 0.0, 1.0, f32::NAN]));
    }

    #[test]
    fn tensors_of_equal_shape_are_added() {
        let x = || tensor(&[2], &[1_i32, 2]);
        assert_eq!(run_one(&AddN, &[x()]).unwrap(), x());
        assert_eq!(run_one(&AddN, &[x(), x(), x()]).unwrap(), tensor(&[2], &[3_i32, 6]));
        let text = error_text(&AddN, &[x(), x(), Tensor::scalar(1)]);
        let expected = "InvalidArgument: Inputs to operation AddN of type AddN must have the same size and shape.  \
                        Input 0: [2] != input 2: []";
        assert_eq!(text, expected);
    }

    #[test]
    fn shapes_are_broadcast() {
        let sum = run_one(&Binary::Add, &[tensor(&[2, 1], &[10, 20]), tensor(&[3], &[1, 2, 3])]).unwrap();
        assert_eq!(sum, tensor(&[2, 3], &[11, 12, 13, 21, 22, 23]));
        assert_eq!(
            error_text(&Binary::Add, &[tensor(&[2], &[1, 2]), tensor(&[3], &[1, 2, 3])]),
            "InvalidArgument: Incompatible shapes: [2] vs. [3]"
        );
    }

    #[test]
    fn integer_division_by_zero_is_rejected() {
        let zero = tensor(&[2], &[1, 0]);
        for function in [Binary::FloorDiv, Binary::FloorMod] {
            let text = error_text(&function, &[Tensor::scalar(7), zero.clone()]);
            assert_eq!(text, "InvalidArgument: Integer division by zero");
        }
        let empty = run_one(&Binary::FloorDiv, &[tensor::<i32>(&[0], &[]), Tensor::scalar(0)]).unwrap();
        assert_eq!(empty.num_elements(), 0);
        let infinity = run_one(&Binary::RealDiv, &[Tensor::scalar(1.0_f64), Tensor::scalar(0.0_f64)]).unwrap();
        assert_eq!(infinity.values::<f64>().unwrap(), [f64::INFINITY]);
    }

    #[test]
    fn error_names_incompatible_types() {
        let strings = [Tensor::string("a"), Tensor::string("b")];
        assert_eq!(error_text(&Binary::Add, &strings), "Unimplemented: Add of string is not supported");
        let mixed = [Tensor::scalar(1_i32), Tensor::scalar(1.0_f32)];
        assert_eq!(error_text(&Binary::Mul, &mixed), "Internal: Mul of int32 and float, expected the same type");
        let integers = [Tensor::scalar(1_i32), Tensor::scalar(1_i32)];
        assert_eq!(error_text(&Binary::RealDiv, &integers), "Unimplemented: RealDiv of int32 is not supported");
    }
}
