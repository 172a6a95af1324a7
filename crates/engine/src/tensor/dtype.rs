//! The dtypes of tensors, with TensorFlow's numbers and names.

use crate::error::{Error, Result};
use bytemuck::Pod;
use half::f16;
use std::fmt;

/// The dtype of a tensor. The discriminants are TensorFlow's `DataType` numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DType {
    /// `tf.float32`
    Float32 = 1,
    /// `tf.float64`
    Float64 = 2,
    /// `tf.int32`
    Int32 = 3,
    /// `tf.uint8`
    UInt8 = 4,
    /// `tf.int16`
    Int16 = 5,
    /// `tf.int8`
    Int8 = 6,
    /// `tf.string`: any bytes.
    String = 7,
    /// `tf.complex64`
    Complex64 = 8,
    /// `tf.int64`
    Int64 = 9,
    /// `tf.bool`: a byte, 0 or 1.
    Bool = 10,
    /// `tf.uint16`
    UInt16 = 17,
    /// `tf.complex128`
    Complex128 = 18,
    /// `tf.float16`
    Float16 = 19,
    /// `tf.uint32`
    UInt32 = 22,
    /// `tf.uint64`
    UInt64 = 23,
}

impl DType {
    const ALL: [DType; 15] = [
        DType::Float32,
        DType::Float64,
        DType::Int32,
        DType::UInt8,
        DType::Int16,
        DType::Int8,
        DType::String,
        DType::Complex64,
        DType::Int64,
        DType::Bool,
        DType::UInt16,
        DType::Complex128,
        DType::Float16,
        DType::UInt32,
        DType::UInt64,
    ];

    /// The dtype with TensorFlow's number `code`.
    pub fn from_code(code: u8) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|dtype| *dtype as u8 == code)
            .ok_or_else(|| Error::invalid_argument(format!("unknown element type {code}")))
    }

    /// The size of an element in bytes, or 0 for strings.
    pub fn size(self) -> usize {
        match self {
            DType::String => 0,
            DType::Bool | DType::UInt8 | DType::Int8 => 1,
            DType::UInt16 | DType::Int16 | DType::Float16 => 2,
            DType::UInt32 | DType::Int32 | DType::Float32 => 4,
            DType::UInt64 | DType::Int64 | DType::Float64 | DType::Complex64 => 8,
            DType::Complex128 => 16,
        }
    }

    /// The alignment of an element in memory, the same as that of [`Pod`] types.
    pub fn alignment(self) -> usize {
        self.size().clamp(1, 8)
    }

    /// The name in messages, as TensorFlow's kernels print it: `float`, `double`, `int32`.
    pub fn kernel_name(self) -> &'static str {
        match self {
            DType::Float32 => "float",
            DType::Float64 => "double",
            DType::Int32 => "int32",
            DType::UInt8 => "uint8",
            DType::Int16 => "int16",
            DType::Int8 => "int8",
            DType::String => "string",
            DType::Complex64 => "complex64",
            DType::Int64 => "int64",
            DType::Bool => "bool",
            DType::UInt16 => "uint16",
            DType::Complex128 => "complex128",
            DType::Float16 => "half",
            DType::UInt32 => "uint32",
            DType::UInt64 => "uint64",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kernel_name())
    }
}

/// A Rust type for the elements of a numeric tensor. Booleans are bytes; see `Tensor::bytes`.
pub trait Numeric: Pod + Send + Sync {
    /// The dtype of tensors with this Rust type.
    const DTYPE: DType;
}

macro_rules! implement_numeric {
    ($($rust:ty => $dtype:ident),* $(,)?) => {
        $(impl Numeric for $rust {
            const DTYPE: DType = DType::$dtype;
        })*
    };
}

implement_numeric! {
    u8 => UInt8, u16 => UInt16, u32 => UInt32, u64 => UInt64,
    i8 => Int8, i16 => Int16, i32 => Int32, i64 => Int64,
    f16 => Float16, f32 => Float32, f64 => Float64,
}

/// Runs an expression with a type alias for the Rust type of a real numeric [`DType`], or `else`
/// for bool, complex and string: `dispatch_numeric!(dtype, T => f::<T>(x), else => Err(...))`.
#[macro_export]
macro_rules! dispatch_numeric {
    (@arm $T:ident, $rust:ty, $body:expr) => {{
        type $T = $rust;
        $body
    }};
    ($dtype:expr, $T:ident => $body:expr, else => $other:expr) => {
        match $dtype {
            $crate::tensor::dtype::DType::UInt8 => $crate::dispatch_numeric!(@arm $T, u8, $body),
            $crate::tensor::dtype::DType::UInt16 => $crate::dispatch_numeric!(@arm $T, u16, $body),
            $crate::tensor::dtype::DType::UInt32 => $crate::dispatch_numeric!(@arm $T, u32, $body),
            $crate::tensor::dtype::DType::UInt64 => $crate::dispatch_numeric!(@arm $T, u64, $body),
            $crate::tensor::dtype::DType::Int8 => $crate::dispatch_numeric!(@arm $T, i8, $body),
            $crate::tensor::dtype::DType::Int16 => $crate::dispatch_numeric!(@arm $T, i16, $body),
            $crate::tensor::dtype::DType::Int32 => $crate::dispatch_numeric!(@arm $T, i32, $body),
            $crate::tensor::dtype::DType::Int64 => $crate::dispatch_numeric!(@arm $T, i64, $body),
            $crate::tensor::dtype::DType::Float16 => $crate::dispatch_numeric!(@arm $T, ::half::f16, $body),
            $crate::tensor::dtype::DType::Float32 => $crate::dispatch_numeric!(@arm $T, f32, $body),
            $crate::tensor::dtype::DType::Float64 => $crate::dispatch_numeric!(@arm $T, f64, $body),
            _ => $other,
        }
    };
}
