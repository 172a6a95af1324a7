//! Parses JSON objects, one per record, into columns.

mod constants;
pub mod inference;
mod objects;
mod values;

use crate::blocks::block::{Block, Provenance};
use crate::blocks::column::Column;
use crate::blocks::rows::Rows;
use crate::formats::component::Component;
use crate::stages::Stage;
use crate::stages::json::objects::{Key, Keys, Object, State};
use crate::stages::json::values::{Values, values_of};
use crate::stages::seen_components::{MOST_NAMES, SeenComponents};
use headrace_engine::error::{Error, Result};
use headrace_engine::text::excerpt::excerpt;
use serde::de::DeserializeSeed;
use std::borrow::Cow;
use std::sync::Arc;

/// How to fix a JSON array that is read as lines.
pub(crate) const ONE_ARRAY: &str = "If the file is one JSON array, read it with headrace.json_array.";

/// Replaces the only column, which has texts, with one column per component. Other keys are
/// ignored.
pub struct JsonFields {
    components: Vec<Component>,
    root: Keys,
    /// The numbers of the components that a line may lack.
    optional: Vec<usize>,
    seen_components: Arc<SeenComponents>,
    /// True if records are elements of an array rather than lines.
    is_array: bool,
}

impl JsonFields {
    /// Parses these components. The name of a component is its key. A dot leads to a key of a
    /// nested object, but a key may itself contain dots.
    pub fn new(components: Vec<Component>) -> Result<Self> {
        let mut root = Keys::default();
        let mut optional = Vec::new();
        for (index, component) in components.iter().enumerate() {
            if values_of(component, 0)?.push_default() {
                optional.push(index);
            }
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
        Ok(Self { components, root, optional, seen_components: SeenComponents::new(), is_array: false })
    }

    /// Sets whether records are elements of an array.
    pub fn of_array(self, is_array: bool) -> Self {
        Self { is_array, ..self }
    }

    /// Records which of the optional components have occurred.
    pub fn seen_by(mut self, seen_components: Arc<SeenComponents>) -> Self {
        self.seen_components = seen_components;
        self
    }

    /// Adds a line to the columns. Sets `seen` for the optional components that have a value in it.
    fn parse(
        &self,
        text: &[u8],
        row: usize,
        columns: &mut [Box<dyn Values>],
        seen: &mut [bool],
    ) -> std::result::Result<(), String> {
        let replaced = constants::replaced(text);
        let has_constants = matches!(replaced, Cow::Owned(_));
        let mut state = State { components: &self.components, columns, row, text, has_constants, misfit: None };
        let mut json = serde_json::Deserializer::from_slice(&replaced);
        let parsed = Object { keys: &self.root, state: &mut state }.deserialize(&mut json);
        let misfit = state.misfit.take();
        parsed
            .and_then(|()| json.end())
            .map_err(|error| misfit.unwrap_or_else(|| syntax(&error, text, self.is_array)))?;
        for ((component, column), seen) in self.components.iter().zip(columns).zip(seen) {
            if column.len() > row {
                *seen = true;
            } else if !column.push_default() {
                let name = &component.name;
                return Err(format!(
                    "'{name}' is missing or null, expected {}. {}",
                    component.type_name(),
                    component.fillers()
                ));
            }
        }
        Ok(())
    }
}

/// Returns true if the error is about half a surrogate pair in a string.
fn is_about_half(error: &serde_json::Error) -> bool {
    let words = error.to_string();
    words.contains("surrogate") || words.contains("hex escape")
}

/// The error for a text that is not valid JSON or not an object. `is_array` is true if it is an
/// element of an array rather than a line.
#[cold]
fn syntax(error: &serde_json::Error, text: &[u8], is_array: bool) -> String {
    let words = error.to_string();
    let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
    let position = match error.line() {
        0 | 1 => format!("column {}", error.column()),
        line => format!("line {line}, column {} of the record", error.column()),
    };
    let text_shown = excerpt(text);
    if is_about_half(error) {
        return format!(
            "half of a surrogate pair at {position}, expected text: {text_shown}. Read the key as bytes or as \
             hr.Json, which keep it, or correct it."
        );
    }
    let remedy = match !is_array && text.trim_ascii_start().starts_with(b"[") {
        true => ONE_ARRAY,
        false => "Correct it.",
    };
    let each = if is_array { "" } else { " in each line" };
    format!("{words} at {position}, expected a JSON object{each}: {text_shown}. {remedy}")
}

/// Lists the keys of a line, and of nested objects, as component names.
fn names(line: &[u8]) -> Vec<String> {
    fn add(object: &serde_json::Map<String, serde_json::Value>, before: &str, names: &mut Vec<String>) {
        for (key, value) in object {
            if names.len() == MOST_NAMES {
                return;
            }
            let name = format!("{before}{key}");
            if let serde_json::Value::Object(inner) = value {
                add(inner, &format!("{name}."), names);
            }
            names.push(name);
        }
    }
    let mut names = Vec::new();
    if let Ok(object) = serde_json::from_slice(&constants::replaced(line)) {
        add(&object, "", &mut names);
    }
    names
}

impl Stage for JsonFields {
    fn apply(&self, rows: Rows) -> Result<Rows> {
        let columns = self.components.iter().map(|component| values_of(component, rows.len()));
        let mut columns = columns.collect::<Result<Vec<_>>>()?;
        let mut seen: Vec<_> = self.components.iter().map(|_| false).collect();
        let mut first = None;
        for (index, (block, row)) in rows.iter().enumerate() {
            let Some(Column::Text(texts)) = block.columns.first() else {
                return Err(Error::internal("the lines of a JSON file are not strings"));
            };
            let text = texts.row(row);
            first = first.or(Some(text));
            self.parse(text, index, &mut columns, &mut seen).map_err(|misfit| {
                let row_provenance =
                    rows.row_provenance(index).map_or(String::new(), |row_provenance| format!("{row_provenance}: "));
                Error::invalid_argument(format!("{row_provenance}{misfit}"))
            })?;
        }
        if let Some(first) = first
            && !self.seen_components.is_done()
        {
            let optional = self.optional.iter().map(|index| (&self.components[*index].name[..], seen[*index]));
            self.seen_components.add(rows.len(), optional, || names(first));
        }
        let columns = columns.into_iter().map(|column| column.finish()).collect::<Result<Vec<_>>>()?;
        let columns = columns.into_iter().flatten().collect();
        Block::new(columns, rows.len(), Provenance::of(rows)).map(Rows::all)
    }

    fn is_one_to_one(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::component::Form;
    use headrace_engine::tensor::dtype::DType;

    fn component(name: &str, dtype: DType, is_list: bool) -> Component {
        Component { num_lists: usize::from(is_list), ..Component::of(name, dtype, Form::Plain) }
    }

    /// Parses lines into columns for the keys `m.id` and `l`.
    fn parsed(lines: &[&str]) -> std::result::Result<Vec<Column>, String> {
        let components = vec![component("m.id", DType::Int32, false), component("l", DType::Float32, true)];
        let mut columns: Vec<_> = components.iter().map(|component| values_of(component, 0).unwrap()).collect();
        let fields = JsonFields::new(components).unwrap();
        for (row, line) in lines.iter().enumerate() {
            fields.parse(line.as_bytes(), row, &mut columns, &mut [false; 2])?;
        }
        Ok(columns.into_iter().flat_map(|column| column.finish().unwrap()).collect())
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
    fn errors_name_the_key() {
        for (line, text) in [
            (r#"{"l": []}"#, "'m.id' is missing or null, expected int32."),
            (r#"{"m": {"id": 1.5}, "l": []}"#, "'m.id' is floating point `1.5`, expected int32."),
            (r#"{"m": {"id": 1}, "l": 2}"#, "'l' is integer `2`, expected list of float32."),
            (r#"{"m": {"id": 1}, "m.id": 2, "l": []}"#, "'m.id' is given twice"),
            (r#"{"m": {"id": 1}, "l": []"#, "EOF while parsing an object at column 24"),
        ] {
            let error = parsed(&[line]).unwrap_err();
            assert!(error.starts_with(text), "{error}");
        }
    }
}
