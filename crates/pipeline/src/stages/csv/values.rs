//! The values of one column of CSV records, parsed field by field.

use crate::blocks::column::{Column, Span, Text};
use crate::formats::component::{Component, Form, mask};
use crate::stages::csv::Words;
use crate::stages::csv::inference::is_flag;
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
    /// Parses the next field. Returns whether it is a valid value.
    fn push(&mut self, fields: &mut Fields) -> bool;

    /// Returns all values, followed by their mask if the component has one.
    fn finish(self: Box<Self>) -> Result<Vec<Column>>;
}

/// The fields of a column that have no value.
struct Gaps {
    /// Texts that count as a missing value.
    missing: Words,
    /// For each field, whether it has a value, if the component has a mask.
    mask: Option<Vec<bool>>,
}

impl Gaps {
    fn new(component: &Component, missing: &Words) -> Self {
        Self { missing: missing.clone(), mask: component.has_mask.then(Vec::new) }
    }

    /// Returns true if a field has no value.
    fn has(&self, text: &[u8]) -> bool {
        text.is_empty() || self.missing.has(text)
    }

    /// Records whether the next field has a value.
    #[inline]
    fn add(&mut self, is_there: bool) {
        if let Some(mask) = &mut self.mask {
            mask.push(is_there);
        }
    }

    /// Returns the columns of a component with these values.
    fn columns(self, values: Column) -> Result<Vec<Column>> {
        let mask = self.mask.map(|are_there| mask(are_there.into_iter())).transpose()?;
        Ok([values].into_iter().chain(mask).collect())
    }
}

/// Creates storage for `count` values of a component.
pub fn values_of(component: &Component, missing: &Words, count: usize) -> Result<Box<dyn Values>> {
    Ok(match component.dtype {
        DType::Bool => Box::new(Flags::new(component, missing, count)?),
        DType::Int8 => numbers::<i8>(component, missing, count)?,
        DType::Int16 => numbers::<i16>(component, missing, count)?,
        DType::Int32 => numbers::<i32>(component, missing, count)?,
        DType::Int64 => numbers::<i64>(component, missing, count)?,
        DType::UInt8 => numbers::<u8>(component, missing, count)?,
        DType::UInt16 => numbers::<u16>(component, missing, count)?,
        DType::UInt32 => numbers::<u32>(component, missing, count)?,
        DType::UInt64 => numbers::<u64>(component, missing, count)?,
        DType::Float16 => numbers::<f16>(component, missing, count)?,
        DType::Float32 => numbers::<f32>(component, missing, count)?,
        DType::Float64 => numbers::<f64>(component, missing, count)?,
        DType::String => Box::new(Strings::new(component, missing, count)?),
        DType::Complex64 | DType::Complex128 => return Err(component.unsupported("csv")),
    })
}

/// Integers below these are represented exactly.
const SURE_F16: f16 = f16::from_f32_const(2048.0);
const SURE_F32: f32 = 16_777_216.0;
const SURE_F64: f64 = 9_007_199_254_740_992.0;

/// A number in a field of a record.
pub trait Field: Numeric {
    /// Parses the next field if it is a number in the usual form, which most are. Otherwise returns
    /// `None` and does not consume the field.
    fn usual<'a>(fields: &mut Fields<'a>) -> Option<(Option<Self>, &'a [u8])>;

    /// Parses the whole `text` as a number.
    fn from_field(text: &[u8]) -> Option<Self>;

    /// Returns true if the type round-trips the text.
    fn gives_back(text: &[u8]) -> bool {
        fits_i64(text)
    }

    /// Returns true if the number differs from the text only by rounding.
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

/// Implements [`Field`] for numbers that are parsed as a wider type.
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
            (self.is_normal() && self.abs() < SURE_F32) || is_rounded(text, self.into(), f32::EPSILON.into())
        }
    };
    f64 {
        fn gives_back(text: &[u8]) -> bool {
            fits_f64(text)
        }

        #[inline]
        fn is_rounded(self, text: &[u8]) -> bool {
            (self.is_normal() && self.abs() < SURE_F64) || is_rounded(text, self, f64::EPSILON)
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
            (self.is_normal() && self < SURE_F16 && self > -SURE_F16) || is_rounded(text, self.into(), f16::EPSILON.into())
        }
    }
}

struct Numbers<T> {
    values: Vec<T>,
    /// The value to use for missing ones.
    empty: Option<T>,
    gaps: Gaps,
    is_inferred: bool,
}

fn room<T>(count: usize) -> Result<Vec<T>> {
    allocate::room(count).map_err(|refusal| refusal.at("a CSV column"))
}

fn numbers<T: Field>(component: &Component, missing: &Words, count: usize) -> Result<Box<dyn Values>> {
    let empty = component.filler()?.map(|filler| filler.values::<T>().map(|values| values.first().copied()));
    let empty = empty.transpose()?.flatten();
    let (gaps, is_inferred) = (Gaps::new(component, missing), component.is_inferred);
    Ok(Box::new(Numbers { values: room(count)?, empty, gaps, is_inferred }))
}

impl<T: Field> Numbers<T> {
    /// Returns the value, unless it differs from the text.
    #[inline]
    fn checked(&self, value: Option<T>, text: &[u8]) -> Option<T> {
        value.filter(|value| if self.is_inferred { T::gives_back(text) } else { value.is_rounded(text) })
    }
}

impl<T: Field> Values for Numbers<T> {
    #[inline]
    fn push(&mut self, fields: &mut Fields) -> bool {
        let usual = if self.gaps.missing.is_empty() { T::usual(fields) } else { None };
        let (value, is_there) = match usual {
            Some((value, text)) => (self.checked(value, text), true),
            None => match fields.next() {
                Some(Ok(text)) if self.gaps.has(&text) => (self.empty, false),
                Some(Ok(text)) => (self.checked(T::from_field(&text), &text), true),
                _ => (None, true),
            },
        };
        self.gaps.add(is_there);
        value.map(|value| self.values.push(value)).is_some()
    }

    fn finish(self: Box<Self>) -> Result<Vec<Column>> {
        let values = Tensor::from_values(Shape::new(&[self.values.len()]), self.values)?;
        self.gaps.columns(Column::Dense(values))
    }
}

/// Booleans, written as `true`, `false`, `1` or `0` in any case.
struct Flags {
    values: Vec<u8>,
    empty: Option<u8>,
    gaps: Gaps,
    is_inferred: bool,
}

impl Flags {
    fn new(component: &Component, missing: &Words, count: usize) -> Result<Self> {
        let empty = component.filler()?.and_then(|filler| filler.bytes().first().copied());
        let (gaps, is_inferred) = (Gaps::new(component, missing), component.is_inferred);
        Ok(Self { values: room(count)?, empty, gaps, is_inferred })
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
        let (value, is_there) = match fields.next() {
            Some(Ok(text)) if self.gaps.has(&text) => (self.empty, false),
            Some(Ok(text)) if self.is_inferred && !is_flag(&text) => (None, true),
            Some(Ok(text)) => (flag(&text), true),
            _ => (None, true),
        };
        self.gaps.add(is_there);
        value.map(|value| self.values.push(value)).is_some()
    }

    fn finish(self: Box<Self>) -> Result<Vec<Column>> {
        let shape = Shape::new(&[self.values.len()]);
        let values = Tensor::from_values(shape, self.values)?.with_dtype(DType::Bool)?;
        self.gaps.columns(Column::Dense(values))
    }
}

/// Strings. An empty field gets the default if there is one. Otherwise it is an empty string, like
/// an empty field in quotes.
struct Strings {
    buffer: Vec<u8>,
    spans: Vec<Span>,
    empty: Vec<u8>,
    gaps: Gaps,
    is_text: bool,
    /// Set if memory runs out.
    refusal: Option<Error>,
}

impl Strings {
    fn new(component: &Component, missing: &Words, count: usize) -> Result<Self> {
        let empty = component.default.as_ref().and_then(|default| default.string_values().first());
        Ok(Self {
            buffer: Vec::new(),
            spans: room(count)?,
            empty: empty.map(|bytes| bytes.to_vec()).unwrap_or_default(),
            gaps: Gaps::new(component, missing),
            is_text: component.form == Form::Text,
            refusal: None,
        })
    }

    fn add(&mut self, text: &[u8]) -> bool {
        if self.is_text && std::str::from_utf8(text).is_err() {
            return false;
        }
        if let Err(refusal) = allocate::grow(&mut self.buffer, text.len()) {
            self.refusal = Some(refusal.at("the strings of a CSV column"));
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
            Some(Ok(text)) if text.is_empty() && !is_quoted || self.gaps.missing.has(&text) => {
                self.gaps.add(false);
                let empty = std::mem::take(&mut self.empty);
                let is_added = self.add(&empty);
                self.empty = empty;
                is_added
            }
            Some(Ok(text)) => {
                self.gaps.add(true);
                self.add(&text)
            }
            _ => false,
        }
    }

    fn finish(self: Box<Self>) -> Result<Vec<Column>> {
        match self.refusal {
            Some(error) => Err(error),
            None => self.gaps.columns(Column::Text(Text::new(self.buffer.into(), self.spans))),
        }
    }
}
