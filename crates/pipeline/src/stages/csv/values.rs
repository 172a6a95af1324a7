//! The values of one column of CSV records, parsed field by field.

use crate::blocks::column::{Column, Span, Text};
use crate::formats::is_flag;
use crate::stages::component::{Component, Form};
use crate::stages::csv::Words;
use half::f16;
use headrace_engine::error::{Error, Result};
use headrace_engine::kernels::records::decode_csv::split::Fields;
use headrace_engine::tensor::Tensor;
use headrace_engine::tensor::allocate;
use headrace_engine::tensor::dtype::{DType, Numeric};
use headrace_engine::tensor::shape::Shape;
use headrace_engine::text::number::FromText;
use headrace_engine::text::written::{fits_f32, fits_f64, fits_i64, is_rounded};

/// Collects the values of one column.
pub trait Values {
    /// Takes the next field; returns whether it is a value of the column.
    fn push(&mut self, fields: &mut Fields) -> bool;

    /// All values.
    fn finish(self: Box<Self>) -> Result<Column>;
}

/// Room for `count` values of a component.
pub fn values_of(component: &Component, missing: &Words, count: usize) -> Result<Box<dyn Values>> {
    Ok(match component.dtype {
        DType::Bool => Box::new(Flags::new(component, missing, count)?),
        DType::Int8 => numbers::<i8>(component, missing, count, None)?,
        DType::Int16 => numbers::<i16>(component, missing, count, None)?,
        DType::Int32 => numbers::<i32>(component, missing, count, None)?,
        DType::Int64 => numbers::<i64>(component, missing, count, None)?,
        DType::UInt8 => numbers::<u8>(component, missing, count, None)?,
        DType::UInt16 => numbers::<u16>(component, missing, count, None)?,
        DType::UInt32 => numbers::<u32>(component, missing, count, None)?,
        DType::UInt64 => numbers::<u64>(component, missing, count, None)?,
        DType::Float16 => numbers(component, missing, count, Some(f16::NAN))?,
        DType::Float32 => numbers(component, missing, count, Some(f32::NAN))?,
        DType::Float64 => numbers(component, missing, count, Some(f64::NAN))?,
        DType::String => Box::new(Strings::new(component, missing, count)?),
        DType::Complex64 | DType::Complex128 => return Err(component.unsupported("csv")),
    })
}

/// A number as a field of a record.
pub trait Field: Numeric {
    /// Parses the next field if it is a number in the usual form, as most are. `None` leaves the
    /// field where it is.
    fn usual<'a>(fields: &mut Fields<'a>) -> Option<(Option<Self>, &'a [u8])>;

    /// Parses all of `text` as a number.
    fn from_field(text: &[u8]) -> Option<Self>;

    /// True if the type gives the text back.
    fn gives_back(text: &[u8]) -> bool {
        fits_i64(text)
    }

    /// True if this differs from the text by rounding alone.
    #[inline]
    fn is_rounded(self, _text: &[u8]) -> bool {
        true
    }
}

macro_rules! implement_field {
    ($($number:ty $({ $($more:item)* })?);*) => {
        $(impl Field for $number {
            #[inline]
            fn usual<'a>(fields: &mut Fields<'a>) -> Option<(Option<Self>, &'a [u8])> {
                fields.number_and_text().map(|(value, text)| (Some(value), text))
            }

            fn from_field(text: &[u8]) -> Option<Self> {
                Self::from_text(text)
            }

            $($($more)*)?
        })*
    };
}

/// Numbers that are parsed as a wider type.
macro_rules! implement_narrow_field {
    ($($number:ty: $wide:ty, $narrow:expr $(, { $($more:item)* })?);*) => {
        $(impl Field for $number {
            #[inline]
            fn usual<'a>(fields: &mut Fields<'a>) -> Option<(Option<Self>, &'a [u8])> {
                fields.number_and_text::<$wide>().map(|(wide, text)| ($narrow(wide), text))
            }

            fn from_field(text: &[u8]) -> Option<Self> {
                std::str::from_utf8(text).ok()?.trim().parse().ok()
            }

            $($($more)*)?
        })*
    };
}

implement_field! {
    i32;
    i64;
    f32 {
        fn gives_back(text: &[u8]) -> bool {
            fits_f32(text)
        }

        #[inline]
        fn is_rounded(self, text: &[u8]) -> bool {
            self.is_normal() || is_rounded(text, self.into(), f32::EPSILON.into())
        }
    };
    f64 {
        fn gives_back(text: &[u8]) -> bool {
            fits_f64(text)
        }

        #[inline]
        fn is_rounded(self, text: &[u8]) -> bool {
            self.is_normal() || is_rounded(text, self, f64::EPSILON)
        }
    }
}
implement_narrow_field! {
    i8: i64, |wide: i64| wide.try_into().ok();
    i16: i64, |wide: i64| wide.try_into().ok();
    u8: i64, |wide: i64| wide.try_into().ok();
    u16: i64, |wide: i64| wide.try_into().ok();
    u32: i64, |wide: i64| wide.try_into().ok();
    u64: i64, |wide: i64| wide.try_into().ok();
    f16: f64, |wide| Some(f16::from_f64(wide)), {
        #[inline]
        fn is_rounded(self, text: &[u8]) -> bool {
            self.is_normal() || is_rounded(text, self.into(), f16::EPSILON.into())
        }
    }
}

struct Numbers<T> {
    values: Vec<T>,
    /// The value for a missing one.
    empty: Option<T>,
    missing: Words,
    is_inferred: bool,
}

fn room<T>(count: usize) -> Result<Vec<T>> {
    allocate::room(count).map_err(|refusal| refusal.at("a column of CSV records"))
}

fn numbers<T: Field>(
    component: &Component,
    missing: &Words,
    count: usize,
    empty: Option<T>,
) -> Result<Box<dyn Values>> {
    let empty = component.default_value()?.or(empty);
    let (missing, is_inferred) = (missing.clone(), component.is_inferred);
    Ok(Box::new(Numbers { values: room(count)?, empty, missing, is_inferred }))
}

impl<T: Field> Numbers<T> {
    /// The value, unless it differs from the text.
    #[inline]
    fn checked(&self, value: Option<T>, text: &[u8]) -> Option<T> {
        value.filter(|value| if self.is_inferred { T::gives_back(text) } else { value.is_rounded(text) })
    }
}

impl<T: Field> Values for Numbers<T> {
    #[inline]
    fn push(&mut self, fields: &mut Fields) -> bool {
        let usual = if self.missing.is_empty() { T::usual(fields) } else { None };
        let value = match usual {
            Some((value, text)) => self.checked(value, text),
            None => match fields.next() {
                Some(Ok(text)) if text.is_empty() || self.missing.has(&text) => self.empty,
                Some(Ok(text)) => self.checked(T::from_field(&text), &text),
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
    missing: Words,
    is_inferred: bool,
}

impl Flags {
    fn new(component: &Component, missing: &Words, count: usize) -> Result<Self> {
        let empty = component.default.as_ref().and_then(|default| default.bytes().first().copied());
        let (missing, is_inferred) = (missing.clone(), component.is_inferred);
        Ok(Self { values: room(count)?, empty, missing, is_inferred })
    }
}

/// The boolean value of a text.
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
            Some(Ok(text)) if text.is_empty() || self.missing.has(&text) => self.empty,
            Some(Ok(text)) if self.is_inferred && !is_flag(&text) => None,
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

/// Strings. An empty field gets the default, or is an empty string, as an empty field between
/// quotes is.
struct Strings {
    buffer: Vec<u8>,
    spans: Vec<Span>,
    empty: Vec<u8>,
    missing: Words,
    is_text: bool,
    /// Set if there was not enough memory.
    refusal: Option<Error>,
}

impl Strings {
    fn new(component: &Component, missing: &Words, count: usize) -> Result<Self> {
        let empty = component.default.as_ref().and_then(|default| default.string_values().first());
        Ok(Self {
            buffer: Vec::new(),
            spans: room(count)?,
            empty: empty.map(|bytes| bytes.to_vec()).unwrap_or_default(),
            missing: missing.clone(),
            is_text: component.form == Form::Text,
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
            Some(Ok(text)) if text.is_empty() && !is_quoted || self.missing.has(&text) => {
                let empty = std::mem::take(&mut self.empty);
                let is_added = self.add(&empty);
                self.empty = empty;
                is_added
            }
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
