//! The values of one component of JSON objects: single values, lists, or arrays of one shape.

use crate::error::Result;
use crate::pipeline::blocks::column::{Column, Ragged, Span, Text};
use crate::pipeline::stages::component::Component;
use crate::tensor::Tensor;
use crate::tensor::allocate::{self, Refusal};
use crate::tensor::dtype::DType;
use crate::tensor::shape::Shape;
use crate::text::written::is_given_back;
use bytes::Bytes;
use half::f16;

/// Collects values. Each `push` takes one element; it returns whether the element is of the type.
pub trait Values {
    /// Adds an integer.
    fn push_int(&mut self, value: i128) -> bool;

    /// Adds a number that is not written as an integer.
    fn push_float(&mut self, value: f64) -> bool;

    /// Adds a boolean.
    fn push_flag(&mut self, value: bool) -> bool;

    /// Adds a string.
    fn push_text(&mut self, value: &str) -> bool;

    /// Adds the default for a missing row; returns whether there is one.
    fn push_default(&mut self) -> bool;

    /// Ends a row: the elements since the last row form one.
    fn end_row(&mut self);

    /// The number of rows.
    fn len(&self) -> usize;

    /// All rows.
    fn finish(self: Box<Self>) -> Result<Column>;
}

/// Room for `count` rows of a component.
pub fn values_of(component: &Component, count: usize) -> Result<Box<dyn Values>> {
    Ok(match component.dtype {
        DType::Bool => boxed::<Flag>(component, count)?,
        DType::Int8 => boxed::<i8>(component, count)?,
        DType::Int16 => boxed::<i16>(component, count)?,
        DType::Int32 => boxed::<i32>(component, count)?,
        DType::Int64 => boxed::<i64>(component, count)?,
        DType::UInt8 => boxed::<u8>(component, count)?,
        DType::UInt16 => boxed::<u16>(component, count)?,
        DType::UInt32 => boxed::<u32>(component, count)?,
        DType::UInt64 => boxed::<u64>(component, count)?,
        DType::Float16 => boxed::<f16>(component, count)?,
        DType::Float32 => boxed::<f32>(component, count)?,
        DType::Float64 => boxed::<f64>(component, count)?,
        DType::String => boxed::<Bytes>(component, count)?,
        DType::Complex64 | DType::Complex128 => return Err(component.unsupported("json_lines")),
    })
}

/// The type of an element of a component.
trait Element: Clone + 'static {
    fn of_int(_: i128) -> Option<Self> {
        None
    }

    fn of_float(_: f64) -> Option<Self> {
        None
    }

    fn of_flag(_: bool) -> Option<Self> {
        None
    }

    fn of_text(_: &str) -> Option<Self> {
        None
    }

    /// True if the element gives the integer back.
    fn int_given_back(_: i128) -> bool {
        true
    }

    /// True if the element gives the text of the number back.
    fn float_given_back(_: f64) -> bool {
        true
    }

    /// The elements of a default.
    fn all_of(tensor: &Tensor) -> Result<Vec<Self>>;

    /// A tensor of these elements.
    fn tensor(shape: Shape, elements: Vec<Self>) -> Result<Tensor>;

    /// One value in each row.
    fn column(elements: Vec<Self>) -> Result<Column> {
        Self::tensor(Shape::new(&[elements.len()]), elements).map(Column::Dense)
    }
}

/// A boolean, which tensors hold as a byte.
#[derive(Clone, Copy)]
struct Flag(u8);

/// Implements a function of [`Element`]; functions that return a bool get the given one.
macro_rules! given {
    (int_given_back($value:ident: $from:ty) $body:expr) => {
        fn int_given_back($value: $from) -> bool {
            $body
        }
    };
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
            $(given!{$function($value: $from) $body})*

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
        of_int(value: i128) Self::of_float(value as f64),
        of_float(value: f64) {
            let narrow = f16::from_f64(value);
            is_rounded(narrow.into(), value, f16::EPSILON.into()).then_some(narrow)
        }
    }
    f32 {
        of_int(value: i128) Some(value as f32),
        of_float(value: f64) {
            let narrow = value as f32;
            (narrow.is_normal() || is_rounded(narrow.into(), value, f32::EPSILON.into())).then_some(narrow)
        },
        int_given_back(value: i128) (value as f32) as i128 == value,
        float_given_back(value: f64) is_given_back(value as f32, value)
    }
    f64 {
        of_int(value: i128) Some(value as f64),
        of_float(value: f64) Some(value),
        int_given_back(value: i128) (value as f64) as i128 == value
    }
}

/// True if a value differs from the text by rounding alone.
fn is_rounded(narrow: f64, value: f64, step: f64) -> bool {
    !value.is_finite() || (narrow - value).abs() <= step * value.abs()
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
        Some(Self::copy_from_slice(value.as_bytes()))
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

struct Elements<T> {
    elements: Vec<T>,
    /// The end of each row.
    ends: Vec<usize>,
    default: Option<Vec<T>>,
    component: Component,
}

fn boxed<T: Element>(component: &Component, count: usize) -> Result<Box<dyn Values>> {
    let refused = |refusal: Refusal| refusal.at("the values of JSON objects");
    Ok(Box::new(Elements::<T> {
        elements: allocate::room(count).map_err(refused)?,
        ends: allocate::room(count).map_err(refused)?,
        default: component.default.as_ref().map(T::all_of).transpose()?,
        component: component.clone(),
    }))
}

impl<T: Element> Elements<T> {
    fn push(&mut self, element: Option<T>) -> bool {
        element.map(|element| self.elements.push(element)).is_some()
    }
}

impl<T: Element> Values for Elements<T> {
    fn push_int(&mut self, value: i128) -> bool {
        let is_kept = !self.component.is_inferred || T::int_given_back(value);
        self.push(T::of_int(value).filter(|_| is_kept))
    }

    fn push_float(&mut self, value: f64) -> bool {
        let is_kept = !self.component.is_inferred || T::float_given_back(value);
        self.push(T::of_float(value).filter(|_| is_kept))
    }

    fn push_flag(&mut self, value: bool) -> bool {
        self.push(T::of_flag(value))
    }

    fn push_text(&mut self, value: &str) -> bool {
        self.push(T::of_text(value))
    }

    fn push_default(&mut self) -> bool {
        let Some(default) = &self.default else { return false };
        self.elements.extend_from_slice(default);
        self.end_row();
        true
    }

    fn end_row(&mut self) {
        self.ends.push(self.elements.len());
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn finish(self: Box<Self>) -> Result<Column> {
        let Self { elements, ends, component, .. } = *self;
        if component.is_list {
            let values = T::tensor(Shape::new(&[elements.len()]), elements)?;
            return Ok(Column::Ragged(Ragged::new(values, ends)));
        }
        match component.shape.is_empty() {
            true => T::column(elements),
            false => T::tensor(component.shape.batched(ends.len()), elements).map(Column::Dense),
        }
    }
}
