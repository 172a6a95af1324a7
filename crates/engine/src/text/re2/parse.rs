//! Translates RE2's syntax to the syntax of `regex`.
//!
//! The result uses no flags and writes each character as a number, so differences between the two
//! syntaxes don't matter.

use super::Misfit;
use super::bracket::{bracketed, named_class};
use super::class::Class;
use super::escape::{escape, next};
use super::stack::{Count, Flags, Group, Item, MAX_REPEAT, Opening, count, deeper};
use std::mem;

/// An expression for `regex`.
pub struct Parsed {
    pub text: String,
    /// The number of groups as counted by RE2.
    pub num_groups: usize,
}

/// Translates a pattern. The first `max_captures` groups are captured.
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

struct Parser<'p> {
    pattern: &'p str,
    /// The rest of the pattern.
    rest: &'p str,
    flags: Flags,
    outer: Vec<Group>,
    group: Group,
    num_groups: usize,
    max_captures: usize,
}

impl<'p> Parser<'p> {
    fn parse(&mut self) -> Result<(), Misfit> {
        // The repetition that was just read. It must not be followed by another one.
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
                    let class = bracketed(&mut self.rest, self.flags.folds)?.into_regex();
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
        if self.outer.is_empty() { Ok(()) } else { Err(Misfit::syntax("missing )", self.pattern)) }
    }

    fn push(&mut self, text: impl Into<String>) {
        self.group.items.push(Item::new(text));
    }

    /// Moves past some bytes and adds an expression for them.
    fn token(&mut self, length: usize, text: &str) {
        self.rest = &self.rest[length..];
        self.push(text);
    }

    /// Parses one literal character.
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
            _ => match named_class(&mut self.rest, self.flags.folds)? {
                Some(class) => self.push(class.into_regex()),
                None => {
                    let point = escape(&mut self.rest)?;
                    self.push_character(point);
                }
            },
        }
        Ok(())
    }

    /// Parses literal text in `\Q...\E`, or up to the end of the pattern.
    fn quoted(&mut self) -> Result<(), Misfit> {
        let (text, rest) = self.rest[2..].split_once(r"\E").unwrap_or((&self.rest[2..], ""));
        self.rest = rest;
        text.chars().for_each(|char| self.push_character(char.into()));
        Ok(())
    }

    fn skip(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Repeats the last item. The operator begins at `start` and may be followed by a `?`. `before`
    /// is the start of a repetition operator directly before it, if there is one.
    fn repeat(&mut self, count: Count, start: &str, before: Option<&str>) -> Result<(), Misfit> {
        let is_lazy = self.skip("?") != self.flags.is_lazy;
        let from = |start: &str| start[..start.len() - self.rest.len()].to_owned();
        if let Some(before) = before {
            return Err(Misfit::syntax("bad repetition operator", &from(before)));
        }
        let Count { min, max } = count;
        if max.is_some_and(|max| max < min) {
            return Err(Misfit::syntax("invalid repetition size", &from(start)));
        }
        let highest = max.unwrap_or(min);
        let too_often = || Misfit::size(format!("invalid repetition size: {}", from(start)));
        if highest > MAX_REPEAT {
            return Err(too_often());
        }
        let missing = || Misfit::syntax("no argument for repetition operator", &from(start));
        let item = self.group.items.last_mut().ok_or_else(missing)?;
        // RE2 only checks the counts inside if this count is greater than one.
        let repeats = item.repeats.saturating_mul(highest.max(1));
        if repeats > MAX_REPEAT && highest > 1 {
            return Err(too_often());
        }
        item.repeats = repeats;
        item.depth = deeper(item.depth)?;
        let max = max.map(|max| max.to_string()).unwrap_or_default();
        let lazy = if is_lazy { "?" } else { "" };
        item.text = format!("(?:{}){{{min},{max}}}{lazy}", item.text);
        Ok(())
    }

    /// Parses the start of a group, or flags on their own.
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
        let bad = |text: &str| Misfit::syntax("invalid named capture group", text);
        let end = self.rest.find('>').ok_or_else(|| bad(self.rest))?;
        let (opening, rest) = self.rest.split_at(end + 1);
        let name = &opening[4..end];
        if name.is_empty() || !name.chars().all(|char| char.is_alphanumeric() || char == '_') {
            return Err(bad(opening));
        }
        self.rest = rest;
        self.open_group(true)
    }

    /// Parses `(?flags)` or `(?flags:`.
    fn flags(&mut self) -> Result<(), Misfit> {
        let start = self.rest;
        self.rest = &self.rest[2..];
        let (mut flags, mut is_set, mut is_complete) = (self.flags, true, true);
        loop {
            let char = next(&mut self.rest);
            let bad = || Misfit::syntax("invalid perl operator", &start[..start.len() - self.rest.len()]);
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
        let outer = self.outer.pop().ok_or_else(|| Misfit::syntax("unexpected )", self.pattern))?;
        self.rest = &self.rest[1..];
        let group = mem::replace(&mut self.group, outer);
        self.flags = group.flags_before;
        let mut item = group.into_item();
        item.depth = deeper(item.depth)?;
        self.group.items.push(item);
        Ok(())
    }
}
