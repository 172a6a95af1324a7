//! Converts numbers, booleans and strings from files to elements of tensors.

use crate::blocks::column::{Column, Span, Text};
use bytes::Bytes;
use half::f16;
use headrace_engine::error::Result;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate::{self, Refusal};
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;
use headrace_engine::text::written::{is_given_back, is_whole};

/// The type of a component's elements.
pub trait Element: Clone + 'static {
    /// Converts an integer, or returns `None` if it cannot be represented exactly.
    fn of_int(_: i128) -> Option<Self> {
        None
    }

    /// Converts and rounds a number that may have a fraction, or returns `None` if it cannot be
    /// represented.
    fn of_float(_: f64) -> Option<Self> {
        None
    }

    /// Converts a boolean.
    fn of_flag(_: bool) -> Option<Self> {
        None
    }

    /// Converts a string.
    fn of_text(_: &str) -> Option<Self> {
        None
    }

    /// Converts a string that need not be valid UTF-8.
    fn of_bytes(_: &[u8]) -> Option<Self> {
        None
    }

    /// Returns true if the element round-trips the text of the number.
    fn float_given_back(_: f64) -> bool {
        true
    }

    /// The elements of a default value.
    fn all_of(tensor: &Tensor) -> Result<Vec<Self>>;

    /// Creates a tensor from elements.
    fn tensor(shape: Shape, elements: Vec<Self>) -> Result<Tensor>;

    /// Creates a column with one element per row.
    fn column(elements: Vec<Self>) -> Result<Column> {
        Self::tensor(Shape::new(&[elements.len()]), elements).map(Column::Dense)
    }
}

/// A boolean, which tensors store as one byte.
#[derive(Clone, Copy)]
pub struct Flag(u8);

/// Implements a method of [`Element`]. Methods that return a bool return the specified one.
macro_rules! default_none {
    (float_given_back($value:ident: $from:ty) $body:expr) => {
        fn float_given_back($value: $from) -> bool {
            $body
        }
    };
    ($function:ident($value:ident: $from:ty) $body:expr) => {
        fn $function($value: $from) -> Option<Self> {
            $body
        }
    };
}

macro_rules! implement_element {
    ($($number:ty { $($function:ident($value:ident: $from:ty) $body:expr),* })*) => {
        $(impl Element for $number {
            $(default_none!{$function($value: $from) $body})*

            fn all_of(tensor: &Tensor) -> Result<Vec<Self>> {
                tensor.values::<Self>().map(<[Self]>::to_vec)
            }

            fn tensor(shape: Shape, elements: Vec<Self>) -> Result<Tensor> {
                Tensor::from_values(shape, elements)
            }
        })*
    };
}

implement_element! {
    i8 { of_int(value: i128) value.try_into().ok() }
    i16 { of_int(value: i128) value.try_into().ok() }
    i32 { of_int(value: i128) value.try_into().ok() }
    i64 { of_int(value: i128) value.try_into().ok() }
    u8 { of_int(value: i128) value.try_into().ok() }
    u16 { of_int(value: i128) value.try_into().ok() }
    u32 { of_int(value: i128) value.try_into().ok() }
    u64 { of_int(value: i128) value.try_into().ok() }
    f16 {
        of_int(value: i128) Some(f16::from_f64(value as f64)).filter(|narrow| is_exact(f64::from(*narrow), value)),
        of_float(value: f64) {
            let narrow = f16::from_f64(value);
            is_rounded(narrow.into(), value, f16::EPSILON.into()).then_some(narrow)
        }
    }
    f32 {
        of_int(value: i128) Some(value as f32).filter(|narrow| is_exact(f64::from(*narrow), value)),
        of_float(value: f64) {
            let narrow = value as f32;
            is_rounded(narrow.into(), value, f32::EPSILON.into()).then_some(narrow)
        },
        float_given_back(value: f64) is_given_back(value as f32, value)
    }
    f64 {
        of_int(value: i128) Some(value as f64).filter(|narrow| is_exact(*narrow, value)),
        of_float(value: f64) Some(value)
    }
}

fn is_exact(narrow: f64, value: i128) -> bool {
    narrow.is_finite() && narrow as i128 == value
}

/// Returns true if a value differs from a number only by rounding. Integers must be exact.
fn is_rounded(narrow: f64, value: f64, step: f64) -> bool {
    match is_whole(value) {
        true => narrow == value,
        false => !value.is_finite() || (narrow - value).abs() <= step * value.abs(),
    }
}

impl Element for Flag {
    fn of_flag(value: bool) -> Option<Self> {
        Some(Self(value.into()))
    }

    fn all_of(tensor: &Tensor) -> Result<Vec<Self>> {
        Ok(tensor.bytes().iter().copied().map(Self).collect())
    }

    fn tensor(shape: Shape, elements: Vec<Self>) -> Result<Tensor> {
        Tensor::from_values(shape, elements.into_iter().map(|Self(byte)| byte).collect())?.with_dtype(DType::Bool)
    }
}

impl Element for Bytes {
    fn of_text(value: &str) -> Option<Self> {
        Self::of_bytes(value.as_bytes())
    }

    fn of_bytes(value: &[u8]) -> Option<Self> {
        Some(Self::copy_from_slice(value))
    }

    fn all_of(tensor: &Tensor) -> Result<Vec<Self>> {
        Ok(tensor.string_values().to_vec())
    }

    fn tensor(shape: Shape, elements: Vec<Self>) -> Result<Tensor> {
        Tensor::strings(shape, elements)
    }

    fn column(elements: Vec<Self>) -> Result<Column> {
        let refused = |refusal: Refusal| refusal.at("the strings of JSON objects");
        let mut buffer: Vec<u8> = allocate::room(elements.iter().map(Bytes::len).sum()).map_err(refused)?;
        let mut spans = allocate::room(elements.len()).map_err(refused)?;
        for string in elements {
            spans.push(Span { start: buffer.len(), length: string.len() });
            buffer.extend_from_slice(&string);
        }
        Ok(Column::Text(Text::new(buffer.into(), spans)))
    }
}
