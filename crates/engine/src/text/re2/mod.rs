//! Regular expressions with RE2's syntax and semantics, as in TensorFlow, in time linear in the
//! text.
//!
//! The pattern is parsed here and translated to the syntax of the `regex` crate, which does the
//! searching. Neither engine backtracks. Texts are bytes: a character class only matches UTF-8
//! characters, and other bytes are only matched by `\C`.
//!
//! Source: RE2 (github.com/google/re2), as used by `tf.strings.regex_replace` in TensorFlow 1.15.

mod bracket;
mod class;
mod escape;
mod groups;
mod parse;
mod replace;
mod rewrite;
mod scripts;
mod stack;

pub use rewrite::Rewrite;

use crate::error::{Error, Result};
use crate::text::excerpt::excerpt;
use regex::bytes::{Regex, RegexBuilder};

/// The maximum memory of a compiled pattern.
const MAX_COMPILED_BYTES: usize = 10 << 20;

/// Longer patterns are rejected without parsing them. For plain letters, RE2's limit is about the
/// same.
const MAX_PATTERN_BYTES: usize = 1 << 19;

/// The nesting limit of `regex`. Users reach the limit in [`stack`] first.
const NEST_LIMIT: u32 = 10 * stack::MAX_DEPTH;

const TOO_LARGE: &str = "pattern too large - compile failed";

/// An error in a pattern.
struct Misfit {
    /// The message is worded as in RE2.
    text: String,
    remedy: &'static str,
}

const SYNTAX: &str = "Use RE2 syntax, which has no look-around or backreferences";

impl Misfit {
    /// Part of the pattern is invalid.
    fn syntax(what: &str, part: &str) -> Self {
        Self { text: format!("{what}: {}", excerpt(part.as_bytes())), remedy: SYNTAX }
    }

    /// The pattern would need too much memory.
    fn size(text: impl Into<String>) -> Self {
        Self { text: text.into(), remedy: "Use fewer repetitions or a shorter pattern" }
    }
}

/// A pattern to search for.
pub struct Pattern {
    regex: Regex,
    /// The number of groups in the pattern. Only groups that a rewrite can refer to are captured.
    num_groups: usize,
}

impl Pattern {
    /// Compiles a pattern. Fails with `InvalidArgument` if it is not valid RE2 syntax or is too
    /// large.
    pub fn new(pattern: &[u8]) -> Result<Self> {
        let failed = |misfit: Misfit| invalid(pattern, &misfit);
        let parsed = parse(pattern, Rewrite::MAX_GROUP).map_err(failed)?;
        Ok(Self { regex: compile(&parsed.text).map_err(failed)?, num_groups: parsed.num_groups })
    }
}

/// A pattern that must match an entire string.
pub struct WholePattern(Regex);

impl WholePattern {
    /// Like [`Pattern::new`].
    pub fn new(pattern: &[u8]) -> Result<Self> {
        let failed = |misfit: Misfit| invalid(pattern, &misfit);
        let parsed = parse(pattern, 0).map_err(failed)?;
        compile(&format!(r"\A(?:{})\z", parsed.text)).map(Self).map_err(failed)
    }

    pub fn matches(&self, text: &[u8]) -> bool {
        self.0.is_match(text)
    }
}

fn parse(pattern: &[u8], max_captures: usize) -> std::result::Result<parse::Parsed, Misfit> {
    if pattern.len() > MAX_PATTERN_BYTES {
        return Err(Misfit::size(TOO_LARGE));
    }
    let text = std::str::from_utf8(pattern).map_err(|_| Misfit { text: "invalid UTF-8".to_owned(), remedy: SYNTAX })?;
    parse::parse(text, max_captures)
}

fn compile(text: &str) -> std::result::Result<Regex, Misfit> {
    let regex = RegexBuilder::new(text).size_limit(MAX_COMPILED_BYTES).nest_limit(NEST_LIMIT).build();
    regex.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => Misfit::size(TOO_LARGE),
        error => Misfit { text: error.to_string(), remedy: SYNTAX },
    })
}

fn invalid(pattern: &[u8], misfit: &Misfit) -> Error {
    let (pattern, Misfit { text, remedy }) = (excerpt(pattern), misfit);
    Error::invalid_argument(format!("Invalid pattern: {pattern}, error: {text}. {remedy}"))
}

#[cfg(test)]
mod tests;
