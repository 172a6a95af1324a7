//! The open groups of a pattern that is being parsed, and their parts.

use super::Misfit;

/// The maximum number of groups and repetitions that may be nested. `regex` walks through them by
/// recursion.
pub const MAX_DEPTH: u32 = 100;

/// The largest product of the counts that nested repetitions may have.
pub const MAX_REPEAT: u32 = 1000;

/// The flags that hold up to the end of the group or to the next flags.
#[derive(Clone, Copy, Default)]
pub struct Flags {
    pub folds: bool,
    pub is_multi_line: bool,
    pub dot_is_all: bool,
    pub is_lazy: bool,
}

/// A part that a repetition can follow.
pub struct Item {
    /// The expression. It can be used anywhere without parentheses.
    pub text: String,
    /// Nesting depth of groups and repetitions.
    pub depth: u32,
    /// The largest product of counts inside it.
    pub repeats: u32,
}

/// The kind of a group: capturing or not.
#[derive(Clone, Copy, PartialEq)]
pub enum Opening {
    Capture,
    NoCapture,
}

/// A group that is not closed yet.
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

    /// Adds the items of this alternative to the text.
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

/// One level deeper. Fails if that is too deep.
pub fn deeper(depth: u32) -> Result<u32, Misfit> {
    if depth < MAX_DEPTH {
        Ok(depth + 1)
    } else {
        Err(Misfit::size(format!("expression nests more than {MAX_DEPTH} levels deep")))
    }
}

/// A count `{2}`, `{2,}` or `{2,3}` and the rest of `text`, if it begins with one. Anything else is
/// literal.
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

/// A number without leading zeros, below a thousand million.
fn integer(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.len() > 9 || (digits.len() > 1 && digits.starts_with('0')) {
        return None;
    }
    Some((digits.parse().ok()?, rest))
}
