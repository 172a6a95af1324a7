//! `Cast`: converts elements to another dtype, as C does.

use crate::dispatch_numeric;
use crate::error::{Error, Result};
use crate::kernel::rewrite::{InPlace, Rewritable, run_in_place};
use crate::kernel::{Kernel, Step, Tensors};
use crate::kernels::attrs::Attrs;
use crate::kernels::expect_inputs;
use crate::run::Run;
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::{DType, Numeric};
use half::f16;
use std::sync::Arc;

/// Converts its input to `target`.
pub struct Cast {
    target: DType,
}

impl Cast {
    /// Creates the kernel from an operation's attributes. Fails if one is missing or invalid.
    pub fn from_attrs(attrs: &Attrs) -> Result<Self> {
        Ok(Self { target: attrs.dtype("DstT")? })
    }
}

impl Kernel for Cast {
    fn run(&self, run: &Run, inputs: Tensors) -> Result<Step> {
        if !run.is_unoptimised() {
            return run_in_place(self, inputs);
        }
        let [tensor] = expect_inputs(&inputs)?;
        cast_at_once(tensor, self.target).map(Step::one)
    }

    fn rewritable(self: Arc<Self>) -> Option<Arc<dyn Rewritable>> {
        Some(self)
    }
}

impl Rewritable for Cast {
    fn in_place(self: Arc<Self>) -> Option<Arc<dyn InPlace>> {
        Some(self)
    }
}

impl InPlace for Cast {
    fn change(&self, value: &mut Tensor) -> Result<()> {
        if self.target != DType::Float32 || !value.defer() {
            *value = cast_at_once(value, self.target)?;
        }
        Ok(())
    }
}

/// Converts `tensor` to `target`. Integers wrap and floats lose their fraction. A bool becomes 0 or
/// 1, and a number is true unless it is 0. Nothing is copied if the bits stay the same. Small
/// integers may become deferred floats.
pub fn cast(tensor: &Tensor, target: DType) -> Result<Tensor> {
    let mut cast = tensor.clone();
    Cast { target }.change(&mut cast)?;
    Ok(cast)
}

/// Like [`cast`], but the result is never deferred.
fn cast_at_once(tensor: &Tensor, target: DType) -> Result<Tensor> {
    let source = tensor.dtype();
    if is_same_bits(source, target) {
        return tensor.clone().with_dtype(target);
    }
    let unsupported = || Error::unimplemented(format!("Cast {source} to {target} is not supported"));
    // A bool is stored as the byte 0 or 1.
    let tensor = if source == DType::Bool { &tensor.clone().with_dtype(DType::UInt8)? } else { tensor };
    if target == DType::Bool {
        let are_nonzero = dispatch_numeric!(tensor.dtype(), S => are_nonzero::<S>, else => return Err(unsupported()));
        return convert(tensor, DType::Bool, are_nonzero)?.with_dtype(DType::Bool);
    }
    dispatch_numeric!(
        target,
        D => {
            let convert_all = dispatch_numeric!(tensor.dtype(), S => convert_all::<S, D>, else => return Err(unsupported()));
            convert(tensor, target, convert_all)
        },
        else => Err(unsupported())
    )
}

/// Returns true if a cast does not change any bits: between equal dtypes, between signed and
/// unsigned integers of the same size, and between bool and uint8.
fn is_same_bits(source: DType, target: DType) -> bool {
    let width = |dtype| match dtype {
        DType::UInt8 | DType::Int8 => Some(1),
        DType::UInt16 | DType::Int16 => Some(2),
        DType::UInt32 | DType::Int32 => Some(4),
        DType::UInt64 | DType::Int64 => Some(8),
        _ => None,
    };
    let is_byte_of_bool = source == DType::Bool && matches!(target, DType::UInt8 | DType::Int8);
    source == target || is_byte_of_bool || width(source).is_some_and(|bytes| width(target) == Some(bytes))
}

/// Converts the elements with `convert_all`. Only that loop is compiled for each pair of types, so
/// that loops with equal code are linked only once.
fn convert<D: Numeric>(tensor: &Tensor, target: DType, convert_all: fn(&[u8], &mut Vec<D>)) -> Result<Tensor> {
    let mut values = allocate::elements(target, tensor.shape()).room()?;
    convert_all(tensor.stored()?, &mut values);
    Tensor::from_values(tensor.shape().clone(), values)
}

fn convert_all<S: Numeric + ConvertTo<D>, D: Numeric>(bytes: &[u8], values: &mut Vec<D>) {
    values.extend(bytemuck::cast_slice::<_, S>(bytes).iter().map(|value| value.convert()));
}

fn are_nonzero<S: Numeric + PartialEq>(bytes: &[u8], bools: &mut Vec<u8>) {
    let zero = S::zeroed();
    bools.extend(bytemuck::cast_slice::<_, S>(bytes).iter().map(|value| u8::from(*value != zero)));
}

/// Converts one element.
trait ConvertTo<D>: Copy {
    fn convert(self) -> D;
}

macro_rules! convert_with_as {
    ($($source:ty),* => $targets:tt) => {
        $(convert_with_as!(@each $source => $targets);)*
    };
    (@each $source:ty => [$($target:ty),*]) => {
        $(impl ConvertTo<$target> for $source {
            #[inline(always)]
            fn convert(self) -> $target {
                self as $target
            }
        })*
    };
}

convert_with_as!(u8, u16, u32, u64, i8, i16, i32, i64 => [u8, u16, u32, u64, i8, i16, i32, i64, f32, f64]);
convert_with_as!(f32, f64 => [f32, f64]);

/// Converts floats to integers by truncation, as on x86 and in TensorFlow. NaN and values out of
/// range become the smallest int32 or int64, and narrower types keep its low bits. For values that
/// are too small, `as` already does this.
macro_rules! truncate {
    ($($source:ty),* => $targets:tt through $wide:ty, below $limit:literal) => {
        $(truncate!(@each $source => $targets through $wide, below $limit);)*
    };
    (@each $source:ty => [$($target:ty),*] through $wide:ty, below $limit:literal) => {
        $(impl ConvertTo<$target> for $source {
            #[inline(always)]
            fn convert(self) -> $target {
                (if self < $limit { self as $wide } else { <$wide>::MIN }) as $target
            }
        })*
    };
}

truncate!(f32, f64 => [u8, u16, i8, i16, i32] through i32, below 2_147_483_648.0);
truncate!(f32, f64 => [u32, i64] through i64, below 9_223_372_036_854_775_808.0);

macro_rules! truncate_to_u64 {
    ($($source:ty),*) => {
        $(impl ConvertTo<u64> for $source {
            /// Values that fit into an int64 are converted through it and wrap. Larger ones are
            /// converted directly to uint64.
            #[inline(always)]
            fn convert(self) -> u64 {
                if self >= 9_223_372_036_854_775_808.0 {
                    self as u64
                } else {
                    ConvertTo::<i64>::convert(self) as u64
                }
            }
        })*
    };
}

truncate_to_u64!(f32, f64);

/// float16 is converted through float32 in both directions.
macro_rules! convert_half {
    ($($other:ty),*) => {
        $(impl ConvertTo<$other> for f16 {
            #[inline(always)]
            fn convert(self) -> $other {
                self.to_f32().convert()
            }
        }

        impl ConvertTo<f16> for $other {
            #[inline(always)]
            fn convert(self) -> f16 {
                f16::from_f32(self.convert())
            }
        })*
    };
}

convert_half!(u8, u16, u32, u64, i8, i16, i32, i64, f32, f64);

impl ConvertTo<f16> for f16 {
    fn convert(self) -> f16 {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::shape::Shape;

    fn vector<T: Numeric>(values: &[T]) -> Tensor {
        Tensor::from_values(Shape::new(&[values.len()]), values.to_vec()).unwrap()
    }

    fn cast_to<S: Numeric, D: Numeric>(values: &[S]) -> Vec<D> {
        cast(&vector(values), D::DTYPE).unwrap().values::<D>().unwrap().to_vec()
    }

    #[test]
    fn integers_wrap() {
        assert_eq!(cast_to::<i32, u8>(&[300, -1]), [44, 255]);
        assert_eq!(cast_to::<i64, i32>(&[1 << 32, -5]), [0, -5]);
        assert_eq!(cast_to::<u32, i32>(&[u32::MAX]), [-1]);
        assert_eq!(cast_to::<u8, i64>(&[255]), [255]);
    }

    #[test]
    fn floats_are_truncated() {
        assert_eq!(cast_to::<f32, i32>(&[1.9, -1.9, 0.0]), [1, -1, 0]);
        assert_eq!(cast_to::<f64, u8>(&[1.9, 255.0, 300.0]), [1, 255, 44]);
        assert_eq!(cast_to::<f64, f32>(&[0.5]), [0.5]);
    }

    #[test]
    fn values_out_of_range_become_the_smallest_integer() {
        assert_eq!(cast_to::<f32, i32>(&[f32::NAN, 3e9, -3e9, f32::INFINITY]), [i32::MIN; 4]);
        assert_eq!(cast_to::<f64, i64>(&[f64::NAN, 1e19, -1e19]), [i64::MIN; 3]);
        assert_eq!(cast_to::<f64, i32>(&[-2_147_483_648.9, 2_147_483_647.9]), [i32::MIN, i32::MAX]);
        assert_eq!(cast_to::<f64, u64>(&[1e19, -1.0]), [10_000_000_000_000_000_000, u64::MAX]);
        assert_eq!(cast_to::<f32, u32>(&[4e9, -1.0]), [4_000_000_000, u32::MAX]);
    }

    #[test]
    fn half_precision_converts_both_ways() {
        assert_eq!(cast_to::<f32, f16>(&[1.5, 1e6]), [f16::from_f32(1.5), f16::INFINITY]);
        assert_eq!(cast_to::<f16, i32>(&[f16::from_f32(-2.75)]), [-2]);
        assert_eq!(cast_to::<i64, f16>(&[2048]), [f16::from_f32(2048.0)]);
    }

    #[test]
    fn bools_become_zero_and_one() {
        let bools = cast(&vector(&[0.0_f32, -0.0, 0.5, f32::NAN]), DType::Bool).unwrap();
        assert_eq!((bools.dtype(), bools.bytes()), (DType::Bool, &[0, 0, 1, 1][..]));
        assert_eq!(cast(&bools, DType::Float64).unwrap(), vector(&[0.0_f64, 0.0, 1.0, 1.0]));
        assert_eq!(cast(&bools, DType::UInt8).unwrap(), vector(&[0_u8, 0, 1, 1]));
        assert_eq!(cast(&vector(&[256_i32, 0]), DType::Bool).unwrap().bytes(), [1, 0]);
        assert_eq!(cast(&vector(&[2_u8, 0]), DType::Bool).unwrap().bytes(), [1, 0]);
    }

    #[test]
    fn equal_representations_are_not_copied() {
        let tensor = vector(&[7_i32; 100]);
        for target in [DType::Int32, DType::UInt32] {
            assert_eq!(cast(&tensor, target).unwrap().bytes().as_ptr(), tensor.bytes().as_ptr());
        }
    }

    #[test]
    fn strings_are_rejected() {
        let text = format!("{:?}", cast(&Tensor::string("7"), DType::Float32).unwrap_err());
        assert_eq!(text, "Unimplemented: Cast string to float is not supported");
        let text = format!("{:?}", cast(&Tensor::scalar(7_i32), DType::String).unwrap_err());
        assert_eq!(text, "Unimplemented: Cast int32 to string is not supported");
    }
}
