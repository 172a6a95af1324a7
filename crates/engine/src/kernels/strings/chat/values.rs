//! JSON values as the values of a template. They behave and print like Python's values.

use indexmap::IndexMap;
use minijinja::value::{Enumerator, Object, ObjectExt, ObjectRepr, Value, ValueKind};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::fmt::{self, Write};
use std::sync::Arc;

/// A list.
#[derive(Debug)]
pub struct List(pub Vec<Value>);

/// A dict with strings as keys.
#[derive(Clone, Debug, Default)]
pub struct Dict(pub IndexMap<Arc<str>, Value>);

/// A float that Python writes with an exponent.
#[derive(Debug)]
struct ExponentFloat(f64);

impl Object for List {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Seq
    }

    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.0.get(key.as_usize()?).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Seq(self.0.len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_items(f, ['[', ']'], self.0.iter(), write_repr)
    }
}

impl Object for Dict {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        self.0.get(key).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.mapped_enumerator(|this| Box::new(this.0.keys().map(|key| Value::from(Arc::clone(key)))))
    }

    fn enumerator_len(self: &Arc<Self>) -> Option<usize> {
        Some(self.0.len())
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_items(f, ['{', '}'], self.0.iter(), |f, (key, value)| {
            write_str_repr(f, key)?;
            f.write_str(": ")?;
            write_repr(f, value)
        })
    }
}

impl Object for ExponentFloat {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn is_true(self: &Arc<Self>) -> bool {
        true
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&float_repr(self.0))
    }
}

/// A JSON text as a value.
pub fn from_json(text: &[u8]) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = AsValue.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

struct AsValue;

impl<'de> DeserializeSeed<'de> for AsValue {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AsValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::from(()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        // Whether the text is an integer, which Python would not round, is not known here.
        if value.abs() >= 9.0e18 {
            return Err(E::custom(format!("the number {value:e} has more than 64 bits. Write it as a string")));
        }
        Ok(if has_exponent(value) { Value::from_object(ExponentFloat(value)) } else { Value::from(value) })
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(AsValue)? {
            list.push(item);
        }
        Ok(Value::from_object(List(list)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut dict = IndexMap::new();
        while let Some(key) = entries.next_key::<String>()? {
            dict.insert(key.into(), entries.next_value_seed(AsValue)?);
        }
        Ok(Value::from_object(Dict(dict)))
    }
}

/// The exact float of a value; `None` if it is no float.
pub fn as_float(value: &Value) -> Option<f64> {
    if let Some(float) = value.downcast_object_ref::<ExponentFloat>() {
        return Some(float.0);
    }
    let is_float = value.kind() == ValueKind::Number && !value.is_integer();
    is_float.then(|| f64::try_from(value.clone()).ok()).flatten()
}

fn has_exponent(value: f64) -> bool {
    value != 0.0 && !(1e-4..1e16).contains(&value.abs())
}

/// `repr` of a float.
pub fn float_repr(value: f64) -> String {
    if !has_exponent(value) || !value.is_finite() {
        return format!("{value:?}").replace("NaN", "nan");
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, size) = exponent.strip_prefix('-').map_or(('+', exponent), |size| ('-', size));
    format!("{digits}e{sign}{size:0>2}")
}

/// A value in the form of Python's `str`.
pub struct AsText<'a>(pub &'a Value);

impl fmt::Display for AsText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(float) = as_float(self.0) {
            return f.write_str(&float_repr(float));
        }
        let Some(object) = self.0.as_object() else { return write!(f, "{}", self.0) };
        match object.repr() {
            ObjectRepr::Map if object.downcast_ref::<Dict>().is_none() => {
                let entries = object.try_iter_pairs().into_iter().flatten();
                write_items(f, ['{', '}'], entries, |f, (key, value)| {
                    write_repr(f, &key)?;
                    f.write_str(": ")?;
                    write_repr(f, &value)
                })
            }
            ObjectRepr::Seq if object.downcast_ref::<List>().is_none() => {
                let is_tuple = self.0.is_tuple();
                let items = object.try_iter().into_iter().flatten();
                write_items(f, if is_tuple { ['(', ')'] } else { ['[', ']'] }, items, |f, value| write_repr(f, &value))
            }
            _ => write!(f, "{}", self.0),
        }
    }
}

fn write_items<T>(
    f: &mut fmt::Formatter<'_>,
    [open, close]: [char; 2],
    items: impl Iterator<Item = T>,
    write: impl Fn(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    f.write_char(open)?;
    let mut count = 0;
    for item in items {
        f.write_str(if count > 0 { ", " } else { "" })?;
        write(f, item)?;
        count += 1;
    }
    // A tuple of one item ends with a comma.
    f.write_str(if open == '(' && count == 1 { "," } else { "" })?;
    f.write_char(close)
}

fn write_repr(f: &mut fmt::Formatter<'_>, value: &Value) -> fmt::Result {
    match value.as_str() {
        Some(text) => write_str_repr(f, text),
        None => write!(f, "{}", AsText(value)),
    }
}

/// `repr` of a string.
fn write_str_repr(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    f.write_char(quote)?;
    for letter in text.chars() {
        match letter {
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\\' => f.write_str("\\\\")?,
            _ if letter == quote => write!(f, "\\{quote}")?,
            ' '..='~' => f.write_char(letter)?,
            _ if is_printable(letter) => f.write_char(letter)?,
            '\0'..='\u{ff}' => write!(f, "\\x{:02x}", u32::from(letter))?,
            '\u{100}'..='\u{ffff}' => write!(f, "\\u{:04x}", u32::from(letter))?,
            _ => write!(f, "\\U{:08x}", u32::from(letter))?,
        }
    }
    f.write_char(quote)
}

/// `str.isprintable`: neither "Other" nor "Separator" in the Unicode database.
fn is_printable(letter: char) -> bool {
    static HIDDEN: std::sync::LazyLock<Option<regex::Regex>> =
        std::sync::LazyLock::new(|| regex::Regex::new(r"[\p{C}\p{Z}]").ok());
    HIDDEN.as_ref().is_none_or(|hidden| !hidden.is_match(letter.encode_utf8(&mut [0; 4])))
}
