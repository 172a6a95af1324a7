//! Sets of code points, and their representation for `regex`.

use crate::order;
use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use std::fmt::Write;

/// The last code point.
pub const MAX: u32 = char::MAX as u32;

const SURROGATES: (u32, u32) = (0xD800, 0xDFFF);

/// Multi-byte characters as RE2 reads them in a set that contains all of them. This includes
/// overlong encodings, and encodings of numbers that are not code points.
const WIDE: &str = r"(?-u:[\xC2-\xDF][\x80-\xBF])|(?-u:[\xE0-\xEF][\x80-\xBF]{2})|(?-u:[\xF0-\xF4][\x80-\xBF]{3})";

/// A set of code points. Unlike a set of `char`, it may contain surrogates, which RE2 finds in
/// bytes that encode them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Class {
    /// Inclusive ranges. After [`Class::sort`] they are sorted, disjoint and not adjacent.
    ranges: Vec<(u32, u32)>,
}

impl Class {
    pub fn of(ranges: &[(u32, u32)]) -> Self {
        Self { ranges: ranges.to_vec() }
    }

    pub fn add(&mut self, other: &Self) {
        self.ranges.extend_from_slice(&other.ranges);
    }

    /// If `folds`, adds every case of each letter.
    pub fn folded(mut self, folds: bool) -> Self {
        if folds {
            let mut chars =
                ClassUnicode::new(self.scalars().iter().map(|(low, high)| ClassUnicodeRange::new(*low, *high)));
            chars.case_fold_simple();
            self.ranges.extend(chars.iter().map(|range| (u32::from(range.start()), u32::from(range.end()))));
        }
        self
    }

    /// Returns all code points that are not in this set.
    pub fn negated(mut self) -> Self {
        self.sort();
        let mut next = 0;
        let mut gaps = Vec::new();
        for (low, high) in &self.ranges {
            if next < *low {
                gaps.push((next, low - 1));
            }
            next = high + 1;
        }
        if next <= MAX {
            gaps.push((next, MAX));
        }
        Self { ranges: gaps }
    }

    fn sort(&mut self) {
        let mut merged: Vec<(u32, u32)> = Vec::new();
        for position in order::by_key(self.ranges.len(), |position| self.ranges[position]) {
            let (low, high) = self.ranges[position];
            match merged.last_mut() {
                Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
                _ => merged.push((low, high)),
            }
        }
        self.ranges = merged;
    }

    /// Iterates over the parts of the ranges between two code points.
    fn within(&self, (from, to): (u32, u32)) -> impl Iterator<Item = (u32, u32)> {
        let cut = self.ranges.iter().map(move |(low, high)| (*low.max(&from), *high.min(&to)));
        cut.filter(|(low, high)| low <= high)
    }

    /// Returns all code points of the set except surrogates.
    fn scalars(&self) -> Vec<(char, char)> {
        let (before, after) = ((0, SURROGATES.0 - 1), (SURROGATES.1 + 1, MAX));
        let ranges = self.within(before).chain(self.within(after));
        ranges.filter_map(|(low, high)| Some((char::from_u32(low)?, char::from_u32(high)?))).collect()
    }

    /// Converts the set to a `regex` expression for one character.
    pub fn into_regex(mut self) -> String {
        self.sort();
        let mut parts = Vec::new();
        if self.ranges.iter().any(|(low, high)| *low <= 0x80 && *high == MAX) {
            parts.extend(bracketed(self.within((0, 0x7F))));
            parts.push(WIDE.to_owned());
        } else {
            let scalars = self.scalars();
            parts.extend(bracketed(scalars.into_iter().map(|(low, high)| (u32::from(low), u32::from(high)))));
            parts.extend(self.within(SURROGATES).map(encoded_surrogates));
        }
        match &parts[..] {
            [] => NOTHING.to_owned(),
            [only] if only.starts_with('[') => parts.remove(0),
            _ => format!("(?:{})", parts.join("|")),
        }
    }
}

/// An expression that matches nothing.
const NOTHING: &str = r"[^\x00-\x{10FFFF}]";

fn bracketed(ranges: impl Iterator<Item = (u32, u32)>) -> Option<String> {
    let mut text = String::new();
    for (low, high) in ranges {
        // Writing to a string cannot fail.
        let _ = write!(text, r"\x{{{low:X}}}-\x{{{high:X}}}");
    }
    (!text.is_empty()).then(|| format!("[{text}]"))
}

/// Returns the three-byte encodings of a range of surrogates. Of the eleven low bits, the second byte
/// has five and the third has six.
fn encoded_surrogates((low, high): (u32, u32)) -> String {
    let second = |point: u32| 0xA0 + ((point - SURROGATES.0) >> 6);
    let third = |point: u32| 0x80 + (point & 0x3F);
    let rows = (second(low)..=second(high)).map(|row| {
        let first = if row == second(low) { third(low) } else { 0x80 };
        let last = if row == second(high) { third(high) } else { 0xBF };
        format!(r"(?-u:\xED\x{row:X}[\x{first:X}-\x{last:X}])")
    });
    rows.collect::<Vec<_>>().join("|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn character_sets_are_negated_and_case_folded() {
        let digits = Class::of(&[(0x35, 0x39), (0x30, 0x34)]);
        assert_eq!(digits.clone().negated(), Class::of(&[(0, 0x2F), (0x3A, MAX)]));
        assert_eq!(digits.clone().negated().negated(), Class::of(&[(0x30, 0x39)]));
        assert_eq!(Class::default().negated(), Class::of(&[(0, MAX)]));
        let folded = Class::of(&[(0x6B, 0x6B)]).folded(true);
        assert_eq!(folded.into_regex(), r"[\x{4B}-\x{4B}\x{6B}-\x{6B}\x{212A}-\x{212A}]");
    }

    #[test]
    fn surrogates_are_matched_as_bytes() {
        let class = Class::of(&[(0xD7FF, 0xD801), (0xDFFF, 0xDFFF)]);
        assert_eq!(class.into_regex(), r"(?:[\x{D7FF}-\x{D7FF}]|(?-u:\xED\xA0[\x80-\x81])|(?-u:\xED\xBF[\xBF-\xBF]))");
        assert_eq!(
            Class::of(&[(0xD83F, 0xD840)]).into_regex(),
            r"(?:(?-u:\xED\xA0[\xBF-\xBF])|(?-u:\xED\xA1[\x80-\x80]))"
        );
        assert_eq!(Class::default().into_regex(), NOTHING);
    }
}
