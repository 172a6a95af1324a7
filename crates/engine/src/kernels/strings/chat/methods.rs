//! Methods of Python's strings where the crate `minijinja-contrib` lacks them, or where characters
//! that Python regards as spaces, digits or ends of lines matter.

use minijinja::value::{Kwargs, Tuple, Value, from_args};
use minijinja::{Error, State};
use minijinja_contrib::pycompat;

/// Calls a method that values of the template do not have themselves.
pub fn call(state: &mut State, value: &Value, method: &str, args: &[Value]) -> Result<Value, Error> {
    let Some(text) = value.as_str() else { return pycompat::unknown_method_callback(state, value, method, args) };
    match method {
        "strip" | "lstrip" | "rstrip" => {
            let (letters,): (Option<&str>,) = from_args(args)?;
            Ok(stripped(text, letters, method != "rstrip", method != "lstrip").into())
        }
        "removeprefix" => {
            let (prefix,): (&str,) = from_args(args)?;
            Ok(text.strip_prefix(prefix).unwrap_or(text).into())
        }
        "removesuffix" => {
            let (suffix,): (&str,) = from_args(args)?;
            Ok(text.strip_suffix(suffix).unwrap_or(text).into())
        }
        "split" | "rsplit" => {
            let (separator, most, named): (Option<Value>, Option<i64>, Kwargs) = from_args(args)?;
            let separator = separator.or(named.get("sep")?).filter(|separator| !separator.is_none());
            let most = most.or(named.get("maxsplit")?).and_then(|most| usize::try_from(most).ok());
            named.assert_all_used()?;
            match separator.as_ref().map(|separator| separator.as_str()) {
                None => Ok(words(text, most, method == "rsplit").into_iter().map(Value::from).collect()),
                Some(Some(separator)) if !separator.is_empty() => Ok(parts(text, separator, most, method == "rsplit")),
                Some(_) => Err(invalid("split: the separator is empty or not a string")),
            }
        }
        "partition" | "rpartition" => {
            let (separator,): (&str,) = from_args(args)?;
            let parts = if method == "partition" { text.split_once(separator) } else { text.rsplit_once(separator) };
            let parts = match (parts, method) {
                (Some((before, after)), _) => [before, separator, after],
                (None, "partition") => [text, "", ""],
                (None, _) => ["", "", text],
            };
            Ok(Tuple::from(parts.map(Value::from)).into())
        }
        "splitlines" => {
            let (keeps_ends,): (Option<bool>,) = from_args(args)?;
            Ok(lines(text, keeps_ends.unwrap_or(false)).into_iter().map(Value::from).collect())
        }
        "isspace" => Ok((!text.is_empty() && text.chars().all(is_space)).into()),
        _ => pycompat::unknown_method_callback(state, value, method, args),
    }
}

/// The filter `trim`.
pub fn trim(value: &Value, letters: Option<&str>) -> Value {
    match value.as_str() {
        Some(text) => stripped(text, letters, true, true).into(),
        None => stripped(&value.to_string(), letters, true, true).into(),
    }
}

fn invalid(text: &'static str) -> Error {
    Error::new(minijinja::ErrorKind::InvalidOperation, text)
}

/// `str.isspace` of one character.
fn is_space(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\u{1c}'..='\u{1f}')
}

fn stripped<'a>(text: &'a str, letters: Option<&str>, at_start: bool, at_end: bool) -> &'a str {
    let is_stripped = |letter: char| letters.map_or_else(|| is_space(letter), |letters| letters.contains(letter));
    let text = if at_start { text.trim_start_matches(is_stripped) } else { text };
    if at_end { text.trim_end_matches(is_stripped) } else { text }
}

/// The parts between at most `most` separators, counted from the start or the end.
fn parts(text: &str, separator: &str, most: Option<usize>, from_end: bool) -> Value {
    let limit = most.map_or(usize::MAX, |most| most.saturating_add(1));
    if !from_end {
        return text.splitn(limit, separator).map(Value::from).collect();
    }
    let mut parts: Vec<_> = text.rsplitn(limit, separator).map(Value::from).collect();
    parts.reverse();
    Value::from(parts)
}

/// The words between spaces; the last one (the first one, from the end) is the rest after `most`.
fn words(text: &str, most: Option<usize>, from_end: bool) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    loop {
        rest = if from_end { rest.trim_end_matches(is_space) } else { rest.trim_start_matches(is_space) };
        if rest.is_empty() {
            break;
        }
        if most.is_some_and(|most| words.len() >= most) {
            words.push(rest);
            break;
        }
        let split = if from_end {
            rest.rfind(is_space).map(|at| at + rest[at..].chars().next().map_or(0, char::len_utf8))
        } else {
            rest.find(is_space)
        };
        let (word, other) = match (split, from_end) {
            (Some(at), true) => (&rest[at..], &rest[..at]),
            (Some(at), false) => (&rest[..at], &rest[at..]),
            (None, _) => (rest, ""),
        };
        words.push(word);
        rest = other;
    }
    if from_end {
        words.reverse();
    }
    words
}

fn lines(text: &str, keeps_ends: bool) -> Vec<&str> {
    let mut lines = Vec::new();
    let (mut start, mut letters) = (0, text.char_indices().peekable());
    while let Some((at, letter)) = letters.next() {
        if !matches!(letter, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
        {
            continue;
        }
        let mut end = at + letter.len_utf8();
        if letter == '\r' && letters.next_if(|(_, next)| *next == '\n').is_some() {
            end += 1;
        }
        lines.push(&text[start..if keeps_ends { end } else { at }]);
        start = end;
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}
