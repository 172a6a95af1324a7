//! JSON objects, one a record, to columns.

use super::component::Component;
use super::json_values::{Values, values_of};
use crate::error::{Error, Result};
use crate::pipeline::block::{Block, Origins, Rows};
use crate::pipeline::column::Column;
use crate::pipeline::nodes::map::Stage;
use crate::text::excerpt::excerpt;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Unexpected, Visitor};
use std::fmt;

/// Replaces the only column, of texts, by one for each component. What was not asked for is left out.
pub struct JsonFields {
    components: Vec<Component>,
    root: Keys,
}

/// The keys that are wanted of an object.
#[derive(Default)]
struct Keys(Vec<(String, Key)>);

#[derive(Default)]
struct Key {
    /// The component that its value is.
    component: Option<usize>,
    /// What is wanted of it if it is an object.
    keys: Keys,
}

impl Keys {
    fn find(&self, name: &str) -> Option<&Key> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, key)| key)
    }

    fn make(&mut self, name: &str) -> &mut Key {
        let place = self.0.iter().position(|(other, _)| other == name).unwrap_or_else(|| {
            self.0.push((name.to_owned(), Key::default()));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }
}

impl JsonFields {
    /// The name of a component is its key; after each point, that of the object found so far. A key with points in it is
    /// found too.
    pub fn new(components: Vec<Component>) -> Result<Self> {
        let mut root = Keys::default();
        for (index, component) in components.iter().enumerate() {
            values_of(component, 0)?;
            let name = &component.name;
            let mut key = &mut Key::default();
            let mut keys = &mut root;
            for part in name.split('.') {
                key = keys.make(part);
                keys = &mut key.keys;
            }
            key.component = Some(index);
            root.make(name).component = Some(index);
        }
        Ok(Self { components, root })
    }

    fn parse(&self, text: &[u8], row: usize, columns: &mut [Box<dyn Values>]) -> std::result::Result<(), String> {
        let mut state = State { components: &self.components, columns, row, misfit: None };
        let mut json = serde_json::Deserializer::from_slice(text);
        let parsed = Object { keys: &self.root, state: &mut state }.deserialize(&mut json);
        let misfit = state.misfit.take();
        parsed.and_then(|()| json.end()).map_err(|error| misfit.unwrap_or_else(|| syntax(&error, text)))?;
        for (component, column) in self.components.iter().zip(columns) {
            if column.len() == row && !column.push_default() {
                let name = &component.name;
                return Err(format!(
                    "there is no '{name}', or it is null, expected {}. Say what stands for it, with defaults={{'{name}': \
                     ...}}.",
                    component.type_name()
                ));
            }
        }
        Ok(())
    }
}

/// What is wrong with a text that is no JSON, or no object.
#[cold]
fn syntax(error: &serde_json::Error, text: &[u8]) -> String {
    let words = error.to_string();
    let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
    format!(
        "{words} at column {}, expected a JSON object in each line: {}. Correct the line.",
        error.column(),
        excerpt(text)
    )
}

struct State<'a> {
    components: &'a [Component],
    columns: &'a mut [Box<dyn Values>],
    row: usize,
    /// What is wrong with a value, in our words.
    misfit: Option<String>,
}

impl State<'_> {
    #[cold]
    fn wrong<E: serde::de::Error>(&mut self, component: usize, found: impl fmt::Display) -> E {
        let Component { name, .. } = &self.components[component];
        self.misfit = Some(format!(
            "'{name}' is {found}, expected {}. Correct the line, or read it as another type.",
            self.components[component].type_name()
        ));
        E::custom("a value of another type")
    }
}

/// An object of which some keys are wanted.
struct Object<'a, 'b> {
    keys: &'a Keys,
    state: &'a mut State<'b>,
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

/// Looks a key up without a copy of it.
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

/// An object inside of another one. All that is wanted of it is missing if it is null.
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

/// The value of a component.
struct Value<'a, 'b> {
    component: usize,
    state: &'a mut State<'b>,
}

impl Value<'_, '_> {
    /// Takes a single value, if that is what is expected and `push` takes it.
    fn one<E: serde::de::Error>(
        self,
        found: Unexpected,
        push: impl FnOnce(&mut dyn Values) -> bool,
    ) -> std::result::Result<(), E> {
        let Component { shape, is_list, .. } = &self.state.components[self.component];
        let column = &mut *self.state.columns[self.component];
        let is_new = column.len() == self.state.row;
        if *is_list || !shape.is_empty() || !is_new || !push(column) {
            let words = if is_new { found.to_string() } else { "there twice".to_owned() };
            return Err(self.state.wrong(self.component, words));
        }
        column.end_row();
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

type Taken<E> = std::result::Result<(), E>;

impl<'de> Visitor<'de> for Value<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Taken<E> {
        Ok(())
    }

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
        self.one(Unexpected::Float(value), |column| column.push_float(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Taken<E> {
        self.one(Unexpected::Str(value), |column| column.push_text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Taken<A::Error> {
        let Self { component, state } = self;
        let Component { shape, is_list, .. } = &state.components[component];
        if state.columns[component].len() != state.row {
            return Err(state.wrong(component, "there twice"));
        }
        let dims: &[usize] = if *is_list { &[] } else { shape };
        if !*is_list && dims.is_empty() {
            return Err(state.wrong(component, "a list"));
        }
        let wanted = dims.first().copied();
        let mut length = 0;
        while let Some(()) =
            list.next_element_seed(Element { component, inner: dims.get(1..).unwrap_or(&[]), state })?
        {
            length += 1;
        }
        if wanted.is_some_and(|wanted| wanted != length) {
            return Err(state.wrong(component, format_args!("a list of {length}")));
        }
        state.columns[component].end_row();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Taken<A::Error> {
        Err(self.state.wrong(self.component, "an object; its values have names such as 'key.inner'"))
    }
}

/// An element of a list, or a list of such elements.
struct Element<'a, 'b> {
    component: usize,
    /// The dimensions of the element.
    inner: &'a [usize],
    state: &'a mut State<'b>,
}

impl Element<'_, '_> {
    fn one<E: serde::de::Error>(self, found: Unexpected, push: impl FnOnce(&mut dyn Values) -> bool) -> Taken<E> {
        match self.inner.is_empty() && push(&mut *self.state.columns[self.component]) {
            true => Ok(()),
            false => Err(self.state.wrong(self.component, format_args!("a list with {found} in it"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Element<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> std::result::Result<(), D::Error> {
        json.deserialize_any(self)
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
        self.one(Unexpected::Float(value), |column| column.push_float(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Taken<E> {
        self.one(Unexpected::Str(value), |column| column.push_text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Taken<A::Error> {
        let Self { component, inner, state } = self;
        let Some((wanted, inner)) = inner.split_first() else {
            return Err(state.wrong(component, "a list of lists"));
        };
        let mut length = 0;
        while let Some(()) = list.next_element_seed(Element { component, inner, state })? {
            length += 1;
        }
        match length == *wanted {
            true => Ok(()),
            false => Err(state.wrong(component, format_args!("a list with a list of {length} in it"))),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Taken<A::Error> {
        Err(self.state.wrong(self.component, "a list of objects"))
    }
}

impl Stage for JsonFields {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let columns = self.components.iter().map(|component| values_of(component, rows.len()));
        let mut columns = columns.collect::<Result<Vec<_>>>()?;
        for (index, (block, row)) in rows.iter().enumerate() {
            let Some(Column::Text(texts)) = block.columns.first() else {
                return Err(Error::internal("the lines of a JSON file are no strings"));
            };
            self.parse(texts.row(row), index, &mut columns).map_err(|misfit| {
                let origin = rows.origin(index).map_or(String::new(), |origin| format!("{origin}: "));
                Error::invalid_argument(format!("{origin}{misfit}"))
            })?;
        }
        let columns = columns.into_iter().map(|column| column.finish()).collect::<Result<_>>()?;
        Block::new(columns, rows.len(), Origins::of(rows)).map(Rows::all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::dtype::DType;
    use crate::tensor::shape::Shape;

    fn component(name: &str, dtype: DType, is_list: bool) -> Component {
        let (is_text, shape) = (true, Shape::new(&[]));
        Component { name: name.to_owned(), dtype, is_text, is_list, shape, default: None }
    }

    /// The columns of these lines, of the keys `m.id` and `l`.
    fn parsed(lines: &[&str]) -> std::result::Result<Vec<Column>, String> {
        let components = vec![component("m.id", DType::Int32, false), component("l", DType::Float32, true)];
        let mut columns: Vec<_> = components.iter().map(|component| values_of(component, 0).unwrap()).collect();
        let fields = JsonFields::new(components).unwrap();
        for (row, line) in lines.iter().enumerate() {
            fields.parse(line.as_bytes(), row, &mut columns)?;
        }
        Ok(columns.into_iter().map(|column| column.finish().unwrap()).collect())
    }

    #[test]
    fn keys_are_found_in_objects_and_lists_keep_their_lengths() {
        let lines = [r#"{"m": {"x": [{}], "id": 3}, "l": [1, 2.5]}"#, r#"{"l": [], "m.id": -4, "other": null}"#];
        let columns = parsed(&lines).unwrap();
        assert_eq!(columns[0].to_tensor().unwrap().values::<i32>().unwrap(), [3, -4]);
        let Column::Ragged(lists) = &columns[1] else { panic!("expected lists") };
        assert_eq!((lists.row_length(0), lists.row_length(1)), (2, 0));
        assert_eq!(lists.values().values::<f32>().unwrap(), [1.0, 2.5]);
    }

    #[test]
    fn what_is_wrong_names_the_key() {
        for (line, text) in [
            (r#"{"l": []}"#, "there is no 'm.id', or it is null, expected int32."),
            (r#"{"m": {"id": 1.5}, "l": []}"#, "'m.id' is floating point `1.5`, expected int32."),
            (r#"{"m": {"id": 1}, "l": 2}"#, "'l' is integer `2`, expected list of float32."),
            (r#"{"m": {"id": 1}, "m.id": 2, "l": []}"#, "'m.id' is there twice"),
            (r#"{"m": {"id": 1}, "l": []"#, "EOF while parsing an object at column 24"),
        ] {
            let error = parsed(&[line]).unwrap_err();
            assert!(error.starts_with(text), "{error}");
        }
    }
}
