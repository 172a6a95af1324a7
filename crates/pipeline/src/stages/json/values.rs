//! The values of one component of JSON objects: single values, lists, or arrays of a fixed shape.

use crate::blocks::column::{Column, Lists, Ragged};
use crate::formats::component::elements::{Element, Flag};
use crate::formats::component::{Component, Form, mask};
use bytes::Bytes;
use half::f16;
use headrace_engine::error::Result;
use headrace_engine::tensor::allocate::{self, Refusal};
use headrace_engine::tensor::dtype::DType;
use headrace_engine::tensor::shape::Shape;

/// Collects values. Each `push` method adds one element and returns whether it fits the type.
pub trait Values {
    /// Adds an integer.
    fn push_int(&mut self, value: i128) -> bool;

    /// Adds a number that is not written as an integer.
    fn push_float(&mut self, value: f64) -> bool;

    /// Adds a boolean.
    fn push_flag(&mut self, value: bool) -> bool;

    /// Adds a string.
    fn push_text(&mut self, value: &str) -> bool;

    /// Adds a string that need not be valid UTF-8.
    fn push_bytes(&mut self, value: &[u8]) -> bool;

    /// Adds a value in the form of JSON.
    fn push_json(&mut self, value: &str) -> bool;

    /// Adds the default for a missing row. Returns whether there is one.
    fn push_default(&mut self) -> bool;

    /// Ends a list nested in the list of a row. Depth 1 is an element of the row's list, depth 2 an
    /// element of such an element.
    fn end_list(&mut self, depth: usize);

    /// Ends a row, which consists of the elements added since the last row.
    fn end_row(&mut self);

    /// The number of rows.
    fn len(&self) -> usize;

    /// Returns all rows, followed by the mask if the component has one.
    fn finish(self: Box<Self>) -> Result<Vec<Column>>;
}

/// Creates storage for `count` rows of a component.
pub fn values_of(component: &Component, count: usize) -> Result<Box<dyn Values>> {
    if matches!(component.form, Form::Span(_)) {
        return Err(component.unsupported("json_lines"));
    }
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

struct Elements<T> {
    elements: Vec<T>,
    /// The position at which each row ends.
    ends: Vec<usize>,
    /// For each depth, the position at which each nested list ends.
    inner_ends: Vec<Vec<usize>>,
    filler: Option<Vec<T>>,
    /// For each row, whether it has a value.
    mask: Vec<bool>,
    component: Component,
}

fn boxed<T: Element>(component: &Component, count: usize) -> Result<Box<dyn Values>> {
    let refused = |refusal: Refusal| refusal.at("the values of JSON objects");
    Ok(Box::new(Elements::<T> {
        elements: allocate::room(count).map_err(refused)?,
        ends: allocate::room(count).map_err(refused)?,
        inner_ends: (1..component.num_lists).map(|_| Vec::new()).collect(),
        filler: component.filler()?.as_ref().map(T::all_of).transpose()?,
        mask: Vec::new(),
        component: component.clone(),
    }))
}

impl<T: Element> Elements<T> {
    fn push(&mut self, element: Option<T>) -> bool {
        element.map(|element| self.elements.push(element)).is_some()
    }

    /// The number of elements or lists at a depth.
    fn count(&self, depth: usize) -> usize {
        self.inner_ends.get(depth).map_or(self.elements.len(), Vec::len)
    }

    fn end(&mut self, is_there: bool) {
        self.ends.push(self.count(0));
        if self.component.has_mask {
            self.mask.push(is_there);
        }
    }

    fn is_time(&self) -> bool {
        matches!(self.component.form, Form::Instant(_))
    }
}

impl<T: Element> Values for Elements<T> {
    fn push_int(&mut self, value: i128) -> bool {
        let is_number = !self.is_time();
        self.push(T::of_int(value).filter(|_| is_number))
    }

    fn push_float(&mut self, value: f64) -> bool {
        let is_kept = !self.component.is_inferred || T::float_given_back(value);
        self.push(T::of_float(value).filter(|_| is_kept))
    }

    fn push_flag(&mut self, value: bool) -> bool {
        self.push(T::of_flag(value))
    }

    fn push_text(&mut self, value: &str) -> bool {
        match self.component.form {
            Form::Instant(unit) => self.push(unit.of_text(value).and_then(|time| T::of_int(time.into()))),
            _ => self.push(T::of_text(value)),
        }
    }

    fn push_bytes(&mut self, value: &[u8]) -> bool {
        self.push(T::of_bytes(value))
    }

    fn push_json(&mut self, value: &str) -> bool {
        self.push(T::of_text(value))
    }

    fn push_default(&mut self) -> bool {
        let Some(filler) = &self.filler else { return false };
        self.elements.extend_from_slice(filler);
        self.end(false);
        true
    }

    fn end_list(&mut self, depth: usize) {
        let count = self.count(depth);
        if let Some(ends) = self.inner_ends.get_mut(depth - 1) {
            ends.push(count);
        }
    }

    fn end_row(&mut self) {
        self.end(true);
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    fn finish(self: Box<Self>) -> Result<Vec<Column>> {
        let Self { elements, ends, mut inner_ends, component, mask: are_there, .. } = *self;
        let column = if component.is_list() {
            let values = T::tensor(Shape::new(&[elements.len()]), elements)?;
            match inner_ends.pop() {
                None => Column::Ragged(Ragged::new(values, ends)),
                Some(deepest) => {
                    let innermost = Column::Ragged(Ragged::new(values, deepest));
                    let outer = inner_ends.into_iter().rev().chain([ends]);
                    outer.fold(innermost, |inner, ends| Column::Lists(Lists::new(inner, ends)))
                }
            }
        } else if component.shape.is_empty() {
            T::column(elements)?
        } else {
            T::tensor(component.shape.batched(ends.len()), elements).map(Column::Dense)?
        };
        let mask = component.has_mask.then(|| mask(are_there.into_iter())).transpose()?;
        Ok([column].into_iter().chain(mask).collect())
    }
}
