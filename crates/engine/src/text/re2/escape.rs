//! Escape sequences for a single character.

use super::class;
use super::{Misfit, SYNTAX};

/// Parses an escape sequence, whose character may be a surrogate. `rest` begins with the backslash
/// and is moved past the sequence.
pub fn escape(rest: &mut &str) -> Result<u32, Misfit> {
    let start = *rest;
    let bad = |rest: &str| Misfit::syntax("invalid escape sequence", &start[..start.len() - rest.len()]);
    next(rest);
    let Some(kind) = next(rest) else { return Err(Misfit { text: r"trailing \".to_owned(), remedy: SYNTAX }) };
    let plain = |byte: u8| Ok(u32::from(byte));
    match kind {
        'a' => plain(7),
        'f' => plain(12),
        'n' => plain(b'\n'),
        'r' => plain(b'\r'),
        't' => plain(b'\t'),
        'v' => plain(11),
        'x' => hexadecimal(rest).ok_or_else(|| bad(rest)),
        // A digit alone would be a backreference.
        '1'..='7' if !rest.starts_with(|c| matches!(c, '0'..='7')) => Err(bad(rest)),
        '0'..='7' => Ok(octal(kind, rest)),
        _ if kind.is_ascii() && !kind.is_ascii_alphanumeric() => Ok(kind.into()),
        _ => Err(bad(rest)),
    }
}

/// Takes the next character.
pub fn next(rest: &mut &str) -> Option<char> {
    let mut chars = rest.chars();
    let first = chars.next()?;
    *rest = chars.as_str();
    Some(first)
}

/// Parses up to three octal digits in total.
fn octal(first: char, rest: &mut &str) -> u32 {
    let mut code = first.to_digit(8).unwrap_or(0);
    for _ in 0..2 {
        let Some(digit) = rest.chars().next().and_then(|c| c.to_digit(8)) else { break };
        next(rest);
        code = 8 * code + digit;
    }
    code
}

/// Parses two hexadecimal digits, or any number of them in braces.
fn hexadecimal(rest: &mut &str) -> Option<u32> {
    let first = next(rest)?;
    if first != '{' {
        let second = next(rest)?;
        return Some(16 * first.to_digit(16)? + second.to_digit(16)?);
    }
    let mut code = next(rest)?.to_digit(16)?;
    loop {
        match next(rest)? {
            '}' => return Some(code),
            digit => code = 16 * code + digit.to_digit(16)?,
        }
        if code > class::MAX {
            return None;
        }
    }
}
