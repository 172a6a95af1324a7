//! The open groups of a pattern during parsing, and their parts.

use super::Misfit;

/// The maximum nesting depth of groups and repetitions. `regex` processes them recursively.
pub const MAX_DEPTH: u32 = 100;

/// The maximum product of the counts of nested repetitions.
pub const MAX_REPEAT: u32 = 1000;

/// The flags that apply until the end of the group or the next flags.
#[derive(Clone, Copy, Default)]
pub struct Flags {
    pub folds: bool,
    pub is_multi_line: bool,
    pub dot_is_all: bool,
    pub is_lazy: bool,
}

/// A part that may be followed by a repetition.
pub struct Item {
    /// The expression. It can be used anywhere without parentheses.
    pub text: String,
    /// The nesting depth of groups and repetitions.
    pub depth: u32,
    /// The largest product of counts inside it.
    pub repeats: u32,
}

/// The kind of a group.
#[derive(Clone, Copy, PartialEq)]
pub enum Opening {
    Capture,
    NoCapture,
}

/// A group that has not been closed yet.
pub struct Group {
    opening: Opening,
    pub flags_before: Flags,
    /// The alternatives before this one.
    pub alternatives: String,
    pub items: Vec<Item>,
    depth: u32,
    repeats: u32,
}

/// The counts of a repetition.
#[derive(Clone, Copy)]
pub struct Count {
    pub min: u32,
    pub max: Option<u32>,
}

impl Item {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), depth: 0, repeats: 1 }
    }
}

impl Group {
    pub fn new(opening: Opening, flags_before: Flags) -> Self {
        Self { opening, flags_before, alternatives: String::new(), items: Vec::new(), depth: 0, repeats: 1 }
    }

    /// Adds the items of the current alternative to the text.
    pub fn end_alternative(&mut self) {
        for item in self.items.drain(..) {
            self.alternatives.push_str(&item.text);
            self.depth = self.depth.max(item.depth);
            self.repeats = self.repeats.max(item.repeats);
        }
    }

    pub fn into_item(mut self) -> Item {
        self.end_alternative();
        let open = if self.opening == Opening::Capture { "(" } else { "(?:" };
        Item { text: format!("{open}{})", self.alternatives), depth: self.depth, repeats: self.repeats }
    }
}

/// Returns the next nesting depth. Fails if it is too deep.
pub fn deeper(depth: u32) -> Result<u32, Misfit> {
    if depth < MAX_DEPTH {
        Ok(depth + 1)
    } else {
        Err(Misfit::size(format!("expression nests more than {MAX_DEPTH} levels deep")))
    }
}

/// Parses a count such as `{2}`, `{2,}` or `{2,3}`. Returns it with the rest of `text`. Anything
/// else is literal.
pub fn count(text: &str) -> Option<(Count, &str)> {
    let (min, rest) = integer(text.strip_prefix('{')?)?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((Count { min, max: Some(min) }, rest));
    }
    let rest = rest.strip_prefix(',')?;
    if let Some(rest) = rest.strip_prefix('}') {
        return Some((Count { min, max: None }, rest));
    }
    let (max, rest) = integer(rest)?;
    Some((Count { min, max: Some(max) }, rest.strip_prefix('}')?))
}

/// Parses a number below one billion without leading zeros.
fn integer(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.len() > 9 || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().ok()?, rest))
}
