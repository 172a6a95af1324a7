//! Handles `NaN`, `Infinity` and `-Infinity`, which are not valid JSON but are written by Python
//! for floats.
//!
//! Before a line is parsed, they are replaced with marked strings that cannot occur in a line
//! otherwise.

use headrace_engine::tensor::allocate;
use memchr::memmem;
use std::borrow::Cow;

const MARK: char = '\0';
/// The number of bytes that a marked string adds to its word.
const ADDED_BYTES: usize = 8;
const WORDS: [(&[u8], f64); 3] = [(b"NaN", f64::NAN), (b"Infinity", f64::INFINITY), (b"-Infinity", f64::NEG_INFINITY)];

/// Replaces these words with marked strings, except inside strings.
pub fn replaced(line: &[u8]) -> Cow<'_, [u8]> {
    let num_words = memmem::find_iter(line, b"NaN").count() + memmem::find_iter(line, b"Infinity").count();
    if num_words == 0 {
        return Cow::Borrowed(line);
    }
    // If there is no memory for the copy, the line is parsed unchanged and rejected.
    let Ok(mut replaced_line) = allocate::room(line.len() + ADDED_BYTES * num_words) else {
        return Cow::Borrowed(line);
    };
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        if *byte == b'"' {
            let end = string_end(line, at);
            replaced_line.extend_from_slice(&line[at..end]);
            at = end;
        } else if let Some((word, _)) = WORDS.iter().find(|(word, _)| is_value(&line[at..], word)) {
            replaced_line.extend_from_slice(b"\"\\u0000");
            replaced_line.extend_from_slice(word);
            replaced_line.push(b'"');
            at += word.len();
        } else {
            replaced_line.push(*byte);
            at += 1;
        }
    }
    Cow::Owned(replaced_line)
}

/// Returns true if a line continues with `word` as a value rather than as a key.
fn is_value(rest: &[u8], word: &[u8]) -> bool {
    rest.strip_prefix(word).is_some_and(|rest| rest.trim_ascii_start().first() != Some(&b':'))
}

/// Returns the rest of the line after the string that begins at `start`.
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

/// Finds the digits of the first integer in a line that float64 reads as `value`, which is at least
/// 2^63.
pub fn long_integer(line: &[u8], value: f64) -> Option<&str> {
    /// The number of digits of 2^63.
    const LEAST_DIGITS: usize = 19;
    let is_part = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E');
    let mut at = 0;
    while let Some(byte) = line.get(at) {
        let length = match byte {
            b'"' => string_end(line, at) - at,
            byte if is_part(byte) => line[at..].iter().take_while(|byte| is_part(byte)).count(),
            _ => 1,
        };
        let word = &line[at..at + length];
        if length >= LEAST_DIGITS
            && word.strip_prefix(b"-").unwrap_or(word).iter().all(u8::is_ascii_digit)
            && let Ok(text) = std::str::from_utf8(word)
            && text.parse() == Ok(value)
        {
            return Some(text);
        }
        at += length;
    }
    None
}

/// Replaces marked strings in JSON with the original words.
pub fn restored(text: &str) -> Cow<'_, str> {
    let marked = |word: &str| format!("\"\\u0000{word}\"");
    let word = |(word, _): &(&[u8], f64)| String::from_utf8_lossy(word).into_owned();
    WORDS.iter().map(word).fold(Cow::Borrowed(text), |text, word| match text.contains(&marked(&word)) {
        true => Cow::Owned(text.replace(&marked(&word), &word)),
        false => text,
    })
}

/// The number that a marked string represents, and its word.
pub fn constant(text: &str) -> Option<(&str, f64)> {
    let word = text.strip_prefix(MARK)?;
    WORDS.iter().find(|(other, _)| *other == word.as_bytes()).map(|(_, number)| (word, *number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_distinguished_from_floats_by_their_digits() {
        let line = br#"{"18446744073709551617": 1.8446744073709551616e19, "a": [1e30, -18446744073709551617]}"#;
        assert_eq!(long_integer(line, 18_446_744_073_709_551_616.0), None);
        assert_eq!(long_integer(line, -18_446_744_073_709_551_616.0), Some("-18446744073709551617"));
        assert_eq!(long_integer(line, 1e30), None);
    }

    #[test]
    fn constants_are_replaced_outside_strings() {
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
        let text = r#"[NaN, {"a": -Infinity, "b": Infinity}, "NaN"]"#;
        let marked = replaced(text.as_bytes());
        assert_eq!(restored(std::str::from_utf8(&marked).unwrap()), text);
        assert_eq!(constant("\0-Infinity"), Some(("-Infinity", f64::NEG_INFINITY)));
        assert_eq!(constant("NaN"), None);
    }
}
