//! RE2's syntax, written anew in that of `regex`.
//!
//! What is written says everything itself: it needs no flags around it, and names each character by its number. So the
//! two syntaxes may differ in whatever they like.

use super::Misfit;
use super::class::Class;
use super::escape::{escape, next};
use super::groups::{bad_range, perl, posix, unicode};
use std::mem;

/// The most groups and repetitions inside each other. `regex` walks through them by recursion.
pub const MAX_DEPTH: u32 = 100;

/// The most times that a part may be repeated by counts, all counts around it multiplied.
const MAX_REPEAT: u32 = 1000;

/// An expression for `regex`.
pub struct Parsed {
    pub text: String,
    /// How many groups RE2 counts.
    pub num_groups: usize,
}

/// Rewrites a pattern, of whose groups the first `max_captures` are captured.
pub fn parse(pattern: &str, max_captures: usize) -> Result<Parsed, Misfit> {
    let mut parser = Parser {
        pattern,
        rest: pattern,
        flags: Flags::default(),
        outer: Vec::new(),
        group: Group::new(Opening::NoCapture, Flags::default()),
        num_groups: 0,
        max_captures,
    };
    parser.parse()?;
    Ok(Parsed { text: parser.group.into_item().text, num_groups: parser.num_groups })
}

#[derive(Clone, Copy, Default)]
struct Flags {
    folds: bool,
    is_multi_line: bool,
    dot_is_all: bool,
    is_lazy: bool,
}

/// A part that a repetition can follow.
struct Item {
    /// It stands for itself wherever it is put.
    text: String,
    /// How many groups and repetitions are inside each other.
    depth: u32,
    /// How often counts repeat what is inside most often.
    repeats: u32,
}

#[derive(Clone, Copy, PartialEq)]
enum Opening {
    Capture,
    NoCapture,
}

/// A group whose end is not reached yet.
struct Group {
    opening: Opening,
    flags_before: Flags,
    /// The alternatives before this one.
    alternatives: String,
    items: Vec<Item>,
    depth: u32,
    repeats: u32,
}

/// How often something is repeated.
#[derive(Clone, Copy)]
struct Count {
    min: u32,
    max: Option<u32>,
}

struct Parser<'p> {
    pattern: &'p str,
    /// What is not read yet.
    rest: &'p str,
    flags: Flags,
    outer: Vec<Group>,
    group: Group,
    num_groups: usize,
    max_captures: usize,
}

impl Item {
    fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), depth: 0, repeats: 1 }
    }
}

impl Group {
    fn new(opening: Opening, flags_before: Flags) -> Self {
        Self { opening, flags_before, alternatives: String::new(), items: Vec::new(), depth: 0, repeats: 1 }
    }

    /// Adds what was read of this alternative to the text.
    fn end_alternative(&mut self) {
        for item in self.items.drain(..) {
            self.alternatives.push_str(&item.text);
            self.depth = self.depth.max(item.depth);
            self.repeats = self.repeats.max(item.repeats);
        }
    }

    fn into_item(mut self) -> Item {
        self.end_alternative();
        let open = if self.opening == Opening::Capture { "(" } else { "(?:" };
        Item { text: format!("{open}{})", self.alternatives), depth: self.depth, repeats: self.repeats }
    }
}

impl<'p> Parser<'p> {
    fn parse(&mut self) -> Result<(), Misfit> {
        // The repetition that was just read: another one must not follow.
        let mut repetition = None;
        while let Some(first) = self.rest.chars().next() {
            let start = self.rest;
            let before = repetition.take();
            match first {
                '*' | '+' | '?' => {
                    next(&mut self.rest);
                    let (min, max) = (u32::from(first == '+'), (first == '?').then_some(1));
                    self.repeat(Count { min, max }, start, before)?;
                    repetition = Some(start);
                }
                '{' => match count(self.rest) {
                    Some((count, rest)) => {
                        self.rest = rest;
                        self.repeat(count, start, before)?;
                        repetition = Some(start);
                    }
                    None => self.literal()?,
                },
                '(' => self.open()?,
                ')' => self.close()?,
                '|' => {
                    next(&mut self.rest);
                    self.group.end_alternative();
                    self.group.alternatives.push('|');
                }
                '[' => {
                    let class = self.class()?.into_regex();
                    self.push(class);
                }
                '.' => {
                    let nothing: &[_] = if self.flags.dot_is_all { &[] } else { &[(0x0A, 0x0A)] };
                    self.token(1, &Class::of(nothing).negated().into_regex());
                }
                '^' => self.token(1, if self.flags.is_multi_line { "(?m:^)" } else { r"\A" }),
                '$' => self.token(1, if self.flags.is_multi_line { "(?m:$)" } else { r"\z" }),
                '\\' => self.backslash()?,
                _ => self.literal()?,
            }
        }
        if self.outer.is_empty() { Ok(()) } else { Err(format!("missing ): {}", self.pattern)) }
    }

    fn push(&mut self, text: impl Into<String>) {
        self.group.items.push(Item::new(text));
    }

    /// Moves past some bytes and adds what they stand for.
    fn token(&mut self, length: usize, text: &str) {
        self.rest = &self.rest[length..];
        self.push(text);
    }

    /// Takes one character as it is.
    fn literal(&mut self) -> Result<(), Misfit> {
        if let Some(char) = next(&mut self.rest) {
            self.push_character(char.into());
        }
        Ok(())
    }

    fn push_character(&mut self, point: u32) {
        match char::from_u32(point) {
            Some(letter) if letter.is_ascii_alphanumeric() && !self.flags.folds => self.push(letter),
            Some(_) if !self.flags.folds => self.push(format!(r"\x{{{point:X}}}")),
            _ => self.push(Class::of(&[(point, point)]).folded(self.flags.folds).into_regex()),
        }
    }

    fn backslash(&mut self) -> Result<(), Misfit> {
        match self.rest.as_bytes().get(1) {
            Some(b'b') => self.token(2, r"(?-u:\b)"),
            Some(b'B') => self.token(2, r"(?-u:\B)"),
            Some(b'A') => self.token(2, r"\A"),
            Some(b'z') => self.token(2, r"\z"),
            Some(b'C') => self.token(2, r"(?s-u:.)"),
            Some(b'Q') => self.quoted()?,
            _ => match self.named_class()? {
                Some(class) => self.push(class.into_regex()),
                None => {
                    let point = escape(&mut self.rest)?;
                    self.push_character(point);
                }
            },
        }
        Ok(())
    }

    /// `\Q...\E`, or up to the end of the pattern.
    fn quoted(&mut self) -> Result<(), Misfit> {
        let (text, rest) = self.rest[2..].split_once(r"\E").unwrap_or((&self.rest[2..], ""));
        self.rest = rest;
        text.chars().for_each(|char| self.push_character(char.into()));
        Ok(())
    }

    /// `\pL` or `\d`.
    fn named_class(&mut self) -> Result<Option<Class>, Misfit> {
        let class = unicode(&mut self.rest, self.flags.folds)?;
        Ok(class.or_else(|| perl(&mut self.rest, self.flags.folds)))
    }

    /// `[...]`.
    fn class(&mut self) -> Result<Class, Misfit> {
        let start = self.rest;
        let missing = || format!("missing ]: {start}");
        let mut class = Class::default();
        next(&mut self.rest);
        let is_negated = self.skip("^");
        // A bracket that comes first is a member.
        let mut is_first = true;
        while is_first || !self.rest.starts_with(']') {
            is_first = false;
            match posix(&mut self.rest, self.flags.folds)? {
                Some(named) => class.add(&named),
                None => match self.named_class()? {
                    Some(named) => class.add(&named),
                    None => class.add(&self.range(missing)?),
                },
            }
        }
        self.rest = &self.rest[1..];
        Ok(if is_negated { class.negated() } else { class })
    }

    /// A character of a class, or a range of them.
    fn range(&mut self, missing: impl Fn() -> Misfit) -> Result<Class, Misfit> {
        let start = self.rest;
        let low = self.member(&missing)?;
        let mut high = low;
        // A hyphen that comes last is a member.
        if self.rest.len() > 1 && self.rest.starts_with('-') && !self.rest.starts_with("-]") {
            next(&mut self.rest);
            high = self.member(&missing)?;
        }
        if high < low {
            return Err(bad_range(&start[..start.len() - self.rest.len()]));
        }
        Ok(Class::of(&[(low, high)]).folded(self.flags.folds))
    }

    fn member(&mut self, missing: impl Fn() -> Misfit) -> Result<u32, Misfit> {
        match self.rest.starts_with('\\') {
            true => escape(&mut self.rest),
            false => next(&mut self.rest).map(u32::from).ok_or_else(missing),
        }
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Repeats the last item. The operator begins at `start` and ends before a `?` perhaps; `before` is where one began that
    /// stands right before it.
    fn repeat(&mut self, count: Count, start: &str, before: Option<&str>) -> Result<(), Misfit> {
        let is_lazy = self.skip("?") != self.flags.is_lazy;
        let from = |start: &str| start[..start.len() - self.rest.len()].to_owned();
        if let Some(before) = before {
            return Err(format!("bad repetition operator: {}", from(before)));
        }
        let Count { min, max } = count;
        let too_often = || format!("invalid repetition size: {}", from(start));
        if min.max(max.unwrap_or(0)) > MAX_REPEAT || max.is_some_and(|max| max < min) {
            return Err(too_often());
        }
        let missing = || format!("no argument for repetition operator: {}", from(start));
        let item = self.group.items.last_mut().ok_or_else(missing)?;
        // Without a count above one, RE2 does not look at those inside.
        let repeats = item.repeats.saturating_mul(max.unwrap_or(min).max(1));
        if repeats > MAX_REPEAT && min.max(max.unwrap_or(0)) > 1 {
            return Err(too_often());
        }
        item.repeats = repeats;
        item.depth = deeper(item.depth)?;
        let max = max.map(|max| max.to_string()).unwrap_or_default();
        let lazy = if is_lazy { "?" } else { "" };
        item.text = format!("(?:{}){{{min},{max}}}{lazy}", item.text);
        Ok(())
    }

    /// A group, or flags alone.
    fn open(&mut self) -> Result<(), Misfit> {
        if !self.rest.starts_with("(?") {
            self.rest = &self.rest[1..];
            return self.open_group(true);
        }
        if self.rest.starts_with("(?P<") {
            return self.open_named();
        }
        self.flags()
    }

    fn open_group(&mut self, is_captured: bool) -> Result<(), Misfit> {
        self.num_groups += usize::from(is_captured);
        let is_captured = is_captured && self.num_groups <= self.max_captures;
        let opening = if is_captured { Opening::Capture } else { Opening::NoCapture };
        deeper(self.outer.len() as u32)?;
        let outer = mem::replace(&mut self.group, Group::new(opening, self.flags));
        self.outer.push(outer);
        Ok(())
    }

    /// `(?P<name>`.
    fn open_named(&mut self) -> Result<(), Misfit> {
        let bad = |text: &str| format!("invalid named capture group: {text}");
        let end = self.rest.find('>').ok_or_else(|| bad(self.rest))?;
        let (opening, rest) = self.rest.split_at(end + 1);
        let name = &opening[4..end];
        if name.is_empty() || !name.chars().all(|char| char.is_alphanumeric() || char == '_') {
            return Err(bad(opening));
        }
        self.rest = rest;
        self.open_group(true)
    }

    /// `(?flags)` or `(?flags:`.
    fn flags(&mut self) -> Result<(), Misfit> {
        let start = self.rest;
        self.rest = &self.rest[2..];
        let (mut flags, mut is_set, mut is_complete) = (self.flags, true, true);
        loop {
            let char = next(&mut self.rest);
            let bad = || format!("invalid perl operator: {}", &start[..start.len() - self.rest.len()]);
            let flag = match char {
                Some('i') => &mut flags.folds,
                Some('m') => &mut flags.is_multi_line,
                Some('s') => &mut flags.dot_is_all,
                Some('U') => &mut flags.is_lazy,
                Some('-') if is_set => {
                    (is_set, is_complete) = (false, false);
                    continue;
                }
                Some(end @ (':' | ')')) if is_complete => {
                    if end == ':' {
                        self.open_group(false)?;
                    }
                    self.flags = flags;
                    return Ok(());
                }
                _ => return Err(bad()),
            };
            *flag = is_set;
            is_complete = true;
        }
    }

    fn close(&mut self) -> Result<(), Misfit> {
        let outer = self.outer.pop().ok_or_else(|| format!("unexpected ): {}", self.pattern))?;
        self.rest = &self.rest[1..];
        let group = mem::replace(&mut self.group, outer);
        self.flags = group.flags_before;
        let mut item = group.into_item();
        item.depth = deeper(item.depth)?;
        self.group.items.push(item);
        Ok(())
    }
}

fn deeper(depth: u32) -> Result<u32, Misfit> {
    if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(format!("expression nests more than {MAX_DEPTH} levels deep")) }
}

/// `{2}`, `{2,}` or `{2,3}` and what follows it, if `text` begins so. Anything else is taken as it is.
fn count(text: &str) -> Option<(Count, &str)> {
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
