//! What the keys of JSON lines hold, from the first block of a file.

use super::codec::Codec;
use super::csv_inference::Inferred;
use super::format::{Format, Place};
use super::lines::Lines;
use crate::error::{Error, Result};
use crate::pipeline::budget::Budget;
use crate::pipeline::column::{Column, Text};
use crate::pipeline::file_origin::FileOrigin;
use crate::tensor::dtype::DType;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// The keys of the objects in the first block, in the order in which they come, with the types of their values. Objects,
/// lists of lists and what is always null are left out.
pub fn infer_json(file: &Arc<FileOrigin>, codec: Codec) -> Result<Vec<Inferred>> {
    let name = file.name.text();
    let block =
        Lines { codec, skips_blank: true }.open(file, Place::default())?.next(Budget::new(usize::MAX).charge(0))?;
    let mut found: Vec<(String, Option<Kind>)> = Vec::new();
    if let Some(block) = block
        && let Some(Column::Text(texts)) = block.columns.first()
    {
        for (row, text) in Text::rows(texts).enumerate() {
            // What is wrong with a line is said when it is read.
            let Ok(Object(pairs)) = serde_json::from_slice(text) else { continue };
            for (key, value) in pairs {
                see(&mut found, key, &value).map_err(|text| {
                    let place = block.origin(row).map_or(String::new(), |origin| format!("{origin}: "));
                    Error::invalid_argument(format!("{place}{text}"))
                })?;
            }
        }
    }
    let columns: Vec<_> = found.into_iter().filter_map(|(name, kind)| kind?.column(name)).collect();
    match columns.is_empty() {
        false => Ok(columns),
        true => Err(Error::invalid_argument(format!(
            "{name}: it has no objects to infer the columns from. Give them, with columns={{...}}."
        ))),
    }
}

fn see(found: &mut Vec<(String, Option<Kind>)>, key: String, value: &Value) -> std::result::Result<(), String> {
    let kind = Kind::of(value);
    let Some((_, known)) = found.iter_mut().find(|(other, _)| *other == key) else {
        found.push((key, kind));
        return Ok(());
    };
    let both = match (*known, kind) {
        (known, None) => Some(known),
        (None, kind) => Some(kind),
        (Some(known), Some(kind)) => known.and(kind).map(Some),
    };
    *known = both.ok_or_else(|| {
        format!("'{key}' is {value}, which is of another type than before. Say of which it is, with columns={{...}}.")
    })?;
    Ok(())
}

/// What values can be. `None` of an option: nothing is known yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    One(Element),
    /// Lists, of which the elements of all were empty so far if there is no type.
    List(Option<Element>),
    /// An object, or a list of objects or lists.
    Nested,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Element {
    Flag,
    Int,
    Float,
    Text,
}

impl Element {
    /// The type of both.
    fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Int, Self::Float) | (Self::Float, Self::Int) => Some(Self::Float),
            _ => (self == other).then_some(self),
        }
    }
}

impl Kind {
    fn of(value: &Value) -> Option<Self> {
        let one = |element| Some(Self::One(element));
        match value {
            Value::Null => None,
            Value::Bool(_) => one(Element::Flag),
            Value::Number(number) if number.is_i64() => one(Element::Int),
            Value::Number(_) => one(Element::Float),
            Value::String(_) => one(Element::Text),
            Value::Array(values) => {
                let mut elements = values.iter().map(Self::of);
                let all = elements.try_fold(None, |all: Option<Element>, kind| match (all, kind) {
                    (None, Some(Self::One(element))) => Some(Some(element)),
                    (Some(all), Some(Self::One(element))) => all.and(element).map(Some),
                    _ => None,
                });
                Some(all.map_or(Self::Nested, Self::List))
            }
            Value::Object(_) => Some(Self::Nested),
        }
    }

    fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::One(one), Self::One(other)) => one.and(other).map(Self::One),
            (Self::List(None), Self::List(elements)) | (Self::List(elements), Self::List(None)) => {
                Some(Self::List(elements))
            }
            (Self::List(Some(one)), Self::List(Some(other))) => one.and(other).map(|both| Self::List(Some(both))),
            _ => (self == other).then_some(self),
        }
    }

    fn column(self, name: String) -> Option<Inferred> {
        let (element, is_list) = match self {
            Self::One(element) => (element, false),
            Self::List(element) => (element.unwrap_or(Element::Float), true),
            Self::Nested => return None,
        };
        let dtype = match element {
            Element::Flag => DType::Bool,
            Element::Int => DType::Int64,
            Element::Float => DType::Float32,
            Element::Text => DType::String,
        };
        Some(Inferred { name, dtype, is_text: true, is_list })
    }
}

/// An object whose keys keep their order.
struct Object(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(json: D) -> std::result::Result<Self, D::Error> {
        json.deserialize_map(Pairs)
    }
}

struct Pairs;

impl<'de> Visitor<'de> for Pairs {
    type Value = Object;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Object, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Object(pairs))
    }
}
