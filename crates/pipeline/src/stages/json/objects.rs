//! Walks through a JSON object, collects the requested values and skips the rest.

use crate::formats::component::{Component, Form};
use crate::stages::json::constants::{constant, long_integer, restored};
use crate::stages::json::values::Values;
use headrace_engine::tensor::dtype::DType;
use memchr::memmem;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::value::RawValue;
use std::fmt;

/// The requested keys of an object.
#[derive(Default)]
pub struct Keys(Vec<(String, Key)>);

/// A requested key.
#[derive(Default)]
pub struct Key {
    /// The component to which its value belongs.
    pub component: Option<usize>,
    /// The requested keys within its value, if that is an object.
    pub keys: Keys,
}

impl Keys {
    fn find(&self, name: &str) -> Option<&Key> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, key)| key)
    }

    /// Returns the entry for the key `name`, adding it if necessary.
    pub fn make(&mut self, name: &str) -> &mut Key {
        let position = self.0.iter().position(|(other, _)| other == name).unwrap_or_else(|| {
            self.0.push((name.to_owned(), Key::default()));
            self.0.len() - 1
        });
        &mut self.0[position].1
    }
}

/// The state while walking through one object.
pub struct State<'a> {
    pub components: &'a [Component],
    pub columns: &'a mut [Box<dyn Values>],
    pub row: usize,
    /// The text of the line.
    pub text: &'a [u8],
    /// True if some strings are marked constants; see [`constant`].
    pub has_constants: bool,
    /// The reason why a value is invalid, as in headrace's messages.
    pub misfit: Option<String>,
}

impl State<'_> {
    /// Returns true if the strings of a component may contain half a surrogate pair, which bytes
    /// keep, although it is not valid text.
    fn may_have_halves(&self, component: &Component) -> bool {
        let is_bytes = component.form == Form::Plain && component.dtype == DType::String;
        is_bytes && [br"\ud", br"\uD"].iter().any(|half| memmem::find(self.text, *half).is_some())
    }

    #[cold]
    fn wrong<E: serde::de::Error>(&mut self, component: usize, value: impl fmt::Display) -> E {
        let component = &self.components[component];
        let (name, dtype) = (&component.name, component.type_name());
        let remedy = match component.is_inferred {
            true => component.remedy(),
            false => "Correct it, or read it as another type.".to_owned(),
        };
        let value = value.to_string();
        let is_element = value.starts_with("a list") == (component.is_list() || !component.shape.is_empty());
        let limit = if is_element && value.contains(" `") { component.limit() } else { "" };
        self.misfit = Some(format!("'{name}' is {value}, expected {dtype}{limit}. {remedy}"));
        E::custom("a value has the wrong type")
    }
}

/// An object and its requested keys.
pub struct Object<'a, 'b> {
    pub keys: &'a Keys,
    pub state: &'a mut State<'b>,
}

impl<'de> DeserializeSeed<'de> for Object<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Object<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Find(self.keys))? {
            match key {
                None => drop(map.next_value::<IgnoredAny>()?),
                Some(Key { component: Some(component), .. }) => {
                    map.next_value_seed(Value { component: *component, state: &mut *self.state })?;
                }
                Some(Key { keys, .. }) => map.next_value_seed(Inner(Object { keys, state: &mut *self.state }))?,
            }
        }
        Ok(())
    }
}

/// Looks up a key without copying it.
struct Find<'a>(&'a Keys);

impl<'a, 'de> DeserializeSeed<'de> for Find<'a> {
    type Value = Option<&'a Key>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<Self::Value, D::Error> {
        json.deserialize_str(self)
    }
}

impl<'a> Visitor<'_> for Find<'a> {
    type Value = Option<&'a Key>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, name: &str) -> std::result::Result<Self::Value, E> {
        Ok(self.0.find(name))
    }
}

/// A nested object. If it is null, all requested keys in it are missing.
struct Inner<'a, 'b>(Object<'a, 'b>);

impl<'de> DeserializeSeed<'de> for Inner<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for Inner<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or null")
    }

    fn visit_none<E>(self) -> std::result::Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        self.0.deserialize(json)
    }
}

type Taken<E> = std::result::Result<(), E>;

/// Implements the visitor methods for values other than lists and objects. `one` stores the value
/// or reports that it is invalid.
macro_rules! visit_single_values {
    () => {
        fn visit_bool<E: serde::de::Error>(self, value: bool) -> Taken<E> {
            self.one(Unexpected::Bool(value), |column| column.push_flag(value))
        }

        fn visit_i64<E: serde::de::Error>(self, value: i64) -> Taken<E> {
            self.one(Unexpected::Signed(value), |column| column.push_int(value.into()))
        }

        fn visit_u64<E: serde::de::Error>(self, value: u64) -> Taken<E> {
            self.one(Unexpected::Unsigned(value), |column| column.push_int(value.into()))
        }

        fn visit_f64<E: serde::de::Error>(self, value: f64) -> Taken<E> {
            // serde reads integers with more than 64 bits as floats.
            let digits = (value.abs() >= 2_f64.powi(63)).then(|| long_integer(self.state.text, value)).flatten();
            match digits {
                None => self.one(Unexpected::Float(value), |column| column.push_float(value)),
                Some(digits) => {
                    let words = format!("integer `{digits}`");
                    self.one(Unexpected::Other(&words), |column| digits.parse().is_ok_and(|int| column.push_int(int)))
                }
            }
        }

        /// Visits a string with halves of surrogate pairs, each encoded in the three bytes that
        /// UTF-8 would use for it.
        fn visit_bytes<E: serde::de::Error>(self, value: &[u8]) -> Taken<E> {
            match std::str::from_utf8(value) {
                Ok(text) => self.visit_str(text),
                Err(_) => self.one(Unexpected::Bytes(value), |column| column.push_bytes(value)),
            }
        }

        fn visit_str<E: serde::de::Error>(self, value: &str) -> Taken<E> {
            match constant(value).filter(|_| self.state.has_constants) {
                Some((word, number)) => self.one(Unexpected::Other(word), |column| column.push_float(number)),
                None => self.one(Unexpected::Str(value), |column| column.push_text(value)),
            }
        }
    };
}

/// The value of a component.
struct Value<'a, 'b> {
    component: usize,
    state: &'a mut State<'b>,
}

impl Value<'_, '_> {
    /// Stores a single value, if one is expected and `push` accepts it.
    fn one<E: serde::de::Error>(
        self,
        value: Unexpected,
        push: impl FnOnce(&mut dyn Values) -> bool,
    ) -> std::result::Result<(), E> {
        let component = &self.state.components[self.component];
        let column = &mut *self.state.columns[self.component];
        let is_new = column.len() == self.state.row;
        if component.is_list() || !component.shape.is_empty() || !is_new || !push(column) {
            let words = if is_new { value.to_string() } else { "given twice".to_owned() };
            return Err(self.state.wrong(self.component, words));
        }
        column.end_row();
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        let component = &self.state.components[self.component];
        if component.form != Form::Json {
            let is_single = !component.is_list() && component.shape.is_empty();
            return visit(json, is_single && self.state.may_have_halves(component), self);
        }
        let text = <&RawValue>::deserialize(json)?.get();
        let is_filled = component.default.is_some() || component.has_mask;
        if text == "null" && is_filled {
            return Ok(());
        }
        let column = &mut *self.state.columns[self.component];
        if column.len() != self.state.row {
            return Err(self.state.wrong(self.component, "given twice"));
        }
        let is_taken = match self.state.has_constants {
            true => column.push_json(&restored(text)),
            false => column.push_json(text),
        };
        column.end_row();
        is_taken.then_some(()).ok_or_else(|| D::Error::custom("JSON for numbers"))
    }
}

/// Visits a value. `may_have_halves` is true if it may be a string with half a surrogate pair.
fn visit<'de, D: Deserializer<'de>, V>(json: D, may_have_halves: bool, visitor: V) -> Taken<D::Error>
where
    V: for<'text> Visitor<'text, Value = ()>,
{
    if !may_have_halves {
        return json.deserialize_any(visitor);
    }
    let text = <&RawValue>::deserialize(json)?.get();
    let mut json = serde_json::Deserializer::from_str(text);
    let taken = if text.starts_with('"') { json.deserialize_bytes(visitor) } else { json.deserialize_any(visitor) };
    taken.map_err(D::Error::custom)
}

impl<'de> Visitor<'de> for Value<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Taken<E> {
        Ok(())
    }

    visit_single_values!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Taken<A::Error> {
        let Self { component, state } = self;
        let components = state.components;
        if state.columns[component].len() != state.row {
            return Err(state.wrong(component, "given twice"));
        }
        let length_expected = match &components[component] {
            component if component.is_list() => None,
            component_spec if component_spec.shape.is_empty() => return Err(state.wrong(component, "a list")),
            component => Some(component.shape[0]),
        };
        let mut length = 0;
        while let Some(()) = list.next_element_seed(Element { component, depth: 1, state })? {
            length += 1;
        }
        if length_expected.is_some_and(|length_expected| length_expected != length) {
            return Err(state.wrong(component, format_args!("a list of {length}")));
        }
        state.columns[component].end_row();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Taken<A::Error> {
        Err(self.state.wrong(self.component, "an object (read its values with names such as 'key.inner')"))
    }
}

/// An element of a list, or a list of elements.
struct Element<'a, 'b> {
    component: usize,
    /// The nesting depth: the number of lists that contain the element.
    depth: usize,
    state: &'a mut State<'b>,
}

impl Element<'_, '_> {
    fn one<E: serde::de::Error>(self, value: Unexpected, push: impl FnOnce(&mut dyn Values) -> bool) -> Taken<E> {
        let component = &self.state.components[self.component];
        let is_deepest = self.depth == component.num_lists.max(component.shape.len());
        match is_deepest && push(&mut *self.state.columns[self.component]) {
            true => Ok(()),
            false => Err(self.state.wrong(self.component, format_args!("a list that contains {value}"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Element<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        let component = &self.state.components[self.component];
        let is_deepest = self.depth == component.num_lists.max(component.shape.len());
        let may_have_halves = is_deepest && self.state.may_have_halves(component);
        visit(json, may_have_halves, self)
    }
}

impl<'de> Visitor<'de> for Element<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Taken<E> {
        self.one(Unexpected::Other("null"), |_| false)
    }

    visit_single_values!();

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Taken<A::Error> {
        let Self { component, depth, state } = self;
        let Component { num_lists, shape, .. } = &state.components[component];
        let length_expected = shape.get(depth).copied();
        if depth >= *num_lists && length_expected.is_none() {
            return Err(state.wrong(component, format_args!("a list of {}lists", "lists of ".repeat(depth - 1))));
        }
        let mut length = 0;
        while let Some(()) = list.next_element_seed(Element { component, depth: depth + 1, state })? {
            length += 1;
        }
        if length_expected.is_some_and(|length_expected| length_expected != length) {
            return Err(state.wrong(component, format_args!("a list that contains a list of {length}")));
        }
        state.columns[component].end_list(depth);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Taken<A::Error> {
        Err(self.state.wrong(self.component, "a list of objects"))
    }
}
