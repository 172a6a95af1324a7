//! `NaN`, `Infinity` and `-Infinity`, which are no JSON, but which Python writes for floats.
//!
//! A line with them is read with strings in their places, which no other line has.

use crate::tensor::allocate;
use memchr::memmem;
use std::borrow::Cow;

const MARK: char = '\0';
/// So many bytes a string has more than the word in it.
const ADDED_BYTES: usize = 8;
const WORDS: [(&[u8], f64); 3] = [(b"NaN", f64::NAN), (b"Infinity", f64::INFINITY), (b"-Infinity", f64::NEG_INFINITY)];

/// The line, with marked strings for these words where they are no part of a string.
pub fn replaced(line: &[u8]) -> Cow<'_, [u8]> {
    let num_words = memmem::find_iter(line, b"NaN").count() + memmem::find_iter(line, b"Infinity").count();
    if num_words == 0 {
        return Cow::Borrowed(line);
    }
    // If memory is that short, the line is refused for what it is.
    let Ok(mut made) = allocate::room(line.len() + ADDED_BYTES * num_words) else { return Cow::Borrowed(line) };
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        if *byte == b'"' {
            let end = string_end(line, at);
            made.extend_from_slice(&line[at..end]);
            at = end;
        } else if let Some((word, _)) = WORDS.iter().find(|(word, _)| is_value(&line[at..], word)) {
            made.extend_from_slice(b"\"\\u0000");
            made.extend_from_slice(word);
            made.push(b'"');
            at += word.len();
        } else {
            made.push(*byte);
            at += 1;
        }
    }
    Cow::Owned(made)
}

/// Whether a line goes on with `word`, which is no key.
fn is_value(rest: &[u8], word: &[u8]) -> bool {
    rest.strip_prefix(word).is_some_and(|rest| rest.trim_ascii_start().first() != Some(&b':'))
}

/// What follows the string that begins at `start`.
fn string_end(line: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = line.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    line.len()
}

/// The number that a string of a line stands for in which words were replaced, and its word.
pub fn constant(text: &str) -> Option<(&str, f64)> {
    let word = text.strip_prefix(MARK)?;
    WORDS.iter().find(|(other, _)| *other == word.as_bytes()).map(|(_, number)| (word, *number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_replaced_outside_of_strings() {
        for (line, expected) in [
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            (
                r#"{"a": NaN, "b": [-Infinity,Infinity]}"#,
                r#"{"a": "\u0000NaN", "b": ["\u0000-Infinity","\u0000Infinity"]}"#,
            ),
            (r#"{"NaN": "\"NaN", "b": NaN}"#, r#"{"NaN": "\"NaN", "b": "\u0000NaN"}"#),
            (r#"{NaN : 1}"#, r#"{NaN : 1}"#),
            (r#"{"a": "NaN"#, r#"{"a": "NaN"#),
            (r#"NaN "\"#, r#""\u0000NaN" "\"#),
        ] {
            assert_eq!(String::from_utf8_lossy(&replaced(line.as_bytes())), expected);
        }
        assert_eq!(constant("\0-Infinity"), Some(("-Infinity", f64::NEG_INFINITY)));
        assert_eq!(constant("NaN"), None);
    }
}
