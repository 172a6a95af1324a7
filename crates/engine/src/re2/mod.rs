//! Regular expressions as TensorFlow has them: RE2's syntax and RE2's meaning, in time linear in the text.
//!
//! The pattern is parsed here and written anew in the syntax of the crate `regex`, which then searches. Neither engine
//! backtracks. Texts are bytes: a character class matches characters of UTF-8 only, and other bytes match nothing but `\C`.
//!
//! Source: RE2 (github.com/google/re2), as `tf.strings.regex_replace` of TensorFlow 1.15 uses it.

mod class;
mod escape;
mod groups;
mod parse;
mod replace;
mod rewrite;
mod scripts;

pub use rewrite::Rewrite;

use crate::error::{Error, Result};
use crate::excerpt::excerpt;
use regex::bytes::{Regex, RegexBuilder};

/// What a compiled pattern may take.
const MAX_COMPILED_BYTES: usize = 10 << 20;

/// Longer patterns are not even parsed. RE2's limit is about the same for plain letters.
const MAX_PATTERN_BYTES: usize = 1 << 19;

/// What `regex` may nest; [`parse`] has the limit that users meet.
const NEST_LIMIT: u32 = 10 * parse::MAX_DEPTH;

const TOO_LARGE: &str = "pattern too large - compile failed";

/// What is wrong with a pattern, in RE2's words.
type Misfit = String;

/// A pattern to search for.
pub struct Pattern {
    regex: Regex,
    /// How many groups the pattern has. Only those that a rewrite can name are captured.
    num_groups: usize,
}

impl Pattern {
    /// Fails with `InvalidArgument` if it is none of RE2's, or too large.
    pub fn new(pattern: &[u8]) -> Result<Self> {
        let failed = |misfit: Misfit| invalid(pattern, &misfit);
        let parsed = parse(pattern, Rewrite::MAX_GROUP).map_err(failed)?;
        Ok(Self { regex: compile(&parsed.text).map_err(failed)?, num_groups: parsed.num_groups })
    }
}

/// A pattern that whole strings match or not.
pub struct WholePattern(Regex);

impl WholePattern {
    /// As [`Pattern::new`].
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
        return Err(TOO_LARGE.to_owned());
    }
    let text = std::str::from_utf8(pattern).map_err(|_| "invalid UTF-8".to_owned())?;
    parse::parse(text, max_captures)
}

fn compile(text: &str) -> std::result::Result<Regex, Misfit> {
    let regex = RegexBuilder::new(text).size_limit(MAX_COMPILED_BYTES).nest_limit(NEST_LIMIT).build();
    regex.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => TOO_LARGE.to_owned(),
        error => error.to_string(),
    })
}

fn invalid(pattern: &[u8], misfit: &str) -> Error {
    let pattern = excerpt(pattern);
    Error::invalid_argument(format!(
        "Invalid pattern: {pattern}, error: {misfit}. Write it in RE2's syntax, which has no look-around and no backreferences"
    ))
}

#[cfg(test)]
mod tests;
