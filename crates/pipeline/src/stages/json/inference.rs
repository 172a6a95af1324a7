//! Infers the keys of JSON objects and their types from the first block of a file.

use crate::blocks::column::{Column, Text};
use crate::blocks::file_provenance::FileProvenance;
use crate::budget::Budget;
use crate::records::{Format, RecordPosition};
use crate::stages::json::constants::{constant, long_integer, replaced};
use crate::stages::json::{is_about_half, syntax};
use headrace_engine::error::{Error, Result};
use headrace_engine::tensor::dtype::DType;
use headrace_engine::text::written::is_given_back;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// A key and a type that fits all of its values.
pub struct InferredKey {
    /// Its name.
    pub name: String,
    /// The dtype of its values; the dtype of strings for JSON.
    pub dtype: DType,
    /// True if its values are arbitrary JSON, such as objects and lists of mixed values.
    pub is_json: bool,
    /// The number of lists around each value.
    pub num_lists: usize,
}

/// The maximum nesting depth of lists in a component.
const MAX_LISTS: usize = 3;

/// Infers the keys of the objects in the first block, in order of appearance, with types that fit
/// their values. Returns `None` if there are no records. Keys that are always null are left out.
/// Keys in `typed` may have any values.
pub fn infer_json(
    format: &dyn Format,
    file: &Arc<FileProvenance>,
    typed: &[String],
) -> Result<Option<Vec<InferredKey>>> {
    let name = file.name.text();
    let block = format.open(file, RecordPosition::default())?.next(Budget::new(usize::MAX).charge(0))?;
    let Some(block) = block else { return Ok(None) };
    let mut keys: Vec<Key> = Vec::new();
    let mut first_invalid = None;
    if let Some(Column::Text(texts)) = block.columns.first() {
        for (row, text) in Text::rows(texts).enumerate() {
            let failed = |text: String| {
                let position =
                    block.row_provenance(row).map_or(String::new(), |row_provenance| format!("{row_provenance}: "));
                Error::invalid_argument(format!("{position}{text}"))
            };
            let pairs = match pairs_of(text, typed) {
                Ok(pairs) => pairs,
                // Invalid lines are reported when they are read, if there are columns to read.
                Err(error) => {
                    first_invalid.get_or_insert_with(|| failed(syntax(&error, text, !format.is_of_lines())));
                    continue;
                }
            };
            for (key, value) in pairs {
                match value {
                    Some(value) => see(&mut keys, key, &value, text).map_err(failed)?,
                    None if keys.iter().any(|other| other.name == key) => {}
                    None => keys.push(Key { name: key, kind: Some(Kind::Nested) }),
                }
            }
        }
    }
    let column = |key: Key| {
        let (dtype, num_lists) = key.kind?.dtype();
        Some(InferredKey { name: key.name, dtype, is_json: key.kind? == Kind::Nested, num_lists })
    };
    let columns: Vec<_> = keys.into_iter().filter_map(column).collect();
    if !columns.is_empty() {
        return Ok(Some(columns));
    }
    Err(first_invalid.unwrap_or_else(|| {
        Error::invalid_argument(format!(
            "{name}: the file has no objects to infer the columns from. Pass columns={{...}}."
        ))
    }))
}

/// Returns the keys of an object with their values, or `None` for the value of a key in `typed`.
fn pairs_of(text: &[u8], typed: &[String]) -> serde_json::Result<Vec<(String, Option<Value>)>> {
    let replaced = replaced(text);
    let Object(pairs) = serde_json::from_slice(&replaced)?;
    let value_of = |(key, raw): (String, &RawValue)| match serde_json::from_str(raw.get()) {
        _ if typed.contains(&key) => Ok((key, None)),
        // JSON keeps halves of surrogate pairs, and any object is read as JSON.
        Err(error) if raw.get().starts_with('{') && is_about_half(&error) => Ok((key, Some(Value::Object(Map::new())))),
        value => value.map(|value| (key, Some(value))),
    };
    let values = pairs.into_iter().map(value_of).collect::<serde_json::Result<_>>();
    // The whole line is parsed again for an error with the position in it.
    values.map_err(|error| serde_json::from_slice::<Value>(&replaced).err().unwrap_or(error))
}

/// A key of some objects.
struct Key {
    name: String,
    /// `None` if nothing is known so far.
    kind: Option<Kind>,
}

fn see(keys: &mut Vec<Key>, name: String, value: &Value, line: &[u8]) -> std::result::Result<(), String> {
    let wrong = |text: &str| format!("'{name}' is {value}, {text}. Set its type with dtypes={{'{name}': ...}}.");
    let kind = Kind::of(value);
    if kind.is_some_and(|kind| kind != Kind::Nested)
        && let Some(digits) = long_integer_in(value, line)
    {
        return Err(format!(
            "'{name}' has the integer {digits}, expected at most 64 bits. Set its type with dtypes={{'{name}': ...}}; \
             hr.Json keeps all digits."
        ));
    }
    let Some(key) = keys.iter_mut().find(|key| key.name == name) else {
        keys.push(Key { name, kind });
        return Ok(());
    };
    let both = match (key.kind, kind) {
        (earlier, None) => Some(earlier),
        (None, kind) => Some(kind),
        (Some(earlier), Some(kind)) => earlier.and(kind).map(Some),
    };
    key.kind = both.ok_or_else(|| wrong("which is not the same type as before"))?;
    Ok(())
}

/// Finds the digits of an integer with more than 64 bits in a value. serde reads such an integer as
/// a float.
fn long_integer_in<'a>(value: &Value, line: &'a [u8]) -> Option<&'a str> {
    match value {
        Value::Number(number) if number.is_f64() => {
            number.as_f64().filter(|value| value.abs() >= 2_f64.powi(63)).and_then(|value| long_integer(line, value))
        }
        Value::Array(values) => values.iter().find_map(|value| long_integer_in(value, line)),
        _ => None,
    }
}

/// The possible types of a key's values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    One(Element),
    /// Values inside this many lists. There is no element type if all lists have been empty so far.
    List(usize, Option<Element>),
    /// An object, or a list that contains nulls, objects or mixed values.
    Nested,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Element {
    Flag,
    Number(Numbers),
    Text,
}

/// The numbers seen.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Numbers {
    /// True if all of them are integers.
    is_whole: bool,
    has_negative: bool,
    /// True if some are integers too large for int64.
    is_long: bool,
    /// True if float32 represents them as exactly as float64.
    is_single: bool,
    is_double: bool,
}

impl Numbers {
    fn of_int(value: i128) -> Self {
        Self {
            is_whole: true,
            has_negative: value < 0,
            is_long: i64::try_from(value).is_err(),
            is_single: (value as f32) as i128 == value,
            is_double: (value as f64) as i128 == value,
        }
    }

    fn of_float(value: f64) -> Self {
        let is_single = is_given_back(value as f32, value);
        Self { is_whole: false, has_negative: false, is_long: false, is_single, is_double: true }
    }

    /// Combines two sets of numbers.
    fn and(self, other: Self) -> Option<Self> {
        let both = Self {
            is_whole: self.is_whole && other.is_whole,
            has_negative: self.has_negative || other.has_negative,
            is_long: self.is_long || other.is_long,
            is_single: self.is_single && other.is_single,
            is_double: self.is_double && other.is_double,
        };
        let is_held = if both.is_whole { !(both.is_long && both.has_negative) } else { both.is_double };
        is_held.then_some(both)
    }

    fn dtype(self) -> DType {
        match self {
            Self { is_whole: true, is_long: true, .. } => DType::UInt64,
            Self { is_whole: true, .. } => DType::Int64,
            Self { is_single: true, .. } => DType::Float32,
            _ => DType::Float64,
        }
    }
}

impl Element {
    /// The type that fits both.
    fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Number(one), Self::Number(other)) => one.and(other).map(Self::Number),
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
            Value::Number(number) => one(Element::Number(match (number.as_i128(), number.as_f64()) {
                (Some(int), _) => Numbers::of_int(int),
                (None, float) => Numbers::of_float(float.unwrap_or(f64::NAN)),
            })),
            Value::String(text) => one(match constant(text) {
                Some((_, number)) => Element::Number(Numbers::of_float(number)),
                None => Element::Text,
            }),
            Value::Array(values) => {
                let mut kinds = values.iter().map(Self::of);
                let all = kinds.try_fold(None, |all: Option<Self>, kind| match (all, kind?) {
                    (None, kind) => Some(Some(kind)),
                    (Some(all), kind) => all.and(kind).map(Some),
                });
                Some(match all {
                    Some(None) => Self::List(1, None),
                    Some(Some(Self::One(element))) => Self::List(1, Some(element)),
                    Some(Some(Self::List(num, element))) if num < MAX_LISTS => Self::List(num + 1, element),
                    _ => Self::Nested,
                })
            }
            Value::Object(_) => Some(Self::Nested),
        }
    }

    fn and(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::One(one), Self::One(other)) => one.and(other).map(Self::One),
            (Self::List(_, None), Self::Nested) | (Self::Nested, Self::List(_, None)) => Some(Self::Nested),
            (Self::List(num, None), Self::List(most, element)) | (Self::List(most, element), Self::List(num, None))
                if num <= most =>
            {
                Some(Self::List(most, element))
            }
            (Self::List(num, Some(one)), Self::List(same, Some(other))) if num == same => {
                one.and(other).map(|both| Self::List(num, Some(both)))
            }
            _ => (self == other).then_some(self),
        }
    }

    /// The dtype, and the number of lists around values.
    fn dtype(self) -> (DType, usize) {
        let (element, num_lists) = match self {
            Self::One(element) => (Some(element), 0),
            Self::List(num, element) => (element, num),
            Self::Nested => return (DType::String, 0),
        };
        let dtype = match element {
            Some(Element::Flag) => DType::Bool,
            Some(Element::Number(numbers)) => numbers.dtype(),
            Some(Element::Text) => DType::String,
            None => DType::Float32,
        };
        (dtype, num_lists)
    }
}

/// An object that preserves the order of its keys.
struct Object<'text>(Vec<(String, &'text RawValue)>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(json: D) -> std::result::Result<Self, D::Error> {
        json.deserialize_map(Pairs)
    }
}

struct Pairs;

impl<'de> Visitor<'de> for Pairs {
    type Value = Object<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Object<'de>, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Object(pairs))
    }
}
