//! The filter `tojson`, which writes values like Python's `json.dumps`.
//!
//! Source: the filter of this name in transformers, and the module `json` of Python.

use super::values::{as_float, float_repr};
use minijinja::value::{Kwargs, Value, ValueKind};
use minijinja::{Error, ErrorKind};
use std::fmt::Write;

/// `tojson(value, ensure_ascii=False, indent=None, separators=None, *, sort_keys=False)`.
pub fn tojson(
    value: &Value,
    ensure_ascii: Option<bool>,
    indent: Option<Value>,
    separators: Option<Value>,
    named: Kwargs,
) -> Result<Value, Error> {
    let ensure_ascii = ensure_ascii.or(named.get("ensure_ascii")?).unwrap_or(false);
    let indent = indent.or(named.get("indent")?).filter(|indent| !indent.is_none());
    let separators = separators.or(named.get("separators")?).filter(|separators| !separators.is_none());
    let sort_keys = named.get::<Option<bool>>("sort_keys")?.unwrap_or(false);
    named.assert_all_used()?;
    let indent = indent.map(|indent| match indent.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => i64::try_from(indent).map(|width| " ".repeat(usize::try_from(width).unwrap_or(0).min(1000))),
    });
    let indent = indent.transpose()?;
    let (comma, colon) = match separators {
        Some(pair) => (text_at(&pair, 0)?, text_at(&pair, 1)?),
        None => (if indent.is_some() { "," } else { ", " }.to_owned(), ": ".to_owned()),
    };
    let mut writer = Writer { text: String::new(), ensure_ascii, indent, comma, colon, sort_keys, depth: 0 };
    writer.value(value)?;
    Ok(Value::from(writer.text))
}

fn text_at(pair: &Value, index: usize) -> Result<String, Error> {
    let text = pair.get_item_by_index(index)?;
    text.as_str()
        .map(str::to_owned)
        .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "the separators are not strings"))
}

struct Writer {
    text: String,
    ensure_ascii: bool,
    indent: Option<String>,
    comma: String,
    colon: String,
    sort_keys: bool,
    depth: usize,
}

impl Writer {
    fn value(&mut self, value: &Value) -> Result<(), Error> {
        if let Some(float) = as_float(value) {
            self.text.push_str(&float_text(float));
            return Ok(());
        }
        match value.kind() {
            ValueKind::None => self.text.push_str("null"),
            ValueKind::Bool => self.text.push_str(if value.is_true() { "true" } else { "false" }),
            ValueKind::Number => self.text.push_str(&value.to_string()),
            ValueKind::String => self.string(value.as_str().unwrap_or_default()),
            ValueKind::Seq | ValueKind::Iterable => {
                let items = value.try_iter()?.checked().collect::<Result<Vec<_>, _>>()?;
                self.container(['[', ']'], items, |writer, item| writer.value(item))?;
            }
            ValueKind::Map => self.map(value)?,
            kind => {
                return Err(Error::new(
                    ErrorKind::InvalidOperation,
                    format!("tojson: {kind} cannot be written as JSON"),
                ));
            }
        }
        Ok(())
    }

    fn map(&mut self, map: &Value) -> Result<(), Error> {
        let mut entries = Vec::new();
        for key in map.try_iter()? {
            let value = map.get_item(&key)?;
            entries.push((key, value));
        }
        if self.sort_keys {
            entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
        self.container(['{', '}'], entries, |writer, (key, value)| {
            let text = match (as_float(key), key.kind()) {
                (Some(float), _) => float_text(float),
                (None, ValueKind::None) => "null".to_owned(),
                (None, ValueKind::Bool) => if key.is_true() { "true" } else { "false" }.to_owned(),
                (None, ValueKind::Number | ValueKind::String) => key.to_string(),
                (None, kind) => {
                    return Err(Error::new(ErrorKind::InvalidOperation, format!("tojson: {kind} cannot be a key")));
                }
            };
            writer.string(&text);
            let colon = writer.colon.clone();
            writer.text.push_str(&colon);
            writer.value(value)
        })
    }

    fn container<T>(
        &mut self,
        [open, close]: [char; 2],
        items: Vec<T>,
        mut write: impl FnMut(&mut Self, &T) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.text.push(open);
        self.depth += 1;
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.text.push_str(&self.comma);
            }
            self.new_line();
            write(self, item)?;
        }
        self.depth -= 1;
        if !items.is_empty() {
            self.new_line();
        }
        self.text.push(close);
        Ok(())
    }

    fn new_line(&mut self) {
        if let Some(indent) = &self.indent {
            self.text.push('\n');
            (0..self.depth).for_each(|_| self.text.push_str(indent));
        }
    }

    fn string(&mut self, text: &str) {
        self.text.push('"');
        for letter in text.chars() {
            match letter {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                '\u{8}' => self.text.push_str("\\b"),
                '\u{c}' => self.text.push_str("\\f"),
                ' '..='~' => self.text.push(letter),
                '\u{7f}'.. if !self.ensure_ascii => self.text.push(letter),
                _ => letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                    let written = write!(self.text, "\\u{unit:04x}");
                    debug_assert!(written.is_ok(), "a string takes what is written");
                }),
            }
        }
        self.text.push('"');
    }
}

fn float_text(float: f64) -> String {
    match float {
        _ if float.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        _ => float_repr(float),
    }
}
