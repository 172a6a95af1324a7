//! The values of one column of CSV records, parsed field by field.

use super::component::Component;
use crate::error::{Error, Result};
use crate::kernels::records::decode_csv::split::Fields;
use crate::pipeline::column::{Column, Span, Text};
use crate::tensor::Tensor;
use crate::tensor::allocate;
use crate::tensor::dtype::{DType, Numeric};
use crate::tensor::shape::Shape;
use crate::text::number::FromText;
use half::f16;

/// Collects the values of one column.
pub trait Values {
    /// Takes the next field; returns whether it is a value of the column.
    fn push(&mut self, fields: &mut Fields) -> bool;

    /// All values.
    fn finish(self: Box<Self>) -> Result<Column>;
}

/// Room for `count` values of a component.
pub fn values_of(component: &Component, count: usize) -> Result<Box<dyn Values>> {
    Ok(match component.dtype {
        DType::Bool => Box::new(Flags::new(component, count)?),
        DType::Int8 => numbers::<i8>(component, count, None)?,
        DType::Int16 => numbers::<i16>(component, count, None)?,
        DType::Int32 => numbers::<i32>(component, count, None)?,
        DType::Int64 => numbers::<i64>(component, count, None)?,
        DType::UInt8 => numbers::<u8>(component, count, None)?,
        DType::UInt16 => numbers::<u16>(component, count, None)?,
        DType::UInt32 => numbers::<u32>(component, count, None)?,
        DType::UInt64 => numbers::<u64>(component, count, None)?,
        DType::Float16 => numbers(component, count, Some(f16::NAN))?,
        DType::Float32 => numbers(component, count, Some(f32::NAN))?,
        DType::Float64 => numbers(component, count, Some(f64::NAN))?,
        DType::String => Box::new(Strings::new(component, count)?),
        DType::Complex64 | DType::Complex128 => return Err(component.unsupported("csv")),
    })
}

/// A number as a field of a record.
pub trait Field: Numeric {
    /// The number that the next field is in the usual form, as most are. `None` leaves the field where it is.
    fn usual(fields: &mut Fields) -> Option<Option<Self>>;

    /// The number that all of `text` is.
    fn from_field(text: &[u8]) -> Option<Self>;
}

macro_rules! implement_field {
    ($($number:ty),*) => {
        $(impl Field for $number {
            #[inline]
            fn usual(fields: &mut Fields) -> Option<Option<Self>> {
                fields.number(b"").map(Some)
            }

            fn from_field(text: &[u8]) -> Option<Self> {
                Self::from_text(text)
            }
        })*
    };
}

/// Numbers that are parsed as a wider type.
macro_rules! implement_narrow_field {
    ($($number:ty: $wide:ty, $narrow:expr);*) => {
        $(impl Field for $number {
            #[inline]
            fn usual(fields: &mut Fields) -> Option<Option<Self>> {
                fields.number::<$wide>(b"").map($narrow)
            }

            fn from_field(text: &[u8]) -> Option<Self> {
                std::str::from_utf8(text).ok()?.trim().parse().ok()
            }
        })*
    };
}

implement_field!(i32, i64, f32, f64);
implement_narrow_field! {
    i8: i64, |wide| wide.try_into().ok();
    i16: i64, |wide| wide.try_into().ok();
    u8: i64, |wide| wide.try_into().ok();
    u16: i64, |wide| wide.try_into().ok();
    u32: i64, |wide| wide.try_into().ok();
    u64: i64, |wide| wide.try_into().ok();
    f16: f64, |wide| Some(f16::from_f64(wide))
}

struct Numbers<T> {
    values: Vec<T>,
    /// What an empty field is.
    empty: Option<T>,
}

fn room<T>(count: usize) -> Result<Vec<T>> {
    allocate::room(count).map_err(|refusal| refusal.at("a column of CSV records"))
}

fn numbers<T: Field>(component: &Component, count: usize, empty: Option<T>) -> Result<Box<dyn Values>> {
    let empty = component.default_value()?.or(empty);
    Ok(Box::new(Numbers { values: room(count)?, empty }))
}

impl<T: Field> Values for Numbers<T> {
    #[inline]
    fn push(&mut self, fields: &mut Fields) -> bool {
        let value = match T::usual(fields) {
            Some(value) => value,
            None => match fields.next() {
                Some(Ok(text)) if text.is_empty() => self.empty,
                Some(Ok(text)) => T::from_field(&text),
                _ => None,
            },
        };
        value.map(|value| self.values.push(value)).is_some()
    }

    fn finish(self: Box<Self>) -> Result<Column> {
        Tensor::from_values(Shape::new(&[self.values.len()]), self.values).map(Column::Dense)
    }
}

/// Booleans: `true`, `false`, `1` and `0`, in any case.
struct Flags {
    values: Vec<u8>,
    empty: Option<u8>,
}

impl Flags {
    fn new(component: &Component, count: usize) -> Result<Self> {
        let empty = component.default.as_ref().and_then(|default| default.bytes().first().copied());
        Ok(Self { values: room(count)?, empty })
    }
}

/// The boolean that a text stands for.
pub fn flag(text: &[u8]) -> Option<u8> {
    match text.trim_ascii() {
        b"1" => Some(1),
        b"0" => Some(0),
        word if word.eq_ignore_ascii_case(b"true") => Some(1),
        word if word.eq_ignore_ascii_case(b"false") => Some(0),
        _ => None,
    }
}

impl Values for Flags {
    fn push(&mut self, fields: &mut Fields) -> bool {
        let value = match fields.next() {
            Some(Ok(text)) if text.is_empty() => self.empty,
            Some(Ok(text)) => flag(&text),
            _ => None,
        };
        value.map(|value| self.values.push(value)).is_some()
    }

    fn finish(self: Box<Self>) -> Result<Column> {
        let shape = Shape::new(&[self.values.len()]);
        Tensor::from_values(shape, self.values)?.with_dtype(DType::Bool).map(Column::Dense)
    }
}

/// Strings. Nothing between two delimiters is missing; an empty string stands between quotes.
struct Strings {
    buffer: Vec<u8>,
    spans: Vec<Span>,
    empty: Option<Vec<u8>>,
    is_text: bool,
    /// There was not enough memory.
    refusal: Option<Error>,
}

impl Strings {
    fn new(component: &Component, count: usize) -> Result<Self> {
        let empty = component.default.as_ref().and_then(|default| default.string_values().first());
        Ok(Self {
            buffer: Vec::new(),
            spans: room(count)?,
            empty: empty.map(|bytes| bytes.to_vec()),
            is_text: component.is_text,
            refusal: None,
        })
    }

    fn add(&mut self, text: &[u8]) -> bool {
        if self.is_text && std::str::from_utf8(text).is_err() {
            return false;
        }
        if let Err(refusal) = allocate::grow(&mut self.buffer, text.len()) {
            self.refusal = Some(refusal.at("the strings of a column of CSV records"));
            return true;
        }
        self.spans.push(Span { start: self.buffer.len(), length: text.len() });
        self.buffer.extend_from_slice(text);
        true
    }
}

impl Values for Strings {
    fn push(&mut self, fields: &mut Fields) -> bool {
        let is_quoted = fields.is_quoted();
        match fields.next() {
            Some(Ok(text)) if text.is_empty() && !is_quoted => match self.empty.take() {
                Some(empty) => {
                    let is_added = self.add(&empty);
                    self.empty = Some(empty);
                    is_added
                }
                None => false,
            },
            Some(Ok(text)) => self.add(&text),
            _ => false,
        }
    }

    fn finish(self: Box<Self>) -> Result<Column> {
        match self.refusal {
            Some(error) => Err(error),
            None => Ok(Column::Text(Text::new(self.buffer.into(), self.spans))),
        }
    }
}
